import { LRUCache } from 'lru-cache';
import { createRedisGuard } from '../../data/cache/redis-guard.js';
import type { RedisClient } from '../../data/redis.js';
import type { Telemetry } from '../../observability/telemetry.js';

/** Sessions that were signed out before their time. */
export interface Revocations {
  /** Never fails: what Redis does not take now holds in this process, and is given to Redis when it is back. @param endsAt when the session would end, in milliseconds since 1970. */
  add(session: string, endsAt: number): Promise<void>;
  /** Whether the session was signed out, as far as this process can know. */
  has(session: string): Promise<boolean>;
}

/** A sorted set by the end of the session. It has no lifetime of its own, so that Redis does not evict it before anything else. */
const redisKey = 'mig:sessions:revoked';
/** How long a session is taken to be as Redis said, so that a busy one costs one round trip a second. */
const knownMs = 1_000;
const mostKnown = 50_000;

/** With Redis, through all gateways: at once through the one that was told, within a second through the others. */
export function createRevocations(
  redis: RedisClient | undefined,
  telemetry: Pick<Telemetry, 'redisFault' | 'warn'>,
): Revocations {
  const revoked = new Map<string, number>();
  const unsaved = new Map<string, number>();
  const answers = new LRUCache<string, Promise<boolean>>({ max: mostKnown, ttl: knownMs, perf: performance });
  const guard = createRedisGuard(telemetry);

  async function save(client: RedisClient): Promise<void> {
    const saving = [...unsaved];
    const saved = await guard('ZADD', async () => {
      await client.zadd(redisKey, ...saving.flatMap(([session, endsAt]) => [endsAt, session]));
      await client.zremrangebyscore(redisKey, '-inf', Date.now());
      return true;
    });
    if (saved) for (const [session] of saving) unsaved.delete(session);
    else warnOfOutage();
  }

  async function ask(client: RedisClient, session: string): Promise<boolean> {
    const score = await guard('ZSCORE', async () => ({ found: await client.zscore(redisKey, session) }));
    if (score === undefined) {
      warnOfOutage();
      return false;
    }
    if (unsaved.size > 0) await save(client);
    return score.found !== null;
  }

  const warnOfOutage = () =>
    telemetry.warn(
      'sessions',
      'Redis does not answer: a session that was signed out through another gateway is taken until Redis is back',
    );

  return {
    async add(session, endsAt) {
      const now = Date.now();
      for (const all of [revoked, unsaved]) {
        for (const [other, end] of all) if (end <= now) all.delete(other);
      }
      revoked.set(session, endsAt);
      if (redis === undefined) return;
      unsaved.set(session, endsAt);
      await save(redis);
    },
    async has(session) {
      if (revoked.has(session)) return true;
      if (redis === undefined) return false;
      const known = answers.get(session);
      if (known !== undefined) return known;
      const answer = ask(redis, session);
      answers.set(session, answer);
      return answer;
    },
  };
}
