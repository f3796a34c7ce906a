import { useQuery } from '@apollo/client/react';
import { useViewer } from '../app/session';
import { graphql } from '../gql';
import { useStored } from '../ui';

const MarketsDocument = graphql(`
  query Markets($ids: [ID!]!) {
    markets(ids: $ids) { nodeId id name reviewStatus companyCount }
  }
`);

/** The numbers of the markets that this user opened last in this browser, newest first. The service has no list of markets. */
export function useRecentIds() {
  const { viewer, isKnown } = useViewer();
  const [ids = [], store] = useStored<string[]>(`recent-markets ${viewer?.email ?? ''}`, localStorage);
  const remember = (id: string) => store([id, ...ids.filter(other => other !== id)].slice(0, 20));
  return { ids, isKnown, remember };
}

/** The same with their names. */
export function useRecentMarkets() {
  const { ids } = useRecentIds();
  const { data, error, loading, refetch } = useQuery(MarketsDocument, { variables: { ids }, skip: ids.length === 0 });
  const markets = (data?.markets ?? []).flatMap(market => (market?.name ? { ...market, name: market.name } : []));
  return { ids, markets, error, loading, refetch };
}
