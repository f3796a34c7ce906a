// Limits how often a client may try to sign in.
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { plainEmail } from '../../auth/credentials.js';
import { createRedisCounter, type RedisClient } from '../../data/redis.js';
import { RateLimited } from '../../errors.js';
import { atMost } from '../../lib/memory-budget.js';
import { networkOf } from '../../lib/network.js';

export type SignInAttempts = ReturnType<typeof createSignInAttempts>;

const windowSeconds = 15 * 60;
/** For one e-mail address from one network, so that attempts from other networks cannot lock a user out. */
const maxPerEmailAndNetwork = 10;
const maxPerNetwork = 100;
/** For one e-mail address from all networks that it has not signed in from, against guessing from many networks. */
const maxPerEmail = 100;
const knownSeconds = 14 * 24 * 60 * 60;
/** Of each kind, in this process. The one that was not used for longest is dropped first. */
const maxLocally = 50_000;

/** With Redis, attempts on all instances count. Each instance counts its own too, for Redis may be away, or evict a count to make room. */
export function createSignInAttempts(redis: RedisClient | undefined) {
  const limiter = (keyPrefix: string, points: number) => {
    const own = new LRUCache<string, number>({ ...atMost(maxLocally), ttl: windowSeconds * 1_000, perf: performance });
    const shared = redis && createRedisCounter(redis, keyPrefix, windowSeconds);
    return {
      /** For how many milliseconds the attempt is beyond the limit; 0 if it is not. */
      async count(key: string) {
        const counted = (own.get(key) ?? 0) + 1;
        own.set(key, counted, { noUpdateTTL: true });
        if (counted > points) return own.getRemainingTTL(key);
        const inRedis = await shared?.add(key, 1).catch(() => undefined);
        return inRedis && inRedis.consumed > points ? inRedis.milliseconds : 0;
      },
      async delete(key: string) {
        await Promise.all([own.delete(key), shared?.delete(key).catch(() => {})]);
      },
    };
  };
  const perNetwork = limiter('mig:sign-in:network', maxPerNetwork);
  const perEmailAndNetwork = limiter('mig:sign-in:both', maxPerEmailAndNetwork);
  const perEmail = limiter('mig:sign-in:email', maxPerEmail);
  /** The known networks of e-mail addresses. With Redis, all instances share them; while it is unavailable, only this instance's are known. */
  const known = new LRUCache<string, true>({ ...atMost(maxLocally), ttl: knownSeconds * 1_000 });
  const knownKey = (both: string) => `mig:sign-in:known:${both}`;
  const isKnown = async (both: string) => known.has(both) || (await redis?.exists(knownKey(both)).catch(() => 0)) === 1;
  return {
    /** Counts an attempt before it is made. @throws RateLimited if a limit of the e-mail address, the network or both is exceeded. */
    async count(email: string, address: string) {
      const network = networkOf(address);
      const both = digest(email, network);
      const milliseconds =
        (await perNetwork.count(network)) ||
        (await perEmailAndNetwork.count(both)) ||
        (!(await isKnown(both)) && (await perEmail.count(digest(email))));
      if (!milliseconds) return;
      const seconds = Math.ceil(milliseconds / 1_000);
      throw new RateLimited(`Too many sign-in attempts; try again in ${seconds} seconds`, undefined, seconds);
    },
    /** Resets the count for an e-mail address and a network after a successful attempt. From then on, the network is known for the address. */
    async forgive(email: string, address: string) {
      const both = digest(email, networkOf(address));
      await perEmailAndNetwork.delete(both);
      known.set(both, true);
      await redis?.set(knownKey(both), '', 'EX', knownSeconds).catch(() => {});
    },
  };
}

const digest = (email: string, network = '') =>
  hash('sha256', JSON.stringify([plainEmail(email), network]), 'base64url');
