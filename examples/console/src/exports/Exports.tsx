import { useMutation, useQuery } from '@apollo/client/react';
import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { graphql } from '../gql';
import { hasCode } from '../graphql/errors';
import { formatCount, Heading, Problems, Skeleton } from '../ui';
import { Endpoints } from './Endpoints';
import { ExportRow } from './ExportRow';

/** All that the gateway lists. */
const ExportsDocument = graphql(`
  query Exports($filter: ExportFilter) {
    exports(first: 100, filter: $filter) {
      totalCount
      edges { node { id ...ExportRow } }
    }
  }
`);

const TestDocument = graphql(`
  mutation TestEndpoint($endpoint: String!) {
    testExportEndpoint(input: { endpoint: $endpoint }) { ... on ExportEnding { exportId } }
  }
`);

const RetryDocument = graphql(`
  mutation Retry($id: ID!) {
    retryExport(input: { exportId: $id }) { ... on ExportEnding { exportId } }
  }
`);

/** The endpoints of the team, and what was sent to them. */
export function Exports() {
  const { endpoint } = useSearch({ from: '/exports' });
  /** The export that was sent last from this list. In another list, its page would open again. */
  const [sent, setSent] = useState<{ exportId: string; endpoint: string | undefined }>();
  if (sent && sent.endpoint !== endpoint) setSent(undefined);
  const [test, testing] = useMutation(TestDocument);
  const [retry, retrying] = useMutation(RetryDocument);
  const isSending = testing.loading || retrying.loading;
  const { data, error, loading, refetch } = useQuery(ExportsDocument, {
    variables: { filter: { endpoint } },
    // A market sends exports, too.
    fetchPolicy: 'cache-and-network',
    // While an export is being sent, the list shows it as soon as it has begun.
    pollInterval: isSending ? 1_000 : 0,
  });
  const show = (ending: { exportId: string } | null | undefined) => {
    if (ending) setSent({ exportId: ending.exportId, endpoint });
    void refetch();
  };
  const sendTest = async (endpoint: string) => {
    retrying.reset();
    const { data } = await test({ variables: { endpoint } });
    show(data?.testExportEndpoint);
  };
  const sendAgain = async (id: string) => {
    testing.reset();
    const { data } = await retry({ variables: { id } });
    show(data?.retryExport);
  };

  return (
    <div className="stack">
      <Heading>Exports</Heading>
      {!data?.exports && hasCode(error, 'FORBIDDEN') ? (
        <p className="empty">
          Exports belong to a team. Sign in as a member of a team, or ask your administrator for one.
        </p>
      ) : (
        <>
          <Endpoints isSending={isSending} onTest={sendTest} />
          <section className="stack" aria-label="Exports">
            <div className="row">
              <h2>
                {data?.exports ? formatCount(data.exports.totalCount, 'export') : 'Exports'}{' '}
                {endpoint && `to ${endpoint}`}
              </h2>
              {endpoint && <Link to="/exports">All exports</Link>}
            </div>
            <Problems error={testing.error ?? retrying.error} />
            <Problems error={error} retry={refetch} />
            {loading && !data && <Skeleton lines={6} />}
            {data?.exports?.edges.map(({ node }) => (
              <ExportRow
                key={node.id}
                export={node}
                justSent={node.id === sent?.exportId}
                isSending={isSending}
                onRetry={sendAgain}
              />
            ))}
            {data?.exports?.totalCount === 0 && (
              <p className="empty">
                {endpoint
                  ? 'Nothing was sent to it yet.'
                  : 'Nothing was sent yet. Open a market to export its companies.'}
              </p>
            )}
          </section>
        </>
      )}
    </div>
  );
}
