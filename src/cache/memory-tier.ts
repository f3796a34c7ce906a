import { LRUCache } from 'lru-cache';
import type { Scope } from '../credentials.js';
import type { Entry } from './entry.js';

/** What an entry costs besides the text of its value. */
const overheadBytes = 400;

/** The tier in this process: the most recently used entries within a bound of bytes. */
export class MemoryTier {
  readonly #entries: LRUCache<string, Entry>;

  /** @param bytes the bound, counted in JSON text; as objects the same values take about twice as much. */
  constructor(bytes: number) {
    this.#entries = new LRUCache({ maxSize: bytes });
  }

  get(scope: Scope, key: string): Entry | undefined {
    return this.#entries.get(`${scope} ${key}`);
  }

  /** An entry larger than the whole tier is not kept. */
  set(scope: Scope, key: string, entry: Entry): void {
    const name = `${scope} ${key}`;
    this.#entries.set(name, entry, { size: entry.bytes + name.length + overheadBytes });
  }
}
