import DataLoader from 'dataloader';
import type { LeftOut } from '../../data/parsing.js';
import type { Reader } from '../../data/reader.js';
import type { EventInterval } from '../../generated/schema-types.js';
import { type PageRequest, windowOf } from '../../graphql/connection.js';
import { maxPageSize } from '../../graphql/input.js';
import type { EventQuery, EventsClient } from './client.js';
import { type CompanyEventsRequest, type ReadPage, readCompanyEvents, withNames } from './company-events.js';
import type { Event, EventExtras, EventPage } from './model.js';
import { readStatistics } from './statistics.js';
import { commonPosition, cursorBehind, updatesListId } from './updates-cursor.js';

/** The reads of the events domain for one request. @param statisticsLimit the most events that one `eventStatistics` reads. */
export function createEventsLoaders(reader: Reader, client: EventsClient, statisticsLimit: number) {
  const page: ReadPage = async (query, number, pageSize, extras) =>
    reader.read(client.page(query, number, pageSize, extras));
  const withCursor = (query: EventQuery, { position, ...window }: EventWindow) => ({
    ...window,
    /** Undefined if the position is not wanted. */
    updatesCursor: position && cursorBehind(position, window.events, updatesListId(client.filterOf(query))),
  });

  /** By what they read of each company. */
  const companies = new Map<string, DataLoader<string, EventPage>>();

  return {
    /** The window of a page request (see `readWindow`). */
    window: async (query: EventQuery, request: PageRequest, extras: EventExtras) =>
      withCursor(
        query,
        await readWindow(
          request,
          extras,
          (number, pageSize) => page(query, number, pageSize, extras),
          (number, pageSize) => reader.readAgain(client.page(query, number, pageSize, { ...extras, position: false })),
        ),
      ),
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
      return withCursor(withNames(request.query, [name]), { ...(await loader.load(name)), start: 0, isJoined: false });
    },
  };
}

/** The window of a list, with where a subscription continues behind it. */
export type EventWindowWithCursor = Awaited<ReturnType<ReturnType<typeof createEventsLoaders>['window']>>;

const noExtras: EventExtras = { vectors: false, position: false };

/** A range of the event list, and the size of the list. `start` is the index of the first event. `isJoined`: it is of two pages, and both may have an event. */
type EventWindow = EventPage & { readonly start: number; readonly isJoined: boolean };

/** One page of the service that holds a part of a window. */
interface PagePart {
  readonly page: number;
  readonly pageSize: number;
  /** How many items at the start of the page precede the window. */
  readonly skip: number;
}

/** The pages that hold `count` items (1 to 100) from `offset` on: the smallest single page that holds them all, otherwise two neighbors. */
export function pagesFor(offset: number, count: number): readonly [PagePart, ...PagePart[]] {
  for (let pageSize = count; pageSize <= maxPageSize; pageSize += 1) {
    const skip = offset % pageSize;
    if (skip + count <= pageSize) return [{ page: (offset - skip) / pageSize + 1, pageSize, skip }];
  }
  const skip = offset % count;
  const page = (offset - skip) / count + 1;
  return [
    { page, pageSize: count, skip },
    { page: page + 1, pageSize: count, skip: 0 },
  ];
}

/**
 * Reads the window of a page request: in one call if a single page of the service can hold it, otherwise in two. A window that begins at the
 * end of the list needs its length first, which takes one more call if the list is longer than the window. Where two pages tell of different lists, the
 * first is read again: what lies between them would be on both, or on none.
 */
async function readWindow(
  request: PageRequest,
  { position }: Pick<EventExtras, 'position'>,
  read: (page: number, pageSize: number) => Promise<EventPage>,
  readAgain: typeof read,
): Promise<EventWindow> {
  const readPart = ({ page, pageSize }: PagePart) => read(page, pageSize);
  const isOpen = request.isLast && request.end === Number.POSITIVE_INFINITY;
  let range = isOpen ? { start: 0, end: request.size } : windowOf(request, Number.POSITIVE_INFINITY);
  let parts = pagesFor(range.start, Math.max(range.end - range.start, 1));
  const pages: EventPage[] = [];
  if (request.isLast) {
    // This page tells the length of the list, and is part of the window unless the list ends somewhere else than assumed.
    const firstPage = await readPart(parts[0]);
    const actual = windowOf(request, firstPage.totalItems);
    if (actual.start === actual.end || (actual.start >= range.start && actual.end <= range.end)) {
      pages.push(firstPage);
    } else {
      range = actual;
      parts = pagesFor(range.start, range.end - range.start);
    }
  }
  pages.push(...(await Promise.all(parts.slice(pages.length).map(readPart))));

  const [first, second] = pages;
  if (first !== undefined && second !== undefined && first.totalItems !== second.totalItems) {
    const { page, pageSize } = parts[0];
    pages[0] = { ...(await readAgain(page, pageSize).catch(() => first)), position: first.position };
  }

  const found: (Event | LeftOut)[] = [];
  for (const [index, { page, pageSize, skip }] of parts.entries()) {
    // If the list became shorter between two calls, the second page does not follow the first.
    if (range.start + found.length !== (page - 1) * pageSize + skip) break;
    found.push(...(pages[index]?.events.slice(skip) ?? []));
  }
  const { totalItems = 0, unfilteredTotalItems = null } = pages.at(-1) ?? {};
  const { start, end } = isOpen && range.start === 0 ? windowOf(request, totalItems) : range;
  const from = Math.min(start, totalItems);
  const events = found.slice(Math.max(from - range.start, 0), Math.max(end - range.start, 0));
  const common = position ? commonPosition(pages) : undefined;
  return { events, isJoined: second !== undefined, start: from, totalItems, unfilteredTotalItems, position: common };
}
