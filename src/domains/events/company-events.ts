// The events of many companies, read together.
import { isDeepStrictEqual } from 'node:util';
import { isLeftOut, known, present } from '../../data/parsing.js';
import { UpstreamBadInput } from '../../errors.js';
import { readOthers } from '../../graphql/connection.js';
import { maxPageSize } from '../../graphql/input.js';
import type { EventQuery } from './client.js';
import { type Event, type EventExtras, type EventPage, eventsOf } from './model.js';
import { commonPosition } from './updates-cursor.js';

export interface CompanyEventsRequest {
  readonly query: EventQuery;
  readonly first: number;
  readonly extras: EventExtras;
}

export type ReadPage = (query: EventQuery, page: number, pageSize: number, extras: EventExtras) => Promise<EventPage>;

/** How long the percent-encoded names of one call may be, in characters. */
const maxNamesLength = 6_000;

/** The first events of each company by its name, and the number of its events. */
type Found = ReadonlyMap<string, EventPage>;
type ReadAlone = (name: string) => Promise<EventPage>;

/**
 * Reads the first events of many companies in as few calls as possible. Each company gets exactly what a call of its own would return.
 *
 * As many names as a URL can hold go into one call, because the service combines them with OR (docs/upstream-api.md: GET events, 1).
 * The impacted entities of each event then tell which companies it belongs to. A company whose events cannot be determined for certain, such as one whose
 * name is a part of another name, gets a call of its own. If every score is known and the list does not change, in the worst case, a group needs one call more than separate calls.
 * @param names of the companies, each once.
 */
export async function readCompanyEvents(
  names: readonly string[],
  request: CompanyEventsRequest,
  page: ReadPage,
): Promise<(EventPage | Error)[]> {
  const { query, first, extras } = request;
  const alone: ReadAlone = name => page(withNames(query, [name]), 1, first, extras);
  const groups = groupsOf(names).map(async group => {
    const shared = readShared(group, request, page, alone).catch(error => {
      // A service that refuses one name must not take the events of the others with it. After any other failure, many calls more would do harm.
      if (error instanceof UpstreamBadInput) return nothing;
      throw error;
    });
    const read = (name: string) => shared.then(found => found.get(name) ?? alone(name));
    return Promise.all(group.map(name => read(name).catch((error: Error) => error)));
  });
  return (await Promise.all(groups)).flat();
}

const nothing: Found = new Map();

function groupsOf(names: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let room = 0;
  for (const name of names) {
    const { length } = encodeURIComponent(`${name},`);
    if (length > room) {
      groups.push([]);
      room = maxNamesLength;
    }
    groups.at(-1)?.push(name);
    room -= length;
  }
  return groups;
}

/** Reads the events of a whole group. The result contains only the companies whose events are certain. */
async function readShared(
  group: readonly string[],
  request: CompanyEventsRequest,
  page: ReadPage,
  alone: ReadAlone,
): Promise<Found> {
  if (group.length === 1) return nothing;
  const readPage = (number: number) => page(withNames(request.query, group), number, maxPageSize, request.extras);
  const firstPage = await readPage(1);
  if (firstPage.totalItems > group.length * maxPageSize) return nothing;
  const pages = [firstPage, ...(await readOthers(firstPage, readPage))];
  const { events, total, missing } = eventsOf(pages, Number.POSITIVE_INFINITY);
  // The list may have changed between two calls, or contain an unreadable record.
  if (missing !== 0 || events.length !== total) return nothing;
  const { unfilteredTotalItems } = firstPage;
  return split(clearNames(group, events), request, { unfilteredTotalItems, position: commonPosition(pages) }, alone);
}

type EventsByName = ReadonlyMap<string, readonly Event[]>;

/**
 * The names of which the events are the same however the service compares names: whole or by part, with or without case, accents and signs. With these
 * events. None where it has found an event by no name of the group.
 */
