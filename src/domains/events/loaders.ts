import DataLoader from 'dataloader';
import type { LeftOut } from '../../data/parsing.js';
import type { Reader } from '../../data/reader.js';
import type { EventInterval } from '../../generated/schema-types.js';
import { type PageRequest, readWindow } from '../../graphql/connection.js';
import type { EventQuery, EventsClient } from './client.js';
import { type CompanyEventsRequest, type ReadPage, readCompanyEvents, withNames } from './company-events.js';
import type { Event, EventExtras, EventPage } from './model.js';
import { readStatistics } from './statistics.js';
import { commonPosition, cursorBehind, updatesListId } from './updates-cursor.js';

/** The reads of the events domain for one request. @param statisticsLimit the most events that one `eventStatistics` reads. */
export function createEventsLoaders(reader: Reader, client: EventsClient, statisticsLimit: number) {
  const page: ReadPage = async (query, number, pageSize, extras) =>
    reader.read(client.page(query, number, pageSize, extras));
  const withCursor = (query: EventQuery, { position, ...page }: EventPage) => ({
    ...page,
    /** Undefined if the position is not wanted. */
    updatesCursor: position && cursorBehind(position, page.events, updatesListId(client.filterOf(query))),
  });

  /** By what they read of each company. */
  const companies = new Map<string, DataLoader<string, EventPage>>();

  return {
    /** The window of a page request (see `readWindow`). `isJoined`: it is of two pages, and both may have an event. */
    async window(query: EventQuery, request: PageRequest, extras: EventExtras) {
      const { items, start, pages } = await readWindow<EventPage, Event | LeftOut>(request, {
        read: (number, pageSize) => page(query, number, pageSize, extras),
        async readAgain(number, pageSize, { position }) {
          const read = client.page(query, number, pageSize, { ...extras, position: false });
          return { ...(await reader.readAgain(read)), position };
        },
        itemsOf: ({ events }) => events,
      });
      const last = pages.at(-1) as EventPage;
      const read = { ...last, events: items, position: extras.position ? commonPosition(pages) : undefined };
      return { ...withCursor(query, read), start, isJoined: pages.length > 1 };
    },
    /** Counts the events that a query selects (see `readStatistics`). */
    statistics: (query: EventQuery, interval: EventInterval) =>
      readStatistics(query, interval, statisticsLimit, (part, number, size) => page(part, number, size, noExtras)),
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

/** The window of a list, with where a subscription continues behind it. */
export type EventWindowWithCursor = Awaited<ReturnType<ReturnType<typeof createEventsLoaders>['window']>>;

const noExtras: EventExtras = { vectors: false, position: false };
