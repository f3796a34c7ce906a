import DataLoader from 'dataloader';
import type { Lifetime } from '../../data/cache/cache.js';
import type { Reader } from '../../data/reader.js';
import type { PageRequest } from '../../graphql/connection.js';
import type { EventQuery, EventsClient } from './client.js';
import { type CompanyEventsRequest, type ReadPage, readCompanyEvents } from './company-events.js';
import { type Plot, readStatistics } from './statistics.js';
import { readWindow } from './window.js';

/** The reads of the events domain for one request. */
export type EventsLoaders = ReturnType<typeof createEventsLoaders>;

/** In each loader, `vectors` says whether embeddings are selected. */
export function createEventsLoaders(
  reader: Reader,
  client: EventsClient,
  statisticsLimit: number,
  lifetimes: Readonly<Record<'events' | 'observation', Lifetime>>,
) {
  const page: ReadPage = async (query, number, pageSize, vectors) =>
    reader.read(client.page(query, number, pageSize, vectors), lifetimes.events);

  const companies = new DataLoader((requests: readonly CompanyEventsRequest[]) => readCompanyEvents(requests, page), {
    cacheKeyFn: (request: CompanyEventsRequest) => JSON.stringify(request),
  });

  return {
    /** The window of a page request (see `readWindow`). */
    window: (query: EventQuery, request: PageRequest, vectors: boolean) =>
      readWindow(request, (number, pageSize) => page(query, number, pageSize, vectors)),
    /** Counts the events that a query selects (see `readStatistics`). */
    statistics: (query: EventQuery, plot: Plot) =>
      readStatistics(query, plot, statisticsLimit, (part, number, size) => page(part, number, size, false)),
    observation: (id: string, vectors: boolean) => reader.read(client.observation(id, vectors), lifetimes.observation),
    /** The first events of one company. Requests in the same tick share calls. */
    ofCompany: (request: CompanyEventsRequest) => companies.load(request),
  };
}
