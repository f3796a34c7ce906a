// Makes the events and observations of the sandbox, the same ones at each start.
import { hexOf } from '../ids.js';
import { EMBEDDINGS_MODEL, lazyEmbeddingOf } from './embedding.js';
import data from './events.json' with { type: 'json' };
import vocabulary from './vocabulary.json' with { type: 'json' };

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** A kind of occurrence and the texts that report it, with the words of an occurrence as placeholders in braces. */
interface Story {
  anchorText: string;
  alertTypes: readonly string[];
  /** `percent` and `price` stand for the percentage of the occurrence and the price unit of its category. */
  datapoints: readonly { name: string; unit: string }[];
  keywords: readonly string[];
  headlines: readonly string[];
  sentences: readonly string[];
}

/** Something that happened. The service sees the observations that report it, and makes an event of them. */
export interface Occurrence {
  story: string;
  words: Record<'company' | 'partner' | 'city' | 'category' | 'person' | 'site', string> &
    Record<'percent' | 'figure' | 'days' | 'weeks', number>;
  /** Number of the headline of the story that the event has. */
  headline: number;
  /** Time from its start to the first report. */
  startedMinutesBefore: number;
  /** Left out: the event has no `recordedEnd`. False: it is null. */
  hasEnded?: boolean;
  /** Days from the start to the projected start and end. */
  projectedDays?: readonly [number, number | null];
  /** For each datapoint of the story: whether it has a subject, its direction, and the operator and values of its quantity. */
  datapoints: readonly [boolean, string | null, string | null, ...number[]][];
  /** For each alert type of the story: the keyword that it was mapped from, and their similarity. */
  alerts: readonly [string, number][];
  /** Impacted entities with likelihood and severity. */
  impact: readonly [string, number, number][];
  /** Ordered by time of publication. */
  reports: readonly Report[];
}

/** Age in minutes when the sandbox starts, minutes from publication to addition, source, and the numbers of headline and sentences. */
type Report = readonly [number, number, string, number, readonly number[]];

type Timestamps = Partial<
  Record<'published' | 'recordedStart' | 'recordedEnd' | 'projectedStart' | 'projectedEnd', string | null>
>;

/** The JSON file shows its tuples as arrays to the type checker. */
export const occurrences = data.occurrences as unknown as readonly Occurrence[];
const stories: Readonly<Record<string, Story>> = data.stories;
const sources: Readonly<Record<string, { host?: string; weight: Record<string, number> }>> = data.sources;
const priceUnits: Readonly<Record<string, string>> = vocabulary.priceUnits;
const places: Readonly<Record<string, string[]>> = vocabulary.places;

/** The observation of a report that is added at `addedAt`. The same `key` gives the same id. */
export function observationOf(occurrence: Occurrence, report: Report, key: string, addedAt: number) {
  const [, lag, source, headline, sentences] = report;
  const { host, weight } = sources[source] as (typeof sources)[string];
  const { headlines, sentences: texts } = storyOf(occurrence);
  const [text = '', ...content] = [headlines[headline], ...sentences.map(number => texts[number])].map(template =>
    fill(template ?? '', occurrence),
  );
  const _id = hexOf(`observation ${key}`, 24);
  const published = Math.floor(addedAt) - lag * MINUTE;
  const embedding = lazyEmbeddingOf(JSON.stringify(occurrence.words), [text, ...content].join(' '));
  return {
    _id,
    dedupeId: hexOf(`${source} ${text} ${_id}`, 40),
    sourceService: host === undefined ? source : 'news-crawler',
    title: host === undefined ? text : `${text} | ${source}`,
    content,
    get textEmbedding() {
      return embedding();
    },
    weight,
    publishedAt: iso(published),
    addedAt: iso(addedAt),
    ...(host !== undefined && {
      url: `https://${host}/${Math.floor(published / DAY)}/${slug(text)}-${_id.slice(0, 6)}`,
    }),
    /** Undefined while it belongs to no event. */
    clusterLabel: undefined as { label: number; method: string } | undefined,
  };
}

