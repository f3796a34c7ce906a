// The connections to Redis, what commands of it need in common, and what becomes of one that fails.
import { once } from 'node:events';
import { connect } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, connect as connectTls, type PeerCertificate } from 'node:tls';
import { BrokenCircuitError } from 'cockatiel';
import { AbstractConnector, Cluster, Redis } from 'ioredis';
import { z } from 'zod';
import type { Secret } from '../config/values.js';
import { hostTime, setClock, timeNow } from '../lib/clock.js';
import type { Attributes } from '../observability/operation-info.js';
import type { Telemetry } from '../observability/telemetry.js';
import { closed, failedCommand, failureInWords, timedOut } from '../observability/warnings.js';

export type RedisClient = Redis | Cluster;

/**
 * In milliseconds: a command that takes longer than `commandTimeout` fails, and the gateway asks the service instead. A connection on which a command was
 * sent, and nothing received for as long as `socketTimeout`, is replaced.
 */
const quick = { commandTimeout: 250, socketTimeout: 1_500 };
/**
 * The most bytes of one value, or of the values that are sent at once, under these deadlines. A value that takes longer than the deadline fails for ever, and
 * so do the commands behind it: this much takes 20 ms at 100 Mbit/s.
 */
export const maxQuickBytes = 256 * 1024;
/** For values of megabytes that are nowhere else: the exports of a team may take 8 MB, which is four seconds at 16 Mbit/s. */
export const patient = { commandTimeout: 4_000, socketTimeout: 4_000 };
/** Includes the TLS handshake, which a server without TLS does not answer. */
const connectTimeoutMs = 2_000;
const shutdownMs = 100;
const maxReconnectPauseMs = 500;
const maxFirstContactMs = 1_000;
/** How often a command of an operator waits as long, until something is known. */
const maxContactsOfCommand = 5;
const heartbeatMs = 1_000;
const slotsRefreshMs = 2_000;
/** How long a gateway takes at most to leave a Redis that was replaced: until a heartbeat notices it, or one more attempt to connect and its pause end. */
export const moveMs = 4_000;

const reconnectPause = (attempt: number) => Math.min(attempt * 50, maxReconnectPauseMs);

/** Whether a server refuses because it is not the primary, or not yet. A new connection may reach another server, because the name is resolved again. */
const doesNotServe = ({ message }: Error) => /^(READONLY|LOADING|MASTERDOWN|NOREPLICAS) /.test(message);

/**
 * A connection for commands. It reconnects forever. While it is disconnected, it queues nothing, and every command fails at once.
 * @param urls one `redis://` or `rediss://` address, or the nodes of a Cluster.
 * @param onError is called for each connection error.
 * @param deadlines `quick` if they are left out.
 */
export function connectRedis(
  urls: readonly string[],
  onError: (error: Error) => void,
  deadlines: typeof quick = quick,
): RedisClient {
  const [url = '', ...others] = urls;
  const shared = {
    ...deadlines,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    disconnectTimeout: shutdownMs,
    connectTimeout: connectTimeoutMs,
    reconnectOnError: doesNotServe,
    // ioredis would lose what a server says that refuses a connection, while it waits for the answers to these commands.
    disableClientInfo: true,
  };
  let nodeFault: Error | undefined;
  const client =
    others.length === 0
      ? new Redis(url, { ...shared, enableOfflineQueue: false, retryStrategy: reconnectPause })
      : new Cluster([...urls], {
          enableOfflineQueue: false,
          clusterRetryStrategy: reconnectPause,
          slotsRefreshInterval: slotsRefreshMs,
          // A certificate is for a name: ioredis would look it up, and connect to the address.
          dnsLookup: (host, callback) => callback(null, host),
          redisOptions: { ...shared, ...credentialsOf(url), Connector: connectorOf(error => (nodeFault = error)) },
        });
  // ioredis emits no error if it cannot resolve the nodes of a Cluster, or if a server closes the connection before it is ready.
  let isExplained = false;
  client.on('ready', () => {
    isExplained = true;
    nodeFault = undefined;
  });
  client.on('reconnecting', () => {
    if (!isExplained) onError(nodeFault ?? new Error(closed));
    isExplained = false;
  });
  client.on('error', (error: Error) => {
    isExplained = true;
    // A consequence of the `disconnect` below.
    if (error.message.startsWith("Stream isn't writeable")) return;
    const { lastNodeError } = error as { lastNodeError?: Error };
    onError((lastNodeError?.message === closed && nodeFault) || error);
    // ioredis would continue with database 0, which may belong to another fleet.
    if (failedCommand(error) === 'select') client.disconnect(true);
  });
  if (client instanceof Redis) keepAlive(client);
  return client;
}

type NodeOptions = ConnectionOptions & { readonly tls?: ConnectionOptions };

