import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { createRedisGuard, type RedisGuard } from '../redis.js';
import { partsOf, type ScopedKey, type SharedStore } from './keys.js';
import { type Entry, entrySchema } from './lookup.js';
import { createSignedJson, type SignedJson } from './signer.js';

/** What an entry costs besides the text of its value. */
const overheadBytes = 400;

/** The tier in this process: the most recently used entries within a bound of bytes. */
export class MemoryTier {
  readonly #entries: LRUCache<ScopedKey, Entry>;

  /** @param bytes the bound, counted in JSON text; as objects the same values take about twice as much. */
  constructor(bytes: number) {
    this.#entries = new LRUCache({ maxSize: bytes });
  }

  get(key: ScopedKey): Entry | undefined {
    return this.#entries.get(key);
  }

  /** An entry larger than the whole tier is not kept. */
  set(key: ScopedKey, entry: Entry): void {
    this.#entries.set(key, entry, { size: entry.bytes + key.length + overheadBytes });
  }
}

/** An entry to write to Redis. */
export interface RedisWrite {
  readonly key: ScopedKey;
  readonly entry: Entry;
}

/** Characters, with the scope. A longer key is hashed. */
const longestKey = 250;

/**
 * The tier that the processes of a fleet share. A Redis that is unavailable, slow or full is treated as empty. The keys of one call are of one
 * scope: they share a Cluster slot, so that one command reads them all.
 */
export class RedisTier {
  readonly #store: SharedStore;
  readonly #guarded: RedisGuard;
  readonly #json: SignedJson<Entry>;

  constructor(store: SharedStore) {
    this.#store = store;
    this.#guarded = createRedisGuard(store.telemetry);
    this.#json = createSignedJson(store.signer, store.telemetry, entrySchema);
  }

  /** One round trip for all keys. Undefined for each that is missing, malformed, not signed by this fleet, or unavailable now. */
  async getMany(keys: readonly ScopedKey[]): Promise<readonly (Entry | undefined)[]> {
    const names = keys.map(key => this.#nameOf(key));
    const texts = await this.#guarded('MGET', () => this.#store.redis.mget(names));
    return names.map((name, index) => {
      const text = texts?.[index];
      return text == null ? undefined : this.#json.decode(name, text, 'record');
    });
  }

  /** One pipeline for all entries. An entry that has expired removes the key. Never rejects. */
  async setMany(writes: readonly RedisWrite[]): Promise<void> {
    await this.#guarded('SET', async () => {
      const pipeline = this.#store.redis.pipeline();
      for (const { key, entry } of writes) {
        const milliseconds = Math.ceil(entry.usableUntil - Date.now());
        const name = this.#nameOf(key);
        if (milliseconds > 0) pipeline.set(name, this.#json.encode(name, entry), 'PX', milliseconds);
        else pipeline.unlink(name);
      }
      const failed = (await pipeline.exec())?.find(([error]) => error !== null);
      if (failed !== undefined) throw failed[0];
    });
  }

  #nameOf(key: ScopedKey): string {
    const prefix = `mig:cache:${this.#store.namespace}:`;
    if (key.length <= longestKey) return `${prefix}${key}`;
    const [scope, rest] = partsOf(key);
    return `${prefix}${scope}:${createHash('sha256').update(rest).digest('base64url')}`;
  }
}
