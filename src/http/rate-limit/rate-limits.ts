import { LRUCache } from 'lru-cache';
import { RateLimiterRes } from 'rate-limiter-flexible';
import type { RedisClient } from '../../data/redis.js';
import { RedisCounter } from '../../data/redis-counter.js';
import { andThen, type MaybePromise } from '../../lib/maybe-promise.js';
import { networkOf } from '../../lib/network.js';
import type { Telemetry } from '../../observability/telemetry.js';

/** What came of counting a request. Where it was counted twice, by the tighter limit. */
export interface Verdict {
  readonly limit: number;
  /** As far as this process knows. */
  readonly remaining: number;
  /** Until the limit is whole again, in seconds. */
  readonly resetSeconds: number;
  readonly isOver: boolean;
}

/** How often a client may ask. */
export interface RateLimits {
  /**
   * Counts one request by its network address and, where it bears a credential, by that. Undefined where nothing is limited. Mostly at once:
   * a promise only when the shared count has to be asked.
   * @param scope the credential's, or any other hash of what was presented; it is not known yet whether the service accepts it.
   */
  count(address: string, scope: string | undefined): MaybePromise<Verdict | undefined>;
}

/** Requests a minute; 0 is no limit. */
export interface RateBounds {
  readonly perCredential: number;
  readonly perAddress: number;
}

const windowSeconds = 60;
/** How many clients are counted at once. Past it, the one idle longest is forgotten. */
const mostClients = 50_000;
/** How often Redis is tried again while it is away, in milliseconds. */
const askAgainMs = 1_000;
/** A share is taken from the count in Redis at a time, so that a client costs at most so many round trips a window and process. */
const sharesPerWindow = 100;

/** A part of a limit that this process may give out by itself. */
interface Share {
  left: number;
  /** What was left in Redis when the share was taken. */
  readonly elsewhere: number;
  /** In milliseconds of `performance.now()`. */
  readonly until: number;
  /** When to ask Redis again, where it did not answer. */
  askAgainAt: number | undefined;
}

/**
 * With Redis, the requests through all gateways count: each gateway takes shares of the limit, so that together they never let more pass. Without
 * it, or while it is away, those through this one.
 */
export function createRateLimits(
  { perCredential, perAddress }: RateBounds,
  redis: RedisClient | undefined,
  telemetry: Pick<Telemetry, 'redisFault' | 'warn'>,
): RateLimits {
  const byAddress = perAddress === 0 ? undefined : createCounter('mig:rate:address', perAddress, redis, telemetry);
  const byScope = perCredential === 0 ? undefined : createCounter('mig:rate:scope', perCredential, redis, telemetry);
  return {
    count(address, scope) {
      const first = byAddress?.(networkOf(address));
      const second = (counted: Verdict | undefined) => {
        if (byScope === undefined || scope === undefined || counted?.isOver) return counted;
        return andThen(byScope(scope), other => tighter(counted, other));
      };
      return andThen(first, second);
    },
  };
}

type Counter = (key: string) => MaybePromise<Verdict>;

function createCounter(
  keyPrefix: string,
  limit: number,
  redis: RedisClient | undefined,
  telemetry: Pick<Telemetry, 'redisFault' | 'warn'>,
): Counter {
  const shares = new LRUCache<string, Share>({ max: mostClients });
  const taking = new Map<string, Promise<void>>();
  const shared = redis && new RedisCounter({ keyPrefix, points: limit, duration: windowSeconds, storeClient: redis });

  function counted(share: Share, now: number): Verdict {
    const isOver = share.left === 0;
    if (!isOver) share.left -= 1;
    const resetSeconds = Math.ceil((share.until - now) / 1_000);
    return { limit, remaining: share.left + share.elsewhere, resetSeconds, isOver };
  }

  const wholeLimit = (): Share => shareOf(limit, 0, windowSeconds * 1_000);

  /** What a client gets while Redis is away: what is left of what it has got so. */
  function withoutRedis(key: string): Share {
    const now = performance.now();
    const last = shares.get(key);
    const share = last !== undefined && last.askAgainAt !== undefined && now < last.until ? last : wholeLimit();
    share.askAgainAt = now + askAgainMs;
    return share;
  }

  async function take(key: string, from: RedisCounter): Promise<void> {
    const points = Math.ceil(limit / sharesPerWindow);
    const share = await from.consume(key, points).then(
      ({ remainingPoints, msBeforeNext }): Share => shareOf(points, remainingPoints, msBeforeNext),
      (refused: unknown): Share => {
        if (refused instanceof RateLimiterRes) {
          return shareOf(Math.max(limit - (refused.consumedPoints - points), 0), 0, refused.msBeforeNext);
        }
        telemetry.redisFault('rate limit', refused);
        telemetry.warn(
          'rate limit',
          'Redis does not count requests: until it does, each gateway gives every client the whole rate limit',
        );
        return withoutRedis(key);
      },
    );
    shares.set(key, share);
  }

  function takeOnce(key: string, from: RedisCounter): Promise<void> {
    const running = taking.get(key) ?? take(key, from).finally(() => taking.delete(key));
    taking.set(key, running);
    return running;
  }

  async function waiting(key: string, from: RedisCounter): Promise<Verdict> {
    for (;;) {
      await takeOnce(key, from);
      const now = performance.now();
      const share = shares.get(key);
      if (share !== undefined && isOfUse(share, now)) return counted(share, now);
    }
  }

  return key => {
    const now = performance.now();
    const share = shares.get(key);
    if (share !== undefined && isOfUse(share, now)) {
      if (shared !== undefined && share.askAgainAt !== undefined && now >= share.askAgainAt) void takeOnce(key, shared);
      return counted(share, now);
    }
    if (shared !== undefined) return waiting(key, shared);
    const begun = wholeLimit();
    shares.set(key, begun);
    return counted(begun, now);
  };
}

const shareOf = (left: number, elsewhere: number, milliseconds: number): Share => ({
  left,
  elsewhere,
  until: performance.now() + milliseconds,
  askAgainAt: undefined,
});

/** Whether there is something to give out, or it is certain that there is nothing. */
const isOfUse = ({ left, elsewhere, until }: Share, now: number) => now < until && (left > 0 || elsewhere === 0);

function tighter(one: Verdict | undefined, other: Verdict): Verdict {
  return one === undefined || other.isOver || other.remaining <= one.remaining ? other : one;
}