export type Observation = ReturnType<typeof observationOf>;

/** The event for observations of an occurrence, at least one, the first published first. */
export function eventOf(occurrence: Occurrence, observations: readonly Observation[], key: string) {
  const { words, startedMinutesBefore, hasEnded, projectedDays, impact } = occurrence;
  const { anchorText, alertTypes, datapoints, keywords, headlines } = storyOf(occurrence);
  const { company, partner, category, city, person } = words;
  const title = fill(headlines[occurrence.headline] ?? '', occurrence);
  const published = observations[0]?.publishedAt ?? '';
  const startedAt = Date.parse(published) - startedMinutesBefore * MINUTE;
  const embedding = lazyEmbeddingOf(JSON.stringify(words), title);
  const inDays = (days: number) => iso(startedAt + days * DAY);
  const timestamps: Timestamps = {
    published,
    recordedStart: iso(startedAt),
    ...(hasEnded !== undefined && { recordedEnd: hasEnded ? (observations.at(-1)?.publishedAt ?? null) : null }),
    ...(projectedDays && {
      projectedStart: inDays(projectedDays[0]),
      projectedEnd: projectedDays[1] === null ? null : inDays(projectedDays[1]),
    }),
  };
  return {
    _id: hexOf(`event ${key}`, 24),
    title,
    summary: [...new Set(observations.flatMap(({ content }) => content))].slice(0, 4).join(' '),
    vectorIndex: {
      anchorText,
      get embeddings() {
        return embedding();
      },
      embeddingsModelName: EMBEDDINGS_MODEL,
    },
    eventSearchKeywords: [...keywords, category].map(keyword => ({ keyword, propertySource: 'inferred' })),
    relevantEntities: (
      [
        [company, 'company'],
        [partner, 'company'],
        [category, 'category'],
        [countryOf(city), 'country'],
        [city, 'location'],
        [person, null],
      ] as const
    ).map(([name, entityType]) => ({ name, entityType, propertySource: 'inferred' })),
    timestamps,
    references: observations.map(({ _id, title, url }) => ({ _id, title, ...(url !== undefined && { url }) })),
    lastUpdated: observations.map(({ addedAt }) => addedAt).reduce((a, b) => (a > b ? a : b)),
    taxonomicMatches: {
      affectedDatapoints: datapoints.map(({ name, unit }, index) => {
        const [hasSubject, direction, operator, ...values] = occurrence.datapoints[index] ?? [false, null, null];
        const unitName = unit === 'percent' ? '%' : unit === 'price' ? (priceUnits[category] ?? unit) : unit;
        const quantity = operator && { operator, values, unit: unitName };
        return { name, subject: hasSubject ? category : null, direction, quantity };
      }),
      alertTypes: alertTypes.map((name, index) => {
        const [mappedFrom, similarity] = occurrence.alerts[index] ?? ['', 0];
        return { name, mappedFrom, method: 'llm', similarity, rationale: `The sources describe: ${anchorText}` };
      }),
      impactedEntities: impact.map(([name, likelihood, severity]) => ({
        name,
        entityType: name === category ? 'category' : 'company',
        mappedFrom: name.split(' ')[0] ?? name,
        impact: {
          likelihood,
          severity,
          rationale: `${name} is named in the sources or supplies what they are about.`,
        },
      })),
    },
  };
}

/** An event as the service sends it (docs/upstream-api.md: Event). */
export type MarketEvent = ReturnType<typeof eventOf>;

const storyOf = ({ story }: Occurrence) => stories[story] as Story;
const countryOf = (city: string) => places[city]?.[0] ?? '';
const iso = (time: number) => new Date(time).toISOString();

function fill(template: string, { words }: Occurrence): string {
  const all: Record<string, string | number> = { ...words, country: countryOf(words.city) };
  return template.replace(/\{(\w+)\}/g, (_, word: string) => String(all[word]));
}

const slug = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60);
