import { useQuery } from '@apollo/client/react';
import { Link, useNavigate } from '@tanstack/react-router';
import { graphql } from '../gql';
import { onSubmit } from '../ui/form';
import { formatCompanies } from '../ui/format';
import { Heading } from '../ui/Heading';
import { Problems } from '../ui/Problems';
import { Skeleton } from '../ui/Skeleton';
import styles from './Market.module.css';
import { recentMarkets } from './recent';

const MarketsDocument = graphql(`
  query Markets($ids: [ID!]!) {
    markets(ids: $ids) { nodeId id name reviewStatus companyCount }
  }
`);

/** The markets that this browser opened last. The service has no list of all markets. */
export function Markets() {
  const { data, error, loading, refetch } = useQuery(MarketsDocument, { variables: { ids: recentMarkets() } });
  const navigate = useNavigate();
  const open = (form: FormData) => navigate({ to: '/markets/$id', params: { id: String(form.get('id')) } });
  return (
    <div className="stack">
      <Heading>Markets</Heading>
      <form onSubmit={onSubmit(open)} className="row">
        <input
          name="id"
          aria-label="Market number"
          placeholder="Market number"
          inputMode="numeric"
          pattern="[0-9]+"
          required
        />
        <button type="submit">Open</button>
      </form>
      {loading && <Skeleton lines={6} />}
      <Problems error={error} retry={refetch} />
      <ul className={styles.markets}>
        {data?.markets.flatMap(market =>
          market?.name ? (
            <li key={market.id} className="panel">
              <Link to="/markets/$id" params={{ id: market.id }}>
                {market.name}
              </Link>
              <small>
                Market {market.id} · {market.reviewStatus?.toLowerCase()} · {formatCompanies(market.companyCount ?? 0)}
              </small>
            </li>
          ) : (
            []
          ),
        )}
      </ul>
    </div>
  );
}
