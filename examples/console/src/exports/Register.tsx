import { useMutation } from '@apollo/client/react';
import { graphql } from '../gql';
import { onSubmit } from '../ui/form';
import { Modal } from '../ui/Modal';
import { Problems } from '../ui/Problems';

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
    const [name, url, description, header, value] = ['name', 'url', 'description', 'header', 'value'].map(field =>
      String(form.get(field) ?? ''),
    ) as [string, string, string, string, string];
    const headers = header === '' ? [] : [{ name: header, value }];
    const { data } = await register({ variables: { input: { name, url, description, headers } } });
    if (data?.registerExportEndpoint) onRegistered(data.registerExportEndpoint.signingSecret);
  };
  return (
    <Modal title="Register an endpoint" onClose={onClose}>
      <form onSubmit={onSubmit(submit)} className="stack">
        <label>
          Name
          <input name="name" required maxLength={255} />
        </label>
        <label>
          URL
          <input name="url" type="url" required maxLength={1024} placeholder="https://" />
        </label>
        <label>
          Description
          <input name="description" required maxLength={1024} />
        </label>
        <div className="row">
          <label>
            Header, if the endpoint needs one
            <input name="header" placeholder="Authorization" maxLength={255} />
          </label>
          <label>
            Its value
            <input name="value" type="password" autoComplete="off" maxLength={4096} />
          </label>
        </div>
        <Problems error={error} />
        <button type="submit" className="primary" disabled={loading}>
          Register
        </button>
      </form>
    </Modal>
  );
}
