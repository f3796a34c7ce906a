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

/** What a suite runs over, by its name: `describe.each(redisPlaces)('...', (_, startPlace) => ...)`. */
export const redisPlaces: readonly (readonly [string, () => Promise<RedisPlace>])[] = [
  ['one Redis', startSingle],
  ['a Redis Cluster', startCluster],
];

const slots = 16_384;
const nodeCount = 3;

/** One server. */
export async function startSingle(): Promise<RedisPlace> {
  return placeOf([await startRedis()]);
}

/** Three primaries that share the slots; ready when this resolves (two seconds, which is what a node waits for before it takes writes). */
export async function startCluster(): Promise<RedisPlace> {
  const nodes = await Promise.all(Array.from({ length: nodeCount }, startNode));
  const admins = nodes.map(({ url }) => new Redis(url));
  try {
    await Promise.all(admins.map((admin, index) => admin.cluster('ADDSLOTSRANGE', ...shareOf(index))));
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
    }, 20_000);
  } finally {
    for (const admin of admins) admin.disconnect();
  }
  return placeOf(nodes);
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
  startRedis({ args: ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'] });

/** The first and the last slot of a node. */
function shareOf(index: number): [number, number] {
  const edge = (at: number) => Math.round((at * slots) / nodeCount);
  return [edge(index), edge(index + 1) - 1];
}
