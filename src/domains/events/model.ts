import { z } from 'zod';
import {
  closedSet,
  known,
  type LeftOut,
  listedNumber,
  present,
  readable,
  records,
  requiredRecords,
  tolerant,
  unwrapped,
  utcTime,
  vector,
  webUrl,
} from '../../data/upstream/schema-drift.js';
import type { Vector } from '../../data/vector.js';

const text = z.string();

const directions = { up: 'UP', down: 'DOWN', fluctuate: 'FLUCTUATE', unknown: 'UNKNOWN' } as const;

const operators = {
  '>': 'GREATER_THAN',
  '<': 'LESS_THAN',
  '>=': 'GREATER_THAN_OR_EQUAL',
  '<=': 'LESS_THAN_OR_EQUAL',
  '=': 'EQUAL',
  '~': 'APPROXIMATELY',
  range: 'RANGE',
} as const;

const entityTypes = { company: 'COMPANY', category: 'CATEGORY', country: 'COUNTRY', location: 'LOCATION' } as const;

const score = z.int().min(0).max(3);

const quantity = z.object({
  operator: tolerant('Event.quantity.operator', closedSet(operators)),
  values: z.array(listedNumber('Event.quantity.values')),
  unit: text,
});

const affectedDatapoint = z.object({
  name: text,
  subject: tolerant('Event.affectedDatapoints.subject', text),
  direction: tolerant('Event.affectedDatapoints.direction', closedSet(directions)),
  quantity: tolerant('Event.affectedDatapoints.quantity', quantity),
});

const alertType = z.object({
  name: text,
  mappedFrom: tolerant('Event.alertTypes.mappedFrom', text),
  method: tolerant('Event.alertTypes.method', text),
  similarity: readable('Event.alertTypes.similarity', z.number()),
  rationale: tolerant('Event.alertTypes.rationale', text),
});

const impact = z.object({
  likelihood: readable('Event.impactedEntities.impact.likelihood', score),
  severity: readable('Event.impactedEntities.impact.severity', score),
  rationale: tolerant('Event.impactedEntities.impact.rationale', text),
});

const impactedEntity = z.object({
  name: text,
  entityType: tolerant('Event.impactedEntities.entityType', text),
  mappedFrom: tolerant('Event.impactedEntities.mappedFrom', text),
  impact: tolerant('Event.impactedEntities.impact', impact),
});

const taxonomicMatches = z.object({
  affectedDatapoints: records('Event.affectedDatapoints', affectedDatapoint),
  alertTypes: records('Event.alertTypes', alertType),
  impactedEntities: records('Event.impactedEntities', impactedEntity),
});

const vectorIndex = z.object({
  anchorText: tolerant('Event.vectorIndex.anchorText', text),
  /** Null if it was not selected: it is then cut from the body before parsing. */
  embeddings: tolerant('Event.vectorIndex.embeddings', vector),
  embeddingsModelName: tolerant('Event.vectorIndex.embeddingsModelName', text),
});

const timestamps = z.object({
  published: readable('Event.timestamps.published', utcTime),
  recordedStart: readable('Event.timestamps.recordedStart', utcTime),
  recordedEnd: readable('Event.timestamps.recordedEnd', utcTime),
  projectedStart: readable('Event.timestamps.projectedStart', utcTime),
  projectedEnd: readable('Event.timestamps.projectedEnd', utcTime),
});

const unknownTimes = timestamps.parse({});

const reference = z
  .object({ _id: text, title: text, url: tolerant('Event.references.url', webUrl) })
  .transform(({ _id, ...rest }) => ({ id: _id, ...rest }));

const keyword = z.object({
  keyword: tolerant('Event.eventSearchKeywords.keyword', text),
  propertySource: tolerant('Event.eventSearchKeywords.propertySource', text),
});

const relevantEntity = z.object({
  name: tolerant('Event.relevantEntities.name', text),
  entityType: tolerant('Event.relevantEntities.entityType', closedSet(entityTypes)),
  propertySource: tolerant('Event.relevantEntities.propertySource', text),
});

