// Reads the parameters of the list of events, and says whether an event passes them.
import { z } from 'zod';
import type { MarketEvent } from './world/events.js';

const DAY = 86_400_000;
const DATE_ONLY = /^\d{4}-\d{2}-\d{2}$/;

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine(value => value >= min && value <= max, `must be between ${min} and ${max}`);

/** A score bound. `null` or an empty value means no bound. */
const bound = (byDefault: number, none: number) =>
  z
    .union([z.enum(['null', '']).transform(() => none), wholeNumber(0, 3)])
    .optional()
    .transform(value => value ?? byDefault);

const names = z
  .string()
  .optional()
  .transform(list => (list ?? '').split(',').filter(name => name !== ''));

const time = z.union([z.iso.date(), z.iso.datetime({ offset: true, local: true })], 'must be an ISO 8601 date or time');

/** Name of the free-text parameter, which the specification does not show. */
export const EVENTS_SEARCH_PARAM = 'search';

const parameters = z.object({
  pageSize: wholeNumber(1, 100).default(10),
  page: wholeNumber(1, Number.MAX_SAFE_INTEGER).default(1),
  from: time.optional(),
  to: time.optional(),
  affectedDatapoint: names,
  alertType: names,
  impactedEntity: names,
  minLikelihood: bound(2, 0),
  maxLikelihood: bound(3, 3),
  minSeverity: bound(2, 0),
  maxSeverity: bound(3, 3),
  [EVENTS_SEARCH_PARAM]: z.string().default(''),
});

/** Parameters of the event list with their defaults and bounds, `from` and `to` in UTC (docs/upstream-api.md: Events monitor). */
export const eventQuery = (now: number) =>
  parameters.transform(query => ({
    ...query,
    from: query.from === undefined ? dayOf(now - DAY) : instant(query.from, 0),
    to: query.to === undefined ? endOf(dayOf(now)) : instant(query.to, DAY - 1),
  }));

export type EventQuery = z.output<ReturnType<typeof eventQuery>>;

/** Whether an event passes every filter of the query. */
export function passes(event: MarketEvent, query: EventQuery): boolean {
  const { affectedDatapoints, alertTypes, impactedEntities } = event.taxonomicMatches;
  return (
    event.lastUpdated >= query.from &&
    event.lastUpdated <= query.to &&
    impactedEntities.some(({ impact }) => withinBounds(impact, query)) &&
    hasOneOf(affectedDatapoints, query.affectedDatapoint) &&
    hasOneOf(alertTypes, query.alertType) &&
    hasOneOf(impactedEntities, query.impactedEntity) &&
    hasAllWords(event, query[EVENTS_SEARCH_PARAM])
  );
}

function withinBounds({ likelihood, severity }: { likelihood: number; severity: number }, query: EventQuery): boolean {
  return (
    likelihood >= query.minLikelihood &&
    likelihood <= query.maxLikelihood &&
    severity >= query.minSeverity &&
    severity <= query.maxSeverity
  );
}

const hasOneOf = (matches: readonly { name: string }[], wanted: readonly string[]) =>
  wanted.length === 0 || matches.some(({ name }) => wanted.includes(name));

function hasAllWords(event: MarketEvent, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const keywords = event.eventSearchKeywords.map(({ keyword }) => keyword ?? '');
  const text = [event.title, event.summary, ...keywords].join(' ').toLowerCase();
  return words.every(word => text.includes(word));
}

/** A date-only value means `intoDay` milliseconds after the start of the day. A time without a zone is UTC. */
function instant(value: string, intoDay: number): string {
  if (DATE_ONLY.test(value)) return new Date(Date.parse(value) + intoDay).toISOString();
  const zoned = /(Z|[+-]\d{2}:?\d{2})$/.test(value) ? value : `${value}Z`;
  return new Date(zoned).toISOString();
}

const dayOf = (time: number) => new Date(time - (time % DAY)).toISOString();
const endOf = (day: string) => new Date(Date.parse(day) + DAY - 1).toISOString();
