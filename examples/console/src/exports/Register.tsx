import { useMutation } from '@apollo/client/react';
import { graphql } from '../gql';
import { Form } from '../ui';
import { Modal } from '../ui/Modal';

const RegisterDocument = graphql(`
  mutation RegisterEndpoint($input: RegisterExportEndpointInput!) {
    registerExportEndpoint(input: $input) { signingSecret }
  }
`);

interface RegisterProps {
  readonly onClose: () => void;
  readonly onRegistered: (signingSecret: string) => void;
}

export function Register({ onClose, onRegistered }: RegisterProps) {
  const [register, { error, loading }] = useMutation(RegisterDocument);
  const submit = async (form: FormData) => {
    const text = (field: string) => String(form.get(field) ?? '');
    const header = { name: text('headers.0.name'), value: text('headers.0.value') };
    const headers = header.name === '' ? [] : [header];
    const input = { name: text('name'), url: text('url'), description: text('description'), headers };
    const { data } = await register({ variables: { input } });
    if (data?.registerExportEndpoint) onRegistered(data.registerExportEndpoint.signingSecret);
  };
  return (
    <Modal title="Register an endpoint" onClose={onClose}>
      <Form onSubmit={submit} error={error} className="stack">
        <label>
          Name
          <input name="name" required maxLength={255} />
        </label>
        <label>
          Address
          <input name="url" type="url" required maxLength={1024} placeholder="https://" />
        </label>
        <label>
          Description
          <input name="description" required maxLength={1024} />
        </label>
        <div className="row">
          <label>
            Header, if the endpoint needs one
            <input name="headers.0.name" placeholder="Authorization" maxLength={255} />
          </label>
          <label>
            Its value
            <input name="headers.0.value" type="password" autoComplete="off" maxLength={4096} />
          </label>
        </div>
        <button type="submit" className="primary" disabled={loading}>
          Register
        </button>
      </Form>
    </Modal>
  );
}