function clearNames(group: readonly string[], events: readonly Event[]): EventsByName {
  const plainNames = group.map(name => [name, plain(name)] as const);
  const plainGroup = new Set(plainNames.map(([, text]) => text));
  const near = new Map<string, readonly string[]>();
  const namesNear = (entity: string) => {
    const text = plain(entity);
    // Also part of a name, but only where it is another name: a service that looks for parts is asked for whole names.
    const isNear = (name: string) => text.includes(name) || (plainGroup.has(text) && name.includes(text));
    const found = near.get(entity) ?? plainNames.filter(([, name]) => isNear(name)).map(([name]) => name);
    near.set(entity, found);
    return found;
  };
  const clear = new Map(group.map(name => [name, [] as Event[]]));
  for (const event of events) {
    const entities = new Set(present(event.impactedEntities).map(({ name }) => name));
    const found = new Set([...entities].flatMap(namesNear));
    if (found.size === 0) return new Map();
    for (const name of found) {
      if (entities.has(name)) clear.get(name)?.push(event);
      else clear.delete(name);
    }
  }
  return clear;
}

/** Letters that a comparison may take for others, and that Unicode does not take apart. */
const likened: Readonly<Record<string, string>> = { Æ: 'AE', Œ: 'OE', Ø: 'O', Ł: 'L', Đ: 'D', Ħ: 'H' };

/** A text without what a comparison may ignore. */
export const plain = (text: string) =>
  text
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase()
    .toUpperCase()
    .replace(/[ÆŒØŁĐĦ]/g, letter => likened[letter] ?? letter);

/**
 * Splits the events of a group by company. `strict` is what a company gets if name and scores must match the same impacted entity, `loose` if two may
 * match. Where that matters, one call for one company decides it for all.
 */
async function split(
  eventsByName: EventsByName,
  { query, first }: CompanyEventsRequest,
  shared: Omit<EventPage, 'events' | 'totalItems'>,
  alone: ReadAlone,
): Promise<Found> {
  const candidates = [...eventsByName].flatMap(([name, events]) => {
    const listed = events.map(event => ({ event, match: matchOf(event, name, query) }));
    if (listed.some(({ match }) => match === 'unknown')) return [];
    const pageOf = (own: typeof listed): EventPage => ({
      events: own.slice(0, first).map(({ event }) => event),
      totalItems: own.length,
      ...shared,
    });
    return [{ name, strict: pageOf(listed.filter(({ match }) => match === 'yes')), loose: pageOf(listed) }];
  });
  const isCertain = ({ strict, loose }: (typeof candidates)[number]) => strict.totalItems === loose.totalItems;
  const probe = candidates.find(candidate => !isCertain(candidate));
  const truth = probe && (await alone(probe.name).catch(() => undefined));
  const interpretation =
    truth && (['strict', 'loose'] as const).find(each => isDeepStrictEqual(listedIn(probe[each]), listedIn(truth)));
  const certain = interpretation === undefined ? candidates.filter(isCertain) : candidates;
  return new Map(certain.map(each => [each.name, each[interpretation ?? 'strict']]));
}

/**
 * Whether a call for one name would list an event that has it; for each bound that the query leaves out, the service's default counts (docs/upstream-api.md:
 * GET events). `differentEntities`: only if name and scores may match two different impacted entities, which the specification leaves open (1 and 2).
 * `unknown`: a score is missing.
 */
function matchOf(event: Event, name: string, query: EventQuery): 'yes' | 'differentEntities' | 'unknown' {
  const { minLikelihood = 2, maxLikelihood = 3, minSeverity = 2, maxSeverity = 3 } = query;
  const scores = present(event.impactedEntities)
    .filter(entity => entity.name === name)
    .map(({ impact }) => ({ likelihood: known(impact?.likelihood), severity: known(impact?.severity) }));
  const isBetween = (score: number | null, min: number, max: number) => score !== null && score >= min && score <= max;
  const isWithin = ({ likelihood, severity }: (typeof scores)[number]) =>
    isBetween(likelihood, minLikelihood, maxLikelihood) && isBetween(severity, minSeverity, maxSeverity);
  if (scores.some(isWithin)) return 'yes';
  const areKnown = scores.every(({ likelihood, severity }) => likelihood !== null && severity !== null);
  return areKnown ? 'differentEntities' : 'unknown';
}

const listedIn = ({ totalItems, events }: EventPage) => [
  totalItems,
  ...events.map(event => (isLeftOut(event) ? undefined : event.id)),
];

/** The query for events that impact any of these entities. */
export const withNames = (query: EventQuery, names: readonly string[]): EventQuery => ({
  ...query,
  impactedEntity: names,
});
