import { known } from '../../data/upstream/schema-drift.js';
import { UpstreamBadInput } from '../../errors.js';
import { maxPageSize } from '../../graphql/input.js';
import type { EventQuery } from './client.js';
import type { Event, EventExtras, EventPage } from './model.js';
import { commonPosition } from './updates-cursor.js';

/** A request for the first events of one company. */
export interface CompanyEventsRequest {
  readonly name: string;
  readonly query: EventQuery;
  readonly first: number;
  readonly extras: EventExtras;
}

/** Reads one page of the event list. */
export type ReadPage = (query: EventQuery, page: number, pageSize: number, extras: EventExtras) => Promise<EventPage>;

/** How long the percent-encoded names of one call may be, in characters. */
const maxNamesLength = 6_000;

/** Requests that differ only in the name, as many as one URL can hold. */
interface Group {
  readonly query: EventQuery;
  readonly extras: EventExtras;
  readonly requests: CompanyEventsRequest[];
  /** Of the percent-encoded names, in characters. */
  length: number;
}
/** The first events of each company, and the number of its events. */
type Found = ReadonlyMap<CompanyEventsRequest, EventPage>;
type ReadAlone = (request: CompanyEventsRequest) => Promise<EventPage>;

const nothing: Found = new Map();

/**
 * Reads the first events of many companies in as few calls as possible. Each company gets exactly what a call of its own would return.
 *
 * The names of a group of equal requests go into one call, because the service combines them with OR (docs/upstream-api.md: GET events, 1).
 * The impacted entities of each event then tell which companies it belongs to. A company whose events cannot be determined for certain gets
 * a call of its own. If every score is known and the list does not change, in the worst case, a group needs one call more than separate calls.
 */
export async function readCompanyEvents(
  requests: readonly CompanyEventsRequest[],
  page: ReadPage,
): Promise<(EventPage | Error)[]> {
  const alone: ReadAlone = ({ name, query, first, extras }) => page(withNames(query, [name]), 1, first, extras);
  const found = new Map<CompanyEventsRequest, Promise<EventPage | Error>>();
  for (const group of groupsOf(requests)) {
    const shared =
      group.requests.length > 1 ? readShared(group, page, alone).catch(nothingIfRefused) : Promise.resolve(nothing);
    const read = (request: CompanyEventsRequest) =>
      shared.then(known => known.get(request) ?? alone(request)).catch((error: Error) => error);
    for (const request of group.requests) found.set(request, read(request));
  }
  return Promise.all(requests.map(request => found.get(request) as Promise<EventPage | Error>));
}

/** A service that refuses one name must not take the events of the others with it. After any other failure, many calls more would do harm. */
function nothingIfRefused(error: unknown): Found {
  if (error instanceof UpstreamBadInput) return nothing;
  throw error;
}

/** Reads the events of a whole group. The result contains only the companies whose events are certain. */
async function readShared(group: Group, page: ReadPage, alone: ReadAlone): Promise<Found> {
  const { query, extras, requests } = group;
  const names = new Set(requests.map(({ name }) => name));
  const readPage = (number: number) => page(withNames(query, [...names]), number, maxPageSize, extras);
  const firstPage = await readPage(1);
  const pageCount = Math.ceil(firstPage.totalItems / maxPageSize);
  if (pageCount > requests.length) return nothing;

  const otherPages = Array.from({ length: Math.max(pageCount - 1, 0) }, (_, index) => readPage(index + 2));
  const pages = [firstPage, ...(await Promise.all(otherPages))];
  const events = pages.flatMap(each => each.events.filter(event => event !== null));
  // The list may have changed between two calls, or contain an unreadable record.
  const isComplete =
    new Set(events.map(({ id }) => id)).size === firstPage.totalItems &&
    pages.every(each => each.totalItems === firstPage.totalItems);
  // If the service matches names differently, an event cannot be assigned to a company.
  const isNamed = events.every(event => event.impactedEntities.some(({ name }) => names.has(name)));
  const { unfilteredTotalItems } = firstPage;
  const shared = { events, unfilteredTotalItems, position: commonPosition(pages) };
  return isComplete && isNamed ? split(requests, shared, alone) : nothing;
}

/** What one company would get under each interpretation of the filter: `strict` if name and scores must match the same impacted entity, `loose` if two may match. */
interface Candidate {
  readonly request: CompanyEventsRequest;
  readonly strict: EventPage;
  readonly loose: EventPage;
}

