// The events of the sandbox, with those that tests and the news add.
import { type EventQuery, passes } from './event-query.js';
import { hexOf } from './ids.js';
import { Problem } from './problem.js';
import { EMBEDDINGS_MODEL, embeddingOf } from './world/embedding.js';
import type { MarketEvent, Observation } from './world/events.js';
import type { World } from './world/world.js';

/** The fields of an event that a test sets. All others are generated. */
export type EventDraft = Partial<Omit<MarketEvent, 'taxonomicMatches'>> & {
  taxonomicMatches?: Partial<MarketEvent['taxonomicMatches']>;
};

/** How the event list is ordered, and how many events a page has at most, which the specification does not state. */
export interface EventListVariant {
  eventOrder: 'newest' | 'oldest' | 'id';
  maxPageSize: number;
}

const orderings: Record<EventListVariant['eventOrder'], (newestFirst: MarketEvent[]) => MarketEvent[]> = {
  newest: events => events,
  oldest: events => events.reverse(),
  id: events => events.sort((a, b) => compare(a._id, b._id)),
};

/** The events, newest first, and the observations. Events can be added and changed. */
export class EventStore {
  readonly #observations: Map<string, Observation>;
  readonly #now: () => number;
  #events: readonly MarketEvent[];
  #lastDraft = 0;

  constructor(world: World, now: () => number) {
    this.#observations = new Map(world.observations.map(observation => [observation._id, observation]));
    this.#events = sorted(world.events);
    this.#now = now;
  }

  get all(): readonly MarketEvent[] {
    return this.#events;
  }

  /** One page as JSON text: `meta` with the totals before and after filtering, and `data` (docs/upstream-api.md: Events monitor). */
  pageText(query: EventQuery, { eventOrder, maxPageSize }: EventListVariant): string {
    const { page } = query;
    const pageSize = Math.min(query.pageSize, maxPageSize);
    const found = orderings[eventOrder](this.#events.filter(event => passes(event, query)));
    const meta = {
      totalItems: found.length,
      totalPages: Math.ceil(found.length / pageSize),
      currentPage: page,
      pageSize,
      unfilteredTotalItems: this.#events.length,
      unfilteredTotalPages: Math.ceil(this.#events.length / pageSize),
    };
    const data = found.slice((page - 1) * pageSize, page * pageSize).map(textOf);
    return `{"meta":${JSON.stringify(meta)},"data":[${data.join(',')}]}`;
  }

  /** One observation as JSON text. Throws NOT_FOUND. */
  observationText(id: string): string {
    const observation = this.#observations.get(id);
    if (!observation) throw new Problem('NOT_FOUND', `Observation ${id} does not exist`);
    return textOf(observation);
  }

  /** Adds an event that is updated now and matches the default filter, unless the draft says otherwise. */
  publish(draft: EventDraft): MarketEvent {
    const now = new Date(this.#now()).toISOString();
    const title = draft.title ?? 'Supplier reports an unplanned outage';
    const summary = draft.summary ?? `${title}. Details are still coming in.`;
    const event: MarketEvent = {
      _id: hexOf(`draft ${++this.#lastDraft}`, 24),
      title,
      summary,
      vectorIndex: {
        anchorText: 'A supplier reports an unplanned outage.',
        embeddings: embeddingOf(title, summary),
        embeddingsModelName: EMBEDDINGS_MODEL,
      },
      eventSearchKeywords: [{ keyword: 'outage', propertySource: 'inferred' }],
      relevantEntities: [],
      timestamps: { published: now },
      references: [],
      lastUpdated: now,
      ...draft,
      taxonomicMatches: {
        affectedDatapoints: [],
        alertTypes: [],
        impactedEntities: [
          {
            name: 'Hot-Rolled Steel',
            entityType: 'category',
            mappedFrom: 'steel',
            impact: { likelihood: 3, severity: 3, rationale: 'Named in the sources.' },
          },
        ],
        ...draft.taxonomicMatches,
      },
    };
    this.#events = sorted([...this.#events, event]);
    return event;
  }

  /** Changes the fields in the draft and sets the time of the update to now. Throws NOT_FOUND. */
  touch(id: string, { taxonomicMatches, ...draft }: EventDraft): MarketEvent {
    const before = this.#events.find(event => event._id === id);
    if (!before) throw new Problem('NOT_FOUND', `Event ${id} does not exist`);
    const event: MarketEvent = {
      ...before,
      lastUpdated: new Date(this.#now()).toISOString(),
      ...draft,
      _id: id,
      taxonomicMatches: { ...before.taxonomicMatches, ...taxonomicMatches },
    };
    this.#events = sorted(this.#events.map(other => (other === before ? event : other)));
    return event;
  }

  addObservation(observation: Observation): void {
    this.#observations.set(observation._id, observation);
  }

  /** Removes an event and its observations. */
  forget(id: string): void {
    const event = this.#events.find(({ _id }) => _id === id);
    for (const { _id } of event?.references ?? []) this.#observations.delete(_id);
    this.#events = this.#events.filter(other => other !== event);
  }
}

const sorted = (events: readonly MarketEvent[]) =>
  [...events].sort((a, b) => compare(b.lastUpdated, a.lastUpdated) || compare(a._id, b._id));

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

const texts = new WeakMap<object, string>();

/** Caches the JSON text of immutable objects, because converting 1,536 numbers to text is the expensive part of a response. */
function textOf(value: object): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  texts.set(value, text);
  return text;
}