/** How ioredis connects a node of a Cluster. It tells nobody why that fails, only that a connection was closed: `onError` is told. */
const connectorOf = (onError: (error: Error) => void) =>
  class extends AbstractConnector {
    readonly #options: NodeOptions;

    constructor(options: unknown) {
      super(shutdownMs);
      this.#options = options as NodeOptions;
    }

    async connect() {
      const { host, port = 6_379, tls } = this.#options;
      const address = { port, ...(host !== undefined && { host }) };
      this.connecting = true;
      this.stream = tls === undefined ? connect(address) : connectTls({ ...address, ...tls });
      return this.stream.once('error', onError);
    }
  };

/** Calls back when a connection was lost, before another server can answer instead of the lost one. */
export function onServerLost(client: RedisClient, callback: () => void): void {
  client.on(client instanceof Cluster ? '-node' : 'close', callback);
}

/** Closes a connection for good. Of one that waits to reconnect, ioredis would not say that it has ended. */
export function disconnect(client: RedisClient): void {
  const isWaiting = client.status === 'reconnecting';
  client.disconnect();
  if (!isWaiting) return;
  client.status = 'end';
  client.emit('end');
}

/** A connection for subscriptions, to the same Redis. A Cluster has one of its own. */
export function subscriberOf(client: RedisClient): RedisClient {
  if (client instanceof Cluster) return client;
  const subscriber = client.duplicate({ autoResubscribe: false });
  subscriber.on('error', () => {});
  keepAlive(subscriber);
  return subscriber;
}

/**
 * Notices on a connection without traffic, too, that its server is gone, frozen or not the primary any more: sends a command every second that
 * changes nothing, but that only a primary accepts. A Cluster says itself which nodes are gone.
 */
function keepAlive(client: Redis): void {
  let connectedAt = Number.POSITIVE_INFINITY;
  let hasFailed = false;
  client.on('connect', () => {
    [connectedAt, hasFailed] = [performance.now(), false];
  });
  client.on('error', () => {
    hasFailed = true;
  });
  const beat = () => {
    if (client.status === 'ready') client.unlink('mig:heartbeat').catch(() => {});
    else if (client.status === 'connect' && performance.now() - connectedAt > heartbeatMs) {
      // A server that is still reading its data answers, and lets the connection wait.
      const loading = Object.assign(new Error('LOADING Redis is loading'), { name: 'ReplyError' });
      if (!hasFailed) client.emit('error', client.stream.bytesRead > 0 ? loading : new Error(timedOut));
      client.disconnect(true);
    }
  };
  const timer = setInterval(beat, heartbeatMs).unref();
  client.once('end', () => clearInterval(timer));
}

const clockEveryMs = 5_000;

/** A Cluster would ask any of its nodes: a script goes to that of its key, which is the same for all gateways. */
const timeOf = (client: RedisClient) =>
  client instanceof Cluster
    ? (client.eval("return redis.call('TIME')", 1, 'mig:clock') as Promise<number[]>)
    : client.time();

/** Sets the clock of the gateway by that of Redis, with each connection and every few seconds. @returns waits for the reading of the last connection. Never rejects. */
export function followClock(client: RedisClient, telemetry: Pick<Telemetry, 'clockOf' | keyof RedisTelemetry>) {
  const guarded = createRedisGuard(telemetry);
  async function follow(): Promise<void> {
    if (client.status !== 'ready') return;
    const sentAt = performance.now();
    const time = await guarded('TIME', () => timeOf(client));
    if (time === undefined) return;
    const [seconds = Number.NaN, microseconds = 0] = time.map(Number);
    setClock(seconds * 1_000 + microseconds / 1_000, sentAt);
    telemetry.clockOf('Redis', hostTime() - timeNow());
  }
  let reading = Promise.resolve();
  client.on('ready', () => {
    reading = follow();
  });
  const timer = setInterval(() => void follow(), clockEveryMs).unref();
  client.once('end', () => clearInterval(timer));
  return () => reading;
}

/** Each command that a gateway runs, also in scripts, on keys that nothing else has. */
const commands = [
  ...['SET mig:check 1 PX 1 NX GET', 'INCRBY mig:check 1', 'GET mig:check', 'MGET mig:check', 'EXISTS mig:check'],
  ...['PTTL mig:check', 'EXPIRE mig:check 1', 'PEXPIRE mig:check 1', 'DEL mig:check', 'SCAN 0 MATCH mig:check'],
  ...['HSET mig:check:hash a 1', 'HGET mig:check:hash a', 'HMGET mig:check:hash a', 'HGETALL mig:check:hash'],
  ...['HKEYS mig:check:hash', 'HDEL mig:check:hash a'],
  ...['SADD mig:check:names a', 'SMEMBERS mig:check:names'],
  ...['ZADD mig:check:set 1 a', 'ZSCORE mig:check:set a', 'ZREMRANGEBYSCORE mig:check:set -inf +inf'],
  ...['EVAL return(1) 0', 'PUBLISH mig:check 1', 'TIME', 'INFO'],
];

