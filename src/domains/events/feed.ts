// What follows an event list: subscriptions, changes by pull, and watches, over one poll for each filter and credential.
import { randomBytes } from 'node:crypto';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import { type Credential, perScope, type Scope } from '../../auth/credentials.js';
import { eventsTag } from '../../data/cache/keys.js';
import type { Polling } from '../../data/polling/polling.js';
import type { Feed } from '../../data/polling/topic.js';
import { type ReaderDeps, readUncached } from '../../data/reader.js';
import type { RequestAuth } from '../../data/upstream/request.js';
import { timeNow } from '../../lib/clock.js';
import type { Claim, MemoryBudget } from '../../lib/memory-budget.js';
import { Bulkhead } from '../../lib/run.js';
import { ResponseMetadata } from '../../observability/response-metadata.js';
import { type EventQuery, type EventsClient, eventsEndpoint } from './client.js';
import { highestScore } from './model.js';
import { follow, type ReadBetween, updateKey } from './tail.js';
import { type EventUpdate, type FleetTail, Follower, missedSince, updatesAfter } from './updates.js';
import { chainBytes, cursorAt, positionIn, type TailPlace, updatesListId, withTimes } from './updates-cursor.js';

/** Of one credential. Each holds up to 2,000 events until its client has them. */
const maxConcurrent = 8;
/** More than one credential can open. */
const maxQueued = 100_000;

/** How many polls read at a time: those that one page is enough for, and those that hold more. */
const maxPolls = { short: 32, long: 4 };

/** Waits for a place. @throws the reason of the signal when that aborts */
async function enter(bulkhead: Bulkhead, client: string | undefined, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const withdraw = () => bulkhead.withdraw(waiter) && reject(signal.reason);
    const waiter = {
      client,
      start() {
        signal.removeEventListener('abort', withdraw);
        resolve();
      },
    };
    signal.addEventListener('abort', withdraw, { once: true });
    bulkhead.enter(waiter);
  });
}

/** How many listeners and polls read at a time: each holds what it has read. */
export type FeedLimits = ReturnType<typeof createFeedLimits>;

export const createFeedLimits = (budget: MemoryBudget, acceptedScopes: Pick<AcceptedScopes, 'turnOf'>) => ({
  beginBackfill: createBackfillLimiter(budget),
  /** Apart from the others: an endpoint may take minutes to take everything. */
  beginWatchBackfill: createBackfillLimiter(budget),
  pollInTurn: createPollTurns(acceptedScopes),
});

/** Lets a few listeners of each credential catch up at a time, and counts the memory of that. The others wait in order. */
function createBackfillLimiter(budget: MemoryBudget) {
  const bulkheads = perScope(() => new Bulkhead(maxConcurrent, maxQueued));
  /** Waits for a place. @returns a claim for what is read, and the function that gives both back @throws the reason of the signal when that aborts */
  return async (scope: Scope, signal: AbortSignal) => {
    const bulkhead = bulkheads.memo(scope);
    await enter(bulkhead, scope, signal);
    const claim = budget.claim({ scope });
    const end = () => {
      claim.release();
      bulkhead.leave();
    };
    return { claim, end };
  };
}

/** Lets a few polls of the process read at a time. Accepted credentials take turns. */
function createPollTurns(acceptedScopes: Pick<AcceptedScopes, 'turnOf'>) {
  const short = new Bulkhead(maxPolls.short, maxQueued);
  const long = new Bulkhead(maxPolls.long, maxQueued);
  const isLonger = new Error('One page is not enough');
  /**
   * @param isLong whether it is likely to hold much: each page is large, or the last poll read several.
   * @param poll begins anew where it is not, and more than one page is needed.
   * @returns also whether it read several pages.
   */
  return async <T>(
    { scope, cancellation: { signal } }: Pick<RequestAuth, 'scope' | 'cancellation'>,
    isLong: boolean,
    read: ReadBetween,
    poll: (read: ReadBetween) => Promise<T>,
  ): Promise<{ readonly found: T; readonly hadPages: boolean }> => {
    const within = async (bulkhead: Bulkhead) => {
      await enter(bulkhead, acceptedScopes.turnOf(scope), signal);
      let hadPages = false;
      try {
        const found = await poll(async (page, ...range) => {
          hadPages ||= page > 1;
          if (hadPages && bulkhead === short) throw isLonger;
          return read(page, ...range);
        });
        return { found, hadPages };
      } finally {
        bulkhead.leave();
      }
    };
    if (isLong) return within(long);
    return within(short).catch(error => {
      if (error !== isLonger) throw error;
      return within(long);
    });
  };
}

interface FeedDeps extends ReaderDeps, FeedLimits {
  readonly polling: Polling;
  readonly events: EventsClient;
  /** Ends the watches whose leases are over, before anything is read for them. */
  readonly watches: { endOverdue(): void };
}

/** The updates of one filter, for one credential. @param vectors whether embeddings are selected. @throws NotConfigured */
function updatesOf(query: EventQuery, vectors: boolean, deps: FeedDeps, { credential, scope }: RequestAuth) {
  const filter = deps.events.filterOf(query);
  return {
    list: updatesListId(credential, filter),
    topic: `event updates ${eventsEndpoint.version} ${vectors} ${filter}`,
    /** @param keep is told of the bytes of each page, and of its characters. */
    reading: (auth: RequestAuth, keep = (_bytes: number, _characters: number) => {}, withVectors = vectors) =>
      deps.events.between(query, withVectors, async page => {
        deps.watches.endOverdue();
        auth.cancellation.signal.throwIfAborted();
        const { value, bytes, characters = 0 } = await readUncached(deps, page, auth);
        keep(bytes, characters);
        return value;
      }),
    /** What is about to be sent must be in the next list. */
    renew: () => deps.cache.generations.renew(eventsTag(scope)),
  };
}

