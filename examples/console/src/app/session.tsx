import { makeVar } from '@apollo/client';
import { useQuery } from '@apollo/client/react';
import { useEffect } from 'react';
import { graphql } from '../gql';
import type { ViewerQuery } from '../gql/graphql';
import { client } from '../graphql/client';
import { sessionEnded } from '../graphql/links';
import { reconnect } from '../graphql/socket';

const ViewerDocument = graphql(`query Viewer { viewer { authentication email name } }`);

/** Number of the session, from 1. Each sign-in and each sign-out begins a new one. Undefined in between: then no screen is shown. */
export const session = makeVar<number | undefined>(1);

/** Who was there last. Once the session has ended, the gateway names no one, but the screen stays as it is until somebody signs in. */
let lastViewer: ViewerQuery['viewer'] | undefined;

/** The other tabs of the console have the same cookie. */
const otherTabs = new BroadcastChannel('session');
otherTabs.onmessage = ({ data: email }) => take(email);

/** Begins a new session in all tabs, after the cookie has changed. @param email of who has signed in: who was before goes on with what was typed. */
export async function beginSession(email?: string | null): Promise<void> {
  otherTabs.postMessage(email);
  await take(email);
}

async function take(email: string | null | undefined): Promise<void> {
  if (email != null && email === lastViewer?.email) return goOn();
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
  lastViewer = undefined;
  session(last + 1);
}

/** Who uses the page. `isKnown` is false until the gateway has said it; then no viewer means that no one is signed in. */
export function useViewer() {
  const { data } = useQuery(ViewerDocument);
  const viewer = data?.viewer ?? lastViewer;
  useEffect(() => {
    lastViewer = viewer;
  }, [viewer]);
  return { viewer, isKnown: data !== undefined };
}
