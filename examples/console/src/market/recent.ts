import { useQuery } from '@apollo/client/react';
import { useViewer } from '../app/session';
import { graphql } from '../gql';

const MarketsDocument = graphql(`
  query Markets($ids: [ID!]!) {
    markets(ids: $ids) { nodeId id name reviewStatus companyCount }
  }
`);

/** The markets that this user opened last in this browser, newest first. The service has no list of markets. */
export function useRecentMarkets() {
  const { viewer, isKnown } = useViewer();
  const key = `recent-markets ${viewer?.email ?? ''}`;
  const ids = (localStorage.getItem(key) ?? '').split(' ').filter(id => /^\d+$/.test(id));
  const remember = (id: string) =>
    localStorage.setItem(key, [id, ...ids.filter(other => other !== id)].slice(0, 20).join(' '));
  const { data, error, loading, refetch } = useQuery(MarketsDocument, { variables: { ids }, skip: ids.length === 0 });
  const markets = (data?.markets ?? []).flatMap(market => (market?.name ? { ...market, name: market.name } : []));
  return { ids, markets, remember, isKnown, error, loading, refetch };
}
