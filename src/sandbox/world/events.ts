import type { Random } from '../random.js';
import type { MarketEvent, Observation } from '../resources.js';
import { EMBEDDINGS_MODEL, meanVector } from './embedding.js';
import type { Happening } from './happenings.js';

const DAY = 86_400_000;

/** An observation and the occurrence that it reports. */
export interface Sighting {
  observation: Observation;
  happening: Happening;
}

/** The event for a group of observations: their common facts, from the occurrence that most of them report. */
export function eventOf(group: readonly Sighting[], random: Random): MarketEvent {
  const byTime = group.map(each => each.observation).sort((a, b) => a.publishedAt.localeCompare(b.publishedAt));
  const { story, words, taxonomicMatches, relevantEntities, startedAt } = mostTold(group);
  const mean = meanVector(byTime.map(observation => observation.textEmbedding));
  const sentences = [...new Set(byTime.flatMap(observation => observation.content))];
  const published = byTime[0]?.publishedAt ?? null;
  return {
    _id: random.hex(24),
    title: headline(closest(byTime, mean)),
    summary: sentences.slice(0, 4).join(' '),
    vectorIndex: { anchorText: story.anchorText, embeddings: mean, embeddingsModelName: EMBEDDINGS_MODEL },
    eventSearchKeywords: [...story.keywords, words.category ?? null].map(keyword => ({
      keyword,
      propertySource: 'inferred',
    })),
    relevantEntities,
    timestamps: {
      published,
      recordedStart: new Date(startedAt).toISOString(),
      ...(random.chance(0.5) ? { recordedEnd: random.chance(0.5) ? (byTime.at(-1)?.publishedAt ?? null) : null } : {}),
      ...(story.announced
        ? {
            projectedStart: new Date(startedAt + random.int(5, 20) * DAY).toISOString(),
            projectedEnd: random.chance(0.5) ? new Date(startedAt + random.int(30, 400) * DAY).toISOString() : null,
          }
        : {}),
    },
    references: byTime.map(({ _id, title, url }) => ({ _id, title, ...(url === undefined ? {} : { url }) })),
    lastUpdated: byTime.map(observation => observation.addedAt).reduce((a, b) => (a > b ? a : b)),
    taxonomicMatches,
  };
}

function mostTold(group: readonly Sighting[]): Happening {
  const times = new Map<Happening, number>();
  for (const { happening } of group) times.set(happening, (times.get(happening) ?? 0) + 1);
  const [first] = [...times].sort(([, a], [, b]) => b - a);
  if (!first) throw new RangeError('An event needs at least one observation');
  return first[0];
}

function closest(observations: readonly Observation[], mean: readonly number[]): Observation {
  const cosine = ({ textEmbedding }: Observation) =>
    textEmbedding.reduce((sum, component, index) => sum + component * (mean[index] ?? 0), 0);
  return observations.reduce((best, next) => (cosine(next) > cosine(best) ? next : best));
}

/** A title without the name of its publisher. */
const headline = ({ title }: Observation) => title.split(' | ')[0] ?? title;
