import { getHeapStatistics } from 'node:v8';
import { Overloaded, QueryTooComplex, RateLimited } from '../errors.js';
import { heapLimit } from './heap.js';
import { networkOf } from './network.js';

/** How many bytes may be held at a time: by the whole process, by one owner, and by one response. */
export interface MemoryBounds {
  readonly total: number;
  readonly perOwner: number;
  readonly perResponse: number;
}

const mebibyte = 1024 * 1024;
/** Above this share of its limit, an owner or the process starts nothing new, because running operations need the rest. */
const nearlyFull = 0.75;
/** The same of V8's heap, which is full before a garbage collection. One that is full in two samples in a row stays full. */
const fullHeap = 0.92;
const samplesInARow = 2;
const sampleMs = 500;
/** A parsed record takes about this many times the bytes of its text. */
const bytesPerByteRead = 3;
/** In bytes. A smaller response is not counted: the number of requests in flight bounds how many there are. */
export const countThreshold = 16 * 1024;

function memoryBounds(): MemoryBounds {
  const total = Math.floor(Math.min(heapLimit / 4, 512 * mebibyte));
  return { total, perOwner: total / 2, perResponse: Math.min(total / 4, 64 * mebibyte) };
}

/** The owner of what a request holds: its credential, or the network of its client where it has none. */
export const memoryOwner = (scope: string | undefined, address: string): string => scope ?? networkOf(address);

/**
 * Bounds the memory that requests and responses take in this process: what running operations have read, responses that clients have not
 * received yet, and what clients have sent. Request bodies always count for the network address, because a client can make up as many credentials as it likes.
 */
export class MemoryBudget {
  readonly bounds: MemoryBounds;
  readonly #owners = new Map<string, number>();
  readonly #onFull: () => void;
  readonly #heapShare: () => number;
  #held = 0;
  #sampledAt = 0;
  #fullSamples = 0;

  /**
   * @param onFull called whenever something is refused because this process has no room.
   * @param heapShare the used part of the largest heap, 0 to 1.
   */
  constructor(bounds: MemoryBounds = memoryBounds(), onFull = () => {}, heapShare = usedShareOfHeap) {
    this.bounds = bounds;
    this.#onFull = onFull;
    this.#heapShare = heapShare;
  }

  /** In bytes, of all claims. */
  get held(): number {
    return this.#held;
  }

  /** Whether this process must not start anything new. */
  get isNearlyFull(): boolean {
    const now = performance.now();
    if (now - this.#sampledAt >= sampleMs) {
      this.#sampledAt = now;
      this.#fullSamples = this.#heapShare() > fullHeap ? this.#fullSamples + 1 : 0;
    }
    return this.#fullSamples >= samplesInARow || this.#held > this.bounds.total * nearlyFull;
  }

  /** The error if an owner must not start anything new, where the process may; undefined if the owner may. */
  refusalFor(owner: string): RateLimited | undefined {
    return (this.#owners.get(owner) ?? 0) > this.bounds.perOwner * nearlyFull ? tooMuch() : undefined;
  }

  /** A new claim, which counts nothing yet. */
  claim(owner: string): Claim {
    return new Claim(this, owner);
  }

  /** Changes the bytes of an owner. @param by negative where it gives some back. @param mustFit whether growth needs room. @throws Overloaded, RateLimited */
  change(owner: string, by: number, mustFit: boolean): void {
    const total = this.#held + by;
    const owned = (this.#owners.get(owner) ?? 0) + by;
    if (mustFit && by > 0) {
      if (total > this.bounds.total) {
        this.#onFull();
        throw new Overloaded();
      }
      if (owned > this.bounds.perOwner) throw tooMuch();
    }
    this.#held = total;
    if (owned === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, owned);
  }
}

const usedShareOfHeap = () => getHeapStatistics().used_heap_size / heapLimit;

const tooMuch = () =>
  new RateLimited('This client holds too much memory; read its responses, then try again', undefined, 1);

/** What one operation, response or connection takes of a budget, until it is released. */
export class Claim {
  readonly #budget: MemoryBudget;
  readonly #owner: string;
  #bytes = 0;
  #isReleased = false;

  constructor(budget: MemoryBudget, owner: string) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** Counts a record before it is parsed; `bytes` is the length of its text. @throws Overloaded, RateLimited if there is no room. */
  reserveForParsing(bytes: number): void {
    this.#resize(this.#bytes + bytes * bytesPerByteRead);
  }

  /** Counts a response of this length, in bytes, in place of everything counted before. @throws QueryTooComplex above `perResponse`; Overloaded, RateLimited. */
  reserveResponse(bytes: number): void {
    const { perResponse } = this.#budget.bounds;
    if (bytes > perResponse) throw new QueryTooComplex('bytes of the response', bytes, perResponse);
    this.reserve(bytes);
  }

  /** Counts this many bytes in place of everything counted before; none below `countThreshold`. @throws Overloaded, RateLimited if there is no room. */
  reserve(bytes: number): void {
    this.#resize(bytes < countThreshold ? 0 : bytes);
  }

  /** Counts this many bytes, even if there is no room. Returns whether there was room. */
  force(bytes: number): boolean {
    const growth = this.#resize(bytes, false);
    return growth <= 0 || this.#budget.held <= this.#budget.bounds.total;
  }

  /** A claim of the same owner, for one part of the response. */
  another(): Claim {
    return new Claim(this.#budget, this.#owner);
  }

  /** Gives all bytes back. The claim counts nothing from then on. */
  release(): void {
    this.force(0);
    this.#isReleased = true;
  }

  /** Returns by how many bytes the claim has grown. */
  #resize(bytes: number, mustFit = true): number {
    const growth = this.#isReleased ? 0 : bytes - this.#bytes;
    if (growth !== 0) this.#budget.change(this.#owner, growth, mustFit);
    this.#bytes += growth;
    return growth;
  }
}

/**
 * The bounds of an `LRUCache` that may have many entries and mostly has few. With `max` it would take the memory for all of them when it is made: 13 ms and
 * 3 MB for 100,000.
 */
export function atMost(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
