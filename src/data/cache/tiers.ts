import { LRUCache } from 'lru-cache';
import type { Attributes, Span } from '../../observability/operation-info.js';
import { createRedisGuard, type RedisGuard, redisAttributes } from '../redis.js';
import type { SharedStore } from '../shared-store.js';
import { type Entry, entrySchema } from './entry.js';
import { hashedKey, type Keys, type ScopedKey } from './keys.js';
import { createSignedJson, type SignedJson } from './signer.js';

/** The generation that entries must have; `any`: all of them the same one. */
export type WantedGeneration = string | undefined | typeof anyGeneration;
export const anyGeneration = Symbol('any generation');

/** Returns the entries if each of them exists, has this generation, and has not reached the given time. Otherwise returns undefined. */
export function allFresh(
  entries: readonly (Entry | undefined)[],
  wanted: WantedGeneration,
  until: 'freshUntil' | 'usableUntil',
): readonly Entry[] | undefined {
  const now = Date.now();
  const generation = wanted === anyGeneration ? entries[0]?.generation : wanted;
  for (const entry of entries) {
    if (entry === undefined || entry.generation !== generation || entry[until] <= now) return undefined;
  }
  return entries as readonly Entry[];
}

/** In bytes: the memory of an entry in addition to its key and the JSON text of its value. */
const overheadBytes = 400;

/** The tier in this process. It keeps the most recently used entries up to a number of bytes. */
export class MemoryTier {
  readonly #entries: LRUCache<ScopedKey, Entry>;

  /** @param bytes the size of the tier, counted as JSON text. The parsed values take about twice as much memory. */
  constructor(bytes: number) {
    this.#entries = new LRUCache({ maxSize: bytes });
  }

  /** The entries under the keys of a look-up, under the conditions of `allFresh`. */
  allFresh(
    [record, embeddings]: Keys,
    generation: WantedGeneration,
    until: 'freshUntil' | 'usableUntil',
  ): readonly Entry[] | undefined {
    const entry = this.#entries.get(record);
    if (entry === undefined) return undefined;
    return allFresh(embeddings === undefined ? [entry] : [entry, this.#entries.get(embeddings)], generation, until);
  }

  /** Stores an entry. Ignores an entry that is larger than the whole tier. */
  set(key: ScopedKey, entry: Entry): void {
    this.#entries.set(key, entry, { size: entry.bytes + key.length + overheadBytes });
  }
}

/** An entry to write to Redis. */
export interface RedisWrite {
  readonly key: ScopedKey;
  readonly entry: Entry;
}

/** In characters, including the scope. A longer key is hashed. */
const maxKeyLength = 250;

/**
 * The tier that the processes of a fleet share. If Redis is unavailable, slow or full, the tier behaves as if it were empty. All keys of one
 * call must have the same scope: they are then in one Cluster slot, and one command reads them all.
 */
export class RedisTier {
  readonly #store: SharedStore;
  readonly #guarded: RedisGuard;
  readonly #server: Attributes;
  readonly #json: SignedJson<Entry>;

  constructor(store: SharedStore) {
    this.#store = store;
    this.#guarded = createRedisGuard(store.telemetry);
    this.#server = redisAttributes(store.redis);
    this.#json = createSignedJson(store.signer, store.telemetry, entrySchema);
  }

  /** Reads entries in one round trip. An entry is undefined if it is missing, malformed or not signed by this fleet, or if Redis is unavailable. */
  async getMany(keys: readonly ScopedKey[], parent?: Span): Promise<readonly (Entry | undefined)[]> {
    const names = keys.map(key => this.#nameOf(key));
    const traced = { parent, name: 'MGET', keys: names.length, server: this.#server };
    const texts = await this.#guarded('MGET', () => this.#store.redis.mget(names), traced);
    return names.map((name, index) => {
      const text = texts?.[index];
      return text == null ? undefined : this.#json.decode(name, text, 'record');
    });
  }

  /** Writes entries in one pipeline. Removes the key of an entry that has expired. Never rejects. */
  async setMany(writes: readonly RedisWrite[], parent?: Span): Promise<void> {
    const run = async () => {
      const pipeline = this.#store.redis.pipeline();
      for (const { key, entry } of writes) {
        const milliseconds = Math.ceil(entry.usableUntil - Date.now());
        const name = this.#nameOf(key);
        if (milliseconds > 0) pipeline.set(name, this.#json.encode(name, entry), 'PX', milliseconds);
        else pipeline.unlink(name);
      }
      const failed = (await pipeline.exec())?.find(([error]) => error !== null);
      if (failed !== undefined) throw failed[0];
    };
    await this.#guarded('SET', run, { parent, name: 'PIPELINE SET', keys: writes.length, server: this.#server });
  }

  #nameOf(key: ScopedKey): string {
    return `mig:cache:${this.#store.namespace}:${key.length <= maxKeyLength ? key : hashedKey(key)}`;
  }
}
