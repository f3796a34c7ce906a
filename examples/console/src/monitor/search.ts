import type { EventFilter } from '../gql/graphql';
import { namesIn } from '../ui';

/** Filters of the monitor, as they stand in the address. */
export interface EventSearch {
  /** Number of days that the histogram shows, up to today. */
  readonly days?: number;
  /** Range selected in the histogram, as points in time. */
  readonly from?: string;
  readonly to?: string;
  /** A cell of the matrix. */
  readonly severity?: number;
  readonly likelihood?: number;
  readonly alertTypes?: string[];
  readonly affectedDatapoints?: string[];
  readonly impactedEntities?: string[];
  readonly search?: string;
  /** The event whose details are shown, and its `lastUpdated`. */
  readonly event?: string;
  readonly at?: string;
}

export const DEFAULT_DAYS = 7;
const DAY = 86_400_000;

/** Lengths of the histogram's bars, in milliseconds. */
export const INTERVALS = { HOUR: 3_600_000, DAY };

/** Reads the address. What it cannot read, it leaves out. */
export function eventSearch(search: Record<string, unknown>): EventSearch {
  const text = (name: string) => (typeof search[name] === 'string' ? { [name]: search[name] } : {});
  const time = (name: string) => (Number.isNaN(Date.parse(String(search[name]))) ? {} : text(name));
  const score = (name: string) => ([0, 1, 2, 3].includes(search[name] as number) ? { [name]: search[name] } : {});
  return {
    ...([2, 7, 30].includes(search.days as number) && { days: search.days as number }),
    ...time('from'),
    ...time('to'),
    ...score('severity'),
    ...score('likelihood'),
    ...namesIn(search, 'alertTypes'),
    ...namesIn(search, 'affectedDatapoints'),
    ...namesIn(search, 'impactedEntities'),
    ...text('search'),
    ...text('event'),
    ...time('at'),
  };
}

/** The filter without a range of time, as `eventUpdates` takes it. */
export function updatesFilter(search: EventSearch): EventFilter {
  const { severity, likelihood, alertTypes, affectedDatapoints, impactedEntities } = search;
  return {
    minSeverity: severity ?? 0,
    maxSeverity: severity ?? 3,
    minLikelihood: likelihood ?? 0,
    maxLikelihood: likelihood ?? 3,
    ...(alertTypes && { alertTypes }),
    ...(affectedDatapoints && { affectedDatapoints }),
    ...(impactedEntities && { impactedEntities }),
    ...(search.search && { search: search.search }),
  };
}

/** The filter of the histogram: the whole window of days. */
export function windowFilter(search: EventSearch): EventFilter {
  return { ...updatesFilter(search), from: dayBefore((search.days ?? DEFAULT_DAYS) - 1) };
}

/** The filter of the list: what is selected in the histogram, or the whole window. */
export function listFilter(search: EventSearch): EventFilter {
  const filter = windowFilter(search);
  return { ...filter, ...(search.from && { from: search.from }), ...(search.to && { to: search.to }) };
}

/** A UTC day. 0 is today. */
export function dayBefore(days: number): string {
  return new Date(Date.now() - days * DAY).toISOString().slice(0, 10);
}

/** The filter of the matrix: that of the list, whichever of its cells is selected. */
export function cellsFilter(search: EventSearch): EventFilter {
  return listFilter({ ...search, severity: undefined, likelihood: undefined });
}

/** Length of the histogram's bars. */
export function intervalOf(search: EventSearch): keyof typeof INTERVALS {
  return (search.days ?? DEFAULT_DAYS) > 7 ? 'DAY' : 'HOUR';
}

/** The window of the histogram, in milliseconds since 1970: from the start of its first day to the end of the bar that grows now. */
export function windowOf(search: EventSearch): [number, number] {
  const length = INTERVALS[intervalOf(search)];
  return [Date.parse(dayBefore((search.days ?? DEFAULT_DAYS) - 1)), (Math.floor(Date.now() / length) + 1) * length];
}
