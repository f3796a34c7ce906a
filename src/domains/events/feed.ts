import { eventsTag } from '../../data/cache/keys.js';
import type { Polling } from '../../data/polling/polling.js';
import type { Feed } from '../../data/polling/topic.js';
import { type ReaderDeps, readUncached } from '../../data/reader.js';
import type { RequestAuth } from '../../data/upstream/request.js';
import { ResponseMetadata } from '../../observability/response-metadata.js';
import type { BackfillLimiter } from './backfill-limiter.js';
import type { EventQuery, EventsClient } from './client.js';
import { follow, readBetween, reviveVectors } from './tail.js';
import { type EventUpdate, type FleetTail, updatesAfter } from './updates.js';
import { positionIn, updatesListId } from './updates-cursor.js';

/** The subscriptions of the events domain. */
export interface EventsFeed {
  /**
   * Events that are new or updated: each update once, the oldest update first (docs/upstream-api.md: GET events).
   * @param vectors whether embeddings are selected.
   * @param after the cursor behind which to continue; undefined to begin now.
   * @throws NotConfigured, BadUserInput; while reading: UNAUTHENTICATED, FORBIDDEN, BAD_USER_INPUT.
   */
  eventUpdates(query: EventQuery, vectors: boolean, after: string | undefined): Promise<Feed<EventUpdate>>;
}

/** The feed for one client, until the signal of its request aborts. */
export function createEventsFeed(
  deps: ReaderDeps & {
    readonly polling: Polling;
    readonly events: EventsClient;
    readonly backfillLimiter: BackfillLimiter;
  },
  { credential, scope, cancellation }: RequestAuth,
): EventsFeed {
  const pagesOf = (query: EventQuery, vectors: boolean, signal: AbortSignal) => {
    const auth = { credential, scope, cancellation: { signal }, metadata: new ResponseMetadata() };
    return readBetween(deps.events, query, vectors, async read => (await readUncached(deps, read, auth)).value);
  };

  /** What is about to be sent must be in the next list. */
  const renew = () => deps.cache.generations.renew(eventsTag(scope));

  return {
    async eventUpdates(query, vectors, after) {
      const filter = deps.events.filterOf(query);
      const list = updatesListId(filter);
      const position = after === undefined ? undefined : positionIn(after, list);
      const tails = await deps.polling.watch<FleetTail>(
        scope,
        `event updates ${vectors} ${filter}`,
        {
          revive: reviveVectors,
          async ask(before, signal) {
            const tail = await follow(pagesOf(query, vectors, signal), before, Date.now());
            if (tail.sent !== before?.sent) await renew();
            return { ...tail, gateway: deps.polling.id };
          },
          same: (one, other) => one.updates.at(-1)?.key === other.updates.at(-1)?.key,
          isFinal: () => false,
        },
        cancellation.signal,
      );
      const { signal } = cancellation;
      const updates = updatesAfter(position, tails, pagesOf(query, vectors, signal), list, signal, {
        begin: () => deps.backfillLimiter.begin(scope, signal),
        foundNew: renew,
      });
      return {
        isState: false,
        isJoinable: position === undefined,
        firstAfter: last => last && { kind: null, cursor: last.cursor, event: null, gap: false },
        refresh: async () => {},
        [Symbol.asyncIterator]: () => updates,
      };
    },
  };
}
