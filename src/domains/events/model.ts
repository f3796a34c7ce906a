// What the service sends of events and observations.
import { z } from 'zod';
import * as parse from '../../data/parsing.js';
import { oncePerValue } from '../../lib/run.js';
import { completeTime, maxTimeLength } from '../../lib/time.js';

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

const maxScore = 3;
const score = z.int().min(0).max(maxScore);

const quantity = z.object({
  operator: parse.tolerant('Event.quantity.operator', parse.closedSet(operators)),
  values: z.array(parse.listedNumber('Event.quantity.values')),
  unit: text,
});

const affectedDatapoint = z.object({
  name: text,
  subject: parse.tolerant('Event.affectedDatapoints.subject', text),
  direction: parse.tolerant('Event.affectedDatapoints.direction', parse.closedSet(directions)),
  quantity: parse.tolerant('Event.affectedDatapoints.quantity', quantity),
});

const alertType = z.object({
  name: text,
  mappedFrom: parse.tolerant('Event.alertTypes.mappedFrom', text),
  method: parse.tolerant('Event.alertTypes.method', text),
  similarity: parse.readable('Event.alertTypes.similarity', z.number()),
  rationale: parse.tolerant('Event.alertTypes.rationale', text),
});

const impact = z.object({
  likelihood: parse.readable('Event.impactedEntities.impact.likelihood', score),
  severity: parse.readable('Event.impactedEntities.impact.severity', score),
  rationale: parse.tolerant('Event.impactedEntities.impact.rationale', text),
});

type Impact = z.output<typeof impact>;

const impactedEntity = z.object({
  name: text,
  entityType: parse.tolerant('Event.impactedEntities.entityType', text),
  mappedFrom: parse.tolerant('Event.impactedEntities.mappedFrom', text),
  impact: parse.tolerant('Event.impactedEntities.impact', impact),
});

const taxonomicMatches = z.object({
  affectedDatapoints: parse.records('Event.affectedDatapoints', affectedDatapoint),
  alertTypes: parse.records('Event.alertTypes', alertType),
  impactedEntities: parse.records('Event.impactedEntities', impactedEntity),
});

const vectorIndex = z.object({
  anchorText: parse.tolerant('Event.vectorIndex.anchorText', text),
  /** Null if it was not selected: it is then cut from the body before parsing. */
  embeddings: parse.tolerant('Event.vectorIndex.embeddings', parse.vector),
  embeddingsModelName: parse.tolerant('Event.vectorIndex.embeddingsModelName', text),
});

const timestamps = z.object({
  published: parse.readable('Event.timestamps.published', parse.utcTime),
  recordedStart: parse.readable('Event.timestamps.recordedStart', parse.utcTime),
  recordedEnd: parse.readable('Event.timestamps.recordedEnd', parse.utcTime),
  projectedStart: parse.readable('Event.timestamps.projectedStart', parse.utcTime),
  projectedEnd: parse.readable('Event.timestamps.projectedEnd', parse.utcTime),
});

const unknownTimes = timestamps.parse({});

const reference = z
  .object({ _id: text, title: text, url: parse.tolerant('Event.references.url', parse.webUrl) })
  .transform(({ _id, title, url }) => ({ id: _id, title, url }));

const keyword = z.object({
  keyword: parse.tolerant('Event.eventSearchKeywords.keyword', text),
  propertySource: parse.tolerant('Event.eventSearchKeywords.propertySource', text),
});

const relevantEntity = z.object({
  name: parse.tolerant('Event.relevantEntities.name', text),
  entityType: parse.tolerant('Event.relevantEntities.entityType', parse.closedSet(entityTypes)),
  propertySource: parse.tolerant('Event.relevantEntities.propertySource', text),
});

const event = z
  .object({
    _id: text,
    title: parse.tolerant('Event.title', text),
    summary: parse.tolerant('Event.summary', text),
    vectorIndex: parse.tolerant('Event.vectorIndex', vectorIndex),
    eventSearchKeywords: parse.records('Event.eventSearchKeywords', keyword),
    relevantEntities: parse.records('Event.relevantEntities', relevantEntity),
    timestamps: parse.tolerant('Event.timestamps', timestamps),
    references: parse.records('Event.references', reference),
    lastUpdated: parse.readable('Event.lastUpdated', parse.utcTime),
    taxonomicMatches: parse.tolerant('Event.taxonomicMatches', taxonomicMatches),
  })
  // Each member by its name: V8 copies the rest of an object ten times as slowly.
  .transform(event => ({
    id: event._id,
    title: event.title,
    summary: event.summary,
    vectorIndex: event.vectorIndex,
    eventSearchKeywords: event.eventSearchKeywords,
    relevantEntities: event.relevantEntities,
    references: event.references,
    lastUpdated: event.lastUpdated,
    timestamps: event.timestamps ?? unknownTimes,
    affectedDatapoints: event.taxonomicMatches?.affectedDatapoints ?? [],
    alertTypes: event.taxonomicMatches?.alertTypes ?? [],
    impactedEntities: event.taxonomicMatches?.impactedEntities ?? [],
  }));

/** An Event (docs/upstream-api.md: Event), with `taxonomicMatches` flattened. */
export type Event = z.output<typeof event>;

