// The memory that requests and responses take in this process: how much each client holds, and what is refused because there is no room.
import { getHeapStatistics } from 'node:v8';
import { Overloaded, QueryTooComplex, RateLimited } from '../errors.js';
import { heapLimit } from './heap.js';
import { networkOf } from './network.js';
import { addTo, oncePerValue } from './run.js';

/** How many bytes may be held at a time: by all credentials, by one owner, and by one response. */
export interface MemoryBounds {
  readonly total: number;
  readonly perOwner: number;
  readonly perResponse: number;
}

const mebibyte = 1024 * 1024;
/** What all networks may hold together, besides what credentials hold and as a share of what those may. */
const networkShare = 0.5;
/** Above this share of its limit, an owner or the process starts nothing new, because running operations need the rest. */
const nearlyFull = 0.75;
/** The same of V8's heap, which is full before a garbage collection. One that is full in two samples in a row stays full. */
const fullHeap = 0.92;
const samplesInARow = 2;
const sampleMs = 500;
/** A parsed record takes about this many times the bytes of its text. */
const bytesPerByteRead = 3;
/** In bytes. A smaller response, or body of a request in flight, is not counted: the number of requests in flight bounds how many there are. */
export const countThreshold = 16 * 1024;

const total = Math.floor(Math.min(heapLimit / 4, 512 * mebibyte));
const ownBounds: MemoryBounds = { total, perOwner: total / 2, perResponse: Math.min(total / 4, 64 * mebibyte) };

/** For whom memory is counted: a credential once the service has accepted it, because anyone can make up keys; the network of its address until then. */
export interface MemoryClient {
  readonly scope?: string | undefined;
  /** Undefined where the service has accepted the credential. */
  readonly address?: string | undefined;
}

/** Credentials and networks have a bound each, so that strangers never take the room of clients. */
type OwnerKind = 'credential' | 'network';

/** A copy of a text: the part of a header, a URL or a document keeps the whole of it in memory. */
export const ownText = (part: string): string => Buffer.from(part).toString();

/** About how many bytes a parsed JSON value takes. */
export function bytesOfValue(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 24;
  if (typeof value !== 'object' || value === null) return 16;
  if (value instanceof Uint8Array) return value.length;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + bytesOfValue(item), 48);
  return Object.entries(value).reduce((sum, [name, part]) => sum + bytesOfValue(name) + bytesOfValue(part), 56);
}

const bytesOfObject = oncePerValue<object, number>(bytesOfValue);

/**
 * Bounds the memory that requests and responses take in this process: what running operations have read, responses that clients have not
 * received yet, and what clients have sent, for as long as it is kept.
 */
export class MemoryBudget {
  readonly bounds: MemoryBounds;
  readonly owners = new Map<string, number>();
  readonly #onFull: () => void;
  readonly #heapShare: () => number;
  readonly #isAccepted: (scope: string) => boolean;
  readonly #held: Record<OwnerKind, number> = { credential: 0, network: 0 };
  #sampledAt = 0;
  #fullSamples = 0;

  /**
   * @param onFull called whenever something is refused because this process has no room.
   * @param heapShare the used part of the largest heap, 0 to 1.
   * @param isAccepted whether the service has accepted the credential of a scope.
   */
  constructor(
    bounds = ownBounds,
    onFull = () => {},
    heapShare = () => getHeapStatistics().used_heap_size / heapLimit,
    isAccepted: (scope: string) => boolean = () => true,
  ) {
    this.#isAccepted = isAccepted;
    this.bounds = bounds;
    this.#onFull = onFull;
    this.#heapShare = heapShare;
  }

  /** In bytes, of all claims. */
  get held(): number {
    return this.#held.credential + this.#held.network;
  }

  /** How many bytes more all owners of a kind may hold; negative where something had to be counted without room. */
  freeFor(kind: OwnerKind): number {
    return this.bounds.total * (kind === 'network' ? networkShare : 1) - this.#held[kind];
  }

