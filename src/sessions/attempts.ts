import { createHash } from 'node:crypto';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { RateLimited } from '../errors.js';
import { networkOf } from '../network.js';
import type { RedisClient } from '../redis.js';

/** How often a sign-in may be tried. */
export interface SignInAttempts {
  /** Counts an attempt, before it is made. @throws RateLimited past the bound of its e-mail or of its network address. */
  count(email: string, address: string): Promise<void>;
  /** Forgets the attempts for an e-mail, after one that succeeded. */
  forgive(email: string): Promise<void>;
}

const windowSeconds = 15 * 60;
const mostPerEmail = 10;
const mostPerAddress = 100;

/** With Redis, the attempts through all gateways count; without it, or while it is away, those through this one. */
export function createSignInAttempts(redis: RedisClient | undefined): SignInAttempts {
  const limiter = (keyPrefix: string, points: number) => {
    const bound = { keyPrefix, points, duration: windowSeconds };
    const local = new RateLimiterMemory(bound);
    return redis === undefined
      ? local
      : new RateLimiterRedis({ ...bound, storeClient: redis, insuranceLimiter: local });
  };
  const perEmail = limiter('mig:sign-in:email', mostPerEmail);
  const perAddress = limiter('mig:sign-in:address', mostPerAddress);
  return {
    async count(email, address) {
      try {
        await perAddress.consume(networkOf(address));
        await perEmail.consume(digest(email));
      } catch (error) {
        if (!(error instanceof RateLimiterRes)) throw error;
        const seconds = Math.ceil(error.msBeforeNext / 1_000);
        throw new RateLimited(`Too many attempts to sign in; try again in ${seconds} seconds`);
      }
    },
    async forgive(email) {
      await perEmail.delete(digest(email));
    },
  };
}

const digest = (email: string) => createHash('sha256').update(email.toLowerCase()).digest('base64url');
