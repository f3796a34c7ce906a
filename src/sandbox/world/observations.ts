import { createHash } from 'node:crypto';
import type { Random } from '../random.js';
import type { Observation } from '../resources.js';
import type { Happening } from './happenings.js';
import { INTERNAL_SOURCES, PUBLISHERS } from './vocabulary.js';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** An observation before its vector is known, with the occurrence that it reports. */
export interface Report {
  observation: Omit<Observation, 'textEmbedding'>;
  happening: Happening;
}

/** Two to six reports of an occurrence. The last one is added at its `lastAddedAt`; none is older than ten days. */
export function reportsOf(happening: Happening, now: number, random: Random): Report[] {
  const { startedAt, lastAddedAt } = happening;
  return Array.from({ length: random.int(2, 6) }, (_, index) => {
    const addedAt = index === 0 ? lastAddedAt : startedAt + random.float() * (lastAddedAt - startedAt);
    return reportOf(happening, addedAt, now, random);
  });
}

/** A report that is added at `addedAt`. */
export function reportOf(happening: Happening, addedAt: number, now: number, random: Random): Report {
  const { story } = happening;
  const publishedAt = Math.floor(Math.max(addedAt - random.int(3, 90) * MINUTE, now - 10 * DAY));
  const publisher = random.pick(PUBLISHERS);
  const internal = random.chance(0.12);
  const id = random.hex(24);
  const title = fill(random.pick(story.headlines), happening);
  return {
    happening,
    observation: {
      _id: id,
      dedupeId: createHash('sha256').update(`${publisher.name} ${title} ${id}`).digest('hex').slice(0, 40),
      sourceService: internal ? random.pick(INTERNAL_SOURCES) : 'news-crawler',
      title: internal ? title : `${title} | ${publisher.name}`,
      content: random.sample(story.sentences, random.int(3, 5)).map(sentence => fill(sentence, happening)),
      weight: {
        mediaBias: Number((0.6 + random.float() * 0.4).toFixed(3)),
        sourceReliability: Number((0.5 + random.float() * 0.5).toFixed(3)),
      },
      publishedAt: new Date(publishedAt).toISOString(),
      addedAt: new Date(Math.max(addedAt, publishedAt)).toISOString(),
      ...(internal
        ? {}
        : {
            url: `https://${publisher.host}/${Math.floor(publishedAt / 86_400_000)}/${slug(title)}-${id.slice(0, 6)}`,
          }),
    },
  };
}

/** The text that the vector of an observation is computed from. */
export const textOf = (observation: Pick<Observation, 'title' | 'content'>) =>
  [observation.title.split(' | ')[0], ...observation.content].join(' ');

function fill(template: string, happening: Happening): string {
  return template.replace(/\{(\w+)\}/g, (_, word: string) => happening.words[word] ?? '');
}

const slug = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60);