  /** Whether this process must not start anything new. What strangers hold is no reason. */
  get isNearlyFull(): boolean {
    const now = performance.now();
    if (now - this.#sampledAt >= sampleMs) {
      this.#sampledAt = now;
      this.#fullSamples = this.#heapShare() > fullHeap ? this.#fullSamples + 1 : 0;
    }
    return this.#fullSamples >= samplesInARow || this.#held.credential > this.bounds.total * nearlyFull;
  }

  /**
   * Whether a client may start something new, where the process may. What others of its network hold is no reason: a new client has the same network as
   * one that makes up keys.
   * @throws RateLimited
   */
  check(owner: string): void {
    if ((this.owners.get(owner) ?? 0) > this.bounds.perOwner * nearlyFull) throw tooMuch();
  }

  /** How many bytes more an owner may keep for later: half of what it may hold, and of all, is for what is done now. */
  roomToKeep(owner: string): number {
    const { total, perOwner } = this.bounds;
    return Math.min(total / 2 - this.#held.credential, perOwner / 2 - (this.owners.get(owner) ?? 0));
  }

  claim(client: MemoryClient): Claim {
    return new Claim(this, client);
  }

  /** Whose share a client takes now, of memory and of operations: until the service has accepted it, that of its network, because anyone can make up keys. */
  ownerOf({ scope, address }: MemoryClient): string {
    if (scope !== undefined && (address === undefined || this.#isAccepted(scope))) return scope;
    return networkOf(address ?? '');
  }

  /**
   * Changes the bytes of an owner. A network may hold as much as is still free for networks: however many of them a stranger has, others have room.
   * @param by negative where it gives some back. @param mustFit whether growth needs room. @throws Overloaded, RateLimited
   */
  change(kind: OwnerKind, owner: string, by: number, mustFit: boolean): void {
    const free = this.freeFor(kind) - by;
    const owned = (this.owners.get(owner) ?? 0) + by;
    if (mustFit && by > 0) {
      // A network is always told that it has too much: strangers do not count as load.
      if (free < 0 && kind === 'credential') {
        this.#onFull();
        throw new Overloaded();
      }
      if (owned > this.bounds.perOwner || (kind === 'network' && owned > free)) throw tooMuch();
    }
    this.#held[kind] += by;
    addTo(this.owners, owner, by);
  }
}

const tooMuch = () =>
  new RateLimited('This client holds too much memory; read its responses, then try again', undefined, 1);

/** What one operation, response or connection takes of a budget, until it is released. */
export class Claim {
  readonly #budget: MemoryBudget;
  readonly #client: MemoryClient;
  readonly #beside: Claim | undefined;
  #owner: string;
  #bytes = 0;
  #isReleased = false;

  /** @param beside what the same operation has read, where this is for a part of its response. */
  constructor(budget: MemoryBudget, client: MemoryClient, beside?: Claim) {
    this.#budget = budget;
    this.#client = client;
    this.#beside = beside;
    this.#owner = budget.ownerOf(client);
  }

  /**
   * Counts a record before it is parsed; `bytes` is the length of its text. @throws QueryTooComplex if it does not fit even if
   * nothing else is held: to try again is of no use; otherwise as `reserve` does.
   */
  reserveForParsing(bytes: number): void {
    const { scope } = this.#client;
    // The service has answered under this credential.
    if (scope !== undefined) this.#moveTo(scope);
    const [read, most] = [this.#bytes / bytesPerByteRead + bytes, this.#budget.bounds.perOwner / bytesPerByteRead];
    if (!this.#isReleased && read > most) throw new QueryTooComplex('bytes read', Math.ceil(read), Math.floor(most));
    this.reserveMore(bytes * bytesPerByteRead);
  }

  /** Gives back what `reserveForParsing` has counted for this many bytes. */
  forgetParsed(bytes: number): void {
    this.force(this.#bytes - bytes * bytesPerByteRead);
  }

  /** Counts this many bytes besides everything counted before. @throws as `reserve` does. */
  reserveMore(bytes: number): void {
    this.reserve(this.#bytes + bytes);
  }

  /** Counts a response of this length, in bytes, in place of everything counted before. @throws QueryTooComplex if it can never fit; Overloaded, RateLimited. */
  reserveResponse(bytes: number): void {
    const { perOwner, perResponse } = this.#budget.bounds;
    const read = this.#beside === undefined ? 0 : this.#beside.#bytes;
    const most = Math.min(perResponse, perOwner - read);
    if (bytes > most) throw new QueryTooComplex('bytes of the response', bytes, most);
    this.reserve(bytes < countThreshold ? 0 : bytes);
  }

  /**
   * Counts this many bytes in place of everything counted before. @returns by how many the claim has grown.
   * @throws Overloaded, RateLimited if there is no room, where they must fit.
   */
  reserve(bytes: number, mustFit = true): number {
    const growth = this.#isReleased ? 0 : bytes - this.#bytes;
    // A connection may have begun before the service accepted its credential.
    if (growth > 0 && this.#kind === 'network') this.moveToOwner();
    if (growth !== 0) this.#budget.change(this.#kind, this.#owner, growth, mustFit);
    this.#bytes += growth;
    return growth;
  }

  /** Counts this many bytes, even if there is no room. Returns whether there was room. */
  force(bytes: number): boolean {
    const growth = this.reserve(bytes, false);
    return growth <= 0 || this.#budget.freeFor(this.#kind) >= 0;
  }

  /** Counts the last of these values, as many as there is room to keep, in place of everything counted before. @returns those */
  keepLast<T extends object>(values: readonly T[]): readonly T[] {
    const room = this.#bytes + this.#budget.roomToKeep(this.#owner);
    let [bytes, first] = [0, values.length];
    for (; first > 0; first -= 1) {
      const more = bytesOfObject(values[first - 1] as T);
      if (bytes + more > room) break;
      bytes += more;
    }
    this.force(bytes);
    return values.slice(first);
  }

  /** A claim of the same client, for one part of the response. */
  another(): Claim {
    return new Claim(this.#budget, this.#client, this);
  }

  /** Counts for the credential from now on, if the service has accepted it meanwhile. */
  moveToOwner(): void {
    this.#moveTo(this.#budget.ownerOf(this.#client));
  }

  #moveTo(owner: string): void {
    if (owner === this.#owner) return;
    this.#budget.change(this.#kind, this.#owner, -this.#bytes, false);
    this.#owner = owner;
    this.#budget.change(this.#kind, owner, this.#bytes, false);
  }

  get #kind(): OwnerKind {
    return this.#owner === this.#client.scope ? 'credential' : 'network';
  }

  /** Gives all bytes back. The claim counts nothing from then on. */
  release(): void {
    this.force(0);
    this.#isReleased = true;
  }
}

/** Counts what many use together, such as a document: once, until the last of them lets it go. */
export class SharedClaims {
  readonly #claims = new WeakMap<object, { readonly claim: Claim; users: number }>();

  /** @param count makes the claim of the first. @returns the claim, and lets it go; to be called once. @throws what `count` throws */
  hold(thing: object, count: () => Claim): { readonly claim: Claim; letGo(): void } {
    const held = this.#claims.get(thing) ?? { claim: count(), users: 0 };
    held.users += 1;
    this.#claims.set(thing, held);
    const letGo = () => {
      held.users -= 1;
      if (held.users > 0) return;
      held.claim.release();
      this.#claims.delete(thing);
    };
    return { claim: held.claim, letGo };
  }
}

/** In bytes: a smaller heap has shorter maps of clients. */
const heapPerEntry = 8 * 1024;

/**
 * The bounds of an `LRUCache` that may have many entries and mostly has few. With `max` it would take the memory for all of them when it is made: 13 ms and
 * 3 MB for 100,000.
 */
export function atMost(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: Math.ceil(Math.min(entries, heapLimit / heapPerEntry)), sizeCalculation: () => 1 };
}
