// Who is measured, and how each is started.
import { readFileSync } from 'node:fs';
import { flagship } from './answer.mjs';
import { startHive } from './hive.mjs';
import { start } from './processes.mjs';

const top = new URL('../..', import.meta.url).pathname;
const bench = new URL('..', import.meta.url).pathname;

const startScript = JSON.parse(readFileSync(`${top}package.json`, 'utf8')).scripts.start;
/** The flags that the gateway's start script gives to Node; the peers get them too. */
export const startFlags = startScript.split(/\s+/).filter(word => word.startsWith('--'));
/** Those of them that change how fast a server is. */
export const speedFlags = startFlags.filter(flag => flag !== '--enable-source-maps');

/** The flagship in the names of Hive's schema, which are the service's; aliases give the answer the same names. */
const flagshipOfHive = flagship
  .replace('query Flagship', 'query FlagshipOfHive')
  .replace('events(first: 10)', 'events: getEvents(pageSize: 10, page: 1)')
  .replace('nodes {', 'nodes: data {')
  .replace(/\bid\b/g, 'id: _id');

/**
 * @typedef {object} Plan
 * @property {string} upstream the service's address, `/full` or `/light` included
 * @property {string[]} flags for Node
 * @property {Record<string, string>} [env]
 */

/** @param {string} file @param {...string} options @returns {(plan: Plan) => Promise<import('./processes.mjs').Server>} */
const ofBench =
  (file, ...options) =>
  ({ upstream, flags, env }) =>
    start({
      args: [...flags, `servers/${file}`, ...options],
      cwd: bench,
      env: { UPSTREAM_BASE_URL: upstream, ...env },
    });

/** The gateway as it is run: from dist/main.js, with metrics, limits and credentials. @param {Plan} plan */
const gateway = ({ upstream, flags, env }) =>
  start({
    args: [...flags, 'dist/main.js'],
    cwd: top,
    env: {
      HOST: '127.0.0.1',
      PORT: '0',
      SESSION_SECRET: 'a secret of the bench with 32 characters',
      // Counted, and never reached.
      RATE_LIMIT_PER_CREDENTIAL: '1000000000',
      RATE_LIMIT_PER_ADDRESS: '1000000000',
      // Asked for all it can do, it would turn some of it away.
      MAX_EVENT_LOOP_DELAY_MS: '60000',
      UPSTREAM_BASE_URL: upstream,
      ...env,
    },
  });

/** Every server by name: how it is started, and the flagship in its words. */
export const variants = {
  bare: { title: 'bare `node:http`, ready buffer', launch: ofBench('bare.mjs'), flagship },
  hand: { title: 'hand-written, parses all', launch: ofBench('hand.mjs'), flagship },
  'hand-cut': { title: 'hand-written, embeddings cut', launch: ofBench('hand.mjs', '--cut'), flagship },
  ours: { title: '**this gateway**', launch: gateway, flagship },
  apollo: { title: 'Apollo, RESTDataSource', launch: ofBench('apollo.mjs'), flagship },
  'apollo-cache': { title: 'Apollo, response-cache plugin', launch: ofBench('apollo.mjs', '--cache'), flagship },
  'apollo-memory': {
    title: 'Apollo, DataLoader over memory',
    launch: ofBench('apollo.mjs', '--memory'),
    flagship,
  },
  mercurius: { title: 'Mercurius, jit', launch: ofBench('mercurius.mjs'), flagship },
  'mercurius-cache': { title: 'Mercurius, jit and cache', launch: ofBench('mercurius.mjs', '--cache'), flagship },
  yoga: { title: 'Yoga', launch: ofBench('yoga.mjs'), flagship },
  'yoga-cache': { title: 'Yoga, response cache', launch: ofBench('yoga.mjs', '--cache'), flagship },
  hive: {
    title: 'Hive Gateway, OpenAPI',
    launch: plan => startHive({ ...plan, caches: false }),
    flagship: flagshipOfHive,
  },
  'hive-cache': {
    title: 'Hive Gateway, response caching',
    launch: plan => startHive({ ...plan, caches: true }),
    flagship: flagshipOfHive,
  },
  'graphql-js': { title: 'graphql-js, `[Float!]`', launch: ofBench('graphql-js.mjs'), flagship },
};
