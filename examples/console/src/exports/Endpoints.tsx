import { useMutation, useQuery } from '@apollo/client/react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { graphql } from '../gql';
import { Confirm } from '../ui/Confirm';
import { Problems } from '../ui/Problems';
import { Skeleton } from '../ui/Skeleton';
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
type Dialog = { readonly kind: 'register' } | { readonly kind: 'rotate' | 'delete'; readonly name: string };

interface EndpointsProps {
  /** Called when a test begins and when it has ended. */
  readonly onSending: (isSending: boolean) => void;
}

export function Endpoints({ onSending }: EndpointsProps) {
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
    await test({ variables: { endpoint } });
    onSending(false);
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
          <button type="button" className="primary" onClick={() => setDialog({ kind: 'register' })}>
            Register
          </button>
        )}
      </div>
      <Problems error={testing.error ?? rotating.error ?? removing.error} />
      <Problems error={error} retry={refetch} />
      {loading && !data && <Skeleton />}
      {data?.exportEndpoints?.length === 0 && <p className="empty">Your team has no endpoint.</p>}
      <ul className={styles.endpoints}>
        {data?.exportEndpoints?.map(({ nodeId, name, url, description, headerNames }) => (
          <li key={nodeId} className="panel">
            <div>
              <Link to="/exports" search={{ endpoint: name }}>
                {name}
              </Link>
              <p>{description}</p>
              <small>
                {url}
                {headerNames.length > 0 && ` with ${headerNames.join(', ')}`}
              </small>
            </div>
            <div className="row">
              <button type="button" disabled={testing.loading} onClick={() => runTest(name)}>
                Test
              </button>
              {isAdmin && (
                <>
                  <button type="button" onClick={() => setDialog({ kind: 'rotate', name })}>
                    New secret
                  </button>
                  <button type="button" onClick={() => setDialog({ kind: 'delete', name })}>
                    Delete
                  </button>
                </>
              )}
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
          onConfirm={() => makeSecret(dialog.name)}
          onClose={close}
        >
          For 24 hours, exports are signed with both the old and the new secret. After that, the old one is not valid.
        </Confirm>
      )}
      {dialog?.kind === 'delete' && (
        <Confirm
          title={`Delete ${dialog.name}?`}
          action="Delete"
          onConfirm={() => deleteEndpoint(dialog.name)}
          onClose={close}
        >
          Nothing more can be sent to it.
        </Confirm>
      )}
      {secret && <Secret secret={secret} onClose={() => setSecret(undefined)} />}
    </section>
  );
}
