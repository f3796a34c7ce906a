import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from './redis.js';
import { until } from './until.js';

/** Where a suite's Redis is: one server, or a Cluster. */
export interface RedisPlace {
  /** As `REDIS_URL` has it: one address, or those of all nodes with commas between them. */
  readonly url: string;
  readonly urls: readonly string[];
  /** A server for each address. */
  readonly nodes: readonly RedisServer[];
  stop(): Promise<void>;
}

type NamedPlace = readonly [name: string, start: () => Promise<RedisPlace>];

const oneRedis: NamedPlace = ['one Redis', startSingle];
const aCluster: NamedPlace = ['a Redis Cluster', () => startCluster()];

/** Whether `npm run test:system` repeats over a Cluster what `npm test` runs over one Redis. */
export const isClusterRun = process.env.REDIS_CLUSTER === '1';

/** What a suite of `npm test` runs over, by its name: `describe.each(redisPlaces)('...', (_, startPlace) => ...)`. */
export const redisPlaces: readonly NamedPlace[] = [isClusterRun ? aCluster : oneRedis];

/** The same for a suite of `npm run test:system`. */
export const allRedisPlaces: readonly NamedPlace[] = [oneRedis, aCluster];

const nodeCount = 3;

/** One server. */
export async function startSingle(): Promise<RedisPlace> {
  return placeOf([await startRedis()]);
}

/** A Cluster that can grow. */
interface ClusterPlace extends RedisPlace {
  /** Starts a replica of a node, which is promoted a second after the node has stopped to answer. */
  addReplica(node: number): Promise<RedisServer>;
}

/**
 * Three primaries that share the slots; ready when this resolves (two seconds, which is what a node waits for before it takes writes).
 * @param second the first slot of the second node, and `third` of the third
 */
export async function startCluster(second = 5_461, third = 10_923): Promise<ClusterPlace> {
  const edges = [0, second, third, 16_384];
  const nodes = await Promise.all(Array.from({ length: nodeCount }, startNode));
  const admins = nodes.map(({ url }) => new Redis(url));
  try {
    await Promise.all(
      admins.map((admin, index) => admin.cluster('ADDSLOTSRANGE', Number(edges[index]), Number(edges[index + 1]) - 1)),
    );
    // Each is told of each: hearing it from one another takes them seconds.
    const meetings = admins.flatMap((admin, index) =>
      nodes.slice(index + 1).map(({ port }) => admin.cluster('MEET', '127.0.0.1', port)),
    );
    await Promise.all(meetings);
    await until(async () => {
      const states = await Promise.all(admins.map(admin => admin.cluster('INFO')));
      return states.every(
        state => state.includes('cluster_state:ok') && state.includes(`cluster_known_nodes:${nodeCount}`),
      );
    });
  } finally {
    for (const admin of admins) admin.disconnect();
  }
  return { ...placeOf(nodes), addReplica: node => addReplica(nodes, node) };
}

async function addReplica(nodes: readonly RedisServer[], node: number): Promise<RedisServer> {
  const replica = await startNode();
  const admins = [...nodes, replica].map(({ url }) => new Redis(url));
  const [admin, primary] = [admins.at(-1), admins[node]];
  try {
    if (admin === undefined || primary === undefined) throw new Error(`There is no node ${node}`);
    for (const each of admins) await each.config('SET', 'cluster-node-timeout', '1000');
    await Promise.all(nodes.map(({ port }) => admin.cluster('MEET', '127.0.0.1', port)));
    const everyone = `cluster_known_nodes:${admins.length}`;
    await until(async () =>
      (await Promise.all(admins.map(each => each.cluster('INFO')))).every(
        info => info.includes('cluster_state:ok') && info.includes(everyone),
      ),
    );
    await admin.cluster('REPLICATE', await primary.cluster('MYID'));
    await until(async () => (await admin.info('replication')).includes('master_link_status:up'));
  } finally {
    for (const each of admins) each.disconnect();
  }
  return replica;
}

function placeOf(nodes: readonly RedisServer[]): RedisPlace {
  const urls = nodes.map(({ url }) => url);
  return {
    url: urls.join(','),
    urls,
    nodes,
    stop: async () => {
      await Promise.all(nodes.map(node => node.stop()));
    },
  };
}

const startNode = (): Promise<RedisServer> =>
  startRedis({
    args: ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--repl-diskless-sync-delay', '0'],
  });
