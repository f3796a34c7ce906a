// What is asked of the servers that are kept busy.
import { embeddings, flagshipAnswer, normalised } from './answer.mjs';
import { post } from './load.mjs';
import { eventPageOf, observationId, observationOf } from './world.mjs';

const key = 'bench-key';
const observations = new Map(
  Array.from({ length: 41 }, (_, number) => [observationId(number), observationOf(number, false)]),
);
/** What everyone must answer to the flagship, normalised. */
export const flagshipIs = normalised(
  JSON.stringify(flagshipAnswer(eventPageOf(10, false), id => observations.get(id))),
);
const embeddingsAre = () => {
  const nodes = eventPageOf(100, true).data.map(({ _id, vectorIndex: { embeddings: vector } }) => ({
    id: _id,
    vectorIndex: { embeddings: vector },
  }));
  return normalised(JSON.stringify({ data: { events: { nodes } } }));
};

const bodyOf = (query, more = {}) => JSON.stringify({ query, ...more });

/** The same request each time: the whole answer may be kept. */
const always = ({ flagship: query }) => {
  const request = post('/graphql', bodyOf(query), { 'x-api-key': key });
  return () => request;
};

/** No two bodies alike, by a number among the request's `extensions`: no answer can be kept whole, every resource and parsed document can. */
const numbered =
  query =>
  ({ flagship: its }) =>
  number =>
    post('/graphql', bodyOf(query ?? its, { extensions: { number } }), { 'x-api-key': key });

/** Each request has a new API key, so no cached data serves it. */
const strangers = ({ flagship: query }) => {
  const body = bodyOf(query);
  return number => post('/graphql', body, { 'x-api-key': `bench-key-${number}` });
};

/** Each connection has its own API key, and always sends the same request. */
const callers = ({ flagship: query }) => {
  const body = bodyOf(query);
  const requests = new Map();
  return (_, lane) => {
    if (!requests.has(lane)) requests.set(lane, post('/graphql', body, { 'x-api-key': `bench-key-${lane}` }));
    return requests.get(lane);
  };
};

/** @type {import('./steady.mjs').Steady[]} */
export const steady = [
  {
    name: 'hot',
    title: 'Hot: the same request again, everything kept',
    world: 'full',
    variants: ['bare', 'ours', 'apollo-cache', 'mercurius-cache', 'yoga-cache', 'hive-cache'],
    awake: true,
    connections: 32,
    requests: always,
    answer: flagshipIs,
    defaults: true,
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
    defaults: true,
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
    title: 'Embeddings asked for: 100 x 1,536 numbers, resources in memory, no two requests alike',
    world: 'full',
    variants: ['ours', 'graphql-js'],
    awake: true,
    connections: 8,
    requests: numbered(embeddings),
    get answer() {
      return embeddingsAre();
    },
  },
  {
    name: 'callers',
    title: 'An API key for each connection, everything cached',
    world: 'full',
    variants: ['ours', 'apollo-cache', 'mercurius-cache', 'yoga-cache', 'hive-cache'],
    awake: true,
    connections: 64,
    requests: callers,
    answer: flagshipIs,
  },
];

/** A request with an API key that no request had before. */
export const stranger = (query, name) => post('/graphql', bodyOf(query), { 'x-api-key': name });
