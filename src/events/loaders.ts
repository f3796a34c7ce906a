import DataLoader from 'dataloader';
import type { Lifetime } from '../cache/lookup.js';
import { after, type MaybePromise } from '../maybe-promise.js';
import type { Reader } from '../reader.js';
import type { EventsClient, Vectors } from './client.js';
import { type CompanyEvents, shareCalls } from './company-events.js';
import type { Event, Observation } from './model.js';
import { type EventWindow, pagesFor, type ReadPage, type ReadWindow } from './window.js';

/** What the events room can load for one request. `vectors` says whether embeddings are wanted. */
export interface EventsLoaders {
  /** Items `offset` to `offset + first` of the list, in one call wherever one page can hold them, else in two. */
  readonly window: ReadWindow;
  observation(id: string, vectors: boolean): MaybePromise<Observation>;
  /** The first events of one entity; the entities asked for in one tick share calls. */
  ofCompany(asked: CompanyEvents): Promise<EventWindow>;
}

/** @param lifetimes of the event list and of an observation. */
export function createEventsLoaders(
  reader: Reader,
  client: EventsClient,
  lifetimes: { readonly events: Lifetime; readonly observation: Lifetime },
): EventsLoaders {
  const page: ReadPage = async (query, number, pageSize, vectors) => {
    const { value, heavy } = await reader.read(client.page(query, number, pageSize, vectors), lifetimes.events);
    return heavy === undefined ? value : { ...value, events: value.events.map(event => withVector(event, heavy)) };
  };

  const window: ReadWindow = async (query, offset, first, vectors) => {
    const parts = pagesFor(offset, first);
    const pages = await Promise.all(parts.map(part => page(query, part.page, part.pageSize, vectors)));
    const events = pages.flatMap(({ events }, index) => events.slice(parts[index]?.skip)).slice(0, first);
    const { totalItems = 0, unfilteredTotalItems = null } = pages[0] ?? {};
    return { events, totalItems, unfilteredTotalItems };
  };

  const companies = new DataLoader((asked: readonly CompanyEvents[]) => shareCalls(asked, page, window), {
    cacheKeyFn: (asked: CompanyEvents) => JSON.stringify(asked),
  });

  return {
    window,
    observation: (id, vectors) =>
      after(reader.read(client.observation(id, vectors), lifetimes.observation), ({ value, heavy }) =>
        heavy === undefined ? value : { ...value, textEmbedding: heavy[value.id] ?? null },
      ),
    ofCompany: asked => companies.load(asked),
  };
}

/** An event with its embedding, where that was found. */
export function withVector(event: Event | null, vectors: Vectors): Event | null {
  if (event === null || event.vectorIndex === null) return event;
  return { ...event, vectorIndex: { ...event.vectorIndex, embeddings: vectors[event.id] ?? null } };
}
