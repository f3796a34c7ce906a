import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { timeNow } from '../lib/clock.js';
import { atMost } from '../lib/memory-budget.js';
import type { Telemetry } from '../observability/telemetry.js';
import { createRedisGuard } from './redis.js';
import type { SharedStore } from './shared-store.js';
import { createSignedJson } from './signer.js';

/** What writes have started of late, such as jobs: a service may list them only some time later. */
export type StartedRuns = ReturnType<typeof createStartedRuns>;

/** The latest write that started runs of one name, and when, in milliseconds since 1970. */
const startedSchema = z.object({ ids: z.array(z.string()), at: z.number() });
type Started = Readonly<z.output<typeof startedSchema>>;

/** How long a service may take to list what it has started. */
const recentMs = 60_000;
const keptMs = 10 * 60_000;
const maxKept = 10_000;

/** Credentials share a name, as they share a generation. */
export function createStartedRuns(shared: SharedStore | undefined, telemetry: Telemetry) {
  const local = new LRUCache<string, Started>(atMost(maxKept));
  const guard = createRedisGuard(telemetry);
  const signed = shared && createSignedJson(shared.signer, telemetry, startedSchema);
  const keyOf = (name: string) => `mig:started:${shared?.namespace}:${name}`;
  return {
    /** Never rejects. While Redis is away, only this gateway knows. */
    async add(name: string, ids: readonly string[]): Promise<void> {
      const started = { ids: [...ids], at: timeNow() };
      local.set(name, started);
      if (shared === undefined || signed === undefined) return;
      const key = keyOf(name);
      await guard('SET', () => shared.redis.set(key, signed.encode(key, started), 'PX', keptMs));
    },
    /** Whether the service may be about to list them is `isRecent`. Never rejects. */
    async of(name: string): Promise<{ readonly ids: readonly string[]; readonly isRecent: boolean }> {
      const key = keyOf(name);
      const found = shared && (await guard('GET', () => shared.redis.get(key)));
      const stored = found == null ? undefined : signed?.decode(key, found, 'state');
      const own = local.get(name);
      // Redis may not have taken it.
      const latest = stored === undefined || (own !== undefined && own.at > stored.at) ? own : stored;
      const { ids, at } = latest ?? { ids: [], at: 0 };
      // Redis may have one that somebody has put back.
      const age = Math.abs(timeNow() - at);
      return { ids: age < keptMs ? ids : [], isRecent: age < recentMs };
    },
  };
}