/**
 * Events that are new or updated: each update once, the oldest update first (docs/upstream-api.md: GET events).
 * @param vectors whether embeddings are selected.
 * @param after the cursor behind which to continue; undefined to begin now.
 * @throws NotConfigured, BadUserInput; while reading: UNAUTHENTICATED, FORBIDDEN, BAD_USER_INPUT.
 */
export const eventUpdates =
  (query: EventQuery, vectors: boolean, after: string | undefined) =>
  async (deps: FeedDeps, auth: RequestAuth): Promise<Feed<EventUpdate>> => {
    const { credential, scope } = auth;
    const { signal } = auth.cancellation;
    const { list, topic, reading, renew } = updatesOf(query, vectors, deps, auth);
    const authFor = (signal: AbortSignal, claim?: Claim) => ({
      credential,
      scope,
      cancellation: { signal },
      metadata: new ResponseMetadata(undefined, claim),
    });
    const position = after === undefined ? undefined : positionIn(after, list);
    let last: TailPlace | undefined;
    let isLong = vectors;
    const tails = await deps.polling.watch<FleetTail>(
      scope,
      topic,
      {
        list: 'updates',
        // Vectors take a hundred times as long to send as the rest: each gateway reads them for itself.
        ...(vectors && { generation: async () => undefined }),
        async ask(before, signal) {
          const pollAuth = authFor(signal);
          const { found: tail, hadPages } = await deps.pollInTurn(pollAuth, isLong, reading(pollAuth), read =>
            follow(read, before, timeNow()),
          );
          isLong = vectors || hadPages;
          if (tail.sent !== before?.sent) await renew();
          // Another gateway may have polled between, or this one may be back at an earlier tail: without Redis, each polls for itself.
          const isNext = before !== undefined && before.chain === last?.chain && before.sent === last?.sent;
          last = { chain: isNext ? before.chain : randomBytes(chainBytes).toString('hex'), sent: tail.sent };
          return { ...tail, ...last };
        },
        // The first tail of another chain may hold what was found since the last one: listeners read what they have missed.
        same: (one, other) => one.chain === other.chain && one.sent === other.sent,
        isFinal: () => false,
      },
      signal,
    );
    const updates = updatesAfter(position, tails, list, signal, async () => {
      const { claim, end } = await deps.beginBackfill(scope, signal);
      let kept = 0;
      const keep = (bytes: number) => {
        kept = bytes;
        claim.force(kept);
      };
      const read = reading(authFor(signal, claim), bytes => keep(kept + bytes));
      return { read, forget: () => keep(0), end };
    });
    return {
      isState: false,
      isJoinable: position === undefined,
      firstAfter: last => last && { kind: null, cursor: last.cursor, event: null, gap: false },
      refresh: async () => {},
      [Symbol.asyncIterator]: () => updates,
    };
  };

/**
 * What `eventUpdates` would have sent behind a cursor. A poll that runs, and has what follows, is all that is needed; otherwise the list is read as by a poll.
 * @param first how many updates at most.
 * @throws NotConfigured, BadUserInput, and what reading throws.
 */
export const eventChanges =
  (query: EventQuery, vectors: boolean, after: string | undefined, first: number) =>
  async (deps: FeedDeps, auth: RequestAuth) => {
    const { list, topic, reading, renew } = updatesOf(query, vectors, deps, auth);
    const position = after === undefined ? undefined : positionIn(after, list);
    const tail = await deps.polling.newest<FleetTail>(auth.scope, topic);
    const { claim } = auth.metadata;
    let kept = 0;
    const read = reading(auth, (_, characters) => {
      kept += characters;
    });
    const forget = () => {
      claim?.forgetParsed(kept);
      kept = 0;
    };
    /** A tail that begins keeps next to nothing of a page. */
    const readFirst = reading(auth, (_, characters) => claim?.forgetParsed(characters), false);
    const begin = position && tail ? withTimes(position, tail) : position;
    const follower = new Follower(begin, position?.tail, position => missedSince(position, read, forget));
    const batch = await follower.next(tail ?? (() => follow(readFirst, undefined, timeNow())));
    const updates = batch.updates.slice(0, first);
    if (tail === undefined && (updates.length > 0 || batch.start !== undefined)) await renew();
    const cursorOf = (count: number) => cursorAt(batch.after(count), list);
    return {
      nodes: updates.map((update, index) => {
        let cursor: string | undefined;
        return {
          ...update,
          gap: false,
          /** Only where it is selected, and once for all its aliases. */
          get cursor() {
            cursor ??= cursorOf(index + 1);
            return cursor;
          },
        };
      }),
      cursor: cursorOf(updates.length),
      hasMore: updates.length < batch.updates.length,
      gap: batch.start?.gap ?? false,
    };
  };

/** What a watch of events sends: what `eventUpdates` would send. @throws NotConfigured; BadUserInput that names `input.after`. */
export function watchedEvents(deps: FeedDeps, query: EventQuery, after: string | null, credential: Credential) {
  const list = updatesListId(credential, deps.events.filterOf(query));
  if (after !== null) positionIn(after, list, 'input.after');
  const depsOfWatch = { ...deps, beginBackfill: deps.beginWatchBackfill };
  return async function* (auth: RequestAuth) {
    const updates = await eventUpdates(query, false, after ?? undefined)(depsOfWatch, auth);
    for await (const { kind, cursor, event, gap } of updates) {
      const scores = event && {
        severity: highestScore(event, 'severity'),
        likelihood: highestScore(event, 'likelihood'),
      };
      const change = event === null ? undefined : { kind, event: { ...event, ...scores } };
      yield { key: event === null ? cursor : updateKey(event), cursor, gap, change };
    }
  };
}
