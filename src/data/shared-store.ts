import { createHash } from 'node:crypto';
import type { AcceptedScopes } from '../auth/accepted-scopes.js';
import type { Config } from '../config/config.js';
import type { Telemetry } from '../observability/telemetry.js';
import type { RedisClient } from './redis.js';
import type { Signer } from './signer.js';

declare const fleetBrand: unique symbol;

/**
 * The part of a name in Redis that separates fleets: the number of the database and a hash of the three upstream addresses. A pub/sub channel
 * does not belong to a database, and two fleets may share one. Letters, digits and `.-_` only: braces would choose a Cluster slot.
 */
export type FleetNamespace = string & { readonly [fleetBrand]: true };

/** What a gateway needs to share entries with the other gateways of its fleet. */
export interface SharedStore {
  readonly redis: RedisClient;
  readonly namespace: FleetNamespace;
  readonly signer: Signer;
  readonly telemetry: Telemetry;
  /** Nothing is written for the others: anyone can make up a credential. */
  readonly acceptedScopes: Pick<AcceptedScopes, 'add' | 'has'>;
}

/** A short hash of texts for a name in Redis. It separates configurations and builds; it does not withstand an attacker. */
export function shortHash(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('base64url').slice(0, 12);
}

type Addresses = Pick<Config['upstream'], 'base' | 'api' | 'dev'>;

/** A hash of the three upstream addresses: two services with one secret accept neither each other's sessions nor each other's entries. */
export function serviceName({ base, api, dev }: Addresses): string {
  return shortHash(...[base, api, dev].map(address => (address === undefined ? '' : new URL(address).href)));
}

/** @param database the number of the Redis database; 0 in a Cluster. */
export function fleetNamespace(database: number, upstream: Addresses): FleetNamespace {
  return `${database}.${serviceName(upstream)}` as FleetNamespace;
}
