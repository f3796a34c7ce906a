// The reads of the events monitor.
import { eventsTag } from '../../data/cache/keys.js';
import { cachedFor, type Fetch, type Read, requestTo, type ServiceEndpoint } from '../../data/reader.js';
import { NotConfigured, UpstreamInvalidResponse } from '../../errors.js';
import { maxPageSize } from '../../graphql/input.js';
import { timeNow } from '../../lib/clock.js';
import { iso } from '../../lib/time.js';
import {
  type EventExtras,
  type EventPage,
  eventPage,
  isUsualObservation,
  type ListPosition,
  type Observation,
  observation,
} from './model.js';
import { follow, type ReadBetween } from './tail.js';

export const eventsEndpoint: ServiceEndpoint = {
  family: 'events',
  version: 1,
  lifetime: cachedFor(30),
  address: 'base',
  method: 'GET',
  argument: 'filter',
  idMember: undefined,
  vectorMember: 'embeddings',
  // A page of a hundred. Their embeddings are cut out, or turned into text, before anything is counted.
  bounds: { bytes: 32 * 1024 * 1024, otherBytes: 8 * 1024 * 1024, items: 50_000, members: 50_000 },
};
const observationsEndpoint: ServiceEndpoint = {
  family: 'observations',
  version: 2,
  lifetime: cachedFor(300, 30),
  address: 'base',
  method: 'GET',
  idMember: '_id',
  vectorMember: 'textEmbedding',
};

const monitor = '/v2/events-monitor';

/** The query parameters of the event list (docs/upstream-api.md: GET events). For each parameter that is left out, the service uses its default. */
export type EventQuery = Partial<
  Readonly<
    Record<'from' | 'to' | 'search', string | undefined> &
      Record<'affectedDatapoint' | 'alertType' | 'impactedEntity', readonly string[] | undefined> &
      Record<'minLikelihood' | 'maxLikelihood' | 'minSeverity' | 'maxSeverity', number | undefined>
  >
>;

/** Whether a `from` or `to` is a day without a time. */
export const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text);

/** The moment at which a `to` ends, in milliseconds since 1970. */
export const endOf = (text: string) => Date.parse(isDay(text) ? `${text}T23:59:59.999Z` : text);

export type EventsClient = ReturnType<typeof createEventsClient>;

/** @param searchParam name of the free-text parameter, which the specification does not show. */
export function createEventsClient(searchParam: string | undefined) {
  function parameters(query: EventQuery, page: number, pageSize: number) {
    if (query.search !== undefined && searchParam === undefined) throw new NotConfigured('EVENTS_SEARCH_PARAM');
    const ofPage = { pageSize: String(pageSize), page: String(page) };
    return new URLSearchParams([...Object.entries(ofPage), ...filterParameters(query, searchParam)]).toString();
  }

  const client = {
    /** The filter of a query without its range of times. Equal for equal filters. @throws NotConfigured as `page` does. */
    filterOf: (query: EventQuery): string => parameters({ ...query, from: undefined, to: undefined }, 1, 1),

    /**
     * GET /v2/events-monitor/events. The position of the list is read just before: what comes between the two is behind the position, and perhaps on the page.
     * @throws NotConfigured if the query has a `search`, but the name of its parameter is not configured.
     */
    page: (query: EventQuery, page: number, pageSize: number, { vectors, position }: EventExtras): Read<EventPage> => ({
      request: requestTo(eventsEndpoint, `${monitor}/events?${parameters(query, page, pageSize)}`, undefined, vectors),
      tag: eventsTag,
      outlivesTag: true,
      ...(position && {
        async before(fetch: Fetch): Promise<ListPosition> {
          const { from, seen } = await follow(client.between(query, false, fetch), undefined, timeNow());
          return { from, seen };
        },
      }),
      parse: (body, before) => ({
        ...requestedPage(body, page, pageSize),
        ...(position && { position: before as ListPosition }),
      }),
    }),

    /** Reads the events that match a query, whatever its own range is. @param fetch reads from the service. */
    between:
      (query: EventQuery, vectors: boolean, fetch: Fetch): ReadBetween =>
      (page, from, to, pageSize = maxPageSize) =>
        fetch(client.page({ ...query, from: iso(from), to: iso(to) }, page, pageSize, { vectors, position: false })),

    /** GET /v2/events-monitor/observation/{id}. */
    observation: (id: string, vectors: boolean): Read<Observation> => ({
      request: requestTo(observationsEndpoint, `${monitor}/observation/${encodeURIComponent(id)}`, id, vectors),
      parse: body =>
        isUsualObservation(body)
          ? Object.assign(body, { id, textEmbedding: null })
          : { ...observation.parse(body), id },
    }),
  };
  return client;
}

/** The parameters that filter the list. @param searchParam the name of the one for `search`. */
export function filterParameters({ search, ...query }: EventQuery, searchParam = 'search'): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...query, [searchParam]: search })) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters;
}

/** The page that was requested. Fewer items, or another page, would shift every window: @throws UpstreamInvalidResponse. */
function requestedPage(body: unknown, page: number, pageSize: number): EventPage {
  const { events, totalItems, unfilteredTotalItems, ...meta } = eventPage.parse(body);
  const before = (page - 1) * pageSize;
  // There is nothing behind the end of the list, whatever a service says of such a page.
  if (before >= totalItems) return { events: [], totalItems, unfilteredTotalItems };
  // A service may count the items of the last page as its size.
  const isRestOfList =
    meta.totalPages === page && meta.pageSize === events.length && events.length === totalItems - before;
  const hasSize = meta.pageSize === pageSize || isRestOfList;
  if (meta.currentPage !== page || events.length > pageSize || !hasSize) {
    throw new UpstreamInvalidResponse('The service answered with a page other than the requested one');
  }
  return { events, totalItems, unfilteredTotalItems };
}