/**
 * What is wrong with a Redis that answers: commands, or all writes, that it refuses, the eviction of what it must keep, or that it has only a part of all.
 * Never rejects.
 */
export async function faultsOfRedis(client: RedisClient): Promise<readonly string[]> {
  const refused = new Set<string>();
  let isTooOld = false;
  let refusesWrites: unknown;
  const run = async ([name = '', ...args]: readonly string[], on = client) => {
    try {
      // The library, too, has all names in lower case, and fails for another SUBSCRIBE where the server speaks RESP2.
      return `${await on.call(name.toLowerCase(), ...args)}`;
    } catch (error) {
      const { message } = error as Error;
      if (/^NOPERM|unknown command/i.test(message)) refused.add(name);
      isTooOld ||= /syntax error/.test(message);
      if (/^(READONLY|OOM|MISCONF|NOREPLICAS) /.test(message)) refusesWrites ??= error;
      return '';
    }
  };
  const info = (await Promise.all(commands.map(command => run(command.split(' '))))).at(-1) ?? '';
  // Only now: a Cluster runs commands that it sends again in another order.
  await Promise.all(['', ':hash', ':names', ':set'].map(key => run(['UNLINK', `mig:check${key}`])));
  // A connection that subscribes runs nothing else.
  const subscriber = subscriberOf(client);
  await firstContact(subscriber);
  for (const name of ['SUBSCRIBE', 'UNSUBSCRIBE']) await run([name, 'mig:check'], subscriber);
  if (subscriber !== client) disconnect(subscriber);
  const [, policy = 'volatile-lru'] = /^maxmemory_policy:(\S+)/m.exec(info) ?? [];
  const isBounded = !/^maxmemory:0\b/m.test(info);
  const faults: string[] = [];
  if (refused.size > 0)
    faults.push(`the user may not run ${[...refused].join(', ')}; less is shared, or exports are refused. Allow them`);
  if (refusesWrites !== undefined)
    faults.push(failureInWords(refusesWrites, 'nothing is shared, and exports are refused'));
  if (isTooOld) faults.push('it is older than version 7: watches cannot begin, and each gateway polls for itself');
  if (policy !== 'volatile-lru' && isBounded)
    faults.push(`maxmemory-policy is ${policy}, which may lose exports, sign-outs or limits; set it to volatile-lru`);
  if (client instanceof Redis && /^redis_mode:cluster/m.test(info))
    faults.push('it is one node of a Cluster, and refuses most keys (MOVED). List two in REDIS_URL, or this one twice');
  return faults;
}

/** The number of the database that a client uses. */
export function databaseOf(client: RedisClient): number {
  return client instanceof Cluster ? 0 : Number(client.options.db ?? 0);
}

/** Resolves as soon as commands can be sent, or the first connection failed; after a second in any case. */
export async function firstContact(client: RedisClient): Promise<void> {
  if (client.status === 'ready') return;
  await once(client, 'ready', { signal: AbortSignal.timeout(maxFirstContactMs) }).catch(() => {});
}

/** Connects for a command that an operator runs, who can wait. @throws Error with a line that says why it cannot, and what was not done: `nothing was purged`. */
export async function connectForCommand(urls: readonly Secret[], undone: string): Promise<RedisClient> {
  let failure: Error | undefined;
  const addresses = urls.map(url => url.reveal());
  const redis = connectRedis(addresses, error => (failure = error), patient);
  // Some failures are known only after seconds.
  for (let contacts = 0; contacts < maxContactsOfCommand && failure === undefined; contacts++)
    await firstContact(redis);
  if (redis.status === 'ready') return redis;
  disconnect(redis);
  throw new Error(`REDIS_URL: ${failureInWords(failure ?? new Error(timedOut), undone)}`);
}

/** A Cluster takes user, password and TLS for all its nodes from one place, not from their addresses. */
function credentialsOf(url: string) {
  const { username, password, protocol, hostname } = new URL(url);
  /** A node may be known by its address, where the certificate has the name that all of them have. */
  const tls = {
    checkServerIdentity: (host: string, certificate: PeerCertificate) =>
      checkServerIdentity(host, certificate) && checkServerIdentity(hostname, certificate),
  };
  return {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls }),
  };
}

/** Splits items into batches of at most `max`, or of one item that has more. */
export function* batchesOf<T>(items: Iterable<T>, sizeOf: (item: T) => number, max: number): Generator<readonly T[]> {
  let batch: T[] = [];
  let size = 0;
  for (const item of items) {
    const more = sizeOf(item);
    if (batch.length > 0 && size + more > max) {
      yield batch;
      [batch, size] = [[], 0];
    }
    batch.push(item);
    size += more;
  }
  if (batch.length > 0) yield batch;
}

