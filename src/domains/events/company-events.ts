import { known } from '../../data/upstream/schema-drift.js';
import { maxPageSize } from '../../graphql/input.js';
import type { EventQuery } from './client.js';
import type { Event, EventPage } from './model.js';

/** A request for the first events of one company. */
export interface CompanyEventsRequest {
  readonly name: string;
  readonly query: EventQuery;
  readonly first: number;
  readonly vectors: boolean;
}

/** The first events of one company, and the number of its events. */
export type CompanyEvents = EventPage;

/** Reads one page of the event list. */
export type ReadPage = (query: EventQuery, page: number, pageSize: number, vectors: boolean) => Promise<EventPage>;

/** How long the percent-encoded names of one call may be, in characters. */
const maxNamesLength = 6_000;

/** The service's defaults (docs/upstream-api.md: GET events). */
const defaultBounds = { minLikelihood: 2, maxLikelihood: 3, minSeverity: 2, maxSeverity: 3 };

type Group = readonly [CompanyEventsRequest, ...CompanyEventsRequest[]];
type Found = ReadonlyMap<CompanyEventsRequest, CompanyEvents>;
/** Makes a call for one company alone. */
type ReadAlone = (request: CompanyEventsRequest) => Promise<CompanyEvents>;

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
): Promise<(CompanyEvents | Error)[]> {
  const alone: ReadAlone = ({ name, query, first, vectors }) => page(withNames(query, [name]), 1, first, vectors);
  const found = new Map<CompanyEventsRequest, Promise<CompanyEvents>>();
  for (const group of groupsOf(requests)) {
    const shared = group.length > 1 ? readShared(group, page, alone) : Promise.resolve(nothing);
    for (const request of group) {
      const result = shared.then(known => known.get(request) ?? alone(request));
      found.set(request, result);
    }
  }
  return Promise.all(
    requests.map(async request => (await found.get(request)?.catch(asError)) ?? new Error('Not read')),
  );
}

/** Reads the events of a whole group. The result contains only the companies whose events are certain. */
async function readShared(group: Group, page: ReadPage, alone: ReadAlone): Promise<Found> {
  const [{ query, vectors }] = group;
  const names = new Set(group.map(({ name }) => name));
  const readPage = (number: number) => page(withNames(query, [...names]), number, maxPageSize, vectors);
  const firstPage = await readPage(1);
  const pageCount = Math.ceil(firstPage.totalItems / maxPageSize);
  if (pageCount > group.length) return nothing;

  const otherPages = Array.from({ length: Math.max(pageCount - 1, 0) }, (_, index) => readPage(index + 2));
  const pages = [firstPage, ...(await Promise.all(otherPages))];
  const events = pages.flatMap(each => each.events.filter(event => event !== null));
  // The list may have changed between two calls, or contain an unreadable record.
  const isComplete =
    new Set(events.map(({ id }) => id)).size === firstPage.totalItems &&
    pages.every(each => each.totalItems === firstPage.totalItems);
  // If the service matches names differently, an event cannot be assigned to a company.
  const isNamed = events.every(event => event.impactedEntities.some(({ name }) => names.has(name)));
  return isComplete && isNamed ? split(group, events, firstPage.unfilteredTotalItems, alone) : nothing;
}

/** What one company would get under each interpretation of the filter: `strict` if name and scores must match the same impacted entity, `loose` if they may match two. */
interface Candidate {
  readonly request: CompanyEventsRequest;
  readonly strict: CompanyEvents;
  readonly loose: CompanyEvents;
}

