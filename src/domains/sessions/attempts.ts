import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { RedisClient } from '../../data/redis.js';
import { RedisCounter } from '../../data/redis-counter.js';
import { RateLimited } from '../../errors.js';
import { networkOf } from '../../lib/network.js';

/** How often a sign-in may be tried. */
export interface SignInAttempts {
  /** Counts an attempt, before it is made. @throws RateLimited past a bound of its e-mail, its network or both. */
  count(email: string, address: string): Promise<void>;
  /** Forgets the attempts for an e-mail from a network after one that succeeded, and knows the network from then on. */
  forgive(email: string, address: string): Promise<void>;
}

const windowSeconds = 15 * 60;
/** From one network for one e-mail, so that nobody elsewhere can lock a user out. */
const mostPerEmailAndNetwork = 10;
const mostPerNetwork = 100;
/** For one e-mail from all networks that it has not signed in from: it bounds those who guess from many. */
const mostPerEmailFromStrangers = 100;
/** How long a network is known to be the user's. */
const knownSeconds = 14 * 24 * 60 * 60;
const mostKnownHere = 50_000;

/** With Redis, the attempts through all gateways count; without it, or while it is away, those through this one. */
export function createSignInAttempts(redis: RedisClient | undefined): SignInAttempts {
  const limiter = (keyPrefix: string, points: number) => {
    const bound = { keyPrefix, points, duration: windowSeconds };
    const local = new RateLimiterMemory(bound);
    return redis === undefined ? local : new RedisCounter({ ...bound, storeClient: redis, insuranceLimiter: local });
  };
  const perNetwork = limiter('mig:sign-in:network', mostPerNetwork);
  const perEmailAndNetwork = limiter('mig:sign-in:both', mostPerEmailAndNetwork);
  const perEmail = limiter('mig:sign-in:email', mostPerEmailFromStrangers);
  const known = createKnown(redis);
  return {
    async count(email, address) {
      const network = networkOf(address);
      const both = digest(email, network);
      try {
        await perNetwork.consume(network);
        await perEmailAndNetwork.consume(both);
        if (!(await known.has(both))) await perEmail.consume(digest(email));
      } catch (error) {
        if (!(error instanceof RateLimiterRes)) throw error;
        const seconds = Math.ceil(error.msBeforeNext / 1_000);
        throw new RateLimited(`Too many attempts to sign in; try again in ${seconds} seconds`);
      }
    },
    async forgive(email, address) {
      const both = digest(email, networkOf(address));
      await perEmailAndNetwork.delete(both);
      await known.add(both);
    },
  };
}

/** What was told to this gateway or, through Redis, to any; while Redis is away, to this one. */
function createKnown(redis: RedisClient | undefined) {
  const local = new LRUCache<string, true>({ max: mostKnownHere, ttl: knownSeconds * 1_000 });
  const keyOf = (name: string) => `mig:sign-in:known:${name}`;
  return {
    has: async (name: string) => local.has(name) || (await redis?.exists(keyOf(name)).catch(() => 0)) === 1,
    async add(name: string) {
      local.set(name, true);
      await redis?.set(keyOf(name), '', 'EX', knownSeconds).catch(() => {});
    },
  };
}

const digest = (email: string, network = '') =>
  createHash('sha256')
    .update(JSON.stringify([email.toLowerCase(), network]))
    .digest('base64url');
