import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
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

/** The keys of the entries that a look-up needs: the record, and its embeddings if they are wanted. */
export type Keys = readonly [record: ScopedKey, ...embeddings: ScopedKey[]];

/** @param key of the record, without the scope: `base GET /v2/events-monitor/observation/o-1`. */
export function keysOf(scope: Scope, key: string, embeddings: boolean): Keys {
  const record = scopedKey(scope, key);
  return embeddings ? [record, `${record} embeddings` as ScopedKey] : [record];
}

/** The key that distinguishes a look-up from every other. */
export function lastOf(keys: Keys): ScopedKey {
  return keys[1] ?? keys[0];
}

/** The same for one generation of a tag, if it has one. */
export function inGeneration(key: ScopedKey, generation: string | undefined): ScopedKey {
  return generation === undefined ? key : (`${key} ${generation}` as ScopedKey);
}

/** Splits a key into its scope in braces and the rest. */
export function partsOf(key: ScopedKey): readonly [scope: string, key: string] {
  const end = key.indexOf('}:') + 1;
  return [key.slice(0, end), key.slice(end + 1)];
}

/** The tag of everything cached about a market. Every write to the market renews its generation. */
export const marketTag = (marketId: string): string => `market:${marketId}`;

/** The tag of a market's jobs. Writes that start jobs renew its generation; the end of the jobs, which changes the market too, does not. */
export const jobsTag = (marketId: string): string => `jobs:${marketId}`;

/**
 * The part of a name in Redis that separates fleets: the number of the database and a hash of the three upstream addresses. A pub/sub channel
 * does not belong to a database, and two fleets may share one. Letters, digits and `.-_` only: braces would choose a Cluster slot.
 */
export type FleetNamespace = string & { readonly [fleetBrand]: true };

/** The same for what only a gateway with the same models can read. */
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

/** @param models their version; see `modelVersion`. */
export function cacheNamespace(fleet: FleetNamespace, models: string): CacheNamespace {
  return `${fleet}.${models}` as CacheNamespace;
}

/** What decides the shape of what is kept in Redis: what is read of the upstream service, what is watched, and the envelopes of both. */
const roots = /^(?:domains\/[^/]+\/(?:client|feed)|data\/(?:reader|cache\/lookup|polling\/state-message))\.[jt]s$/;
/** An import that is still there when the program runs. */
const imported = /^(?:import|export|\})(?! type)[^'"\n]*? from ['"](\.[^'"]+)\.js['"]/gm;

/**
 * A hash of the source of all modules that decide what is kept in Redis, as they run: the files that read the upstream service, and whatever
 * they import. Two gateways with the same version can read each other's entries; a changed comment costs some misses and nothing else.
 * @param folder where the program lies.
 */
export function modelVersion(folder = join(import.meta.dirname, '../..')): string {
  const extension = extname(import.meta.filename);
  const sources = new Map<string, string>();
  function read(file: string): void {
    if (sources.has(file)) return;
    const source = readFileSync(join(folder, file), 'utf8');
    sources.set(file, source);
    for (const [, name = ''] of source.matchAll(imported)) read(join(dirname(file), `${name}${extension}`));
  }
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter(name => roots.test(name))) read(file);
  return shortHash(...[...sources].sort(([one], [other]) => (one < other ? -1 : 1)).flat());
}
