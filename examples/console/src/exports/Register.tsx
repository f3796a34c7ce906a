import { useMutation } from '@apollo/client/react';
import { graphql } from '../gql';
import { Button, Field, Form, Modal } from '../ui';

const RegisterDocument = graphql(`
  mutation RegisterEndpoint($input: RegisterExportEndpointInput!) {
    registerExportEndpoint(input: $input) { signingSecret }
  }
`);

export function Register({ onClose, onRegistered }: { onClose: () => void; onRegistered: (secret: string) => void }) {
  const [register, { error, loading }] = useMutation(RegisterDocument);
  const submit = async (form: FormData) => {
    const text = (field: string) => String(form.get(field) ?? '');
    const header = { name: text('headers.0.name'), value: text('headers.0.value') };
    const headers = header.name || header.value ? [header] : [];
    const input = { name: text('name'), url: text('url'), description: text('description'), headers };
    const { data } = await register({ variables: { input } });
    if (data?.registerExportEndpoint) onRegistered(data.registerExportEndpoint.signingSecret);
  };
  return (
    // Once it is sent, it stays for the secret.
    <Modal title="Register an endpoint" onClose={() => loading || onClose()}>
      <Form onSubmit={submit} error={error} className="stack">
        <Field label="Name" name="name" required maxLength={255} />
        <Field label="Address" name="url" type="url" required maxLength={1024} placeholder="https://" />
        <Field label="Description" name="description" required maxLength={1024} />
        <div className="columns">
          <Field
            label="Header, if the endpoint needs one"
            name="headers.0.name"
            placeholder="Authorization"
            maxLength={255}
          />
          <Field label="Its value" name="headers.0.value" type="password" autoComplete="off" maxLength={4096} />
        </div>
        <Button type="submit" label="Register" className="primary" disabled={loading} />
      </Form>
    </Modal>
  );
}
