import { useMutation, useQuery } from '@apollo/client/react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { graphql } from '../gql';
import { errorCode } from '../graphql/errors';
import { useNextPage } from '../graphql/useNextPage';
import { formatCount } from '../ui/format';
import { Heading } from '../ui/Heading';
import { Problems } from '../ui/Problems';
import { Skeleton } from '../ui/Skeleton';
import { Endpoints } from './Endpoints';
import { ExportRow } from './ExportRow';
import { OUTCOMES } from './search';

const ExportsDocument = graphql(`
  query Exports($filter: ExportFilter, $after: String) {
    exports(first: 20, after: $after, filter: $filter) {
      totalCount
      edges { node { id ...ExportRow } }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

const RetryDocument = graphql(`
  mutation Retry($id: ID!) {
    retryExport(input: { exportId: $id }) { ... on ExportEnding { exportId } }
  }
`);

/** The endpoints of the team, and what was sent to them. */
export function Exports() {
  const { outcome, endpoint } = useSearch({ from: '/exports' });
  const navigate = useNavigate({ from: '/exports' });
  const [sending, setSending] = useState(false);
  const [retry, { loading: retrying, error: retryError }] = useMutation(RetryDocument);
  const { data, error, loading, fetchMore, refetch } = useQuery(ExportsDocument, {
    variables: { filter: { outcome, endpoint } },
    // While an export is being sent, the list shows it as soon as it has begun.
    pollInterval: sending || retrying ? 1_000 : 0,
  });
  const next = useNextPage(fetchMore, data?.exports?.pageInfo);

  if (errorCode(error) === 'FORBIDDEN') {
    return (
      <p className="empty">Exports belong to a team. Sign in as a member of a team, or ask the operator for one.</p>
    );
  }
  return (
    <div className="stack">
      <Heading>Exports</Heading>
      <Endpoints
        onSending={isSending => {
          setSending(isSending);
          if (!isSending) void refetch();
        }}
      />
      <section className="stack" aria-label="Exports">
        <div className="row">
          <h2>{data?.exports ? formatCount(data.exports.totalCount, 'export') : 'Exports'}</h2>
          <select
            aria-label="Outcome"
            value={outcome ?? ''}
            onChange={({ target }) =>
              navigate({ search: last => ({ ...last, outcome: OUTCOMES.find(one => one === target.value) }) })
            }
          >
            <option value="">All outcomes</option>
            {OUTCOMES.map(one => (
              <option key={one} value={one}>
                {one.toLowerCase()}
              </option>
            ))}
          </select>
          {endpoint && (
            <button type="button" onClick={() => navigate({ search: last => ({ ...last, endpoint: undefined }) })}>
              {endpoint} ✕
            </button>
          )}
        </div>
        <Problems error={retryError} />
        <Problems error={error} retry={refetch} />
        {loading && !data && <Skeleton lines={6} />}
        {data?.exports?.edges.map(({ node }) => (
          <ExportRow
            key={node.id}
            export={node}
            onRetry={async id => {
              await retry({ variables: { id } });
              await refetch();
            }}
          />
        ))}
        {data?.exports?.totalCount === 0 && <p className="empty">Nothing was sent yet.</p>}
        <Problems error={next.error} retry={next.retry} />
        {next.canRead && (
          <button type="button" onClick={next.read}>
            More
          </button>
        )}
      </section>
    </div>
  );
}
