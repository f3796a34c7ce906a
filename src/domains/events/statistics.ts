// Statistics of the events that a query selects, of which there may be more than one request may read.
import { known, type LeftOut, present } from '../../data/parsing.js';
import { BadUserInput } from '../../errors.js';
import type { EventInterval } from '../../generated/schema-types.js';
import { readOthers } from '../../graphql/connection.js';
import { maxPageSize } from '../../graphql/input.js';
import { timeNow } from '../../lib/clock.js';
import { countValues } from '../../lib/count-values.js';
import { dayMs, iso } from '../../lib/time.js';
import { type EventQuery, endOf } from './client.js';
import { type Event, type EventPage, eventsOf, highestScore } from './model.js';
import { divide } from './tail.js';

export type ReadEvents = (query: EventQuery, page: number, pageSize: number) => Promise<EventPage>;

/** A range of `lastUpdated`, in milliseconds since 1970, both ends inclusive. */
type UpdateRange = ReturnType<typeof rangeOf>;

/** As `@cost` says of the field. */
const maxBuckets = 1_000;
const maxFacets = 100;
const maxDivisions = 20;

const shortestMs = { HOUR: 3_600_000, DAY: dayMs, WEEK: 7 * dayMs, MONTH: 28 * dayMs } as const;

/**
 * Counts the events that a query selects. If there are more than `limit`, it counts the newest: those from a point in time on, which it finds by
 * dividing the range. It assumes no order of the list.
 * @param limit the most events to read. Each 100 are one call; to find the newest takes at most 21 calls more.
 * @throws BadUserInput for too many buckets, before the first call.
 */
export async function readStatistics(query: EventQuery, interval: EventInterval, limit: number, read: ReadEvents) {
  const range = rangeOf(query, timeNow());
  if (Math.floor((range.to - range.from) / shortestMs[interval]) >= maxBuckets) {
    throw new BadUserInput(
      'interval',
      `must divide the range of the filter into at most ${maxBuckets} buckets; choose a longer interval or a shorter range`,
    );
  }
  const { events, total } = await readNewest(query, limit, read);
  return statisticsOf(events, total, interval, range);
}

/** Reads the events that a query selects, each once; of more than `limit`, the newest. `total` is how many it selects. */
export async function readNewest(query: EventQuery, limit: number, read: ReadEvents) {
  const { totalItems } = await read(query, 1, maxPageSize);
  if (totalItems <= limit) {
    const all = await readPages(query, limit, read);
    return { ...all, total: Math.max(totalItems, all.total) };
  }
  const newest = await newestOf(query, rangeOf(query, timeNow()), limit, read);
  return { ...(await readPages(newest, limit, read)), total: totalItems };
}

/** The range that a query selects, with the service's defaults (docs/upstream-api.md: GET events). @param now milliseconds since 1970. */
function rangeOf({ from, to }: EventQuery, now: number) {
  const today = now - (now % dayMs);
  return {
    from: from === undefined ? today - dayMs : Date.parse(from),
    to: to === undefined ? today + dayMs - 1 : endOf(to),
  };
}

/** The query from a later time on, with more than half of `limit` events and at most `limit`. If many have the same time, it may be fewer or more. */
async function newestOf(
  query: EventQuery,
  { from, to }: UpdateRange,
  limit: number,
  read: ReadEvents,
): Promise<EventQuery> {
  const queryFrom = (time: number) => ({ ...query, from: iso(time), to: query.to ?? iso(to) });
  let [divisions, count] = [0, 0];
  const isEnough = (lengthMs: number) => divisions >= maxDivisions || count > limit / 2 || lengthMs <= 1;
  const { low, high } = await divide(from, to, isEnough, async time => {
    divisions += 1;
    const { totalItems } = await read(queryFrom(time), 1, 1);
    if (totalItems <= limit) count = totalItems;
    return totalItems > limit;
  });
  return queryFrom(count === 0 ? low : high);
}

/** Reads all pages of a query that selects at most `limit` events. @returns what `eventsOf` makes of them: the list may change between two calls. */
export async function readPages(query: EventQuery, limit: number, read: ReadEvents) {
  const first = await read(query, 1, maxPageSize);
  const others = await readOthers(first, page => read(query, page, maxPageSize), limit);
  const { events, total, missing } = eventsOf([first, ...others], limit);
  return { query, events: events.slice(0, limit), total, missing };
}

function statisticsOf(events: readonly Event[], total: number, interval: EventInterval, range: UpdateRange) {
  const facet = (recordsOf: (event: Event) => readonly ({ readonly name: string | null } | LeftOut)[]) =>
    countValues(events, event => present(recordsOf(event)).flatMap(({ name }) => name ?? [])).slice(0, maxFacets);
  return {
    total: Math.max(total, events.length),
    counted: events.length,
    buckets: bucketsOf(events, interval, range),
    alertTypes: facet(({ alertTypes }) => alertTypes),
    affectedDatapoints: facet(({ affectedDatapoints }) => affectedDatapoints),
    impactedEntities: facet(({ impactedEntities }) => impactedEntities),
    relevantEntities: facet(({ relevantEntities }) => relevantEntities),
    scores: scoresOf(events),
  };
}

/** The pairs of scores that impacted entities have, the highest first. A score is one digit. */
function scoresOf(events: readonly Event[]) {
  const pairs = countValues(events, ({ impactedEntities }) =>
    present(impactedEntities).flatMap(({ impact }) => {
      const [severity, likelihood] = [known(impact?.severity), known(impact?.likelihood)];
      return severity === null || likelihood === null ? [] : `${severity}${likelihood}`;
    }),
  );
  return pairs
    .sort((one, other) => Number(other.value) - Number(one.value))
    .map(({ value, count }) => ({ severity: Number(value[0]), likelihood: Number(value[1]), count }));
}

/** All buckets from the first to the last event. An event outside the range has none, so that their number stays within the limit. */
function bucketsOf(events: readonly Event[], interval: EventInterval, range: UpdateRange) {
  const byStart = new Map<number, (number | null)[]>();
  for (const event of events) {
    const time = Date.parse(known(event.lastUpdated) ?? '');
    if (!(time >= range.from && time <= range.to)) continue;
    const start = startOfBucket(time, interval);
    const severities = byStart.get(start) ?? [];
    severities.push(known(highestScore(event, 'severity')));
    byStart.set(start, severities);
  }
  const [earliest, latest] = [Math.min(...byStart.keys()), Math.max(...byStart.keys())];
  const starts: number[] = [];
  for (let start = earliest; start <= latest; start = nextBucket(start, interval)) starts.push(start);
  return starts.map(start => {
    const severities = byStart.get(start) ?? [];
    const bySeverity = [3, 2, 1, 0, null].flatMap(severity => {
      const count = severities.filter(each => each === severity).length;
      return count === 0 ? [] : [{ severity, count }];
    });
    return { start: iso(start), count: severities.length, bySeverity };
  });
}

function startOfBucket(time: number, interval: EventInterval): number {
  const date = new Date(time);
  if (interval === 'MONTH') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  const length = shortestMs[interval];
  // 1970 began on a Thursday.
  const sinceMonday = interval === 'WEEK' ? 3 * dayMs : 0;
  return Math.floor((time + sinceMonday) / length) * length - sinceMonday;
}

/** A month has at most 31 days, and is at its start here. */
function nextBucket(start: number, interval: EventInterval): number {
  return startOfBucket(start + shortestMs[interval] + (interval === 'MONTH' ? 4 * dayMs : 0), interval);
}
