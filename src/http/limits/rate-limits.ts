// Counts requests per minute of addresses, credentials and teams, over the whole fleet where there is Redis.
import { LRUCache } from 'lru-cache';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import type { Scope } from '../../auth/credentials.js';
import type { ClientLimits } from '../../auth/teams.js';
import type { Config } from '../../config/config.js';
import type { RateLimitUsage } from '../../context.js';
import { createRedisCounter, type RedisClient, type RedisCounter } from '../../data/redis.js';
import { shortHash } from '../../data/shared-store.js';
import { atMost } from '../../lib/memory-budget.js';
import { networkOf } from '../../lib/network.js';
import { andThen, type MaybePromise } from '../../lib/run.js';
import type { Telemetry } from '../../observability/telemetry.js';

/** The result of counting a request. Where two limits apply, that of the tighter one. */
export interface Verdict extends RateLimitUsage {
  readonly isOver: boolean;
}

export type RateLimits = ReturnType<typeof createRateLimits>;

const windowSeconds = 60;
/** How many clients are counted at once. The least recently counted one is dropped first. */
const maxClients = 50_000;
/** The pause after a fault of Redis, in milliseconds. Until then, this process counts alone. */
const retryMs = 1_000;
/** A process takes a limit from Redis in this many shares, so that a client costs at most so many round trips in a window. */
const sharesPerWindow = 100;
/** As often, a process reads at most what is left for all, so that the clients of a fleet are told what any gateway would tell them. */
const readEveryMs = (windowSeconds * 1_000) / sharesPerWindow;

const subject = 'Rate limits';

/** A part of a limit that this process hands out: a share that Redis has counted, or the whole limit while this process counts alone. */
interface Share {
  left: number;
  /** The rest of the limit in Redis when the share was taken, or read again at `readAt`: other gateways take of it, too. */
  leftInRedis: number;
  readAt: number;
  /** In milliseconds of `performance.now()`. */
  readonly until: number;
  readonly isFromRedis: boolean;
  /** Whether it is of a scope that the service had not accepted. */
  readonly isOfStranger: boolean;
}

/**
 * With Redis, all gateways share one limit: each takes shares of it, so that together they never allow more requests. Without Redis, or while it
 * is away, each gateway counts only its own requests. So it does for a scope that the service has not accepted: anyone can make one up.
 */
export function createRateLimits(
  { perCredential, perAddress }: Config['rateLimits'],
  redis: RedisClient | undefined,
  telemetry: Telemetry,
  acceptedScopes: Pick<AcceptedScopes, 'has'>,
) {
  /** By what they count and their limits, of which a teams file has few. */
  const counters = new Map<string, ReturnType<typeof createCounter>>();
  function count(
    what: 'address' | 'scope' | 'member' | 'team' | 'client',
    key: string | undefined,
    limit: number,
  ): MaybePromise<Verdict | undefined> {
    if (key === undefined || limit === 0) return undefined;
    const name = `${what} ${limit}`;
    const counter = counters.get(name) ?? createCounter(`mig:rate:${what}`, limit, redis, telemetry);
    counters.set(name, counter);
    return counter(key, what !== 'scope' || acceptedScopes.has(key as Scope));
  }

  return {
    /** Counts one request of a client that an operator has slowed. @param id see `createClients`. */
    countClient: (id: string, requestsPerMinute: number) => count('client', id, requestsPerMinute),

    /**
     * Counts one request by its network address and, where it has a credential, by its scope, or by the member who has a limit, and by its team. Undefined
     * where nothing is limited. A promise only where the count in Redis is needed.
     * @param own what the teams file limits for the credential.
     */
    count(address: string, scope: string | undefined, own: ClientLimits = {}): MaybePromise<Verdict | undefined> {
      const { ofMember, ofTeam } = own;
      const next = (counted: Verdict | undefined, ...more: Parameters<typeof count>) =>
        counted?.isOver ? counted : andThen(count(...more), other => tighter(counted, other));
      const byAddress = count('address', networkOf(address), perAddress);
      const byMember = andThen(byAddress, counted =>
        ofMember === undefined
          ? next(counted, 'scope', scope, perCredential)
          : next(counted, 'member', shortHash(ofMember.key), ofMember.requestsPerMinute),
      );
      return andThen(byMember, counted => next(counted, 'team', ofTeam?.key, ofTeam?.requestsPerMinute ?? 0));
    },
  };
}

