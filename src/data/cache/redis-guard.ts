import { ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel';
import type { Telemetry } from '../../observability/telemetry.js';

/** After three commands in a row that failed, Redis is left alone for a second, so that no request waits for it. */
const faultsInARow = 3;
const restMs = 1_000;

/** Runs a command, or several as one; undefined where it failed or Redis is being left alone. */
export type RedisGuard = <T>(command: string, run: () => Promise<T>) => Promise<T | undefined>;

/** A guard that makes a Redis that is gone, slow or full cost next to nothing, and counts its faults. */
export function createRedisGuard(telemetry: Pick<Telemetry, 'redisFault'>): RedisGuard {
  const breaker = circuitBreaker(handleAll, { halfOpenAfter: restMs, breaker: new ConsecutiveBreaker(faultsInARow) });
  return async (command, run) => {
    try {
      return await breaker.execute(run);
    } catch (error) {
      telemetry.redisFault(command, error);
      return undefined;
    }
  };
}
