import { Redis } from 'ioredis';
import { startNetwork } from './network.mjs';
import { type RedisServer, startRedis } from './redis.js';
import { startCluster } from './redis-cluster.js';
import { until } from './until.js';

/** A Redis whose primary is replaced by its replica. */
export interface MovingRedis {
  /** As `REDIS_URL` has it. */
  readonly urls: readonly string[];
  /** Replaces the primary. Clients that connect from now on reach the new one. Connections to the old one stay open. */
  move(): Promise<void>;
  /** A client of the new primary. */
  readonly admin: Redis;
  stop(): Promise<void>;
}

type Moves = readonly (readonly [string, () => Promise<MovingRedis>])[];

/** The ways in which the primary behind a name is replaced. */
export const namedMoves: Moves = [
  ['demoted while its connections stay open', () => startBehindName('demoted')],
  ['frozen', () => startBehindName('frozen')],
];

/** All ways in which a primary is replaced: `test.each(moves)('... a primary that is %s ...', async (_, start) => ...)`. */
export const moves: Moves = [...namedMoves, ['frozen in a Cluster', startClusterThatFreezes]];

/** A primary waits five seconds for other replicas before it sends its data. */
const soon = ['--repl-diskless-sync-delay', '0'];

async function startBehindName(fate: 'demoted' | 'frozen'): Promise<MovingRedis> {
  const [first, second] = await Promise.all([startRedis({ args: soon }), startRedis({ args: soon })]);
  const [old, admin] = [connect(first), connect(second)];
  await admin.replicaof('127.0.0.1', first.port);
  await until(async () => (await admin.info('replication')).includes('master_link_status:up'));
  let port = first.port;
  const name = await startNetwork(() => port);
  return {
    urls: [name.url.replace('http:', 'redis:')],
    admin,
    async move() {
      if (fate === 'frozen') first.pause();
      await admin.replicaof('NO', 'ONE');
      if (fate === 'demoted') await old.replicaof('127.0.0.1', second.port);
      port = second.port;
    },
    async stop() {
      old.disconnect();
      admin.disconnect();
      await name.close();
      await Promise.all([first.stop(), second.stop()]);
    },
  };
}

/** The node that freezes has nearly everything. */
async function startClusterThatFreezes(): Promise<MovingRedis> {
  const { urls, nodes, stop, addReplica } = await startCluster(16_382, 16_383);
  const replica = await addReplica(0);
  const admin = connect(replica);
  return {
    urls,
    admin,
    async move() {
      nodes[0]?.pause();
      await until(async () => (await admin.info('replication')).includes('role:master'));
    },
    async stop() {
      admin.disconnect();
      await Promise.all([stop(), replica.stop()]);
    },
  };
}

function connect({ url }: RedisServer): Redis {
  const admin = new Redis(url);
  admin.on('error', () => {});
  return admin;
}
