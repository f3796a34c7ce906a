import { getHeapStatistics } from 'node:v8';
import { Overloaded, QueryTooComplex, RateLimited } from '../errors.js';

/** How many bytes may be held at a time: by the whole process, by one owner, and by one answer. */
export interface MemoryBounds {
  readonly total: number;
  readonly perOwner: number;
  readonly perAnswer: number;
}

const mebibyte = 1024 * 1024;
/** Above this part of its limit, an owner or the process starts nothing new: running operations need the rest. */
const nearlyFull = 0.75;
/** A parsed record takes about this many times the bytes of its text. */
const bytesPerByteRead = 3;
/** In bytes. An operation that read less cannot have a large response, so its response is not measured in advance. */
const worthMeasuring = 256 * 1024;
/** In bytes. A smaller response is not counted: the number of requests in flight bounds how many there are. */
export const worthCounting = 16 * 1024;

/** @param heapLimit the most that V8 lets the heap grow to, in bytes. */
function memoryBounds(heapLimit: number = getHeapStatistics().heap_size_limit): MemoryBounds {
  const total = Math.floor(Math.min(heapLimit / 4, 512 * mebibyte));
  return { total, perOwner: total / 2, perAnswer: Math.min(total / 4, 64 * mebibyte) };
}

/**
 * Bounds the memory of this process that requests and answers take: what operations under way have read, answers that were written and that
 * their clients have not taken yet, and what clients have sent. Owners are credentials, or network addresses where there is no credential.
 * What clients send belongs to their network address in any case, because a client can make up as many credentials as it likes.
 */
export class MemoryBudget {
  readonly bounds: MemoryBounds;
  readonly #owners = new Map<string, number>();
  #held = 0;

  constructor(bounds: MemoryBounds = memoryBounds()) {
    this.bounds = bounds;
  }

  /** In bytes, of all claims. */
  get held(): number {
    return this.#held;
  }

  /** Whether this process is to begin nothing new. */
  get isNearlyFull(): boolean {
    return this.#held > this.bounds.total * nearlyFull;
  }

  /** Why an owner is to begin nothing new; undefined: it may. */
  refusalFor(owner: string): Overloaded | RateLimited | undefined {
    if (this.#held === 0) return undefined;
    if (this.isNearlyFull) return new Overloaded();
    return (this.#owners.get(owner) ?? 0) > this.bounds.perOwner * nearlyFull ? tooMuch() : undefined;
  }

  /** A claim of nothing yet. */
  claim(owner: string): Claim {
    return new Claim(this, owner);
  }

  /** @throws Overloaded, RateLimited where there is no room for so many more bytes. */
  check(owner: string, growth: number): void {
    if (this.#held + growth > this.bounds.total) throw new Overloaded();
    if ((this.#owners.get(owner) ?? 0) + growth > this.bounds.perOwner) throw tooMuch();
  }

  /** Counts without asking whether there is room. */
  change(owner: string, by: number): void {
    this.#held += by;
    const held = (this.#owners.get(owner) ?? 0) + by;
    if (held === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, held);
  }
}

const tooMuch = () =>
  new RateLimited('Responses for this credential are waiting to be read; read them, then try again');

/** What one operation, answer or connection takes of a budget, until it is released. */
export class Claim {
  readonly #budget: MemoryBudget;
  readonly #owner: string;
  #bytes = 0;
  #bytesRead = 0;
  #isReleased = false;

  constructor(budget: MemoryBudget, owner: string) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** Counts a record that the operation uses; `bytes` is the length of its text. */
  uses(bytes: number): void {
    this.#bytesRead += bytes;
  }

  /** Makes room for a record that is about to be parsed; `bytes` is the length of its text. @throws Overloaded, RateLimited */
  parses(bytes: number): void {
    this.#resize(this.#bytes + bytes * bytesPerByteRead);
  }

  /**
   * Makes room for an answer in the place of what it is made of.
   * @param measure tells about how long it will be, in bytes; called only where that can be much.
   * @throws QueryTooComplex where it would be larger than any answer may be; Overloaded, RateLimited
   */
  writes(measure: () => number): void {
    if (this.#bytesRead >= worthMeasuring) this.wrote(measure());
  }

  /** The answer has this length, in bytes. @throws as `writes` does. */
  wrote(bytes: number): void {
    const { perAnswer } = this.#budget.bounds;
    if (bytes > perAnswer) throw new QueryTooComplex('bytes of the answer', bytes, perAnswer);
    this.received(bytes);
  }

  /** So many bytes of a request have arrived. @throws Overloaded, RateLimited where there is no room for them. */
  received(bytes: number): void {
    this.#resize(bytes < worthCounting ? 0 : bytes);
  }

  /** Counts so many bytes, whether there is room or not; tells whether there was. */
  set(bytes: number): boolean {
    const growth = this.#isReleased ? 0 : bytes - this.#bytes;
    if (growth === 0) return true;
    this.#bytes = bytes;
    this.#budget.change(this.#owner, growth);
    return growth < 0 || this.#budget.held <= this.#budget.bounds.total;
  }

  /** Gives everything back; the claim counts nothing from now on. */
  release(): void {
    this.set(0);
    this.#isReleased = true;
  }

  #resize(bytes: number): void {
    if (this.#isReleased) return;
    if (bytes > this.#bytes) this.#budget.check(this.#owner, bytes - this.#bytes);
    this.set(bytes);
  }
}
