import { once } from 'node:events';
import { Cluster, Redis } from 'ioredis';
import { failedCommand } from '../observability/warnings.js';

/** One Redis, or a Cluster of them. */
export type RedisClient = Redis | Cluster;

/** A command that takes longer is given up: whoever waits for it goes to the service instead. */
const commandTimeoutMs = 250;
const longestReconnectPauseMs = 1_000;
const longestFirstContactMs = 1_000;

const reconnectPause = (attempt: number) => Math.min(attempt * 50, longestReconnectPauseMs);

/**
 * A connection for commands, which reconnects for ever and queues nothing while it is away: a command fails at once then.
 * @param urls one `redis://` or `rediss://` address, or the nodes of a Cluster.
 * @param onError hears of each connection that broke.
 */
export function connectRedis(urls: readonly string[], onError: (error: Error) => void): RedisClient {
  const [url = '', ...others] = urls;
  const shared = {
    commandTimeout: commandTimeoutMs,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    disconnectTimeout: 100,
  };
  const client =
    others.length === 0
      ? new Redis(url, { ...shared, enableOfflineQueue: false, retryStrategy: reconnectPause })
      : new Cluster([...urls], {
          enableOfflineQueue: false,
          clusterRetryStrategy: reconnectPause,
          redisOptions: { ...shared, ...credentialsOf(url) },
        });
  client.on('error', (error: Error) => {
    // What ioredis finds after the disconnection below.
    if (error.message.startsWith("Stream isn't writeable")) return;
    onError(error);
    // ioredis would go on with database 0, which may be another fleet's.
    if (failedCommand(error) === 'select') client.disconnect(true);
  });
  return client;
}

/** The number of the database that a client uses. */
export function databaseOf(client: RedisClient): number {
  return client instanceof Cluster ? 0 : Number(client.options.db ?? 0);
}

/** Resolves as soon as commands can be sent, or it has turned out that Redis is away; after a second in any case. */
export async function firstContact(client: RedisClient): Promise<void> {
  if (client.status === 'ready') return;
  await once(client, 'ready', { signal: AbortSignal.timeout(longestFirstContactMs) }).catch(() => {});
}

/** A Cluster takes user, password and TLS for all its nodes from one place, not from their addresses. */
function credentialsOf(url: string) {
  const { username, password, protocol } = new URL(url);
  return {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  };
}
