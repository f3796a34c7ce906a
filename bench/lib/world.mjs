// The service's answers, made once from a seed: the same bytes for every server that is measured.
import searchCriteria from './search-criteria.json' with { type: 'json' };

/** 1,536 numbers in an embedding, as the service's model has them. */
const dimensions = 1_536;

/** @param {number} seed */
function drawFrom(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

/** @param {number} seed @param {boolean} heavy */
function vector(seed, heavy) {
  if (!heavy) return [];
  const draw = drawFrom(seed);
  return Array.from({ length: dimensions }, () => (draw() - 0.5) / 20);
}

/**
 * One Observation (docs/upstream-api.md: Observation).
 * @param {number} number which one
 * @param {boolean} heavy whether it carries its embedding
 */
export function observationOf(number, heavy) {
  const _id = observationId(number);
  return {
    _id,
    dedupeId: `dedupe-${number}`,
    sourceService: 'news',
    title: `Observation ${number}: a "supplier" of castings stops deliveries`,
    content: [`Snippet one of observation ${number}.`, 'The plant expects to be back within days, its owner says.'],
    textEmbedding: vector(number + 1, heavy),
    weight: { mediaBias: 0.5 },
    publishedAt: '2026-01-30T08:30:00.000Z',
    addedAt: '2026-01-30T09:00:00.000Z',
    clusterLabel: { label: number % 40, method: 'louvain' },
    url: `https://news.example.com/${number}`,
  };
}

/** @param {number} number */
export const observationId = number => `65a0b0c0d0e0f0${String(number).padStart(10, '0')}`;

/**
 * The observations of each event. Ten events share 41 observations in 44 references, a hundred have 400 of their own.
 * @param {number} pageSize
 */
function referencesOf(pageSize) {
  if (pageSize !== 10) return Array.from({ length: pageSize }, (_, event) => [0, 1, 2, 3].map(at => event * 4 + at));
  const own = Array.from({ length: 10 }, (_, event) => [0, 1, 2, 3].map(at => event * 4 + at));
  own[0]?.push(40);
  own[1]?.push(40);
  own[2]?.push(0);
  own[3]?.push(1);
  return own;
}

/**
 * One page of the event list (docs/upstream-api.md: GET events).
 * @param {number} pageSize
 * @param {boolean} heavy whether events carry their embeddings
 */
export function eventPageOf(pageSize, heavy) {
  const data = referencesOf(pageSize).map((observations, number) => ({
    _id: `75a0b0c0d0e0f0${String(number).padStart(10, '0')}`,
    title: `Event ${number}: castings become scarce`,
    summary: `What ${observations.length} sources say about event ${number}, in two sentences. Prices are expected to rise.`,
    vectorIndex: {
      anchorText: 'A supplier of castings stops deliveries',
      embeddings: vector(number + 100_001, heavy),
      embeddingsModelName: 'text-embedding-3-small',
    },
    eventSearchKeywords: [{ keyword: 'castings', propertySource: 'inferred' }],
    relevantEntities: [{ name: 'Alder Castings GmbH', entityType: 'company', propertySource: 'inferred' }],
    timestamps: { published: '2026-01-30T08:30:00.000Z', recordedStart: '2026-01-29T00:00:00.000Z' },
    references: observations.map(observation => {
      const { _id, title, url } = observationOf(observation, false);
      return { _id, title, url };
    }),
    lastUpdated: '2026-01-30T10:00:00.000Z',
    taxonomicMatches: {
      affectedDatapoints: [{ name: 'Price', subject: 'castings', direction: 'up', quantity: null }],
      alertTypes: [
        { name: 'Shortage', mappedFrom: 'scarce', method: 'llm', similarity: 0.91, rationale: 'The sources say so.' },
      ],
      impactedEntities: [
        {
          name: 'Castings',
          entityType: 'category',
          mappedFrom: 'castings',
          impact: { likelihood: 3, severity: 2, rationale: 'Deliveries have stopped.' },
        },
      ],
    },
  }));
  const totalItems = 4_200;
  return { meta: { totalItems, totalPages: totalItems / pageSize, currentPage: 1, pageSize }, data };
}

/** The same JSON as another credential gets it: other identifiers of events, and other titles. @param {string} json */
export const otherOf = json => json.replaceAll('"75a0', '"85a0').replaceAll('castings', 'bearings');

/** What the service answers to a request for search criteria (docs/upstream-api.md: POST search-criteria). */
export const writtenIs = { searchCriteria };
