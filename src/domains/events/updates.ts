/** What one client of `eventUpdates` or `eventChanges` gets: the updates after its position, each once, from the tails of the fleet or from the service itself. */

import { setTimeout as sleep } from 'node:timers/promises';
import { refusalOf } from '../../data/polling/state-message.js';
import { QueryTooComplex, RateLimited } from '../../errors.js';
import type { ListId } from '../../graphql/connection.js';
import { timeNow } from '../../lib/clock.js';
import { type Event, newestVersions, updatedAt } from './model.js';
import { endFor, maxReads, namedOf, newestFirst, overlapBefore, type ReadBetween, readAll, type Tail } from './tail.js';
import {
  type CursorPosition,
  cursorAt,
  isAfter,
  maxToCursor,
  type Position,
  positionAt,
  type TailPlace,
} from './updates-cursor.js';

/** One message of `eventUpdates`. It has no event where a subscription begins, or where it begins again after a gap. */
export interface EventUpdate {
  readonly kind: 'NEW' | 'UPDATED' | null;
  readonly cursor: string;
  readonly event: Event | null;
  readonly gap: boolean;
}

export interface FleetTail extends Tail, TailPlace {}

/** A client that missed more updates is told of a gap. Its position alone may be old: it stays where the list has no updates. */
const maxMissed = 2_000;
const retryMs = { first: 500, max: 30_000 };

/** The updates that a client has missed, or what is new in a tail. */
interface Found {
  readonly events: readonly Event[];
  readonly seen: ReadonlyMap<string, number>;
  readonly isComplete: boolean;
}

interface Batch {
  /** Whether the client begins here, without updates: at its start, or behind a gap. */
  readonly start?: { readonly gap: boolean };
  readonly updates: readonly { readonly kind: 'NEW' | 'UPDATED'; readonly event: Event }[];
  /** Where the client is that has the first so many of them, for its cursor. */
  after(count: number): CursorPosition;
}

/** Reads from the service what a client has missed; undefined if that is not known, or too much. */
type ReadMissed = (position: Position) => Promise<Found | undefined>;

/**
 * Finds what one client gets, tail by tail: the updates after its position, each once, the oldest first. What the tails no longer have, or another gateway
 * found, is read from the service. Of that, the client gets what the tail knows: it is then where the tail is.
 */
export class Follower {
  #position: Position | undefined;
  /** The last tail of which the client has everything. */
  #last: TailPlace | undefined;
  /** The time of the newest version of each event that the client has. */
  #newest = new Map<string, number>();
  readonly #readMissed: ReadMissed;

  /** @param position undefined to begin at the first tail. @param last the tail that the client continues; undefined to read what it has missed. */
  constructor(position: Position | undefined, last: TailPlace | undefined, readMissed: ReadMissed) {
    this.#position = position;
    this.#last = last;
    this.#readMissed = readMissed;
  }

  /** @param source where no poll runs, it finds where to begin; what follows the position is then read. */
  async next(source: FleetTail | (() => Promise<Tail>)): Promise<Batch> {
    const position = this.#position;
    if (position === undefined) return this.#begin(source, false);
    const tail = typeof source === 'function' ? undefined : source;
    const continued = tail && this.#last && eventsSince(tail, this.#last);
    const found = continued
      ? { events: continued, seen: position.seen, isComplete: true }
      : await this.#readMissed(position);
    if (found === undefined) return this.#begin(source, true);
    return this.#batch(position, found, tail, continued !== undefined);
  }

  async #begin(source: FleetTail | (() => Promise<Tail>), gap: boolean): Promise<Batch> {
    const tail = typeof source === 'function' ? undefined : source;
    const position = { ...positionAt(typeof source === 'function' ? await source() : source), tail };
    this.#last = tail;
    this.#position = position;
    return { start: { gap }, updates: [], after: () => position };
  }

  #batch(position: Position, found: Found, tail: FleetTail | undefined, isNext: boolean): Batch {
    const { from, fromHash } = position;
    const polled = tail === undefined || (isNext && position.tail) ? undefined : positionAt(tail);
    const isAhead = (event: Event) => polled !== undefined && isAfter(polled, event);
    const fresh = found.events
      .filter(event => {
        const isNew = isAfter(position, event);
        // It comes with the next tail.
        if (isNew && isAhead(event)) return false;
        const time = updatedAt(event);
        const had = this.#newest.get(event.id) ?? 0;
        // A tail that was polled before the list was read may have an older version than the list. Behind a time ahead of the clock, nothing is older for sure.
        if (time < had && had <= timeNow()) return false;
        this.#newest.set(event.id, time);
        return isNew;
      })
      .map(event => ({ event, seen: namedOf(event) }))
      .sort((one, other) => newestFirst(other.seen, one.seen));
    // Only what was read and sent completely may be skipped from now on.
    const until = found.isComplete ? Math.max(from, tail?.from ?? overlapBefore(found.events, timeNow())) : from;
    const had = [...since(from, found.seen)].sort(newestFirst);
    const hasNewer = isNext
      ? had.some(([hash, time]) => polled && time >= polled.from && !polled.seen.has(hash))
      : found.events.some(event => isAhead(event) && !isAfter(position, event));
    const reached = found.isComplete && !hasNewer ? tail : undefined;
    const all = [...fresh.map(({ seen }) => seen), ...had].sort(newestFirst);
    const places = new Map(all.map(([hash], place) => [hash, place]));
    const after = (count: number): CursorPosition => {
      const isAll = count === fresh.length;
      const [hash, time] = fresh[count - 1]?.seen ?? ['', from];
      const head = Math.max(from, isAll ? until : Math.min(until, time));
      const place = places.get(hash) ?? all.length;
      // Of what is newer than the last of these updates, the client has what it had before.
      const newer = had.slice(0, place - (fresh.length - count));
      // Only the last position is kept. Each of the others becomes a cursor.
      const seen = [...newer, ...all.slice(place, isAll ? undefined : place + maxToCursor)];
      return {
        from: head,
        fromHash: head === from ? fromHash : !isAll && head === time ? hash : '',
        seen: seen.slice(0, isAll ? undefined : maxToCursor).filter(([, time]) => time >= head),
        tail: isAll ? reached : isNext ? position.tail : undefined,
      };
    };
    const known = new Map(tail?.known);
    const updates = fresh.map(({ event, seen: [, time] }) => {
      const isFirst = (known.get(event.id) ?? time) === time;
      return { kind: isFirst ? ('NEW' as const) : ('UPDATED' as const), event };
    });
    this.#last = found.isComplete ? tail : undefined;
    const last = after(fresh.length);
    this.#position = { ...last, seen: new Map(last.seen) };
    this.#newest = since(from, this.#newest);
    return { updates, after };
  }
}