/** The highest score of the impacted entities of an event; null if none has one. It is not known where one that cannot be read may be higher. */
export function highestScore({ impactedEntities }: Event, score: 'severity' | 'likelihood'): parse.ReadNumber | null {
  const scores = parse.present(impactedEntities).flatMap(({ impact }) => impact?.[score] ?? []);
  const highest = Math.max(...scores.map(each => parse.known(each) ?? 0));
  const unreadable = highest < maxScore && scores.find(parse.isUnreadable);
  return unreadable || (scores.length === 0 ? null : highest);
}

const folded = (name: string) => name.normalize('NFC').toLowerCase();
const allFolded = oncePerValue((names: readonly string[]) => new Set(names.map(folded)));

/** The highest impact of an event on entities of these names: by severity, then by likelihood. Null if it has none. */
export function impactOn({ impactedEntities }: Event, names: readonly string[]) {
  const wanted = allFolded(names);
  const impacts = parse
    .present(impactedEntities)
    .flatMap(({ name, impact }) => (impact !== null && wanted.has(folded(name)) ? impact : []));
  const rank = ({ severity, likelihood }: Impact) =>
    4 * (parse.known(severity) ?? -1) + (parse.known(likelihood) ?? -1);
  return impacts.sort((one, other) => rank(other) - rank(one))[0] ?? null;
}

/** When an event was last updated, in milliseconds since 1970; 0 where it is not known. */
export const updatedAt = ({ lastUpdated }: Event): number => Date.parse(parse.known(lastUpdated) ?? '') || 0;

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
        unfilteredTotalItems: parse.readable('Events.meta.unfilteredTotalItems', count),
      }),
      data: parse.requiredRecords('Event', event),
    })
    .transform(({ meta, data }) => ({ events: data, ...meta })),
);

/**
 * What the pages of one list have, each event once. `missing` is how many events of the list, or of the first `max`, were on none of them, unreadable ones
 * apart; NaN if the length of the list changed between two pages.
 */
export function eventsOf(pages: readonly ListedPage[], max: number) {
  const listed = pages.flatMap(page => page.events);
  const readable = parse.present(listed);
  const events = newestVersions(readable);
  const total = pages.at(-1)?.totalItems ?? 0;
  const isStable = pages.every(({ totalItems }) => totalItems === total);
  const missing = Math.max(Math.min(total, max) - events.length - (listed.length - readable.length), 0);
  return { events, total, missing: isStable ? missing : Number.NaN };
}

/** Which updates a list had: every one before `from`, in milliseconds since 1970, and those whose keys (`updateKey`) are in `seen`. */
export interface ListPosition {
  readonly from: number;
  readonly seen: readonly string[];
}

export interface EventPage extends Pick<z.output<typeof eventPage>, 'totalItems' | 'unfilteredTotalItems'> {
  readonly events: readonly (Event | parse.LeftOut)[];
  /** What the list had just before the page was read, without the range of the query; undefined if that was not wanted. */
  readonly position?: ListPosition | undefined;
}

export type ListedPage = Pick<EventPage, 'events' | 'totalItems'>;

/** What is wanted of events besides what each page has. */
export interface EventExtras {
  readonly vectors: boolean;
  readonly position: boolean;
}

const observationRecord = z.object({
  dedupeId: parse.tolerant('Observation.dedupeId', text),
  sourceService: parse.tolerant('Observation.sourceService', text),
  title: parse.tolerant('Observation.title', text),
  content: parse.records('Observation.content', text),
  textEmbedding: parse.tolerant('Observation.textEmbedding', parse.vector),
  weight: parse.readable('Observation.weight', z.record(text, z.number())),
  publishedAt: parse.readable('Observation.publishedAt', parse.utcTime),
  addedAt: parse.readable('Observation.addedAt', parse.utcTime),
  clusterLabel: parse.tolerant(
    'Observation.clusterLabel',
    z.object({
      label: parse.readable('Observation.clusterLabel.label', z.number()),
      method: parse.tolerant('Observation.clusterLabel.method', text),
    }),
  ),
  url: parse.tolerant('Observation.url', parse.webUrl),
});

/** One Observation (docs/upstream-api.md: Observation), bare or under `data`. Its identifier is known from the request. */
export const observation = z.compile(
  z.preprocess(parse.unwrapped, parse.withSomeOf(['_id', ...Object.keys(observationRecord.shape)], observationRecord)),
);

export type Observation = z.output<typeof observationRecord> & { readonly id: string };

const isUsualTime = (time: unknown) =>
  typeof time === 'string' && time.length <= maxTimeLength && completeTime.test(time);

/** Whether a body without vector is, like most, what `observation` would make of it, which takes eight times the memory; with more members that no field shows. */
export function isUsualObservation(body: unknown): body is z.output<typeof observationRecord> {
  const { dedupeId, sourceService, title, content, textEmbedding, weight, publishedAt, addedAt, clusterLabel, url } =
    Object(body);
  return (
    !Object.hasOwn(Object(body), 'data') &&
    typeof dedupeId === 'string' &&
    typeof sourceService === 'string' &&
    typeof title === 'string' &&
    typeof clusterLabel?.method === 'string' &&
    Array.isArray(content) &&
    content.every(item => typeof item === 'string') &&
    (textEmbedding === null || (Array.isArray(textEmbedding) && textEmbedding.length === 0)) &&
    weight?.constructor === Object &&
    Object.values(weight).every(Number.isFinite) &&
    [publishedAt, addedAt].every(isUsualTime) &&
    Number.isFinite(clusterLabel.label) &&
    (url === null || (typeof url === 'string' && parse.usualUrl.test(url)))
  );
}
