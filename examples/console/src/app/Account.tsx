import { useMutation, useReactiveVar } from '@apollo/client/react';
import { useState } from 'react';
import { graphql } from '../gql';
import { sessionEnded } from '../graphql/links';
import { Button, Field, Form, Modal, Problems, Submit } from '../ui';
import { beginSession, useViewer } from './session';

const SignInDocument = graphql(`
  mutation SignIn($email: String!, $password: String!) {
    signIn(input: { email: $email, password: $password }) { viewer { email } }
  }
`);

const SignOutDocument = graphql(`mutation SignOut { signOut { viewer { email } } }`);

/** Who is signed in, with the buttons that change it. Nothing if the screen asks for it. */
export function Account() {
  const { viewer } = useViewer();
  const [signOut, { error }] = useMutation(SignOutDocument, { onCompleted: () => beginSession() });
  const hasEnded = useReactiveVar(sessionEnded);
  if (!viewer) return null;
  if (hasEnded) return <SignInButton title="Your session has ended" />;
  const isSignedIn = viewer.authentication === 'COOKIE';
  return (
    <>
      <span title={viewer.email ?? undefined}>{isSignedIn ? (viewer.name ?? viewer.email) : 'Demo'}</span>
      {isSignedIn ? <Button label="Sign out" onClick={() => signOut()} /> : <SignInButton />}
      <Problems error={error} />
    </>
  );
}

/** @param title of a form that is open at once. Left out: the button opens it. */
export function SignInButton({ title, className }: { title?: string; className?: string }) {
  const [open, setOpen] = useState(title !== undefined);
  const [signIn, { loading, error, reset }] = useMutation(SignInDocument);
  const close = () => {
    setOpen(false);
    reset();
  };
  const submit = async (form: FormData) => {
    const variables = { email: String(form.get('email')), password: String(form.get('password')) };
    const { data } = await signIn({ variables });
    if (!data?.signIn) return;
    close();
    await beginSession(data.signIn.viewer?.email);
  };
  return (
    <>
      <Button label="Sign in" className={className} onClick={() => setOpen(true)} />
      {open && (
        <Modal title={title ?? 'Sign in'} onClose={close}>
          <Form className="stack" onSubmit={submit} error={error}>
            <Field label="E-mail address" name="email" type="email" autoComplete="username" required />
            <Field label="Password" name="password" type="password" autoComplete="current-password" required />
            <Submit label="Sign in" busy="Signing in" sending={loading} />
          </Form>
        </Modal>
      )}
    </>
  );
}
