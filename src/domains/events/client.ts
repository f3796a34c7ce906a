import { Vector } from '../../data/embeddings/vector.js';
import type { Parsed, Read } from '../../data/reader.js';
import { NotConfigured, UpstreamInvalidResponse } from '../../errors.js';
import { type Event, type EventPage, eventPage, type Observation, observation } from './model.js';

/** The query parameters of the event list (docs/upstream-api.md: GET events). For each parameter that is left out, the service uses its default. */
export interface EventQuery {
  readonly from?: string;
  readonly to?: string;
  readonly affectedDatapoint?: readonly string[];
  readonly alertType?: readonly string[];
  readonly impactedEntity?: readonly string[];
  readonly minLikelihood?: number;
  readonly maxLikelihood?: number;
  readonly minSeverity?: number;
  readonly maxSeverity?: number;
  readonly search?: string;
}

/** Whether a `from` or `to` is a day without a time. */
export const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text);

/** The moment at which a `from` begins, in milliseconds since 1970. A day begins at 00:00 UTC. */
export const startOf = (text: string) => Date.parse(text);
/** The moment at which a `to` ends, in milliseconds since 1970. */
export const endOf = (text: string) => Date.parse(isDay(text) ? `${text}T23:59:59.999Z` : text);

/** Embeddings by the identifier of their record. What comes from Redis is their text. */
export type Vectors = Readonly<Record<string, Vector | string>>;

/** The endpoints of the events monitor. */
export interface EventsClient {
  /** GET /v2/events-monitor/events. @throws NotConfigured if the query has a `search`, but the name of its parameter is not configured. */
  page(query: EventQuery, page: number, pageSize: number, vectors: boolean): Read<EventPage, Vectors>;
  /** GET /v2/events-monitor/observation/{id}. */
  observation(id: string, vectors: boolean): Read<Observation, Vectors>;
}

/** @param searchParam name of the free-text parameter, which the specification does not show. */
export function createEventsClient(searchParam: string | undefined): EventsClient {
  return {
    page: (query, page, pageSize, vectors) => ({
      request: {
        family: 'events',
        address: 'base',
        method: 'GET',
        path: `/v2/events-monitor/events?${parameters(query, page, pageSize, searchParam)}`,
        argument: 'filter',
        safe: true,
        vectors: { member: 'embeddings', wanted: vectors },
      },
      parse: body => parsedPage(body, page, pageSize),
      join: joinedPage,
    }),

    observation: (id, vectors) => ({
      request: {
        family: 'observations',
        address: 'base',
        method: 'GET',
        path: `/v2/events-monitor/observation/${encodeURIComponent(id)}`,
        argument: 'id',
        safe: true,
        vectors: { member: 'textEmbedding', wanted: vectors },
      },
      parse: parsedObservation,
      join: joinedObservation,
    }),
  };
}

function parameters(query: EventQuery, page: number, pageSize: number, searchParam: string | undefined) {
  const { search, ...filters } = query;
  const parameters = new URLSearchParams({ pageSize: String(pageSize), page: String(page) });
  for (const [name, value] of Object.entries(filters)) parameters.set(name, String(value));
  if (search !== undefined) {
    if (searchParam === undefined) throw new NotConfigured('EVENTS_SEARCH_PARAM');
    parameters.set(searchParam, search);
  }
  return parameters;
}

/**
 * Reads the page that was requested. A service that returns fewer items per page than requested, or another page, would shift every window.
 * @throws UpstreamInvalidResponse
 */
function requestedPage(body: unknown, page: number, pageSize: number): EventPage {
  const { events, totalItems, unfilteredTotalItems, ...meta } = eventPage.parse(body);
  const before = (page - 1) * pageSize;
  // There is nothing behind the end of the list, whatever a service says of such a page.
  if (before >= totalItems) return { events: [], totalItems, unfilteredTotalItems };
  const isAsRequested = meta.currentPage === page && meta.pageSize === pageSize && events.length <= pageSize;
  // A service may count the items of the last page as its size.
  const isRestOfList =
    meta.currentPage === page &&
    meta.totalPages === page &&
    meta.pageSize === events.length &&
    events.length === totalItems - before &&
    events.length <= pageSize;
  if (!isAsRequested && !isRestOfList) {
    throw new UpstreamInvalidResponse(
      'The service answered with a page other than the requested one',
      undefined,
      false,
    );
  }
  return { events, totalItems, unfilteredTotalItems };
}

function parsedPage(body: unknown, number: number, pageSize: number): Parsed<EventPage, Vectors> {
  const page = requestedPage(body, number, pageSize);
  const found = page.events.flatMap(event =>
    event?.vectorIndex?.embeddings == null ? [] : [[event.id, event.vectorIndex.embeddings] as const],
  );
  return {
    value: { ...page, events: page.events.map(event => withVector(event, null)) },
    embeddings: splitEmbeddings(found),
  };
}

function joinedPage(page: EventPage, vectors: Vectors): EventPage {
  return { ...page, events: page.events.map(event => withVector(event, vectorOf(vectors, event?.id))) };
}

function parsedObservation(body: unknown): Parsed<Observation, Vectors> {
  const record = observation.parse(body);
  const { id, textEmbedding } = record;
  if (textEmbedding === null) return { value: record, embeddings: noVectors };
  return { value: { ...record, textEmbedding: null }, embeddings: splitEmbeddings([[id, textEmbedding]]) };
}

function joinedObservation(record: Observation, vectors: Vectors): Observation {
  return { ...record, textEmbedding: vectorOf(vectors, record.id) };
}

function withVector(event: Event | null, vector: Vector | null): Event | null {
  if (event === null || event.vectorIndex === null || event.vectorIndex.embeddings === vector) return event;
  return { ...event, vectorIndex: { ...event.vectorIndex, embeddings: vector } };
}

/** The embedding with this identifier. An identifier may equal the name of an inherited member, such as `toString`. */
function vectorOf(vectors: Vectors, id = ''): Vector | null {
  const found = Object.hasOwn(vectors, id) ? vectors[id] : undefined;
  return typeof found === 'string' ? new Vector(found) : (found ?? null);
}

function splitEmbeddings(found: readonly (readonly [string, Vector])[]) {
  return { value: Object.fromEntries(found), bytes: found.reduce((sum, [, { bytes }]) => sum + bytes.length, 0) };
}

const noVectors = splitEmbeddings([]);
