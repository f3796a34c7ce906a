/** What one listener of `eventUpdates` is sent: the updates after its position, each once, from the tails of the fleet or from the service itself. */

import { setTimeout as sleep } from 'node:timers/promises';
import { refusalOf } from '../../data/polling/state-message.js';
import { QueryTooComplex, RateLimited } from '../../errors.js';
import type { ListId } from '../../graphql/connection.js';
import { timeNow } from '../../lib/clock.js';
import { type Event, updatedAt } from './model.js';
import {
  compareKeys,
  endFor,
  hashOf,
  maxReads,
  type ReadBetween,
  readAll,
  type Tail,
  updateKey,
  updateTime,
} from './tail.js';
import { cursorAt, isAfter, type Position, positionAt } from './updates-cursor.js';

/** One message of `eventUpdates`. It has no event where a subscription begins, or where it begins again after a gap. */
export interface EventUpdate {
  readonly kind: 'NEW' | 'UPDATED' | null;
  readonly cursor: string;
  readonly event: Event | null;
  readonly gap: boolean;
}

/** A tail, and the chain that it belongs to. Each tail of a chain continues the one before it: a gateway found both, and none of another between. */
export interface FleetTail extends Tail {
  readonly chain: string;
}

/** A client that missed more updates is told of a gap. Its position alone may be old: it stays where the list has no updates. */
const maxMissed = 2_000;
const retryMs = { first: 500, max: 30_000 };

/** Reads from the service what one listener has missed, and counts it. */
interface Backfill {
  readonly read: ReadBetween;
  /** What was read is needed no more. */
  forget(): void;
  /** Everything is sent. */
  end(): void;
}

/** What to do about updates that are read from the service itself, because the tails do not have them. */
interface CatchUp {
  /** Waits until they may be read. */
  begin(): Promise<Backfill>;
  /** Is called before updates are sent that no poll has found yet. */
  foundNew(): Promise<void>;
}

/**
 * The updates after a position, each once, in the order of the tails. What the tails no longer have, or another gateway found, is read from
 * the service.
 * @param after undefined to begin at the first tail.
 * @throws the refusals of the service. Other errors are retried.
 */
export async function* updatesAfter(
  after: Position | undefined,
  tails: AsyncIterable<{ readonly state: FleetTail }>,
  list: ListId,
  signal: AbortSignal,
  catchUp: CatchUp,
): AsyncGenerator<EventUpdate, undefined> {
  let position = after;
  let last: FleetTail | undefined;
  /** The time of the newest version of each event that the client has. */
  let newest = new Map<string, number>();
  for await (const { state: tail } of tails) {
    const isMissing = position !== undefined && (last === undefined || !continues(tail, last));
    const backfill = isMissing ? await catchUp.begin() : undefined;
    try {
      const found: Found | undefined =
        position === undefined || backfill === undefined
          ? { events: eventsSince(tail, last), isComplete: true }
          : await missedSince(position, backfill, signal);
      last = found?.isComplete ? tail : undefined;
      if (position === undefined || found === undefined) {
        const gap = position !== undefined;
        [last, position] = [tail, positionAt(tail)];
        yield { kind: null, cursor: cursorAt(position, list), event: null, gap };
        continue;
      }
      const { from, fromHash, seen }: Position = position;
      const fresh = found.events.filter(event => {
        const time = updatedAt(event);
        const had = newest.get(event.id) ?? 0;
        // A tail that was polled before the list was read may have an older version than the list. Behind a time ahead of the clock, nothing is older for sure.
        if (time < had && had <= timeNow()) return false;
        newest.set(event.id, time);
        return isAfter(position, event);
      });
      if (isMissing) {
        const polled = positionAt(tail);
        if (fresh.some(event => isAfter(polled, event))) await catchUp.foundNew();
      }
      const current = since(from, found.seen ?? seen);
      position = { from, fromHash, seen: current };
      newest = since(from, newest);
      const known = new Map(tail.known);
      for (const [index, event] of fresh.entries()) {
        // The client may leave while it takes the one before.
        if (signal.aborted) return;
        const key = updateKey(event);
        current.set(hashOf(key), updateTime(key));
        // Only what was read and sent completely may be skipped from now on.
        const isLast = index === fresh.length - 1 && found.isComplete;
        if (isLast && tail.from > from) {
          position = { from: tail.from, fromHash: '', seen: since(tail.from, current) };
        }
        const kind = (known.get(event.id) ?? updateTime(key)) === updateTime(key) ? 'NEW' : 'UPDATED';
        yield { kind, cursor: cursorAt(position, list), event, gap: false };
      }
    } finally {
      backfill?.end();
    }
  }
}

/** A copy of what has been seen, without the updates before a time. */
const since = (from: number, seen: Position['seen']) => new Map([...seen].filter(([, time]) => time >= from));

interface Found {
  readonly events: readonly Event[];
  /** The updates that the client already has. */
  readonly seen?: ReadonlyMap<string, number>;
  readonly isComplete: boolean;
}

/** Whether no update was dropped between two tails, of which the listener may have skipped some. */
const continues = (tail: FleetTail, last: FleetTail) =>
  tail.chain === last.chain && tail.sent >= last.sent && tail.sent - tail.updates.length <= last.sent;

const eventsSince = (tail: FleetTail, last: FleetTail | undefined): readonly Event[] =>
  tail.updates.slice(tail.updates.length - (tail.sent - (last?.sent ?? tail.sent))).map(({ event }) => event);

/**
 * Reads what the client has missed, the oldest update first; undefined if that is not known, or too much, also for the memory that its credential may
 * hold. Tries again while the service fails, or this process has no memory.
 */
async function missedSince(
  position: Position,
  { read, forget }: Backfill,
  signal: AbortSignal,
): Promise<Found | undefined> {
  if (position.from > timeNow()) return undefined;
  let pause = retryMs.first;
  let missing = Number.NaN;
  for (let reads = 1; ; reads += 1) {
    forget();
    try {
      const list = await readAll(read, position.from, endFor(timeNow()), maxMissed);
      if (list.isTooLong) return undefined;
      const isComplete = list.missing === 0 || (reads === maxReads && list.missing === missing);
      missing = list.missing;
      if (!isComplete && reads < maxReads) continue;
      const events = list.events.toSorted((one, other) => compareKeys(updateKey(one), updateKey(other)));
      const seen = events.filter(event => !isAfter(position, event)).map(updateKey);
      const current = seen.map(key => [hashOf(key), updateTime(key)] as const);
      // Also what the list no longer has: a poll that began before may still send it.
      return { events, seen: new Map([...position.seen, ...current]), isComplete };
    } catch (error) {
      if (signal.aborted || refusalOf(error) !== undefined) throw error;
      // The limits of the gateway; that of the service has passed soon.
      if (error instanceof QueryTooComplex || (error instanceof RateLimited && error.upstream === undefined))
        return undefined;
    }
    forget();
    await sleep(pause, undefined, { signal });
    pause = Math.min(pause * 2, retryMs.max);
    reads = 0;
  }
}
