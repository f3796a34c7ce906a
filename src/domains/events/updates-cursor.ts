/** Cursors of `eventUpdates`: which updates a client has, in at most 4 KB of text that every gateway reads alike. */

import { type Credential, ownerOf } from '../../auth/credentials.js';
import { present } from '../../data/parsing.js';
import { BadUserInput } from '../../errors.js';
import { type ListId, listId, readCursor, writeCursor } from '../../graphql/connection.js';
import { timeNow } from '../../lib/clock.js';
import type { Event, EventPage, ListPosition } from './model.js';
import { hashBytes, type Named, named, namedOf, newestFirst, updateKey, updateTime } from './tail.js';

/** What a client has: every update before `from`, and of the later ones those in `seen`. A cursor says all of this, and means the same in each gateway. */
export interface Position {
  /** In milliseconds since 1970, by the clock of the service. Not known if it is ahead of the clock of the fleet: a client there has a gap. */
  readonly from: number;
  /** Of the updates at `from`, the client has those whose hash is not greater. Empty or zeros: none, but for those in `seen`. */
  readonly fromHash: string;
  /** The hashes of updates, each with its time. A cursor does not tell it: the time is then `from`. */
  readonly seen: ReadonlyMap<string, number>;
  /** A tail of the fleet of which the client has everything, and nothing newer: what follows in a later tail of its chain is all that is new. */
  readonly tail?: TailPlace | undefined;
}

/** What a cursor is made of. */
export interface CursorPosition extends Omit<Position, 'seen'> {
  /** An array has the newest first. */
  readonly seen: readonly Named[] | Position['seen'];
}

export interface TailPlace {
  /** Names a chain of tails, as hexadecimal digits: each continues the one before it. A gateway found both, and none of another between. */
  readonly chain: string;
  readonly sent: number;
}

const timeBytes = 6;
/** The length of the name of a chain, and of `sent`. */
export const chainBytes = 6;
const sentBytes = 6;
const tailAt = timeBytes + hashBytes;
const headBytes = tailAt + chainBytes + sentBytes;
/** A cursor names at most so many updates, which keeps it below 4 KB. */
const maxInCursor = 480;
/** Of so many, the newest, a cursor says something: it begins at the last. */
export const maxToCursor = maxInCursor + 1;
/** The head of a cursor that cannot name all updates ahead of the clock: what comes next has an earlier time than they, and would be lost behind them. */
const unknownHead = 256 ** timeBytes - 1;

/**
 * What the cursors of updates belong to. Not to a scope, which depends on the secret of the gateways: a cursor must outlive their restart.
 * @param filter of `EventsClient.filterOf`.
 */
export const updatesListId = (credential: Credential, filter: string): ListId =>
  listId('eventUpdates', ownerOf(credential), filter);

/** @param list of `updatesListId`. */
export function cursorAt({ from, fromHash, seen, tail }: CursorPosition, list: ListId): string {
  const latest = (Array.isArray(seen) ? seen : [...seen].sort(newestFirst)).slice(0, maxToCursor);
  const [startHash, start] = latest[maxInCursor] ?? [fromHash, from];
  const head = Buffer.alloc(headBytes);
  const isKnown = start <= timeNow();
  head.writeUIntBE(isKnown ? start : unknownHead, 0, timeBytes);
  head.write(startHash, timeBytes, 'hex');
  // Behind an unknown one, what continues a tail could not be told from what the client has.
  if (isKnown && tail !== undefined) {
    head.write(tail.chain, tailAt, 'hex');
    head.writeUIntBE(tail.sent, tailAt + chainBytes, sentBytes);
  }
  const named = latest.slice(0, maxInCursor).map(([hash]) => hash);
  return writeCursor(list, Buffer.concat([head, Buffer.from(named.join(''), 'hex')]));
}

/** @throws BadUserInput that names the argument. */
export function positionIn(cursor: string, list: ListId, argument = 'after'): Position {
  const place = readCursor(list, cursor, argument);
  const count = (place.length - headBytes) / hashBytes;
  const isPosition = Number.isInteger(count) && count >= 0 && count <= maxInCursor;
  if (!isPosition) throw new BadUserInput(argument, 'is not a cursor of eventUpdates');
  const from = place.readUIntBE(0, timeBytes);
  const hashes = Array.from({ length: count }, (_, index) =>
    place.toString('hex', headBytes + index * hashBytes, headBytes + (index + 1) * hashBytes),
  );
  return {
    from,
    fromHash: place.toString('hex', timeBytes, tailAt),
    seen: new Map(hashes.map(hash => [hash, from])),
    // Without one, it has the name of no chain.
    tail: {
      chain: place.toString('hex', tailAt, tailAt + chainBytes),
      sent: place.readUIntBE(tailAt + chainBytes, sentBytes),
    },
  };
}

/** A position from a cursor, with the times of the updates that a list knows: those before a later position can then be left out, and no others. */
export function withTimes(position: Position, { seen }: Pick<ListPosition, 'seen'>): Position {
  const known = seen.map(named).filter(([hash]) => position.seen.has(hash));
  return { ...position, seen: new Map([...position.seen, ...known]) };
}

/** Where a client is that has what a list has. */
export const positionAt = ({ from, seen }: ListPosition): Position => ({
  from,
  fromHash: '',
  seen: new Map(seen.map(named)),
});

/** What the list had before each of these pages was read, which may have been at different times. Undefined if that was not wanted. */
export function commonPosition(pages: readonly EventPage[]): ListPosition | undefined {
  const positions = pages.flatMap(({ position }) => position ?? []);
  if (positions.length < 2) return positions[0];
  const known = positions.map(({ from, seen }) => ({ from, keys: new Set(seen) }));
  const isInEach = (key: string) => known.every(({ from, keys }) => updateTime(key) < from || keys.has(key));
  const seen = new Set(positions.flatMap(position => position.seen));
  return { from: Math.min(...positions.map(({ from }) => from)), seen: [...seen].filter(isInEach) };
}

/** Where a subscription continues behind a list of which the client has some events: behind the position of the list, but for these events. */
export function cursorBehind({ from, seen }: ListPosition, events: EventPage['events'], list: ListId): string {
  const shown = present(events).map(updateKey);
  return cursorAt(positionAt({ from, seen: [...seen, ...shown.filter(key => updateTime(key) >= from)] }), list);
}

/** Whether an update is behind a position. */
export const isAfter = (position: Position | undefined, event: Event): boolean => {
  if (position === undefined) return true;
  const [hash, time] = namedOf(event);
  const isLater = time > position.from || (time === position.from && hash > position.fromHash);
  return isLater && !position.seen.has(hash);
};