const event = z
  .object({
    _id: text,
    title: tolerant('Event.title', text),
    summary: tolerant('Event.summary', text),
    vectorIndex: tolerant('Event.vectorIndex', vectorIndex),
    eventSearchKeywords: records('Event.eventSearchKeywords', keyword),
    relevantEntities: records('Event.relevantEntities', relevantEntity),
    timestamps: tolerant('Event.timestamps', timestamps),
    references: records('Event.references', reference),
    lastUpdated: readable('Event.lastUpdated', utcTime),
    taxonomicMatches: tolerant('Event.taxonomicMatches', taxonomicMatches),
  })
  .transform(({ _id, taxonomicMatches, timestamps, ...rest }) => ({
    id: _id,
    ...rest,
    timestamps: timestamps ?? unknownTimes,
    affectedDatapoints: taxonomicMatches?.affectedDatapoints ?? [],
    alertTypes: taxonomicMatches?.alertTypes ?? [],
    impactedEntities: taxonomicMatches?.impactedEntities ?? [],
  }));

/** An Event (docs/upstream-api.md: Event), with `taxonomicMatches` flattened. */
export type Event = z.output<typeof event>;

/** The highest score of the impacted entities of an event; null if none has one. */
export function highestScore({ impactedEntities }: Event, score: 'severity' | 'likelihood'): number | null {
  const scores = present(impactedEntities).flatMap(({ impact }) => known(impact?.[score]) ?? []);
  return scores.length === 0 ? null : Math.max(...scores);
}

/** When an event was last updated, in milliseconds since 1970; 0 where it is not known. */
export const updatedAt = ({ lastUpdated }: Event): number => Date.parse(known(lastUpdated) ?? '') || 0;

/** An event with another embedding, where it can have one. */
export function withVector(event: Event, embeddings: Vector | null): Event {
  return event.vectorIndex === null ? event : { ...event, vectorIndex: { ...event.vectorIndex, embeddings } };
}

/** Each event once, in its newest version: an event that changes between two calls may be on both pages. */
export function newestVersions(events: readonly Event[]): readonly Event[] {
  const newest = new Map<string, Event>();
  for (const event of events) {
    const other = newest.get(event.id);
    if (other === undefined || updatedAt(other) < updatedAt(event)) newest.set(event.id, event);
  }
  return [...newest.values()];
}

const count = z.int().min(0);

/** The body of the event list (docs/upstream-api.md: GET events). */
export const eventPage = z.compile(
  z
    .object({
      meta: z.object({
        totalItems: count,
        totalPages: z.number(),
        currentPage: z.number(),
        pageSize: z.number(),
        unfilteredTotalItems: readable('Events.meta.unfilteredTotalItems', count),
      }),
      data: requiredRecords('Event', event),
    })
    .transform(({ meta, data }) => ({ events: data, ...meta })),
);

/** Which updates a list had: every one before `from`, in milliseconds since 1970, and those whose keys (`updateKey`) are in `seen`. */
export interface ListPosition {
  readonly from: number;
  readonly seen: readonly string[];
}

/** A page of events, and the size of the list. */
export interface EventPage extends Pick<z.output<typeof eventPage>, 'totalItems' | 'unfilteredTotalItems'> {
  readonly events: readonly (Event | LeftOut)[];
  /** What the list had just before the page was read, without the range of the query; undefined if that was not wanted. */
  readonly position?: ListPosition | undefined;
}

/** What is wanted of events besides what each page has. */
export interface EventExtras {
  readonly vectors: boolean;
  readonly position: boolean;
}

const observationRecord = z
  .object({
    _id: text,
    dedupeId: tolerant('Observation.dedupeId', text),
    sourceService: tolerant('Observation.sourceService', text),
    title: tolerant('Observation.title', text),
    content: records('Observation.content', text),
    textEmbedding: tolerant('Observation.textEmbedding', vector),
    weight: readable('Observation.weight', z.record(text, z.number())),
    publishedAt: readable('Observation.publishedAt', utcTime),
    addedAt: readable('Observation.addedAt', utcTime),
    clusterLabel: tolerant(
      'Observation.clusterLabel',
      z.object({
        label: readable('Observation.clusterLabel.label', z.number()),
        method: tolerant('Observation.clusterLabel.method', text),
      }),
    ),
    url: tolerant('Observation.url', webUrl),
  })
  .transform(({ _id, ...rest }) => ({ id: _id, ...rest }));

/** One Observation (docs/upstream-api.md: Observation), bare or under `data`. */
export const observation = z.compile(z.preprocess(unwrapped, observationRecord));

export type Observation = z.output<typeof observationRecord>;
