// The reads of events for one request, each page once.
import DataLoader from 'dataloader';
import type { Credential } from '../../auth/credentials.js';
import { isLeftOut, type LeftOut, present } from '../../data/parsing.js';
import type { Reader } from '../../data/reader.js';
import { NotFound, Unauthenticated, UpstreamUnavailable } from '../../errors.js';
import type { EventFilter, EventInterval } from '../../generated/schema-types.js';
import { type PageRequest, readWindow } from '../../graphql/connection.js';
import { maxPageSize } from '../../graphql/input.js';
import { timeNow } from '../../lib/clock.js';
import { oncePerValue } from '../../lib/run.js';
import { dayMs, iso } from '../../lib/time.js';
import type { EventQuery, EventsClient } from './client.js';
import { type CompanyEventsRequest, plain, type ReadPage, readCompanyEvents, withNames } from './company-events.js';
import { type Event, type EventExtras, type EventPage, updatedAt } from './model.js';
import { type ReadEvents, readNewest, readPages, readStatistics } from './statistics.js';
import { endFor, startOfDay } from './tail.js';
import { commonPosition, cursorBehind, updatesListId } from './updates-cursor.js';

/** The reads of the events domain for one request. @param statisticsLimit the most events that one `eventStatistics` reads. */
export function createEventsLoaders(
  reader: Reader,
  client: EventsClient,
  credential: Credential,
  statisticsLimit: number,
) {
  const page: ReadPage = async (query, number, pageSize, extras) =>
    reader.read(client.page(query, number, pageSize, extras));
  const plainPage = (query: EventQuery, number: number, pageSize: number) => page(query, number, pageSize, noExtras);
  const searches: SearchReads = {
    page,
    readAgain: (query, number, pageSize) => reader.readAgain(client.page(query, number, pageSize, noExtras)),
    wasCalled: (query, number, pageSize) => reader.wasCalled(client.page(query, number, pageSize, noExtras)),
  };
  const withCursor = (query: EventQuery, { position, ...page }: EventPage) => ({
    ...page,
    updatesCursor: position && cursorBehind(position, page.events, updatesListId(credential, client.filterOf(query))),
  });

  /** By what they read of each company. */
  const companies = new Map<string, DataLoader<string, EventPage>>();
  let filtersChecked = 0;

  return {
    /** The window of a page request (see `readWindow`). `isJoined`: it is of two pages, and both may have an event. */
    async window(query: EventQuery, request: PageRequest, extras: EventExtras) {
      const { items, start, pages } = await readWindow<EventPage, Event | LeftOut>(request, reader, {
        pageRead: (number, pageSize, isAgain) =>
          client.page(query, number, pageSize, isAgain ? { ...extras, position: false } : extras),
        itemsOf: ({ events }) => events,
      });
      const last = pages.at(-1) as EventPage;
      const read = { ...last, events: items, position: extras.position ? commonPosition(pages) : undefined };
      return { ...withCursor(query, read), start, isJoined: pages.length > 1 };
    },
    /** @throws Unauthenticated for a credential that the service does not know. Another error, such as that it may not read events, does not say so. */
    async check(): Promise<void> {
      await plainPage({}, 1, 1).catch(error => {
        if (error instanceof Unauthenticated) throw error;
      });
    },
    statistics: (query: EventQuery, interval: EventInterval) =>
      readStatistics(query, interval, statisticsLimit, plainPage),
    /**
     * The names in a filter that no event has; none where memory does not have all events that its query selects without them.
     * @param isVain whether the filter found nothing: then a name that is spelled otherwise was not found either.
     */
    unknownNames: oncePerValue((filter: EventFilter, { query, isVain }: { query: EventQuery; isVain: boolean }) => {
      if (filtersChecked === maxFiltersChecked || !nameMembers.some(member => filter[member]?.length)) return [];
      filtersChecked += 1;
      const pages: EventPage[] = [];
      do {
        const next = reader.remembered(client.page({ ...query, ...anyName }, pages.length + 1, maxPageSize, noExtras));
        if (next === undefined) return [];
        pages.push(next);
      } while (pages.length * maxPageSize < (pages[0] as EventPage).totalItems);
      const { size: count } = new Set(pages.flatMap(({ events }) => present(events).map(({ id }) => id)));
      if (count === 0 || count < (pages[0] as EventPage).totalItems) return [];
      return nameMembers.flatMap(member => {
        const known = pages.flatMap(page => namesOn(page).get(member) ?? []);
        return (filter[member] ?? []).flatMap((name, index) => {
          const folded = plain(name);
          const isKnown = known.some(names => (isVain ? names.exact.has(name) : names.folded.includes(folded)));
          return isKnown ? [] : { name, member: `${member}.${index}`, count };
        });
      });
    }),
    event: (id: string, since: string | undefined, vectors: boolean) =>
      findEvent(id, since, vectors, statisticsLimit, searches),
    /** @param vectors whether its embedding is selected. */
    observation: (id: string, vectors: boolean) => reader.read(client.observation(id, vectors)),
    /** The first events of one company. Equal requests in the same tick share calls. */
    async ofCompany(name: string, request: CompanyEventsRequest) {
      const key = JSON.stringify(request);
      const loader = companies.get(key) ?? new DataLoader(names => readCompanyEvents(names, request, page));
      companies.set(key, loader);
      return { ...withCursor(withNames(request.query, [name]), await loader.load(name)), start: 0, isJoined: false };
    },
  };
}

