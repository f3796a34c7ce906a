import { useMutation, useQuery } from '@apollo/client/react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { graphql } from '../gql';
import { Button, Confirm, Problems, Skeleton } from '../ui';
import styles from './Exports.module.css';
import { Register } from './Register';
import { Secret } from './Secret';

const EndpointsDocument = graphql(`
  query Endpoints {
    viewer { canManageExportEndpoints }
    exportEndpoints { nodeId name url description headerNames }
  }
`);

const TestDocument = graphql(`
  mutation TestEndpoint($endpoint: String!) {
    testExportEndpoint(input: { endpoint: $endpoint }) { ... on ExportEnding { exportId } }
  }
`);

const RotateDocument = graphql(`
  mutation RotateSecret($name: String!) {
    rotateExportEndpointSecret(input: { name: $name }) { signingSecret }
  }
`);

const DeleteDocument = graphql(`
  mutation DeleteEndpoint($name: String!) {
    deleteExportEndpoint(input: { name: $name }) { endpoint { name } }
  }
`);

/** A dialog of this screen: to register an endpoint, or to confirm what cannot be undone. */
type Dialog = { readonly kind: 'register' | 'rotate' | 'delete'; readonly name: string };

interface EndpointsProps {
  /** Called when a test begins and when it has ended. */
  readonly onSending: (isSending: boolean) => void;
  /** Called with the identifier of a test that has ended. */
  readonly onSent: (exportId: string | undefined) => void;
}

export function Endpoints({ onSending, onSent }: EndpointsProps) {
  const { data, error, loading, refetch } = useQuery(EndpointsDocument);
  const [dialog, setDialog] = useState<Dialog>();
  const [secret, setSecret] = useState<string>();
  const [test, testing] = useMutation(TestDocument);
  const [rotate, rotating] = useMutation(RotateDocument);
  const [remove, removing] = useMutation(DeleteDocument);
  const isAdmin = data?.viewer?.canManageExportEndpoints ?? false;
  const close = () => setDialog(undefined);

  const runTest = async (endpoint: string) => {
    onSending(true);
    const { data } = await test({ variables: { endpoint } });
    onSending(false);
    onSent(data?.testExportEndpoint?.exportId);
  };
  const makeSecret = async (name: string) => {
    const { data } = await rotate({ variables: { name } });
    setSecret(data?.rotateExportEndpointSecret?.signingSecret);
  };
  const deleteEndpoint = async (name: string) => {
    await remove({ variables: { name } });
    await refetch();
  };

  return (
    <section className="stack" aria-label="Endpoints">
      <div className="row">
        <h2>Endpoints</h2>
        {isAdmin && (
          <Button label="Register" className="primary" onClick={() => setDialog({ kind: 'register', name: '' })} />
        )}
      </div>
      <Problems error={testing.error ?? rotating.error ?? removing.error} />
      <Problems error={error} retry={refetch} />
      {loading && !data && <Skeleton lines={2} />}
      {data?.exportEndpoints?.length === 0 && (
        <p className="empty">
          An endpoint is an address of your systems that receives companies.{' '}
          {isAdmin ? 'Register the first one.' : 'Ask an admin of your team to register one.'}
        </p>
      )}
      <ul className="stack">
        {data?.exportEndpoints?.map(({ nodeId, name, url, description, headerNames }) => (
          <li key={nodeId} className={`panel row ${styles.endpoint}`}>
            <div>
              <Link to="/exports" search={{ endpoint: name }}>
                {name}
              </Link>
              <p>{description}</p>
              <small>{[url, ...headerNames].join(' with ')}</small>
            </div>
            <div className="row">
              <Button label="Test" disabled={testing.loading} onClick={() => runTest(name)} />
              {isAdmin && <Button label="New secret" onClick={() => setDialog({ kind: 'rotate', name })} />}
              {isAdmin && <Button label="Delete" onClick={() => setDialog({ kind: 'delete', name })} />}
            </div>
          </li>
        ))}
      </ul>
      {dialog?.kind === 'register' && (
        <Register
          onClose={close}
          onRegistered={signingSecret => {
            close();
            setSecret(signingSecret);
            void refetch();
          }}
        />
      )}
      {dialog?.kind === 'rotate' && (
        <Confirm
          title={`New secret for ${dialog.name}?`}
          action="Make a new secret"
          text="For 24 hours, exports are signed with both the old and the new secret. After that, the old one is not valid."
          onConfirm={() => makeSecret(dialog.name)}
          onClose={close}
        />
      )}
      {dialog?.kind === 'delete' && (
        <Confirm
          title={`Delete ${dialog.name}?`}
          action="Delete"
          text="Nothing more can be sent to it."
          onConfirm={() => deleteEndpoint(dialog.name)}
          onClose={close}
        />
      )}
      {secret && <Secret secret={secret} onClose={() => setSecret(undefined)} />}
    </section>
  );
}
