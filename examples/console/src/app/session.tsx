import { makeVar } from '@apollo/client';
import { useQuery } from '@apollo/client/react';
import { lazy, Suspense, useState } from 'react';
import { graphql } from '../gql';
import { client } from '../graphql/client';
import { socket } from '../graphql/socket';

const SignIn = lazy(() => import('./SignIn'));

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
  // The next connection sends the new cookie.
  socket.terminate();
  await client.clearStore();
  session(last + 1);
}

/** Who is signed in, with the buttons that change it. */
export function Account() {
  const { data } = useQuery(ViewerDocument);
  const [open, setOpen] = useState(false);
  const viewer = data?.viewer;

  if (viewer?.authentication === 'COOKIE') {
    const signOut = async () => {
      await client.mutate({ mutation: SignOutDocument });
      await beginSession();
    };
    return (
      <>
        <span title={viewer.email ?? undefined}>{viewer.name ?? viewer.email}</span>
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      </>
    );
  }
  return (
    <>
      {viewer && <span>Demo</span>}
      <button type="button" onClick={() => setOpen(true)}>
        Sign in
      </button>
      <Suspense>{open && <SignIn onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}
