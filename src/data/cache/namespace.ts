import { createHash } from 'node:crypto';
import type { Telemetry } from '../../observability/telemetry.js';
import type { RedisClient } from '../redis.js';
import type { UpstreamOptions } from '../upstream/origins.js';
import type { Signer } from './signer.js';

declare const fleetBrand: unique symbol;
declare const cacheBrand: unique symbol;

/**
 * The part of a name in Redis that keeps fleets apart: the number of the database and a hash of the three upstream addresses. A pub/sub
 * channel belongs to no database, and two fleets may share one. Letters, digits and `.-_` only: no braces, which would choose a Cluster slot.
 */
export type FleetNamespace = string & { readonly [fleetBrand]: true };

/** The same for what only a gateway with the same models can read. */
export type CacheNamespace = string & { readonly [cacheBrand]: true };

/** What it takes to share entries with the other gateways of a fleet. */
export interface SharedStore {
  readonly redis: RedisClient;
  readonly namespace: CacheNamespace;
  readonly signer: Signer;
  readonly telemetry: Telemetry;
}

const hashLength = 12;

/** A short hash of texts for a name in Redis. It keeps apart what operators configure and build, not what an attacker chooses. */
export function shortHash(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('base64url').slice(0, hashLength);
}

/** A hash of the three upstream addresses: two services with one secret accept neither each other's sessions nor each other's entries. */
export function serviceName({ base, api, dev }: Pick<UpstreamOptions, 'base' | 'api' | 'dev'>): string {
  return shortHash(...[base, api, dev].map(address => (address === undefined ? '' : new URL(address).href)));
}

/** @param database the number of the Redis database; 0 in a Cluster. */
export function fleetNamespace(
  database: number,
  upstream: Pick<UpstreamOptions, 'base' | 'api' | 'dev'>,
): FleetNamespace {
  return `${database}.${serviceName(upstream)}` as FleetNamespace;
}

/** @param models their version; see `modelVersion`. */
export function cacheNamespace(fleet: FleetNamespace, models: string): CacheNamespace {
  return `${fleet}.${models}` as CacheNamespace;
}