function createCounter(keyPrefix: string, limit: number, redis: RedisClient | undefined, telemetry: Telemetry) {
  const shares = new LRUCache<string, Share>(atMost(maxClients));
  const taking = new Map<string, Promise<void>>();
  const shared = redis && createRedisCounter(redis, keyPrefix, windowSeconds);
  const points = Math.ceil(limit / sharesPerWindow);
  const leftOf = (consumed: number) => Math.max(limit - consumed, 0);
  let retryAt = 0;

  /** Takes a share from Redis, once for all that wait for it. Where Redis fails, nothing changes. @param used what Redis counts besides. */
  function take(key: string, from: RedisCounter, used: number): Promise<void> {
    const running = taking.get(key) ?? takeAlone(key, from, used).finally(() => taking.delete(key));
    taking.set(key, running);
    return running;
  }

  async function takeAlone(key: string, from: RedisCounter, used: number): Promise<void> {
    try {
      const { consumed, milliseconds } = await from.add(key, points + used);
      const leftInRedis = leftOf(consumed);
      // Of the last share, a part may be beyond the limit.
      const left = Math.max(Math.min(points, points + limit - consumed), 0);
      const readAt = performance.now();
      const until = readAt + milliseconds;
      shares.set(key, { left, leftInRedis, readAt, until, isFromRedis: true, isOfStranger: false });
      telemetry.redisWorks('rate limit');
      telemetry.works(subject);
    } catch (error) {
      retryAt = performance.now() + retryMs;
      telemetry.redisFault('rate limit', error);
      telemetry.warn(subject, 'not shared, because Redis fails: each gateway allows every client the whole limit');
    }
  }

  /** Nothing waits for it. Where Redis fails, the next share says so. */
  async function readAgain(key: string, from: RedisCounter, share: Share): Promise<void> {
    share.readAt = performance.now();
    share.leftInRedis = await from.read(key).then(leftOf, () => share.leftInRedis);
  }

  return function count(key: string, isShared: boolean): MaybePromise<Verdict> {
    const now = performance.now();
    const source = isShared && now >= retryAt ? shared : undefined;
    let share = shares.get(key);
    // Redis has not counted what was let in before the service accepted the scope.
    const used = isShared && share?.isOfStranger ? limit - share.left : 0;
    if (share === undefined || used > 0 || !canDecide(share, now)) {
      if (source !== undefined) return take(key, source, used).then(() => count(key, isShared));
      share = {
        left: limit - used,
        leftInRedis: 0,
        readAt: now,
        until: now + windowSeconds * 1_000,
        isFromRedis: false,
        isOfStranger: !isShared,
      };
      shares.set(key, share);
    }
    if (shared !== undefined && isShared && !share.isFromRedis) {
      telemetry.rateLimitUnenforced();
      if (source !== undefined) void take(key, source, 0);
    } else if (source !== undefined && now >= share.readAt + readEveryMs) void readAgain(key, source, share);
    const isOver = share.left === 0;
    if (!isOver) share.left -= 1;
    const resetSeconds = Math.ceil((share.until - now) / 1_000);
    return { limit, remaining: share.left + share.leftInRedis, resetSeconds, isOver };
  };
}

/** Whether the share can decide: it has requests left, or the whole limit is used up. */
const canDecide = ({ left, leftInRedis, until }: Share, now: number) => now < until && (left > 0 || leftInRedis === 0);

function tighter(one: Verdict | undefined, other: Verdict | undefined): Verdict | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.isOver || other.remaining <= one.remaining ? other : one;
}
