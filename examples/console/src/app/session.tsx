import { makeVar } from '@apollo/client';
import { useQuery } from '@apollo/client/react';
import { lazy, Suspense, useState } from 'react';
import { graphql } from '../gql';
import { client } from '../graphql/client';
import { socket } from '../graphql/socket';
import { Button, loadPart } from '../ui';

const SignIn = lazy(() => loadPart(() => import('./SignIn')));

const ViewerDocument = graphql(`
  query Viewer {
    viewer { authentication email name }
  }
`);

const SignOutDocument = graphql(`
  mutation SignOut { signOut { viewer { email } } }
`);

/** Number of the session, from 1. Each sign-in and each sign-out begins a new one. Undefined in between: then no screen is shown. */
export const session = makeVar<number | undefined>(1);

/** The other tabs of the console have the same cookie. */
const otherTabs = new BroadcastChannel('session');
otherTabs.onmessage = renew;

/** Begins a new session in all tabs, after the cookie has changed. */
export async function beginSession(): Promise<void> {
  otherTabs.postMessage(undefined);
  await renew();
  // The button that had the focus is gone.
  document.getElementById('content')?.focus();
}

/** Forgets everything of the last user. */
async function renew(): Promise<void> {
  const last = session() ?? 0;
  session(undefined);
  sessionStorage.clear();
  // The next connection sends the new cookie.
  socket.terminate();
  await client.clearStore();
  session(last + 1);
}

/** Who uses the page. `isKnown` is false until the gateway has said it; then no viewer means that no one is signed in. */
export function useViewer() {
  const { data } = useQuery(ViewerDocument);
  return { viewer: data?.viewer, isKnown: data !== undefined };
}

/** Who is signed in, with the buttons that change it. Nothing if the screen asks for it. */
export function Account() {
  const { viewer } = useViewer();
  if (!viewer) return null;
  if (viewer.authentication === 'COOKIE') {
    const signOut = async () => {
      await client.mutate({ mutation: SignOutDocument });
      await beginSession();
    };
    return (
      <>
        <span title={viewer.email ?? undefined}>{viewer.name ?? viewer.email}</span>
        <Button label="Sign out" onClick={signOut} />
      </>
    );
  }
  return (
    <>
      <span>Demo</span>
      <SignInButton />
    </>
  );
}

export function SignInButton() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button label="Sign in" onClick={() => setOpen(true)} />
      <Suspense>{open && <SignIn onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}
