import { z } from 'zod';
import { moment } from '../../data/polling/state-message.js';
import { largestPage } from '../../graphql/input.js';
import { type Event, eventState } from './model.js';

/** An event as it was at one update. `key` names that update; `foundAt` is the gateway's time, in milliseconds. */
export interface Update {
  readonly key: string;
  readonly foundAt: number;
  readonly event: Event;
}

/** The newest end of an event list, and all that is needed to go on from there. */
export interface Tail {
  /** From which `lastUpdated` the next ask looks, in milliseconds since 1970. It never goes back. */
  readonly from: number;
  /** The keys of what was there, or was told, at or after `from`. */
  readonly seen: readonly string[];
  /** What was found lately, in the order in which it is told. Long enough that whoever misses some tails misses no update. */
  readonly updates: readonly Update[];
}

/** The shape of a tail that another gateway found. */
export const tailState: z.ZodType<Tail> = z.object({
  from: moment,
  seen: z.array(z.string()),
  updates: z.array(z.object({ key: z.string(), foundAt: moment, event: eventState })),
});

/** One page of a stretch of the list; `leftOut` is how many records of it could not be read. */
export interface TailPage {
  readonly events: readonly Event[];
  readonly totalItems: number;
  readonly leftOut: number;
}

/** Reads one page of the list between two times, ends included. */
export type ReadBetween = (page: number, from: string, to: string) => Promise<TailPage>;

const dayMs = 86_400_000;
/** An update may show up in the list a little later than its time says. */
const overlapMs = 5 * 60_000;
const keptForMs = 5 * 60_000;
const mostUpdates = 1_000;

/** The name of one update of one event. */
export const keyOf = ({ id, lastUpdated }: Event): string => `${lastUpdated ?? ''} ${id}`;

/** The time of an update, in milliseconds since 1970. */
export const timeOf = (key: string): number => Date.parse(key.slice(0, key.indexOf(' '))) || 0;

/**
 * The tail of the list now. Both ends of the stretch that is asked for are always said, since the service's defaults jump at the turn
 * of the UTC day (docs/upstream-api.md: GET events). Of more updates than a tail may hold, the oldest come first and the others are found next time.
 * @param now the gateway's clock, which is used only to tell far from near: what is compared are the service's own times.
 */
export async function follow(read: ReadBetween, before: Tail | undefined, now: number): Promise<Tail> {
  const to = iso(startOfDay(now) + 2 * dayMs - 1);
  return before === undefined ? begin(read, to, now) : goOn(read, before, to, now);
}

async function begin(read: ReadBetween, to: string, now: number): Promise<Tail> {
  const earliest = startOfDay(now) - dayMs;
  const { events, totalItems } = await read(1, iso(earliest), to);
  const keys = events.map(keyOf);
  const newest = Math.min(now, Math.max(earliest, ...keys.map(timeOf)));
  const from = Math.max(earliest, newest - overlapMs);
  for (let page = 2; (page - 1) * largestPage < totalItems && keys.every(key => timeOf(key) >= from); page += 1) {
    keys.push(...(await read(page, iso(earliest), to)).events.map(keyOf));
  }
  return { from, seen: [...new Set(keys)].filter(key => timeOf(key) >= from), updates: [] };
}

async function goOn(read: ReadBetween, before: Tail, to: string, now: number): Promise<Tail> {
  const { events, addsUp } = await readAll(read, iso(before.from), to);
  const seen = new Set(before.seen);
  const found = events
    .map(event => ({ key: keyOf(event), foundAt: now, event }))
    .filter(({ key }) => !seen.has(key))
    .sort((a, b) => timeOf(a.key) - timeOf(b.key) || (a.key < b.key ? -1 : 1));
  const fresh = found.slice(0, mostUpdates);
  for (const { key } of fresh) seen.add(key);

  // Only up to where everything was read and told may the next ask leave anything out.
  const whole = addsUp && fresh.length === found.length;
  const reached = whole ? Math.min(now, Math.max(...[...seen].map(timeOf), 0)) : 0;
  const from = Math.max(before.from, reached - overlapMs);
  const lately = before.updates.filter(({ foundAt }) => foundAt > now - keptForMs).slice(-mostUpdates);
  return { from, seen: [...seen].filter(key => timeOf(key) >= from), updates: [...lately, ...fresh] };
}

/** All pages of a stretch; `addsUp` is false where the list changed so that something may have slipped from page to page. */
async function readAll(read: ReadBetween, from: string, to: string) {
  const events = new Map<string, Event>();
  let total = 0;
  let unreadable = 0;
  let steady = true;
  for (let page = 1; page === 1 || (page - 1) * largestPage < total; page += 1) {
    const { events: its, totalItems, leftOut } = await read(page, from, to);
    steady &&= page === 1 || total === totalItems;
    total = totalItems;
    unreadable += leftOut;
    // The list is newest first, so that the first of two versions met is the newer.
    for (const event of its) if (!events.has(event.id)) events.set(event.id, event);
  }
  const dated = [...events.values()].filter(({ lastUpdated }) => lastUpdated !== null);
  return { events: dated, addsUp: steady && events.size + unreadable >= total };
}

const startOfDay = (time: number) => time - (time % dayMs);
const iso = (time: number) => new Date(time).toISOString();