interface SearchReads {
  readonly page: ReadPage;
  readonly readAgain: ReadEvents;
  /** Whether a page took a call of its own. */
  wasCalled(query: EventQuery, page: number, pageSize: number): boolean;
}

/**
 * Finds an event in the list. If it is not there, but not every event was, the list changed while it was read, or a part of it was cached: it is then read
 * once more, as far as the calls that `@cost` states allow.
 * @param since when it was last updated, as far as that is known.
 * @param vectors whether its embedding is selected.
 * @throws NotFound, and UpstreamUnavailable if it may be among the events that were not seen.
 */
async function findEvent(
  id: string,
  since: string | undefined,
  vectors: boolean,
  limit: number,
  { page, readAgain, wasCalled }: SearchReads,
): Promise<Event> {
  const isIt = (event: Event | LeftOut): event is Event => !isLeftOut(event) && event.id === id;
  const findOn = async (query: EventQuery, number: number) =>
    (await page(query, number, maxPageSize, { vectors, position: false })).events.find(isIt);
  const findAt = (time: number) => findOn({ ...anyScore, from: iso(time), to: iso(time + 1) }, 1);
  const unchanged = since && (await findAt(Date.parse(since)));
  if (unchanged) return unchanged;
  // Of the whole day, so that equal searches share their calls.
  const now = timeNow();
  const from = since ?? iso(startOfDay(now) - searchedDays * dayMs);
  const searched: Parameters<ReadEvents>[] = [];
  let findAgain: (() => Promise<Event | undefined>) | undefined;
  const search = async (query: EventQuery, number: number, pageSize: number) => {
    searched.push([query, number, pageSize]);
    const read = await page(query, number, pageSize, noExtras);
    if (pageSize === maxPageSize && read.events.some(isIt)) findAgain = () => findOn(query, number);
    return read;
  };
  const all = await readNewest({ ...anyScore, from, to: iso(endFor(now)) }, limit, search);
  let { missing } = all;
  let found = all.events.find(isIt);
  // Its embedding is in a response of its own: of the few events that have its time; where these are more than a page, of the page on which it was found.
  const whole = async (event: Event) => (vectors ? ((await findAt(updatedAt(event))) ?? (await findAgain?.())) : event);
  let result = found && (await whole(found));
  if (result === undefined && (found !== undefined || missing !== 0)) {
    const calls = searched.filter(read => wasCalled(...read)).length;
    // With those for an embedding that was not there.
    const callsLeft = callsToFindNewest + Math.ceil(limit / maxPageSize) - calls - (found === undefined ? 0 : 2);
    // By then, the list may have grown.
    if (callsLeft * maxPageSize >= Math.min(all.total + maxPageSize, limit)) {
      const again = await readPages(all.query, limit, readAgain);
      found = again.events.find(isIt);
      result = found && (await whole(found));
      // What two reads miss alike is how the list is.
      missing = again.missing === all.missing ? 0 : again.missing;
    }
  }
  if (found === undefined && missing !== 0) {
    throw new UpstreamUnavailable('The list of events changed while it was searched; try again');
  }
  if (found === undefined) {
    throw new NotFound(
      since === undefined
        ? `There is no such event among the newest ${limit} of the last ${searchedDays} days; send its nodeId to node, or read events with a filter of its time`
        : `There is no such event among the newest ${limit} since ${since}; read events with a filter of a later time`,
    );
  }
  if (result === undefined) throw new UpstreamUnavailable('The event changed while it was read; try again');
  return result;
}

export type EventWindowWithCursor = Awaited<ReturnType<ReturnType<typeof createEventsLoaders>['window']>>;

const maxFiltersChecked = 10;
/** The members of an event, and of a filter, that have names. */
const nameMembers = ['affectedDatapoints', 'alertTypes', 'impactedEntities'] as const;
const anyName = { affectedDatapoint: undefined, alertType: undefined, impactedEntity: undefined, search: undefined };

/** All names on a page, and those of each member as one text: a service may find an event by a part of a name. */
const namesOn = oncePerValue(({ events }: EventPage) => {
  const names = nameMembers.map(member => {
    const found = present(events).flatMap(event => present<{ readonly name: string }>(event[member]));
    const exact = new Set(found.map(({ name }) => name));
    return [member, { exact, folded: [...exact].map(plain).join('\n') }] as const;
  });
  return new Map(names);
});

const noExtras: EventExtras = { vectors: false, position: false };
/** A search takes so many calls besides its pages, as in `@cost`, which adds two for the embedding. */
const callsToFindNewest = 21;
/** An event is searched for whatever its scores. The defaults of the service would hide some. */
const anyScore = { minLikelihood: 0, maxLikelihood: 3, minSeverity: 0, maxSeverity: 3 };
/** How far back an event is searched for of which only the identifier is known. */
const searchedDays = 30;