/** Splits the events of a group by company. If the result depends on how the service interprets its filter, one call for one company decides it for all. */
async function split(
  group: Group,
  events: readonly Event[],
  unfilteredTotalItems: EventPage['unfilteredTotalItems'],
  alone: ReadAlone,
): Promise<Found> {
  const eventsByName = groupByName(events);
  const candidates = group.flatMap((request): Candidate[] => {
    const listed = eventsByName.get(request.name) ?? [];
    const matches = listed.map(event => matchOf(event, request.name, request.query));
    if (matches.includes('unknown')) return [];
    const eventsFor = (...accepted: readonly Match[]): CompanyEvents => {
      const own = listed.filter((_, index) => accepted.includes(matches[index] ?? 'no'));
      return { events: own.slice(0, request.first), totalItems: own.length, unfilteredTotalItems };
    };
    return [{ request, strict: eventsFor('yes'), loose: eventsFor('yes', 'differentEntities') }];
  });
  const isAmbiguous = ({ strict, loose }: Candidate) => strict.totalItems !== loose.totalItems;
  const certain = new Map(
    candidates.flatMap(each => (isAmbiguous(each) ? [] : [[each.request, each.strict] as const])),
  );

  const probe = candidates.find(isAmbiguous);
  if (probe === undefined) return certain;
  const truth = await alone(probe.request).catch(() => undefined);
  const interpretation = (['strict', 'loose'] as const).find(
    each => truth !== undefined && isSameList(probe[each], truth),
  );
  if (interpretation === undefined) return certain;
  return new Map(candidates.map(each => [each.request, each[interpretation]]));
}

/**
 * Whether a call for one name would list an event. `differentEntities`: only if name and scores may match two different impacted entities, which
 * the specification leaves open (docs/upstream-api.md: GET events, 1 and 2). `unknown`: a score is missing.
 */
type Match = 'yes' | 'no' | 'differentEntities' | 'unknown';

function matchOf(event: Event, name: string, query: EventQuery): Match {
  const impacts = event.impactedEntities.flatMap(entity => (entity.name === name ? [entity.impact] : []));
  if (impacts.length === 0) return 'no';
  if (impacts.some(impact => withinBounds(impact, query))) return 'yes';
  return impacts.every(impact => known(impact?.likelihood) !== null && known(impact?.severity) !== null)
    ? 'differentEntities'
    : 'unknown';
}

function withinBounds(impact: Event['impactedEntities'][number]['impact'], query: EventQuery): boolean {
  const { minLikelihood, maxLikelihood, minSeverity, maxSeverity } = { ...defaultBounds, ...query };
  const { likelihood, severity } = impact ?? {};
  return (
    isBetween(known(likelihood), minLikelihood, maxLikelihood) && isBetween(known(severity), minSeverity, maxSeverity)
  );
}

function isBetween(score: number | null, min: number, max: number): boolean {
  return score !== null && score >= min && score <= max;
}

/** The events of each impacted entity by its name, in the order of the list. */
function groupByName(events: readonly Event[]): ReadonlyMap<string, readonly Event[]> {
  const byName = new Map<string, Event[]>();
  for (const event of events) {
    for (const name of new Set(event.impactedEntities.map(entity => entity.name))) {
      const before = byName.get(name);
      if (before === undefined) byName.set(name, [event]);
      else before.push(event);
    }
  }
  return byName;
}

function isSameList(one: CompanyEvents, other: CompanyEvents): boolean {
  return (
    one.totalItems === other.totalItems && one.events.every((event, index) => event?.id === other.events[index]?.id)
  );
}

/** Groups requests that differ only in the name, with as many in each group as one URL can hold. */
function groupsOf(requests: readonly CompanyEventsRequest[]): Group[] {
  const open = new Map<string, { group: [CompanyEventsRequest, ...CompanyEventsRequest[]]; length: number }>();
  const groups: Group[] = [];
  for (const request of requests) {
    const key = JSON.stringify([request.query, request.first, request.vectors]);
    const length = encodeURIComponent(`${request.name},`).length;
    const last = open.get(key);
    if (last !== undefined && last.length + length <= maxNamesLength) {
      last.group.push(request);
      last.length += length;
    } else {
      const group: [CompanyEventsRequest] = [request];
      open.set(key, { group, length });
      groups.push(group);
    }
  }
  return groups;
}

const withNames = (query: EventQuery, names: readonly string[]): EventQuery => ({ ...query, impactedEntity: names });

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));
