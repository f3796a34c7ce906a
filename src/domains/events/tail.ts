/** The tail of an event list: what a poll reads of its newest end, and what that adds to the poll before. */

import { hash } from 'node:crypto';
import { known, mapPresent, present } from '../../data/parsing.js';
import { maxPageSize } from '../../graphql/input.js';
import { oncePerValue } from '../../lib/run.js';
import { dayMs, instantOf } from '../../lib/time.js';
import { type Event, eventsOf, type ListedPage, type ListPosition, newestVersions, updatedAt } from './model.js';

/** An event as of one update. `key` identifies the update; `foundAt` is the time of the gateway, in milliseconds since 1970. */
interface TailUpdate {
  readonly key: string;
  readonly foundAt: number;
  readonly event: Event;
}

/** The newest end of an event list, with everything needed to continue from there. */
export interface Tail extends ListPosition {
  /** The next poll reads events from this `lastUpdated` on. It is never ahead of the clock, and decreases only where a tail begins anew. */
  readonly from: number;
  /** The keys of all known updates at or after `from`: those found at the start, and those sent. */
  readonly seen: readonly string[];
  /** The latest updates in the order they are sent. The list is long enough that a listener may skip some tails without missing an update. */
  readonly updates: readonly TailUpdate[];
  /** How many updates have been in `updates` since the first tail, and one more for each time that the tail began anew. */
  readonly sent: number;
  /** The events that were found last, each with the time of the first update that was found. */
  readonly known: readonly (readonly [id: string, firstUpdate: number])[];
}

/** Reads one page of the events between two times, inclusive. @param pageSize 100 if it is left out. */
export type ReadBetween = (page: number, from: number, to: number, pageSize?: number) => Promise<ListedPage>;

/** An update may appear in the list some time after its `lastUpdated`. */
const overlapMs = 5 * 60_000;
const keptForMs = 5 * 60_000;
const maxUpdates = 1_000;
const maxKnown = 1_000;
/** A tail begins with at most so many events. If more were updated in the last minutes, it looks back less far. */
const maxAtStart = 1_000;
const minLookBackMs = 1_000;
/** If there is more for one poll to read, the tail begins anew, and its listeners learn of a gap. */
const maxPolled = 10_000;
/** How often a list is read again that changes while it is read. */
export const maxReads = 3;

/** Identifies one update of one event. */
export function updateKey({ id, lastUpdated }: Event): string {
  const time = known(lastUpdated);
  return `${time === null ? '' : instantOf(time)} ${id}`;
}

/** The time of an update, in milliseconds since 1970. */
export const updateTime = (key: string): number => Date.parse(key.slice(0, key.indexOf(' '))) || 0;

/** The time of the newest of these updates, in milliseconds since 1970, but not before `earliest`. */
const latestOf = (events: readonly Event[], earliest: number): number =>
  events.reduce((latest, event) => Math.max(latest, updatedAt(event)), earliest);

/** Where the next read begins behind one that found all of these events, in milliseconds since 1970. */
export const overlapBefore = (events: readonly Event[], now: number): number =>
  Math.min(now, latestOf(events, 0)) - overlapMs;

export const hashBytes = 6;

/** An update as a position names it, and its time, in milliseconds since 1970. */
export type Named = readonly [hash: string, time: number];
export const named = (key: string): Named => [hash('sha256', key).slice(0, 2 * hashBytes), updateTime(key)];
/** The latest update of an event. */
export const namedOf = oncePerValue((event: Event): Named => named(updateKey(event)));

/** The order in which a cursor names updates. What it leaves out lies before all that follows. */
export const newestFirst = ([hash, time]: Named, [otherHash, otherTime]: Named): number =>
  otherTime - time || (hash < otherHash ? 1 : -1);

/**
 * Reads the tail of the list. It always sends both ends of the range, because the service's defaults change at midnight UTC
 * (docs/upstream-api.md: GET events). If there are more updates than a tail can hold, it takes the oldest; the next poll finds the others.
 * @param now time of the gateway. It only limits how far back to look; all comparisons use times of the service.
 */
export const follow = (read: ReadBetween, last: Tail | undefined, now: number): Promise<Tail> =>
  last === undefined ? firstTail(read, now) : nextTail(read, last, now);

/** The end of the range that is read: a service whose clock is ahead may already live in the next day. */
export const endFor = (now: number) => startOfDay(now) + 2 * dayMs - 1;

async function firstTail(read: ReadBetween, now: number): Promise<Tail> {
  /** Keeps nothing else of a page, which may be large. */
  const readVersions: ReadBetween = async (...range) => {
    const { events, totalItems } = await read(...range);
    return { events: mapPresent(events, ({ id, lastUpdated }) => ({ id, lastUpdated }) as Event), totalItems };
  };
  const { start, events } = await newestEvents(readVersions, now);
  const keys = events.map(updateKey);
  const newest = Math.min(now, latestOf(events, start));
  const next = Math.max(start, newest - overlapMs);
  const known = events.map(event => [event.id, updatedAt(event)] as const).slice(-maxKnown);
  return { from: next, seen: keys.filter(key => updateTime(key) >= next), updates: [], sent: 0, known };
}

