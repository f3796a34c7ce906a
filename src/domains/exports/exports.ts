// Exports: the endpoints of teams, and what is sent to them. The door of this folder, with `resolvers.ts` (its fields) and `model.ts` (its types).
//
// Promises: an export is recorded before its first call and before each further one, and ends as the receiver saw it. One idempotency key is one export for
//   24 hours. A call is signed (Standard Webhooks), goes only to an address that may be reached, and says the same in each attempt.
// States of an export: RUNNING, then DELIVERED, REJECTED or FAILED. UNKNOWN once its process can no longer end it: it stopped, or could not record.
//   Of an endpoint: a revision for each URL and headers. What was started for another revision is not sent.
// Needs: a store of teams (Redis, or a file in DATA_DIR), secrets that sign and seal it (SESSION_SECRET), and who belongs to which team.
// Never: makes a fifth call, follows a redirect, uses a proxy or a kept connection, sends what it could not record, stores a secret or a payload in clear, or
//   believes a stored state that no gateway of the fleet signed.
//
// Inside: registry (endpoints), sender (one export, and its record), delivery (its calls), endpoint-response (what an answer means), address-guard,
// signing (secrets and seals), team-state (all changes, as functions), team-store (signatures), on redis-store or file-store.
import type { Sealer } from '../../auth/seal.js';
import type { Config } from '../../config/config.js';
import type { RedisClient } from '../../data/redis.js';
import type { Signer } from '../../data/signer.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { createAddressGuard, type Resolve, resolveName } from './address-guard.js';
import { openFileStore } from './file-store.js';
import { createRedisStore } from './redis-store.js';
import { Registry } from './registry.js';
import { Sender } from './sender.js';
import { createEndpointSeals } from './signing.js';
import { createTeamStore } from './team-store.js';

export { checkFileStore } from './file-store.js';

export type Exports = Awaited<ReturnType<typeof openExports>>;

export interface ExportsDeps {
  /** Undefined: a file in `DATA_DIR` takes its place. */
  readonly redis: RedisClient | undefined;
  readonly signer: Signer;
  readonly sealer: Sealer;
  readonly telemetry: Telemetry;
  /** Reports an outcome that could not be recorded. */
  readonly report: (error: unknown) => void;
  readonly resolve?: Resolve | undefined;
}

/** @throws ConfigurationError if there is no Redis, and the file cannot be used. */
export async function openExports(
  { exports: { allowPrivateAddresses = false, httpsOnly }, dataDir, isSecretSet }: Config,
  { redis, signer, sealer, telemetry, report, resolve = resolveName }: ExportsDeps,
) {
  const texts = redis === undefined ? await openFileStore(dataDir, telemetry) : createRedisStore(redis, telemetry);
  const store = createTeamStore(texts, signer, telemetry, redis === undefined && !isSecretSet);
  const guard = createAddressGuard(allowPrivateAddresses, resolve);
  const seals = createEndpointSeals(sealer);
  return {
    stateOf: store.read,
    /** How many headers and signing secrets of endpoints are sealed with a secret other than the first. */
    outdated: async () => (await store.seals()).filter(seal => sealer.isOutdated(seal)).length,
    registry: new Registry({ store, seals, guard, httpsOnly, telemetry }),
    sender: new Sender({ store, seals, guard, httpsOnly, telemetry, report }),
  };
}
