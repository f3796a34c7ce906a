import { createHash } from 'node:crypto';
import type { Scope } from '../../auth/credentials.js';

declare const scopedKeyBrand: unique symbol;

/**
 * The key of a record or a whole response, for one scope: in memory, in Redis and for requests in flight. Built once for each look-up, because
 * building and hashing it cost more than the look-up. The scope is in braces, so that all keys of a scope share a Cluster slot.
 */
export type ScopedKey = string & { readonly [scopedKeyBrand]: true };

/** @param key the part that does not depend on the scope: `base GET /v2/events-monitor/observation/o-1`. */
export function scopedKey(scope: Scope, key: string): ScopedKey {
  return `{${scope}}:${key}` as ScopedKey;
}

/** The scope that a key begins with. */
export const scopeOfKey = (key: ScopedKey): Scope => key.slice(1, key.indexOf('}:')) as Scope;

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
