import { setTimeout as sleep } from 'node:timers/promises';
import { refusalOf } from '../../data/polling/state-message.js';
import { BadUserInput } from '../../errors.js';
import { type ListId, listId, readCursor, writeCursor } from '../../graphql/cursor.js';
import type { Event } from './model.js';
import {
  compareKeys,
  hashBytes,
  hashOf,
  type ReadBetween,
  readSince,
  type Tail,
  updateKey,
  updateTime,
} from './tail.js';

/** One message of `eventUpdates`. It has no event where a subscription begins, or where it begins again after a gap. */
export interface EventUpdate {
  readonly kind: 'NEW' | 'UPDATED' | null;
  readonly cursor: string;
  readonly event: Event | null;
  readonly gap: boolean;
}

/** A tail, and the gateway that found it. Tails of one gateway continue each other. */
export interface FleetTail extends Tail {
  readonly gateway: string;
}

/**
 * What a client has: every update before `from`, and of the later ones those in `seen`. This is all that a cursor says. It needs no memory of
 * any gateway, and means the same in each.
 */
export interface Position {
  /** In milliseconds since 1970, by the clock of the service. */
  readonly from: number;
  /** Of the updates at `from`, the client has those whose hash is not greater. Empty or zeros: none, but for those in `seen`. */
  readonly fromHash: string;
  /** The hashes of updates, each with its time. A cursor does not tell it: the time is then `from`. */
  readonly seen: ReadonlyMap<string, number>;
}

const dayMs = 24 * 60 * 60_000;
const timeBytes = 6;
const headBytes = timeBytes + hashBytes;
/** A cursor names at most so many updates, which keeps it below 4 KB. */
const maxInCursor = 480;
/** A client that missed more updates is told of a gap. Its position alone may be old: it stays where the list has no updates. */
const maxMissed = 2_000;
/** How often a list is read again that changes while it is read. */
const maxReads = 3;
const retryMs = { first: 500, max: 30_000 };

/** What the cursors of a subscription belong to. @param filter of `EventsClient.filterOf`. */
export const updatesListId = (filter: string): ListId => listId('eventUpdates', filter);

/** @param list of `updatesListId`. */
export function cursorAt({ from, fromHash, seen }: Position, list: ListId): string {
  // The order in which updates are sent: what is left out of the cursor lies before all that follows.
  const newestFirst = [...seen].sort(
    ([hash, time], [otherHash, otherTime]) => otherTime - time || (hash < otherHash ? 1 : -1),
  );
  const latest = newestFirst.slice(0, maxInCursor);
  const [startHash, start] = newestFirst[maxInCursor] ?? [fromHash, from];
  const head = Buffer.alloc(headBytes);
  head.writeUIntBE(start, 0, timeBytes);
  head.write(startHash, timeBytes, 'hex');
  return writeCursor(list, Buffer.concat([head, ...latest.map(([hash]) => Buffer.from(hash, 'hex'))]));
}

/** @throws BadUserInput that names `after`. */
export function positionIn(cursor: string, list: ListId): Position {
  const place = readCursor(list, cursor, 'after');
  const count = (place.length - headBytes) / hashBytes;
  const isPosition = Number.isInteger(count) && count >= 0 && count <= maxInCursor;
  const from = isPosition ? place.readUIntBE(0, timeBytes) : 0;
  if (!isPosition || from > Date.now() + dayMs) throw new BadUserInput('after', 'is not a cursor of eventUpdates');
  const hashes = Array.from({ length: count }, (_, index) =>
    place.toString('hex', headBytes + index * hashBytes, headBytes + (index + 1) * hashBytes),
  );
  return {
    from,
    fromHash: place.toString('hex', timeBytes, headBytes),
    seen: new Map(hashes.map(hash => [hash, from])),
  };
}

const positionAt = ({ from, seen }: Tail): Position => ({
  from,
  fromHash: '',
  seen: new Map(seen.map(key => [hashOf(key), updateTime(key)])),
});

