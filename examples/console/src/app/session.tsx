import { makeVar } from '@apollo/client';
import { useQuery } from '@apollo/client/react';
import { graphql } from '../gql';
import { client } from '../graphql/client';
import { sessionEnded } from '../graphql/links';
import { reconnect } from '../graphql/socket';

const ViewerDocument = graphql(`query Viewer { viewer { authentication email name } }`);

/** Number of the session, from 1. Each sign-in and each sign-out begins a new one. Undefined in between: then no screen is shown. */
export const session = makeVar<number | undefined>(1);

/** The other tabs of the console have the same cookie. */
const otherTabs = new BroadcastChannel('session');
otherTabs.onmessage = ({ data: isSameUser }) => (isSameUser ? goOn() : renew());

/** Begins a new session in all tabs, after the cookie has changed. @param email of who has signed in: who was before goes on with what was typed. */
export async function beginSession(email?: string | null): Promise<void> {
  const last = client.readQuery({ query: ViewerDocument })?.viewer?.email;
  const isSameUser = sessionEnded() && last != null && last === email;
  otherTabs.postMessage(isSameUser);
  if (isSameUser) return goOn();
  await renew();
  // The button that had the focus is gone.
  document.getElementById('content')?.focus({ preventScroll: true });
}

/** Reads again what the ended session could not. */
function goOn(): void {
  sessionEnded(false);
  reconnect();
  void client.refetchObservableQueries();
}

/** Forgets everything of the last user. */
async function renew(): Promise<void> {
  const last = session() ?? 0;
  session(undefined);
  sessionEnded(false);
  sessionStorage.clear();
  reconnect();
  await client.clearStore();
  session(last + 1);
}

/** Who uses the page. `isKnown` is false until the gateway has said it; then no viewer means that no one is signed in. */
export function useViewer() {
  const { data } = useQuery(ViewerDocument);
  return { viewer: data?.viewer, isKnown: data !== undefined };
}
