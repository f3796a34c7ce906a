import { useQuery } from '@apollo/client/react';
import { useViewer } from '../app/session';
import { graphql } from '../gql';
import { hasCode } from '../graphql/errors';
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
  const forget = (id: string) => store(ids.filter(other => other !== id));
  return { ids, isKnown, remember, forget };
}

/** The same with their names. One without a name, or that is gone, has its number. That it is gone is no error. */
export function useRecentMarkets() {
  const { ids, forget } = useRecentIds();
  const { data, error, loading, refetch } = useQuery(MarketsDocument, { variables: { ids }, skip: ids.length === 0 });
  const markets = data?.markets.flatMap(one => (one ? { ...one, name: one.name ?? `Market ${one.id}` } : [])) ?? [];
  const isOfGone = hasCode(error, 'NOT_FOUND') || hasCode(error, 'FORBIDDEN');
  return { ids, markets, forget, error: isOfGone ? undefined : error, loading, refetch };
}
