import { LRUCache } from 'lru-cache';
import type { Entry } from './entry.js';
import type { ScopedKey } from './scoped-key.js';

/** What an entry costs besides the text of its value. */
const overheadBytes = 400;

/**
 * An entry without its value until that is asked for. Most never are, and a collection of garbage copies a text in one go, the objects
 * of a record one by one.
 */
class LazyEntry implements Entry {
  readonly freshUntil: number;
  readonly usableUntil: number;
  readonly generation: string | undefined;
  readonly bytes: number;
  #value: unknown;
  #again: (() => unknown) | undefined;

  constructor({ freshUntil, usableUntil, generation, bytes }: Entry, again: () => unknown) {
    this.freshUntil = freshUntil;
    this.usableUntil = usableUntil;
    this.generation = generation;
    this.bytes = bytes;
    this.#again = again;
  }

  get value(): unknown {
    if (this.#again !== undefined) {
      this.#value = this.#again();
      this.#again = undefined;
    }
    return this.#value;
  }
}

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

  /**
   * An entry larger than the whole tier is not kept.
   * @param again makes its value again, which is then let go of until somebody asks.
   */
  set(key: ScopedKey, entry: Entry, again?: () => unknown): void {
    this.#entries.set(key, again === undefined ? entry : new LazyEntry(entry, again), {
      size: entry.bytes + key.length + overheadBytes,
    });
  }
}
