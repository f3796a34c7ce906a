import { LRUCache } from 'lru-cache';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { type RedisClient, RedisCounter } from '../../data/redis.js';
import { atMost } from '../../lib/lru-bounds.js';
import { andThen, type MaybePromise } from '../../lib/maybe-promise.js';
import { networkOf } from '../../lib/network.js';
import type { Telemetry } from '../../observability/telemetry.js';

/** The result of counting a request. Where two limits apply, that of the tighter one. */
export interface Verdict {
  readonly limit: number;
  /** Requests left, as far as this process knows. */
  readonly remaining: number;
  /** Until the limit is reset, in seconds. */
  readonly resetSeconds: number;
  readonly isOver: boolean;
}

/** Limits the rate of requests. */
export interface RateLimits {
  /**
   * Counts one request by its network address and, where it has a credential, by its scope. Undefined where nothing is limited. A promise only
   * where the count in Redis is needed.
   * @param scope of the credential; whether the service accepts it is not known yet.
   */
  count(address: string, scope: string | undefined): MaybePromise<Verdict | undefined>;
}

/** Requests a minute; 0 means no limit. */
export interface RateBounds {
  readonly perCredential: number;
  readonly perAddress: number;
}

type RateLimitTelemetry = Pick<Telemetry, 'redisFault' | 'redisWorks' | 'warn' | 'works' | 'rateLimitUnenforced'>;

const windowSeconds = 60;
/** How many clients are counted at once. The least recently counted one is dropped first. */
const maxClients = 50_000;
/** The time between two attempts to reach Redis while it is away, in milliseconds. */
const retryMs = 1_000;
/** A process takes a limit from Redis in this many shares, so that a client costs at most so many round trips in a window. */
const sharesPerWindow = 100;

/** The subject of the warning. */
const subject = 'Rate limits';

/** A part of a limit that this process counts by itself. */
interface Share {
  left: number;
  /** The rest of the limit in Redis when the share was taken. */
  readonly leftInRedis: number;
  /** In milliseconds of `performance.now()`. */
  readonly until: number;
  /** When to try Redis again; undefined where Redis counted the share. */
  retryAt: number | undefined;
}

/**
 * With Redis, all gateways share one limit: each takes shares of it, so that together they never allow more requests. Without Redis, or while it
 * is away, each gateway counts only its own requests.
 */
export function createRateLimits(
  { perCredential, perAddress }: RateBounds,
  redis: RedisClient | undefined,
  telemetry: RateLimitTelemetry,
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
  telemetry: RateLimitTelemetry,
): Counter {
  const shares = new LRUCache<string, Share>(atMost(maxClients));
  const taking = new Map<string, Promise<void>>();
  const shared = redis && new RedisCounter({ keyPrefix, points: limit, duration: windowSeconds, storeClient: redis });

  function counted(share: Share, now: number): Verdict {
    const isOver = share.left === 0;
    if (!isOver) share.left -= 1;
    if (share.retryAt !== undefined) telemetry.rateLimitUnenforced();
    const resetSeconds = Math.ceil((share.until - now) / 1_000);
    return { limit, remaining: share.left + share.leftInRedis, resetSeconds, isOver };
  }

  const wholeLimit = (): Share => shareOf(limit, 0, windowSeconds * 1_000);

  /** The share of a client while Redis is away: the rest of its last such share, or the whole limit. */
  function withoutRedis(key: string): Share {
    const now = performance.now();
    const last = shares.get(key);
    const share = last !== undefined && last.retryAt !== undefined && now < last.until ? last : wholeLimit();
    share.retryAt = now + retryMs;
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
        telemetry.warn(subject, 'not shared, because Redis fails: each gateway allows every client the whole limit');
        return withoutRedis(key);
      },
    );
    shares.set(key, share);
    if (share.retryAt !== undefined) return;
    telemetry.redisWorks('rate limit');
    telemetry.works(subject);
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
      if (share !== undefined && canDecide(share, now)) return counted(share, now);
    }
  }

  return key => {
    const now = performance.now();
    const share = shares.get(key);
    if (share !== undefined && canDecide(share, now)) {
      if (shared !== undefined && share.retryAt !== undefined && now >= share.retryAt) void takeOnce(key, shared);
      return counted(share, now);
    }
    if (shared !== undefined) return waiting(key, shared);
    const whole = wholeLimit();
    shares.set(key, whole);
    return counted(whole, now);
  };
}

const shareOf = (left: number, leftInRedis: number, milliseconds: number): Share => ({
  left,
  leftInRedis,
  until: performance.now() + milliseconds,
  retryAt: undefined,
});

/** Whether the share can decide: it has requests left, or the whole limit is used up. */
const canDecide = ({ left, leftInRedis, until }: Share, now: number) => now < until && (left > 0 || leftInRedis === 0);

function tighter(one: Verdict | undefined, other: Verdict): Verdict {
  return one === undefined || other.isOver || other.remaining <= one.remaining ? other : one;
}
