// Who is measured, and how each is started.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { flagship, write } from './answer.mjs';
import { startHive } from './hive.mjs';
import { load } from './load.mjs';
import { freePort, start } from './processes.mjs';

const top = fileURLToPath(new URL('../..', import.meta.url));
const bench = fileURLToPath(new URL('..', import.meta.url));

const startScript = JSON.parse(readFileSync(`${top}package.json`, 'utf8')).scripts.start;
/** The flags that the gateway's start script gives to Node, with those that depend on the machine. */
export const startFlags = [
  ...startScript.split(/\s+/).filter(word => word.startsWith('--')),
  ...execFileSync(process.execPath, [`${top}dist/lib/heap-flags.js`], { encoding: 'utf8' })
    .split(' ')
    .filter(Boolean),
];

/** The flagship in the names of Hive's schema, which are the service's; aliases give the answer the same names. */
const flagshipOfHive = flagship
  .replace('query Flagship', 'query FlagshipOfHive')
  .replace('events(first: 10)', 'events: getEvents(pageSize: 10, page: 1)')
  .replace('nodes {', 'nodes: data {')
  .replace(/\bid\b/g, 'id: _id');
const words = { flagship, write };
const wordsOfHive = { flagship: flagshipOfHive, write };

/**
 * @typedef {object} Plan
 * @property {string} upstream the service's address, `/full` or `/light` included
 * @property {string[]} flags for Node
 * @property {Record<string, string>} [env]
 * @property {(number: number) => string} [fill] requests for a server that another one prepares
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

/** The gateway as it is run: from dist/main.js, with metrics, limits and credentials. @param {Plan} plan @param {string} [cwd] */
const gateway = ({ upstream, flags, env }, cwd = top) =>
  start({
    args: [...flags, 'dist/main.js'],
    cwd,
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

/** A Redis server beside the load, without files. */
async function startRedis() {
  const port = await freePort();
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', tmpdir()];
  const plan = { command: 'redis-server', args: options, core: 'load', origin: `redis://127.0.0.1:${port}` };
  return start({ ...plan, ready: /Ready to accept connections/ });
}

/** Two gateways on one Redis and one port. @param {Plan} plan */
async function twoGateways({ env, ...plan }) {
  const redis = await startRedis();
  const PORT = String(await freePort());
  const shared = { ...plan, env: { ...env, REDIS_URL: redis.origin, REUSE_PORT: 'true', PORT } };
  const [one, two] = await Promise.all([gateway(shared), gateway(shared)]);
  const pids = [...one.pids, ...two.pids];
  return withRedis(redis, { ...one, pids, stop: () => Promise.all([one.stop(), two.stop()]) });
}

/** A gateway that finds in Redis what another one has cached there: 2,400 responses, more than fit into its memory. @param {Plan} plan */
async function secondGateway({ fill, env, ...plan }) {
  const redis = await startRedis();
  const shared = { ...plan, env: { ...env, REDIS_URL: redis.origin } };
  const first = await gateway(shared);
  // With more connections, the gateway would refuse some of these requests, each of which makes 41 calls.
  const { wrong } = await load({ origin: first.origin, connections: 8, requests: inRedis, requestOf: fill });
  if (wrong > 0) throw new Error(`${wrong} responses could not be cached`);
  await first.stop();
  return withRedis(redis, await gateway(shared));
}

const withRedis = (redis, server) => ({ ...server, stop: () => Promise.all([server.stop(), redis.stop()]) });

/** How many responses are in Redis for the second gateway. */
export const inRedis = 2_400;

/** Every server by name: how it is started, and the flagship and the write in its words. */
export const variants = {
  bare: { title: 'bare `node:http`, ready buffer', launch: ofBench('bare.mjs'), ...words },
  hand: { title: 'hand-written, parses all', launch: ofBench('hand.mjs'), ...words },
  'hand-cut': { title: 'hand-written, embeddings cut', launch: ofBench('hand.mjs', '--cut'), ...words },
  ours: { title: '**this gateway**', launch: plan => gateway(plan), ...words },
  // `--before`
  'ours-before': { title: 'before', launch: plan => gateway(plan, process.env.BENCH_BEFORE), ...words },
  'ours-two': { title: '**two gateways with Redis**', launch: twoGateways, ...words },
  'ours-second': { title: '**this gateway, from Redis**', launch: secondGateway, ...words },
  apollo: { title: 'Apollo, RESTDataSource', launch: ofBench('apollo.mjs'), ...words },
  'apollo-cache': { title: 'Apollo, response-cache plugin', launch: ofBench('apollo.mjs', '--cache'), ...words },
  'apollo-memory': {
    title: 'Apollo, DataLoader over memory',
    launch: ofBench('apollo.mjs', '--memory'),
    ...words,
  },
  mercurius: { title: 'Mercurius, jit', launch: ofBench('mercurius.mjs'), ...words },
  'mercurius-cache': { title: 'Mercurius, jit and cache', launch: ofBench('mercurius.mjs', '--cache'), ...words },
  yoga: { title: 'Yoga', launch: ofBench('yoga.mjs'), ...words },
  'yoga-cache': { title: 'Yoga, response cache', launch: ofBench('yoga.mjs', '--cache'), ...words },
  hive: {
    title: 'Hive Gateway, OpenAPI',
    launch: plan => startHive({ ...plan, caches: false }),
    ...wordsOfHive,
  },
  'hive-cache': {
    title: 'Hive Gateway, response caching',
    launch: plan => startHive({ ...plan, caches: true }),
    ...wordsOfHive,
  },
  'graphql-js': { title: 'graphql-js, `[Float!]`', launch: ofBench('graphql-js.mjs'), ...words },
};
