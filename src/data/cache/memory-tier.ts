import { LRUCache } from 'lru-cache';
import type { ScopedKey } from './keys.js';
import type { Entry } from './lookup.js';

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
