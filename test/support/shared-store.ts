import { Secret } from '../../src/config/values.js';
import { databaseOf, type RedisClient } from '../../src/data/redis.js';
import { type FleetNamespace, fleetNamespace, type SharedStore } from '../../src/data/shared-store.js';
import { createSigner } from '../../src/data/signer.js';
import type { Telemetry } from '../../src/observability/telemetry.js';
import { silentTelemetry } from './silent-telemetry.js';

/** The namespace of the fleet of tests that have no gateway. */
export const testFleet = (redis: RedisClient) =>
  fleetNamespace(databaseOf(redis), { base: 'http://service.test', api: undefined, dev: undefined });

/** The service has accepted every scope. */
export const acceptedScopes = { add() {}, has: () => true };

/** What such a test shares over a Redis. */
export function sharedStore(
  redis: RedisClient,
  telemetry: Telemetry = silentTelemetry,
  namespace: FleetNamespace = testFleet(redis),
): SharedStore {
  return { redis, namespace, signer: createSigner([new Secret('a secret of the tests')]), telemetry, acceptedScopes };
}
