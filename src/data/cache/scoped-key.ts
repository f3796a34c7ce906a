import type { Scope } from '../../auth/credentials.js';

declare const scopedKeyBrand: unique symbol;

/**
 * Whose, and what: the name of a record or a whole answer in memory, in Redis and among the flights. Put together once for each look-up, since
 * that and its hash cost more than to find something by it. The scope stands in braces, so that all keys of one share a Cluster slot.
 */
export type ScopedKey = string & { readonly [scopedKeyBrand]: true };

/** @param key what is asked for, whoever asks. */
export function scopedKey(scope: Scope, key: string): ScopedKey {
  return `{${scope}}:${key}` as ScopedKey;
}

/** The keys of the entries that a look-up needs: the record's, and that of its heavy part where it is wanted. */
export type Keys = readonly [record: ScopedKey, ...heavy: ScopedKey[]];

/** @param key the record's, whoever asks: `base GET /v2/events-monitor/observation/o-1`. */
export function keysOf(scope: Scope, key: string, heavy: boolean): Keys {
  const record = scopedKey(scope, key);
  return heavy ? [record, `${record} heavy` as ScopedKey] : [record];
}

/** The key that tells a look-up from every other. */
export function lastOf(keys: Keys): ScopedKey {
  return keys[1] ?? keys[0];
}

/** The same for one generation of a tag, where it has one. */
export function inGeneration(key: ScopedKey, generation: string | undefined): ScopedKey {
  return generation === undefined ? key : (`${key} ${generation}` as ScopedKey);
}

/** The scope of a key in its braces, and what it asks for. */
export function partsOf(key: ScopedKey): readonly [scope: string, key: string] {
  const end = key.indexOf('}:') + 1;
  return [key.slice(0, end), key.slice(end + 1)];
}