/** Splits the events of a group by company. If the result depends on how the service interprets its filter, one call for one company decides it for all. */
async function split(
  requests: readonly CompanyEventsRequest[],
  { events, ...shared }: Omit<EventPage, 'events' | 'totalItems'> & { readonly events: readonly Event[] },
  alone: ReadAlone,
): Promise<Found> {
  const eventsByName = groupByName(events);
  const candidates = requests.flatMap((request): Candidate[] => {
    const listed = (eventsByName.get(request.name) ?? []).map(event => ({ event, match: matchOf(event, request) }));
    if (listed.some(({ match }) => match === 'unknown')) return [];
    const pageOf = (own: typeof listed): EventPage => ({
      events: own.slice(0, request.first).map(({ event }) => event),
      totalItems: own.length,
      ...shared,
    });
    return [{ request, strict: pageOf(listed.filter(({ match }) => match === 'yes')), loose: pageOf(listed) }];
  });
  const isAmbiguous = ({ strict, loose }: Candidate) => strict.totalItems !== loose.totalItems;
  const certain = new Map(
    candidates.flatMap(each => (isAmbiguous(each) ? [] : [[each.request, each.strict] as const])),
  );

  const probe = candidates.find(isAmbiguous);
  if (probe === undefined) return certain;
  const truth = await alone(probe.request).catch(() => undefined);
  const interpretation = truth && (['strict', 'loose'] as const).find(each => isSameList(probe[each], truth));
  if (interpretation === undefined) return certain;
  return new Map(candidates.map(each => [each.request, each[interpretation]]));
}

/**
 * Whether a call for one name would list an event that has it. `differentEntities`: only if name and scores may match two different impacted entities,
 * which the specification leaves open (docs/upstream-api.md: GET events, 1 and 2). `unknown`: a score is missing.
 */
function matchOf(event: Event, { name, query }: CompanyEventsRequest): 'yes' | 'differentEntities' | 'unknown' {
  const impacts = event.impactedEntities.flatMap(entity => (entity.name === name ? [entity.impact] : []));
  if (impacts.some(impact => withinBounds(impact, query))) return 'yes';
  return impacts.every(impact => known(impact?.likelihood) !== null && known(impact?.severity) !== null)
    ? 'differentEntities'
    : 'unknown';
}

/** Whether the scores are within the bounds of a query; for each that is left out, the service's default counts (docs/upstream-api.md: GET events). */
function withinBounds(impact: Event['impactedEntities'][number]['impact'], query: EventQuery): boolean {
  const { minLikelihood = 2, maxLikelihood = 3, minSeverity = 2, maxSeverity = 3 } = query;
  const isBetween = (score: number | null, min: number, max: number) => score !== null && score >= min && score <= max;
  return (
    isBetween(known(impact?.likelihood), minLikelihood, maxLikelihood) &&
    isBetween(known(impact?.severity), minSeverity, maxSeverity)
  );
}

/** The events of each impacted entity by its name, in the order of the list. */
function groupByName(events: readonly Event[]): ReadonlyMap<string, readonly Event[]> {
  const byName = new Map<string, Event[]>();
  for (const event of events) {
    for (const name of new Set(event.impactedEntities.map(entity => entity.name))) {
      const before = byName.get(name) ?? [];
      before.push(event);
      byName.set(name, before);
    }
  }
  return byName;
}

function isSameList(one: EventPage, other: EventPage): boolean {
  return (
    one.totalItems === other.totalItems && one.events.every((event, index) => event?.id === other.events[index]?.id)
  );
}

function groupsOf(requests: readonly CompanyEventsRequest[]): Group[] {
  const open = new Map<string, Group>();
  const groups: Group[] = [];
  for (const request of requests) {
    const { name, query, first, extras } = request;
    const key = JSON.stringify([query, first, extras]);
    const length = encodeURIComponent(`${name},`).length;
    let group = open.get(key);
    if (group === undefined || group.length + length > maxNamesLength) {
      group = { query, extras, requests: [], length: 0 };
      open.set(key, group);
      groups.push(group);
    }
    group.requests.push(request);
    group.length += length;
  }
  return groups;
}

/** The query for events that impact any of these entities. */
export const withNames = (query: EventQuery, names: readonly string[]): EventQuery => ({
  ...query,
  impactedEntity: names,
});
