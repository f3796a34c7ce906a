import { createHash } from 'node:crypto';
import type { Scope } from '../../auth/credentials.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { RedisClient } from '../redis.js';
import type { UpstreamOptions } from '../upstream/origins.js';
import type { Signer } from './signer.js';

declare const scopedKeyBrand: unique symbol;
declare const fleetBrand: unique symbol;
declare const cacheBrand: unique symbol;

/**
 * The key of a record or a whole response, for one scope: in memory, in Redis and for requests in flight. Built once for each look-up, because
 * building and hashing it cost more than the look-up. The scope is in braces, so that all keys of a scope share a Cluster slot.
 */
export type ScopedKey = string & { readonly [scopedKeyBrand]: true };

/** @param key the part that does not depend on the scope. */
export function scopedKey(scope: Scope, key: string): ScopedKey {
  return `{${scope}}:${key}` as ScopedKey;
}

/** The keys of the entries that a look-up needs: the record, and its embeddings if they are wanted. The last one identifies the look-up. */
export type Keys = readonly [record: ScopedKey, ...embeddings: ScopedKey[]];

/** @param key of the record, without the scope: `base GET /v2/events-monitor/observation/o-1`. */
export function keysOf(scope: Scope, key: string, embeddings: boolean): Keys {
  const record = scopedKey(scope, key);
  return embeddings ? [record, `${record} embeddings` as ScopedKey] : [record];
}

/** A name in Redis for a long key: the scope in braces, and a hash of the rest. */
export function hashedKey(key: ScopedKey): string {
  const start = key.indexOf('}:') + 2;
  return key.slice(0, start) + createHash('sha256').update(key.slice(start)).digest('base64url');
}

/** The tag of everything cached about a market. Every write to the market renews its generation. */
export const marketTag = (marketId: string): string => `market:${marketId}`;

/** The tag of a market's jobs. Writes that start jobs renew its generation; the end of the jobs, which changes the market too, does not. */
export const jobsTag = (marketId: string): string => `jobs:${marketId}`;

/** The tag of all lists of events of a scope. A poll that finds a change renews its generation. */
export const eventsTag = (scope: Scope): string => `events:${scope}`;

/**
 * The part of a name in Redis that separates fleets: the number of the database and a hash of the three upstream addresses. A pub/sub channel
 * does not belong to a database, and two fleets may share one. Letters, digits and `.-_` only: braces would choose a Cluster slot.
 */
export type FleetNamespace = string & { readonly [fleetBrand]: true };

/** The part of a name in Redis for data that only gateways with the same fleet namespace and the same `modelVersion` can read. */
export type CacheNamespace = string & { readonly [cacheBrand]: true };

/** What a gateway needs to share entries with the other gateways of its fleet. */
export interface SharedStore {
  readonly redis: RedisClient;
  readonly namespace: CacheNamespace;
  readonly signer: Signer;
  readonly telemetry: Telemetry;
}

const hashLength = 12;

/** A short hash of texts for a name in Redis. It separates configurations and builds; it does not withstand an attacker. */
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

/**
 * The version of what gateways share in Redis. Raise it with every change to the models: gateways of two versions then have cache entries and polls of their own.
 * `test/model-version.test.ts` fails if the models changed and it did not.
 */
export const modelVersion = 3;

export function cacheNamespace(fleet: FleetNamespace): CacheNamespace {
  return `${fleet}.${modelVersion}` as CacheNamespace;
}