/** After this many failures in a row, a guard sends no command for a second, so that no request waits for Redis. */
const faultsInARow = 3;
const restMs = 1_000;

export type RedisTelemetry = Pick<Telemetry, 'redisFault' | 'redisWorks'>;

/** Runs one or several commands, and counts a fault of Redis. @throws what `run` throws. */
export async function countFaults<T>(telemetry: RedisTelemetry, command: string, run: () => Promise<T>): Promise<T> {
  try {
    const result = await run();
    telemetry.redisWorks(command);
    return result;
  } catch (error) {
    telemetry.redisFault(command, error);
    throw error;
  }
}

/** Runs a command of a lock, and counts its faults. */
type RunForLock = <T>(command: string, send: () => Promise<T>) => Promise<T>;

/** Takes a lock for a time, or extends it if the holder has it. @returns whether the holder has it now. @throws what `run` throws. */
export async function takeLock(
  redis: RedisClient,
  key: string,
  holder: string,
  lockMs: number,
  run: RunForLock,
): Promise<boolean> {
  const set = () => redis.set(key, holder, 'PX', lockMs, 'NX', 'GET');
  const current = await run('SET', () => replacingOtherType(redis, key, set));
  if (current === holder) await run('PEXPIRE', () => redis.pexpire(key, lockMs));
  return current === null || current === holder;
}

/** Gives a lock back, if the holder still has it. @throws what `run` throws. */
export async function releaseLock(redis: RedisClient, key: string, holder: string, run: RunForLock): Promise<void> {
  if ((await run('GET', () => redis.get(key))) === holder) await run('DEL', () => redis.del(key));
}

/**
 * Runs a command that uses one key. If the key has a value of another type, which no gateway wrote, it is removed, and the command runs again: such a key
 * may never expire. @throws an error of Redis.
 */
export async function replacingOtherType<T>(redis: RedisClient, key: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    // A script of an older Redis has other words in front.
    if (!/WRONGTYPE|not an integer/.test((error as Error).message)) throw error;
    await redis.unlink(key);
    return run();
  }
}

/** What a span says about the server of a client. A Cluster has several. */
export function redisAttributes(client: RedisClient): Attributes {
  if (client instanceof Cluster) return {};
  const { host, port } = client.options;
  return { 'server.address': host, 'server.port': port };
}

/**
 * A guard that counts the faults of Redis, and makes a Redis that is unavailable, slow or full cost next to nothing. Each guard judges by itself. After
 * each rest, one command is sent as a trial. Cockatiel's breaker would rest by the wall clock, which can be set.
 * @returns runs one or several commands. Returns undefined if they failed, or if the guard sends none now.
 */
export function createRedisGuard(telemetry: RedisTelemetry) {
  let faults = 0;
  let restsUntil = 0;
  return async <T>(command: string, run: () => Promise<T>): Promise<T | undefined> => {
    if (faults >= faultsInARow && performance.now() < restsUntil) {
      telemetry.redisFault(command, new BrokenCircuitError());
      return undefined;
    }
    // While this one is a trial.
    restsUntil = performance.now() + restMs;
    try {
      const result = await countFaults(telemetry, command, run);
      faults = 0;
      return result;
    } catch {
      faults += 1;
      restsUntil = performance.now() + restMs;
      return undefined;
    }
  };
}

const addScript = `
redis.call('SET', KEYS[1], 0, 'PX', ARGV[2], 'NX')
local consumed = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left == -1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
return {consumed, left}`;

export type RedisCounter = ReturnType<typeof createRedisCounter>;

/** Counts in Redis, each for a window of time. A reply that is no count would never reach the limit. */
export function createRedisCounter(redis: RedisClient, prefix: string, windowSeconds: number) {
  const windowMs = windowSeconds * 1_000;
  const counted = z.coerce.number().int();
  const keyOf = (name: string) => `${prefix}:${name}`;
  return {
    /** What is counted, and for how long yet. @throws an error of Redis; ZodError */
    async add(name: string, amount: number) {
      const key = keyOf(name);
      const reply = await replacingOtherType(redis, key, () => redis.eval(addScript, 1, key, amount, windowMs));
      const [consumed, milliseconds] = z.tuple([z.int().min(amount), z.int().min(0).max(windowMs)]).parse(reply);
      // Of the last millisecond, Redis says 0.
      return { consumed, milliseconds: Math.max(milliseconds, 1) };
    },
    /** What is counted. Adds nothing. @throws an error of Redis; ZodError */
    read: async (name: string) => counted.parse((await redis.get(keyOf(name))) ?? 0),
    delete: (name: string) => redis.del(keyOf(name)),
  };
}
