import { useMutation, useQuery } from '@apollo/client/react';
import { Link, useBlocker } from '@tanstack/react-router';
import { useState } from 'react';
import { graphql } from '../gql';
import { Button, ConfirmButton, CopyButton, Modal, Problems, Skeleton } from '../ui';
import styles from './Exports.module.css';
import { Register } from './Register';

const EndpointsDocument = graphql(`
  query Endpoints {
    viewer { canManageExportEndpoints }
    exportEndpoints { nodeId name url description headerNames }
  }
`);

const RotateDocument = graphql(`
  mutation RotateSecret($name: String!) {
    rotateExportEndpointSecret(input: { endpoint: $name }) { signingSecret }
  }
`);

const DeleteDocument = graphql(`
  mutation DeleteEndpoint($name: String!) {
    deleteExportEndpoint(input: { endpoint: $name }) { endpoint { name } }
  }
`);

export function Endpoints({ isSending, onTest }: { isSending: boolean; onTest: (endpoint: string) => void }) {
  const { data, error, loading, refetch } = useQuery(EndpointsDocument, { fetchPolicy: 'cache-and-network' });
  const [registering, setRegistering] = useState(false);
  const [secret, setSecret] = useState<string>();
  const [rotate, rotating] = useMutation(RotateDocument);
  const [remove, removing] = useMutation(DeleteDocument);
  const isChanging = rotating.loading || removing.loading;
  const isAdmin = data?.viewer?.canManageExportEndpoints ?? false;
  useBlocker({
    disabled: secret === undefined && !rotating.loading && !registering,
    shouldBlockFn: () => !confirm('The secret of an endpoint is shown only here, once. Leave without it?'),
  });

  const makeSecret = async (name: string) => {
    removing.reset();
    const { data } = await rotate({ variables: { name } });
    if (data?.rotateExportEndpointSecret) setSecret(data.rotateExportEndpointSecret.signingSecret);
  };
  const deleteEndpoint = async (name: string) => {
    rotating.reset();
    await remove({ variables: { name } });
    await refetch();
  };

  return (
    <section className="stack" aria-label="Endpoints">
      <div className="row">
        <h2>Endpoints</h2>
        {isAdmin && (
          <Button label="Register" className="primary" disabled={isChanging} onClick={() => setRegistering(true)} />
        )}
      </div>
      <Problems error={rotating.error ?? removing.error} />
      <Problems error={error} retry={refetch} />
      {loading && !data && <Skeleton lines={3} />}
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
              <Button label="Test" disabled={isSending} onClick={() => onTest(name)} />
              {isAdmin && (
                <>
                  <ConfirmButton
                    label="New secret"
                    disabled={isChanging}
                    title={`New secret for ${name}?`}
                    text="For 24 hours, exports are signed with both the old and the new secret. After that, the old one is not valid."
                    onConfirm={() => makeSecret(name)}
                  />
                  <ConfirmButton
                    label="Delete"
                    disabled={isChanging}
                    title={`Delete ${name}?`}
                    text="Nothing more can be sent to it."
                    onConfirm={() => deleteEndpoint(name)}
                  />
                </>
              )}
            </div>
          </li>
        ))}
      </ul>
      {registering && (
        <Register
          onClose={() => setRegistering(false)}
          onRegistered={signingSecret => {
            setRegistering(false);
            setSecret(signingSecret);
            void refetch();
          }}
        />
      )}
      {secret && (
        <Modal title="Signing secret" close="I have stored it" onClose={() => setSecret(undefined)}>
          <p>
            Store this secret where you receive exports. It proves that a call comes from this gateway. It is not shown
            again.
          </p>
          <code className={`panel ${styles.secret}`}>{secret}</code>
          <CopyButton label="Copy" done="Copied" className="primary" text={() => secret} />
        </Modal>
      )}
    </section>
  );
}
