import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from './redis.js';
import { until } from './until.js';

/** Where a suite's Redis is: one server, or a Cluster. */
export interface RedisPlace {
  /** As `REDIS_URL` has it: one address, or those of all nodes with commas between them. */
  readonly url: string;
  readonly urls: readonly string[];
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
  const server = await startRedis();
  return { url: server.url, urls: [server.url], stop: () => server.stop() };
}

/** Three primaries that share the slots; ready when this resolves (about a second). */
export async function startCluster(): Promise<RedisPlace> {
  const nodes = await Promise.all(Array.from({ length: nodeCount }, startNode));
  const admins = nodes.map(({ url }) => new Redis(url));
  try {
    await Promise.all(admins.map((admin, index) => admin.cluster('ADDSLOTSRANGE', ...shareOf(index))));
    await Promise.all(admins.slice(1).map(admin => admin.cluster('MEET', '127.0.0.1', nodes[0]?.port ?? 0)));
    await until(async () => {
      const states = await Promise.all(admins.map(admin => admin.cluster('INFO')));
      return states.every(
        state => state.includes('cluster_state:ok') && state.includes(`cluster_known_nodes:${nodeCount}`),
      );
    }, 20_000);
  } finally {
    for (const admin of admins) admin.disconnect();
  }
  const urls = nodes.map(({ url }) => url);
  return {
    url: urls.join(','),
    urls,
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
