import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { atMost } from '../lib/memory-budget.js';
import type { Telemetry } from '../observability/telemetry.js';
import { createSignedJson } from './cache/signer.js';
import { createRedisGuard } from './redis.js';
import type { SharedStore } from './shared-store.js';

/** What writes have started of late, such as jobs: a service may list them only some time later. */
export type StartedRuns = ReturnType<typeof createStartedRuns>;

/** The latest write that started runs of one name. */
interface Started {
  readonly ids: readonly string[];
  /** Whether the service may be about to list them. */
  readonly isRecent: boolean;
}

/** How long a service may take to list what it has started. */
const recentMs = 60_000;
const keptMs = 10 * 60_000;
const maxKept = 10_000;

/** Times are what is left of a lifetime, because each gateway has a clock of its own. Credentials share a name, as they share a generation. */
export function createStartedRuns(shared: SharedStore | undefined, telemetry: Telemetry) {
  const local = new LRUCache<string, readonly string[]>({ ...atMost(maxKept), ttl: keptMs, perf: performance });
  const guard = createRedisGuard(telemetry);
  const signed = shared && createSignedJson(shared.signer, telemetry, z.array(z.string()));
  const startedOf = (ids: readonly string[], leftMs: number): Started => ({
    ids,
    isRecent: leftMs > keptMs - recentMs,
  });
  return {
    /** Never rejects. While Redis is away, only this gateway knows. */
    async add(name: string, ids: readonly string[]): Promise<void> {
      local.set(name, ids);
      if (shared === undefined || signed === undefined) return;
      const key = `mig:started:${shared.namespace}:${name}`;
      await guard('SET', () => shared.redis.set(key, signed.encode(key, [...ids]), 'PX', keptMs));
    },
    /** Never rejects. */
    async of(name: string): Promise<Started> {
      const key = `mig:started:${shared?.namespace}:${name}`;
      const found = shared && (await guard('GET', () => Promise.all([shared.redis.get(key), shared.redis.pttl(key)])));
      const ids = found?.[0] == null ? undefined : signed?.decode(key, found[0], 'state');
      return ids === undefined
        ? startedOf(local.get(name) ?? [], local.getRemainingTTL(name))
        : startedOf(ids, found?.[1] ?? 0);
    },
  };
}
