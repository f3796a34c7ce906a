import type { Polling } from '../../data/polling/polling.js';
import { type ReaderDeps, readUncached } from '../../data/reader.js';
import type { RequestAuth } from '../../data/upstream/request.js';
import { largestPage } from '../../graphql/input.js';
import { ResponseMetadata } from '../../observability/response-metadata.js';
import type { EventQuery, EventsClient } from './client.js';
import type { Event } from './model.js';
import { follow, reviveVectors, type Tail, updateTime } from './tail.js';

/** The subscriptions of the events domain. */
export interface EventsFeed {
  /**
   * Events that are new or updated from now on: each update once, the oldest update first (docs/upstream-api.md: GET events).
   * @param vectors whether embeddings are selected.
   * @throws NotConfigured; while reading: UNAUTHENTICATED, FORBIDDEN, BAD_USER_INPUT.
   */
  eventUpdates(query: EventQuery, vectors: boolean): Promise<AsyncIterable<Event>>;
}

/** The feed for one client, until the signal of its request aborts. */
export function createEventsFeed(
  deps: Pick<ReaderDeps, 'upstream' | 'telemetry'> & { readonly polling: Polling; readonly events: EventsClient },
  { credential, scope, until }: RequestAuth,
): EventsFeed {
  const pagesOf = (query: EventQuery, vectors: boolean, signal: AbortSignal) => {
    const auth = { credential, scope, until: { signal }, metadata: new ResponseMetadata() };
    return async (page: number, from: string, to: string, pageSize = largestPage) => {
      const read = deps.events.page({ ...query, from, to }, page, pageSize, vectors);
      const { value } = await readUncached(deps, read, auth);
      const { events, totalItems } = value;
      const readable = events.filter(event => event !== null);
      return { events: readable, totalItems, skipped: events.length - readable.length };
    };
  };

  return {
    async eventUpdates(query, vectors) {
      const { request } = deps.events.page(query, 1, 1, vectors);
      const tails = await deps.polling.watch<Tail>(
        scope,
        `events ${vectors} ${request.query}`,
        {
          revive: reviveVectors,
          ask: (before, signal) => follow(pagesOf(query, vectors, signal), before, Date.now()),
          same: (one, other) => one.updates.at(-1)?.key === other.updates.at(-1)?.key,
          isFinal: () => false,
        },
        until.signal,
      );
      return updatesIn(tails);
    },
  };
}

/** The updates in each tail that no earlier tail contained. The first tail only contains updates from before the subscription. */
async function* updatesIn(tails: AsyncIterable<{ readonly state: Tail }>): AsyncGenerator<Event> {
  let known: ReadonlySet<string> | undefined;
  for await (const { state } of tails) {
    const before = known;
    const keys = new Set([...state.seen, ...state.updates.map(({ key }) => key)]);
    for (const key of before ?? []) if (updateTime(key) >= state.from) keys.add(key);
    known = keys;
    if (before === undefined) continue;
    for (const { key, event } of state.updates) if (!before.has(key)) yield event;
  }
}
