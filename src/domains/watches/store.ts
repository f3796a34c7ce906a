// Where watches are while their leases last: in this process, or sealed in Redis, so that each gateway of a fleet can go on with them.
import { randomUUID } from 'node:crypto';
import type { Sealer } from '../../auth/seal.js';
import { Secret } from '../../config/values.js';
import { countFaults, releaseLock, replacingOtherType, takeLock } from '../../data/redis.js';
import type { SharedStore } from '../../data/shared-store.js';
import { UpstreamUnavailable } from '../../errors.js';
import { timeNow } from '../../lib/clock.js';
import { dayMs } from '../../lib/time.js';
import type { Watch } from './model.js';

/** What all gateways see of a watch: whose it is, its lease, and until when that lasts. */
type Lease = Pick<Watch, 'team' | 'owner' | 'lease' | 'until'>;

export interface WatchStore {
  /** All watches whose leases last, by their identifiers. */
  leases(): Promise<ReadonlyMap<string, Lease>>;
  get(id: string): Promise<Watch | undefined>;
  /** @param lease stores it only if it still has this lease. @returns whether it is stored. */
  put(watch: Watch, lease?: string): Promise<boolean>;
  /** @param lease removes it only if it still has this lease. */
  remove(id: string, lease?: string): Promise<void>;
  /** Whether this process may serve a watch. It must ask again within `lockMs`. */
  lock(id: string): Promise<boolean>;
  /** Lets another process serve it at once, if this one still has the lock. */
  release(id: string): Promise<void>;
}

const lockMs = 10_000;
/** How long after its end a lease stays in the list: a gateway that has not reached Redis yet goes by the clock of its host. */
const keptMs = dayMs;

/** Without Redis: the watches end with the process. */
export function localWatchStore(): WatchStore {
  const watches = new Map<string, Watch>();
  return {
    async leases() {
      for (const [id, { until }] of watches) if (until <= timeNow()) watches.delete(id);
      return watches;
    },
    get: async id => watches.get(id),
    async put(watch, lease) {
      const isKept = lease === undefined || watches.get(watch.id)?.lease === lease;
      if (isKept) watches.set(watch.id, watch);
      return isKept;
    },
    async remove(id, lease) {
      if (lease === undefined || watches.get(id)?.lease === lease) watches.delete(id);
    },
    lock: async () => true,
    async release() {},
  };
}

/** Stores a watch, or removes it if nothing is given to store, where it still has the lease. It ends with it. */
const changeScript = `
if ARGV[1] ~= '' and redis.call('HGET', KEYS[1], 'lease') ~= ARGV[1] then return 0 end
if not ARGV[2] then redis.call('UNLINK', KEYS[1]) return 1 end
redis.call('HSET', KEYS[1], 'lease', ARGV[2], 'sealed', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`;

/** A watch as JSON, the key that it is for, and the secret of its credential, which JSON leaves out. */
interface Sealed {
  readonly for: string;
  readonly json: string;
  readonly secret: string;
}

/**
 * A watch has a credential: it is sealed for its identifier, and opens no longer than its lease lasts. Its pending delivery may take megabytes, so that the
 * client of Redis must be patient.
 */
export function redisWatchStore({ redis, namespace, telemetry }: SharedStore, sealer: Sealer): WatchStore {
  const holder = randomUUID();
  const indexKey = `mig:watches:${namespace}`;
  const keyOf = (id: string) => `mig:watch:${namespace}:${id}`;
  const lockKeyOf = (id: string) => `${keyOf(id)}:lock`;
  const runOn =
    (key: string) =>
    <T>(command: string, send: () => Promise<T>): Promise<T> =>
      countFaults(telemetry, command, () => replacingOtherType(redis, key, send)).catch(() => {
        throw new UpstreamUnavailable('The store of watches is not available');
      });
  const runOnIndex = runOn(indexKey);

  return {
    async leases() {
      const found = Object.entries(await runOnIndex('HGETALL', () => redis.hgetall(indexKey)));
      const leases = found.map(([id, text]) => {
        const [team = '', owner = '', lease = '', until = ''] = text.split(' ');
        return [id, { team, owner, lease, until: Number(until) }] as const;
      });
      const now = timeNow();
      const old = leases.flatMap(([id, { until }]) => (until > now - keptMs ? [] : id));
      if (old.length > 0) await runOnIndex('HDEL', () => redis.hdel(indexKey, ...old));
      return new Map(leases.filter(([, { until }]) => until > now));
    },
    async get(id) {
      const sealed = await runOn(keyOf(id))('HGET', () => redis.hget(keyOf(id), 'sealed'));
      // The seal vouches for what it holds.
      const content = (await sealer.open(sealed ?? '').catch(() => undefined)) as Sealed | undefined;
      if (content?.for !== keyOf(id)) return undefined;
      const { json, secret } = content;
      const watch: Watch = JSON.parse(json);
      return { ...watch, credential: { ...watch.credential, secret: new Secret(secret) } };
    },
    async put(watch, before = '') {
      const { id, team, owner, lease, until } = watch;
      const leftMs = until - timeNow();
      if (leftMs <= 0) return false;
      const content: Sealed = { for: keyOf(id), json: JSON.stringify(watch), secret: watch.credential.secret.reveal() };
      const sealed = await sealer.seal(content, leftMs);
      const values = [before, lease, sealed, leftMs];
      const stored = await runOn(keyOf(id))('EVAL', () => redis.eval(changeScript, 1, keyOf(id), ...values));
      if (stored !== 1) return false;
      // Before others know of it: who has begun it knows that nothing was missed.
      if (before === '') await this.lock(id);
      if (before !== lease)
        await runOnIndex('HSET', () => redis.hset(indexKey, id, `${team} ${owner} ${lease} ${until}`));
      return true;
    },
    async remove(id, lease = '') {
      const removed = await runOn(keyOf(id))('EVAL', () => redis.eval(changeScript, 1, keyOf(id), lease));
      if (removed === 1) await runOnIndex('HDEL', () => redis.hdel(indexKey, id));
    },
    async lock(id) {
      if (await runOn(keyOf(id))('EXISTS', () => redis.exists(keyOf(id))))
        return takeLock(redis, lockKeyOf(id), holder, lockMs, runOn(lockKeyOf(id)));
      // Redis has evicted it: what nobody can renew or stop has ended.
      await this.remove(id);
      return false;
    },
    release: id => releaseLock(redis, lockKeyOf(id), holder, runOn(lockKeyOf(id))),
  };
}
