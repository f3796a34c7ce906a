// Sessions that were signed out before they expired.
import { LRUCache } from 'lru-cache';
import { createRedisGuard, type RedisClient, replacingOtherType } from '../../data/redis.js';
import { timeNow } from '../../lib/clock.js';
import { atMost } from '../../lib/memory-budget.js';
import { dayMs } from '../../lib/time.js';
import type { Telemetry } from '../../observability/telemetry.js';

export type Revocations = ReturnType<typeof createRevocations>;

/** A sorted set, scored by the end of the session. It has no expiry, so that Redis does not evict it first. */
const redisKey = 'mig:sessions:revoked';
/** How long a reply of Redis is cached, so that a busy session costs one round trip a second. */
const cachedMs = 1_000;
const maxCached = 50_000;
/** How long after its end a session stays revoked: a gateway that has not reached Redis yet goes by the clock of its host. */
const keptMs = 2 * dayMs;
const retryMs = 1_000;
const subject = 'Sign-outs';
const outageWords =
  'not shared, because Redis fails: until it works again, sessions that were signed out on another instance are still accepted';

/** With Redis, a revocation applies on all instances: at once on the one that made it, within a second on the others. */
export function createRevocations(
  redis: RedisClient | undefined,
  telemetry: Pick<Telemetry, 'redisFault' | 'redisWorks' | 'warn' | 'works'>,
) {
  const revoked = new Map<string, { readonly endsAt: number; isSaved: boolean }>();
  const guard = createRedisGuard(telemetry);
  let retry: NodeJS.Timeout | undefined;

  /** False after a failure, too. */
  async function attempt(command: string, run: () => Promise<boolean>): Promise<boolean> {
    const result = await guard(command, run);
    if (result === undefined) telemetry.warn(subject, outageWords);
    else telemetry.works(subject);
    return result ?? false;
  }

  async function save(client: RedisClient): Promise<void> {
    clearTimeout(retry);
    const saving = [...revoked].filter(([, { isSaved }]) => !isSaved);
    // A later sign-out has saved them all, or their sessions have expired.
    if (saving.length === 0) return;
    const isSaved = await attempt('ZADD', async () => {
      const members = saving.flatMap(([session, { endsAt }]) => [endsAt, session]);
      await replacingOtherType(client, redisKey, () => client.zadd(redisKey, ...members));
      await client.zremrangebyscore(redisKey, '-inf', timeNow() - keptMs);
      return true;
    });
    for (const [, each] of saving) each.isSaved ||= isSaved;
    // Not only when the next session is read: no one may read one here, and the sign-out would be lost.
    if (!isSaved) retry = setTimeout(save, retryMs, client).unref();
  }

  const shared =
    redis &&
    new LRUCache<string, Promise<boolean>>({
      ...{ ...atMost(maxCached), ttl: cachedMs, perf: performance },
      memoMethod: session => attempt('ZSCORE', async () => (await redis.zscore(redisKey, session)) !== null),
    });

  return {
    /**
     * Revokes a session. Never fails: if Redis is unavailable, the revocation applies in this process and is saved when Redis is back.
     * @param endsAt when the session would end, in milliseconds since 1970.
     */
    async add(session: string, endsAt: number) {
      const earliest = timeNow() - keptMs;
      for (const [other, { endsAt: end }] of revoked) if (end <= earliest) revoked.delete(other);
      revoked.set(session, { endsAt, isSaved: false });
      if (redis !== undefined) await save(redis);
    },
    /** Whether the session was signed out, as far as this process knows. @param isNow not a second ago. */
    has: async (session: string, isNow = false) =>
      revoked.has(session) || ((await shared?.memo(session, { forceRefresh: isNow })) ?? false),
  };
}
