import { LRUCache } from 'lru-cache';
import type { FleetScopes, Scope } from '../auth/credentials.js';
import { atMost } from '../lib/memory-budget.js';
import { minuteMs } from '../lib/time.js';
import { createRedisGuard } from './redis.js';
import type { SharedStore } from './shared-store.js';

/** Longer than what is cached under a scope lives. */
const lifetimeSeconds = 24 * 60 * 60;
/** How many scopes a process remembers to have told of, each for a minute: Redis may have lost it since. */
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
  const told = new LRUCache<Scope, true>({ ...atMost(maxTold), ttl: minuteMs, perf: performance });
  const keyOf = (scope: Scope) => `mig:accepted:${namespace}:${scope}`;
  return {
    tell(scope) {
      if (told.has(scope)) return;
      told.set(scope, true);
      void guarded('SET', () => redis.set(keyOf(scope), 1, 'EX', lifetimeSeconds)).then(isSet => {
        if (isSet === undefined) told.set(scope, true, { ttl: retryMs });
      });
    },
    async has(scope) {
      const found = await guarded('EXISTS', () => redis.exists(keyOf(scope)));
      return found === undefined ? undefined : found > 0;
    },
  };
}
