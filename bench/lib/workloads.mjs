// What is asked of the servers that are kept busy.
import { createHash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { byIds, embeddings, flagship, flagshipAnswer, normalised, observationFields } from './answer.mjs';
import { post } from './load.mjs';
import { kindOf, mixedOf, mixedTitle, request } from './mixed.mjs';
import { inRedis } from './variants.mjs';
import { eventPageOf, observationId, observationOf, writtenIs } from './world.mjs';

const key = 'bench-key';
const observations = new Map(
  Array.from({ length: 41 }, (_, number) => [observationId(number), observationOf(number, false)]),
);
const answerIs = data => normalised(JSON.stringify({ data }));
/** What everyone must answer to the flagship, normalised. */
export const flagshipIs = normalised(
  JSON.stringify(flagshipAnswer(eventPageOf(10, false), id => observations.get(id))),
);
const { userPrompt, marketName } = writtenIs.searchCriteria;
const writeIs = answerIs({ createSearchCriteria: { searchCriteria: { userPrompt, marketName } } });
const byIdsAre = answerIs(
  Object.fromEntries([...observations.values()].map((body, at) => [`o${at}`, observationFields(body)])),
);
const embeddingsAre = () =>
  answerIs({
    events: {
      nodes: eventPageOf(100, true).data.map(({ _id, vectorIndex: { embeddings: vector } }) => ({
        id: _id,
        vectorIndex: { embeddings: vector },
      })),
    },
  });

/** The same request each time: the whole answer may be kept. @param {object} [more] members of each body, beside or instead of the query */
const always =
  (more = {}) =>
  ({ flagship: query }) => {
    const same = post('/graphql', JSON.stringify({ query, ...more }), { 'x-api-key': key });
    return () => same;
  };

/** No two bodies alike, by a number among the request's `extensions`: no answer can be kept whole, every resource and parsed document can. */
const numbered =
  query =>
  ({ flagship: its }) =>
  number =>
    request(query ?? its, key, number);

/** Each request has a new API key, so no cached data serves it. */
const strangers =
  ({ flagship: query }) =>
  number =>
    request(query, `bench-key-${number}`);

/** What the second gateway reads from Redis in the order in which the first one wrote it, so that its own memory never has the next. */
const fill = number => request(byIds([...observations.keys()]), `bench-key-${number % inRedis}`);
const hash = createHash('sha256').update(flagship).digest('hex');
/** What Apollo Client adds to each body. */
const apolloClient = { extensions: { clientLibrary: { name: '@apollo/client', version: '4.3.8' } } };
/** A request by hash. */
const trusted = { query: undefined, documentId: `sha256:${hash}` };
/** Bodies of the flagship by the client that sends them. @type {Record<string, (query: string) => object>} */
export const bodies = {
  plain: query => ({ query }),
  'apollo-client': query => ({ query, ...apolloClient }),
  trusted: () => trusted,
};

/** The environment of a gateway that has the flagship as a trusted document. */
export function trustedEnvironment() {
  const manifest = join(mkdtempSync(join(tmpdir(), 'bench-')), 'persisted-documents.json');
  writeFileSync(manifest, JSON.stringify({ [hash]: flagship }));
  return { PERSISTED_DOCUMENTS: manifest, PERSISTED_DOCUMENTS_MODE: 'only' };
}

const cached = ['ours', 'apollo-cache', 'mercurius-cache', 'yoga-cache', 'hive-cache'];

/** The mix: the same requests for every server. @param {'full' | 'light'} world */
const mixed = world => ({
  world,
  variants: cached,
  connections: 32,
  requests: mixedOf,
  kindOf,
  answers: { repeated: flagshipIs, known: flagshipIs, new: flagshipIs, write: writeIs },
});

/** @type {import('./steady.mjs').Steady[]} */
export const steady = [
  {
    name: 'hot',
    title: 'Hot: the same request again, everything cached',
    world: 'full',
    variants: ['bare', ...cached],
    awake: true,
    connections: 32,
    requests: always(),
    answer: flagshipIs,
  },
  {
    name: 'apollo-client',
    title: 'Hot, as Apollo Client sends it: `extensions.clientLibrary` in each body',
    world: 'full',
    variants: ['bare', 'ours'],
    awake: true,
    connections: 32,
    requests: always(apolloClient),
    answer: flagshipIs,
  },
  {
    name: 'trusted',
    title: 'Hot, as a trusted document: the request has its hash instead of a query',
    world: 'full',
    variants: ['bare', 'ours'],
    awake: true,
    connections: 32,
    requests: always(trusted),
    answer: flagshipIs,
    environment: trustedEnvironment,
  },
  {
    name: 'warm',
    title: 'Warm: resources in memory, no two requests alike (a number in `extensions`)',
    world: 'full',
    variants: ['ours', 'apollo-memory'],
    awake: true,
    connections: 32,
    requests: numbered(),
    answer: flagshipIs,
  },
  {
    name: 'cold',
    title: 'Cold: a new API key for each request, nothing cached, 42 upstream calls',
    world: 'full',
    variants: ['hand', 'hand-cut', 'ours', 'apollo', 'mercurius', 'yoga', 'hive'],
    connections: 16,
    requests: strangers,
    answer: flagshipIs,
  },
  {
    name: 'light',
    title: 'Cold over a light upstream: bodies without embeddings',
    world: 'light',
    variants: ['hand', 'ours', 'apollo', 'mercurius', 'yoga', 'hive'],
    connections: 16,
    requests: strangers,
    answer: flagshipIs,
  },
  {
    name: 'embeddings',
    title: 'Embeddings selected: 100 x 1,536 numbers, resources in memory, no two requests alike',
    world: 'full',
    variants: ['ours', 'graphql-js'],
    awake: true,
    connections: 8,
    requests: numbered(embeddings),
    get answer() {
      return embeddingsAre();
    },
  },
  { name: 'mixed-light', title: `Mixed over a light upstream: ${mixedTitle}`, ...mixed('light') },
  { name: 'mixed', title: 'Mixed over bodies with embeddings: the same requests', ...mixed('full') },
  {
    name: 'redis',
    title: 'Redis: a second gateway reads what the first one cached, 41 observations in each response',
    world: 'light',
    variants: ['ours', 'ours-second'],
    ours: 'ours-second',
    connections: 32,
    requests: (_, name) => (name === 'ours' ? () => fill(0) : fill),
    fill,
    answer: byIdsAre,
  },
  {
    name: 'fleet',
    title: 'Fleet: the mix over a light upstream, with one gateway and with two that share Redis',
    ...mixed('light'),
    variants: ['ours', 'ours-two'],
    ours: 'ours-two',
  },
];
