import DataLoader from 'dataloader';
import type { Lifetime } from '../../data/cache/lookup.js';
import type { Reader } from '../../data/reader.js';
import type { MaybePromise } from '../../lib/maybe-promise.js';
import type { EventsClient } from './client.js';
import { type CompanyEventsRequest, readCompanyEvents } from './company-events.js';
import type { Observation } from './model.js';
import { type EventWindow, pagesFor, type ReadPage, type ReadWindow } from './window.js';

/** The reads of the events domain for one request. `vectors` says whether embeddings are selected. */
export interface EventsLoaders {
  /** Items `offset` to `offset + first` of the list: one call if a single page can hold them, otherwise two. */
  readonly window: ReadWindow;
  observation(id: string, vectors: boolean): MaybePromise<Observation>;
  /** The first events of one company. Requests in the same tick share calls. */
  ofCompany(request: CompanyEventsRequest): Promise<EventWindow>;
}

export function createEventsLoaders(
  reader: Reader,
  client: EventsClient,
  lifetimes: { readonly events: Lifetime; readonly observation: Lifetime },
): EventsLoaders {
  const page: ReadPage = async (query, number, pageSize, vectors) =>
    reader.read(client.page(query, number, pageSize, vectors), lifetimes.events);

  const window: ReadWindow = async (query, offset, first, vectors) => {
    const parts = pagesFor(offset, first);
    const pages = await Promise.all(parts.map(part => page(query, part.page, part.pageSize, vectors)));
    const events = pages.flatMap(({ events }, index) => events.slice(parts[index]?.skip)).slice(0, first);
    const { totalItems = 0, unfilteredTotalItems = null } = pages[0] ?? {};
    return { events, totalItems, unfilteredTotalItems };
  };

  const companies = new DataLoader(
    (requests: readonly CompanyEventsRequest[]) => readCompanyEvents(requests, page, window),
    { cacheKeyFn: (request: CompanyEventsRequest) => JSON.stringify(request) },
  );

  return {
    window,
    observation: (id, vectors) => reader.read(client.observation(id, vectors), lifetimes.observation),
    ofCompany: request => companies.load(request),
  };
}
