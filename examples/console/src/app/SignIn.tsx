import { useMutation } from '@apollo/client/react';
import { graphql } from '../gql';
import { Form } from '../ui';
import { Modal } from '../ui/Modal';
import { beginSession } from './session';

const SignInDocument = graphql(`
  mutation SignIn($email: String!, $password: String!) {
    signIn(input: { email: $email, password: $password }) { viewer { email } }
  }
`);

export default function SignIn({ onClose }: { onClose: () => void }) {
  const [signIn, { loading, error }] = useMutation(SignInDocument);

  const submit = async (form: FormData) => {
    const variables = { email: String(form.get('email')), password: String(form.get('password')) };
    const { data } = await signIn({ variables });
    if (!data?.signIn) return;
    onClose();
    await beginSession();
  };

  return (
    <Modal title="Sign in" onClose={onClose}>
      <Form className="stack" onSubmit={submit} error={error}>
        <label>
          E-mail address
          <input name="email" type="email" autoComplete="username" required />
        </label>
        <label>
          Password
          <input name="password" type="password" autoComplete="current-password" required />
        </label>
        <button type="submit" className="primary" disabled={loading}>
          {loading ? 'Signing in' : 'Sign in'}
        </button>
      </Form>
    </Modal>
  );
}
