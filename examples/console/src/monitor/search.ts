import { useNavigate, useSearch } from '@tanstack/react-router';
import type { EventFilter } from '../gql/graphql';
import { oneOf, reader, text, texts, time } from '../ui';

export const DAYS = [2, 7, 30];

/** Filters of the monitor, as they stand in the address. */
export const eventSearch = reader({
  /** Number of days that the histogram shows, up to today. */
  days: oneOf(...DAYS),
  /** Range selected in the histogram, as points in time. */
  from: time,
  to: time,
  /** A cell of the matrix. */
  severity: oneOf<number>(0, 1, 2, 3),
  likelihood: oneOf<number>(0, 1, 2, 3),
  alertTypes: texts,
  affectedDatapoints: texts,
  impactedEntities: texts,
  search: text,
  /** The event whose details are shown, and the `nodeId` of the version that was opened. */
  event: text,
  version: text,
});

export type EventSearch = ReturnType<typeof eventSearch>;

export const DEFAULT_DAYS = 7;
const DAY = 86_400_000;

/** Lengths of the histogram's bars, in milliseconds. */
export const INTERVALS = { HOUR: 3_600_000, DAY };

/** The filters, and a function that changes some of them. */
export function useEventSearch() {
  const search = useSearch({ from: '/' });
  const navigate = useNavigate({ from: '/' });
  const change = (patch: EventSearch, replace = false) =>
    navigate({ search: last => ({ ...last, ...patch }), resetScroll: false, replace });
  return { search, change };
}

/** The filter without a range of time, as `eventUpdates` takes it. */
export function updatesFilter({ days, from, to, severity, likelihood, event, version, ...names }: EventSearch) {
  const only = (score: number | undefined) => (score === undefined ? null : { min: score, max: score });
  return { ...names, severity: only(severity), likelihood: only(likelihood) };
}

/** A filter in words, without its time. Empty: none. */
export function conditionsOf({ search, severity, likelihood, ...names }: EventSearch): string {
  const scores = Object.entries({ severity, likelihood }).filter(([, value]) => value !== undefined);
  const lists = [names.alertTypes, names.affectedDatapoints, names.impactedEntities];
  const parts = [
    search && `“${search}”`,
    ...scores.map(pair => pair.join(' ')),
    ...lists.map(list => list?.join(' or ')),
  ];
  const known = parts.filter(Boolean).join(', ');
  return known && `with ${known}`;
}

/** What a filter finds, in words. */
export const nameOf = (search: EventSearch) => (conditionsOf(search) ? `events ${conditionsOf(search)}` : 'all events');

/** The filter of the histogram: the whole window of days. */
export function windowFilter(search: EventSearch): EventFilter {
  return { ...updatesFilter(search), from: dayBefore((search.days ?? DEFAULT_DAYS) - 1) };
}

/** The filter of the list: what is selected in the histogram, or the whole window. */
export function listFilter(search: EventSearch): EventFilter {
  const filter = windowFilter(search);
  return { ...filter, from: search.from ?? filter.from, to: search.to };
}

/** A UTC day. 0 is today. */
export function dayBefore(days: number): string {
  return new Date(Date.now() - days * DAY).toISOString().slice(0, 10);
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