/** What to do about updates that are read from the service itself, because the tails do not have them. */
interface CatchUp {
  /** Waits until they may be read. Returns the function to call once they are sent. */
  begin(): Promise<() => void>;
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
  read: ReadBetween,
  list: ListId,
  signal: AbortSignal,
  catchUp: CatchUp,
): AsyncGenerator<EventUpdate, undefined> {
  let position = after;
  let last: FleetTail | undefined;
  for await (const { state: tail } of tails) {
    const start = (gap: boolean): EventUpdate => {
      position = positionAt(tail);
      return { kind: null, cursor: cursorAt(position, list), event: null, gap };
    };
    const isMissing = position !== undefined && (last === undefined || !continues(tail, last));
    const end = isMissing ? await catchUp.begin() : undefined;
    try {
      const found: Found | undefined =
        position === undefined || !isMissing
          ? { events: eventsSince(tail, last), isComplete: true }
          : await missedSince(position, read, signal);
      last = found?.isComplete ? tail : undefined;
      if (position === undefined || found === undefined) {
        last = tail;
        yield start(position !== undefined);
        continue;
      }
      const { from, fromHash, seen }: Position = position;
      const fresh = found.events.filter(event => isAfter(position, event));
      if (isMissing) {
        const polled = positionAt(tail);
        if (fresh.some(event => isAfter(polled, event))) await catchUp.foundNew();
      }
      const current = since(from, found.seen ?? seen);
      position = { from, fromHash, seen: current };
      const known = new Map(tail.known);
      for (const [index, event] of fresh.entries()) {
        const key = updateKey(event);
        current.set(hashOf(key), updateTime(key));
        // Only what was read and sent completely may be skipped from now on.
        const isLast = index === fresh.length - 1 && found.isComplete;
        if (isLast && tail.from > from) {
          position = { from: tail.from, fromHash: '', seen: since(tail.from, current) };
        }
        const kind = (known.get(event.id) ?? updateTime(key)) < updateTime(key) ? 'UPDATED' : 'NEW';
        yield { kind, cursor: cursorAt(position, list), event, gap: false };
      }
    } finally {
      end?.();
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
  tail.gateway === last.gateway && tail.sent >= last.sent && tail.sent - tail.updates.length <= last.sent;

const eventsSince = (tail: FleetTail, last: FleetTail | undefined): readonly Event[] =>
  tail.updates.slice(tail.updates.length - (tail.sent - (last?.sent ?? tail.sent))).map(({ event }) => event);

const isAfter = (position: Position | undefined, event: Event): boolean => {
  if (position === undefined) return true;
  const key = updateKey(event);
  const [time, hash] = [updateTime(key), hashOf(key)];
  const isLater = time > position.from || (time === position.from && hash > position.fromHash);
  return isLater && !position.seen.has(hash);
};

/** Reads what the client has missed, the oldest update first; undefined if that is too much. Tries again while the service fails. */
async function missedSince(position: Position, read: ReadBetween, signal: AbortSignal): Promise<Found | undefined> {
  let pause = retryMs.first;
  for (let reads = 1; ; reads += 1) {
    try {
      const list = await readSince(read, position.from, maxMissed, Date.now());
      if (list === undefined) return undefined;
      if (!list.isComplete && reads < maxReads) continue;
      const events = list.events.toSorted((one, other) => compareKeys(updateKey(one), updateKey(other)));
      const seen = events.filter(event => !isAfter(position, event)).map(updateKey);
      const current = seen.map(key => [hashOf(key), updateTime(key)] as const);
      // Also what the list no longer has: a poll that began before may still send it.
      return { events, seen: new Map([...position.seen, ...current]), isComplete: list.isComplete };
    } catch (error) {
      if (signal.aborted || refusalOf(error) !== undefined) throw error;
    }
    await sleep(pause, undefined, { signal });
    pause = Math.min(pause * 2, retryMs.max);
    reads = 0;
  }
}
