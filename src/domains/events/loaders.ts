import DataLoader from 'dataloader';
import type { Lifetime } from '../../data/cache/cache.js';
import type { Reader } from '../../data/reader.js';
import type { PageRequest } from '../../graphql/connection.js';
import type { MaybePromise } from '../../lib/maybe-promise.js';
import type { EventQuery, EventsClient } from './client.js';
import { type CompanyEvents, type CompanyEventsRequest, type ReadPage, readCompanyEvents } from './company-events.js';
import type { Observation } from './model.js';
import { type EventStatistics, type Plot, readStatistics } from './statistics.js';
import { type EventWindow, readWindow } from './window.js';

/** The reads of the events domain for one request. `vectors` says whether embeddings are selected. */
export interface EventsLoaders {
  /** The window of a page request (see `readWindow`). */
  window(query: EventQuery, request: PageRequest, vectors: boolean): Promise<EventWindow>;
  /** Counts the events that a query selects (see `readStatistics`). */
  statistics(query: EventQuery, plot: Plot): Promise<EventStatistics>;
  observation(id: string, vectors: boolean): MaybePromise<Observation>;
  /** The first events of one company. Requests in the same tick share calls. */
  ofCompany(request: CompanyEventsRequest): Promise<CompanyEvents>;
}

export function createEventsLoaders(
  reader: Reader,
  client: EventsClient,
  statisticsLimit: number,
  lifetimes: { readonly events: Lifetime; readonly observation: Lifetime },
): EventsLoaders {
  const page: ReadPage = async (query, number, pageSize, vectors) =>
    reader.read(client.page(query, number, pageSize, vectors), lifetimes.events);

  const companies = new DataLoader((requests: readonly CompanyEventsRequest[]) => readCompanyEvents(requests, page), {
    cacheKeyFn: (request: CompanyEventsRequest) => JSON.stringify(request),
  });

  return {
    window: (query, request, vectors) =>
      readWindow(request, (number, pageSize) => page(query, number, pageSize, vectors)),
    statistics: (query, plot) =>
      readStatistics(query, plot, statisticsLimit, (part, number, size) => page(part, number, size, false)),
    observation: (id, vectors) => reader.read(client.observation(id, vectors), lifetimes.observation),
    ofCompany: request => companies.load(request),
  };
}
