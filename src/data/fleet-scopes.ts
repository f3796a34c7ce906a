import { LRUCache } from 'lru-cache';
import type { FleetScopes } from '../auth/accepted-scopes.js';
import type { Scope } from '../auth/credentials.js';
import { atMost } from '../lib/memory-budget.js';
import { minuteMs } from '../lib/time.js';
import { createRedisGuard } from './redis.js';
import type { SharedStore } from './shared-store.js';

/** Longer than what is cached under a scope lives. */
const lifetimeSeconds = 24 * 60 * 60;
/** How many keys a process remembers to have set, each for a minute: Redis may have lost it since. */
const maxTold = 10_000;
/** How long Redis is not told again after it has failed. */
const retryMs = 5_000;

/** The accepted scopes of a fleet, in Redis. They are not signed: whoever adds one can only make the gateways cache less. */
export function sharedScopes({
  redis,
  namespace,
  telemetry,
}: Pick<SharedStore, 'redis' | 'namespace' | 'telemetry'>): FleetScopes {
  const guarded = createRedisGuard(telemetry);
  const told = new LRUCache<string, true>({ ...atMost(maxTold), ttl: minuteMs, perf: performance });
  const keyOf = (scope: Scope, market?: string) =>
    `mig:accepted:${namespace}:${scope}${market === undefined ? '' : `:${market}`}`;
  return {
    tell(...accepted) {
      const key = keyOf(...accepted);
      if (told.has(key)) return;
      told.set(key, true);
      void guarded('SET', () => redis.set(key, 1, 'EX', lifetimeSeconds)).then(isSet => {
        if (isSet === undefined) told.set(key, true, { ttl: retryMs });
      });
    },
    async has(...accepted) {
      const found = await guarded('EXISTS', () => redis.exists(keyOf(...accepted)));
      return found === undefined ? undefined : found > 0;
    },
  };
}