/** A copy of what has been seen, without the updates before a time. */
const since = (from: number, seen: Position['seen']) => new Map([...seen].filter(([, time]) => time >= from));

/** What is new between two tails, of which the client may have skipped some. Undefined if an update was dropped between them. */
function eventsSince(tail: FleetTail, last: TailPlace): readonly Event[] | undefined {
  const count = tail.sent - last.sent;
  if (tail.chain !== last.chain || count < 0 || count > tail.updates.length) return undefined;
  return tail.updates.slice(tail.updates.length - count).map(({ event }) => event);
}

/** Reads what a client has missed; undefined if that is not known, or too much. @param forget is called when nothing is needed any more of what was read. */
export async function missedSince(position: Position, read: ReadBetween, forget = () => {}) {
  if (position.from > timeNow()) return undefined;
  let events: readonly Event[] = [];
  let missing = Number.NaN;
  for (let reads = 1; ; reads += 1) {
    // What a list has in common with the one before is kept once.
    forget();
    const list = await readAll(read, position.from, endFor(timeNow()), maxMissed).catch(error => {
      // More than its credential may hold.
      if (error instanceof QueryTooComplex) return undefined;
      throw error;
    });
    if (list === undefined || list.isTooLong) {
      forget();
      return undefined;
    }
    const before = events.length;
    // A list that changes while it is read may hide another event each time.
    events = newestVersions([...events, ...list.events]);
    const missesAlike = list.missing === missing && events.length === before;
    const isComplete = list.missing === 0 || (reads === maxReads && missesAlike);
    missing = list.missing;
    if (!isComplete && reads < maxReads) continue;
    const had = events.filter(event => !isAfter(position, event));
    const current = had.map(event => namedOf(event));
    // Also what the list no longer has: a poll that began before may still send it.
    return { events, seen: new Map([...position.seen, ...current]), isComplete };
  }
}

interface Backfill {
  readonly read: ReadBetween;
  /** What was read is needed no more. */
  forget(): void;
  /** Everything is sent. */
  end(): void;
}

/**
 * The messages of a subscription, from the tails.
 * @param after undefined to begin at the first tail.
 * @param begin waits until what the client has missed may be read.
 * @throws the refusals of the service. Other errors are retried.
 */
export async function* updatesAfter(
  after: Position | undefined,
  tails: AsyncIterable<{ readonly state: FleetTail }>,
  list: ListId,
  signal: AbortSignal,
  begin: () => Promise<Backfill>,
): AsyncGenerator<EventUpdate, undefined> {
  let backfill: Backfill | undefined;
  const follower = new Follower(after, undefined, async position => {
    backfill = await begin();
    return untilRead(position, backfill, signal);
  });
  for await (const { state: tail } of tails) {
    try {
      const { start, updates, after } = await follower.next(tail);
      if (start !== undefined) yield { kind: null, cursor: cursorAt(after(0), list), event: null, gap: start.gap };
      for (const [index, update] of updates.entries()) {
        // The client may leave while it takes the one before.
        if (signal.aborted) return;
        yield { ...update, cursor: cursorAt(after(index + 1), list), gap: false };
      }
    } finally {
      backfill?.end();
      backfill = undefined;
    }
  }
}

/** Tries again while the service fails, or this process has no memory; undefined also if its credential holds too much. */
async function untilRead(
  position: Position,
  { read, forget }: Backfill,
  signal: AbortSignal,
): Promise<Found | undefined> {
  for (let pause = retryMs.first; ; pause = Math.min(pause * 2, retryMs.max)) {
    try {
      return await missedSince(position, read, forget);
    } catch (error) {
      if (signal.aborted || refusalOf(error) !== undefined) throw error;
      // The limit of the gateway; that of the service has passed soon.
      if (error instanceof RateLimited && error.upstream === undefined) return undefined;
    }
    forget();
    await sleep(pause, undefined, { signal });
  }
}