/**
 * The events of the list's last five minutes, and usually more: all of a short list. Where a long one is newest first, it takes two calls. Of more than
 * a thousand events it takes the latest: that many calls, and no more, are in the cost of `updatesCursor`.
 * @returns `start`: since when they are all that the list has.
 */
async function newestEvents(read: ReadBetween, now: number) {
  const [earliest, to] = [startOfDay(now) - dayMs, endFor(now)];
  const page = await read(1, earliest, to);
  const events = present(page.events);
  if (page.totalItems <= maxPageSize) return { start: earliest, events };
  const latest = Math.min(now, latestOf(events, earliest));
  const from = Math.max(earliest, latest - overlapMs);
  const later = await read(1, from, to);
  if (later.totalItems <= maxPageSize) return { start: from, events: present(later.events) };
  // The service does not document the order of its list: divided, the range shows a time five to ten minutes before the newest update.
  const hasMoreThan = (count: number) => async (time: number) => (await read(1, time, to, 1)).totalItems > count;
  const { low, high } = await divide(from, now, lengthMs => lengthMs <= overlapMs, hasMoreThan(0));
  const start = Math.max(from, low - overlapMs);
  const all = await readAll(read, start, to, maxAtStart);
  if (!all.isTooLong) return { start, events: all.events };
  const late = await divide(start, high, lengthMs => lengthMs <= minLookBackMs, hasMoreThan(maxAtStart));
  // Where more than that are dated ahead of the clock, the range has no such end.
  const newest = Math.min(late.high, now);
  return { start: newest, events: (await readAll(read, newest, to, maxAtStart)).events };
}

/** Divides a range of time in halves until it is short enough: something holds at its low end, and does not at its high end. */
export async function divide(
  low: number,
  high: number,
  isEnough: (lengthMs: number) => boolean,
  holds: (time: number) => Promise<boolean>,
) {
  let range = { low, high };
  while (!isEnough(range.high - range.low)) {
    const middle = Math.floor((range.low + range.high) / 2);
    range = (await holds(middle)) ? { low: middle, high: range.high } : { low: range.low, high: middle };
  }
  return range;
}

async function nextTail(read: ReadBetween, last: Tail, now: number): Promise<Tail> {
  let all = await readAll(read, last.from, endFor(now), maxPolled);
  let isComplete = all.missing === 0;
  // To a list that grows while it is read, nothing is added that far back.
  for (let reads = 1; !isComplete && reads < maxReads && !all.isTooLong && all.events.length > 0; reads += 1) {
    const again = await readAll(read, last.from, latestOf(all.events, last.from), maxPolled);
    isComplete = again.missing === 0 || again.missing === all.missing;
    all = { ...again, events: [...newestVersions([...all.events, ...again.events])] };
  }
  // What is skipped counts as one more update, so that no listener takes this tail, or a later one, to continue what it has.
  // Also if the clock was put back: nothing before `from` would be seen until it has passed.
  if (all.isTooLong || last.from > now) return { ...(await firstTail(read, now)), sent: last.sent + 1 };
  const seen = new Set(last.seen);
  const found = all.events
    .map(event => ({ key: updateKey(event), foundAt: now, event }))
    .filter(({ key }) => !seen.has(key))
    .sort((one, other) => newestFirst(namedOf(other.event), namedOf(one.event)));
  const fresh = found.slice(0, maxUpdates);
  for (const { key } of fresh) seen.add(key);

  // The next poll may only skip what was read and sent completely.
  const isCaughtUp = isComplete && fresh.length === found.length;
  const newest = isCaughtUp ? Math.min(now, Math.max(...[...seen].map(updateTime), 0)) : 0;
  const from = Math.max(last.from, newest - overlapMs);
  const recent = last.updates.filter(({ foundAt }) => foundAt > now - keptForMs).slice(-maxUpdates);
  const known = new Map(last.known);
  for (const { key, event } of fresh) {
    const firstUpdate = known.get(event.id) ?? updateTime(key);
    // Those that were found longest ago come first, and are left out.
    known.delete(event.id);
    known.set(event.id, firstUpdate);
  }
  return {
    from,
    seen: [...seen].filter(key => updateTime(key) >= from),
    updates: [...recent, ...fresh],
    sent: last.sent + fresh.length,
    known: [...known].slice(-maxKnown),
  };
}

/**
 * Reads all pages of a range, as far as it has at most `max` events. What two reads miss alike (see `eventsOf`) is how the list is: it has one event twice,
 * or counts one that it never lists.
 */
export async function readAll(read: ReadBetween, from: number, to: number, max: number) {
  let last = await read(1, from, to);
  const pages = [last];
  while (pages.length * maxPageSize < last.totalItems && last.totalItems <= max) {
    last = await read(pages.length + 1, from, to);
    pages.push(last);
  }
  const { events, total, missing } = eventsOf(pages, max);
  const dated = events.filter(({ lastUpdated }) => known(lastUpdated) !== null);
  return { events: dated, missing, isTooLong: total > max };
}

/** 00:00 UTC. */
export const startOfDay = (time: number) => time - (time % dayMs);
