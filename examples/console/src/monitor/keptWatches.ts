import type { ApolloClient } from '@apollo/client';
import { useApolloClient } from '@apollo/client/react';
import { useEffect } from 'react';
import { graphql } from '../gql';
import { hasCode } from '../graphql/errors';
import { type EventSearch, updatesFilter } from './search';

const WatchEventsDocument = graphql(`
  mutation WatchEvents($filter: EventFilter!, $endpoint: String!, $after: String) {
    watchEvents(input: { filter: $filter, endpoint: $endpoint, after: $after }) { watch { id until cursor } }
  }
`);

const RenewWatchDocument = graphql(`
  mutation RenewWatch($id: ID!) {
    renewWatch(input: { watch: $id }) { watch { id until cursor } }
  }
`);

/** A watch that this tab has begun, as it was when its lease was last renewed. */
interface Kept {
  readonly id: string;
  readonly until: string;
  readonly cursor: string | null;
  readonly endpoint: string;
  readonly search: EventSearch;
}

const KEY = 'watches';
const RENEW_MS = 60_000;

/** They outlive a reload, and end with the tab or the session. */
export const keptWatches = (): readonly Kept[] => JSON.parse(sessionStorage.getItem(KEY) ?? '[]');

/** Puts a watch in the place of another. Undefined: of none, or nothing. */
export function keepWatch(last: string | undefined, watch: Kept | undefined): void {
  const others = keptWatches().filter(({ id }) => id !== last);
  sessionStorage.setItem(KEY, JSON.stringify(watch ? [...others, watch] : others));
}

/** Begins a watch of the events that match, behind a cursor if there is one. */
export async function beginWatch(client: ApolloClient, watch: Pick<Kept, 'endpoint' | 'search'>, after?: Kept) {
  const { endpoint, search } = watch;
  const variables = { endpoint, filter: updatesFilter(search), after: after?.cursor };
  const { data, error } = await client.mutate({ mutation: WatchEventsDocument, variables });
  if (data?.watchEvents) keepWatch(after?.id, { ...data.watchEvents.watch, endpoint, search });
  return error;
}

/** Renews a watch, which goes on behind what the endpoint has taken. One whose lease ended while the computer slept begins again behind its last cursor. */
async function renew(client: ApolloClient, watch: Kept): Promise<void> {
  const { data, error } = await client.mutate({ mutation: RenewWatchDocument, variables: { id: watch.id } });
  if (data?.renewWatch) keepWatch(watch.id, { ...watch, ...data.renewWatch.watch });
  if (!hasCode(error, 'NOT_FOUND')) return;
  const hasEnded = Date.parse(watch.until) < Date.now();
  const failure = hasEnded ? await beginWatch(client, watch, watch) : error;
  // Somebody has stopped it, or it can never begin again.
  if (hasCode(failure, 'NOT_FOUND') || hasCode(failure, 'BAD_USER_INPUT')) keepWatch(watch.id, undefined);
}

/** Renews what this tab watches, for as long as it is open. */
export function useRenewal(): void {
  const client = useApolloClient();
  useEffect(() => {
    const timer = setInterval(() => {
      for (const watch of keptWatches()) void renew(client, watch);
    }, RENEW_MS);
    return () => clearInterval(timer);
  }, [client]);
}
