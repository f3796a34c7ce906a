import { useQuery } from '@apollo/client/react';
import { useEffect } from 'react';
import { graphql } from '../gql';
import type { ViewerQuery } from '../gql/graphql';
import { client, readAgain } from '../graphql/client';
import { session } from '../graphql/links';
import { reconnect } from '../graphql/socket';

const ViewerDocument = graphql(`query Viewer { viewer { authentication email name } }`);

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

/** Forgets everything of the last user. If the same one is there again, reads again only what the ended session could not: the rest stays. */
async function take(email: string | null | undefined): Promise<void> {
  if (email != null && email === lastViewer?.email) {
    reconnect();
    return readAgain(() => true);
  }
  const last = session() ?? 0;
  session(undefined);
  sessionStorage.clear();
  reconnect();
  await client.clearStore();
  lastViewer = undefined;
  session(last + 1);
  // The button that had the focus is gone.
  document.getElementById('content')?.focus({ preventScroll: true });
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
