// What one batch of look-ups waits for, loads and stores.
import type { Scope } from '../../auth/credentials.js';
import {
  Abandoned,
  Forbidden,
  NotFound,
  QueryTooComplex,
  Unauthenticated,
  UpstreamFailure,
  type UpstreamFault,
  UpstreamInvalidResponse,
  UpstreamTimeout,
} from '../../errors.js';
import { timeNow } from '../../lib/clock.js';
import type { Span } from '../../observability/operation-info.js';
import type { Source } from '../../observability/response-metadata.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Receiver } from '../upstream/request.js';
import type { Entry } from './entry.js';
import type { Generation, Generations } from './generations.js';
import { type ScopedKey, scopeOfKey } from './keys.js';
import type { Load, Loaded, Lookup, LookupOutcome, LookupResult } from './lookup.js';
import { anyGeneration, freshEntry, type MemoryTier, type RedisTier } from './tiers.js';

/** What all batches of a cache share: its tiers, and one load for equal look-ups. */
export interface CacheState {
  readonly memory: MemoryTier;
  readonly redis: RedisTier | undefined;
  readonly generations: Generations;
  readonly telemetry: Telemetry;
  readonly inFlight: Map<ScopedKey, InFlight>;
}

/** A look-up that memory could not answer, and the look-ups of batches that wait for it. */
interface InFlight {
  readonly key: ScopedKey;
  readonly lookup: Lookup;
  /** The generation of the look-up's tag; undefined if it has no tag, or if it is unknown. */
  readonly generation: Generation | undefined;
  readonly isCacheable: boolean;
  /** The batch that loads it, which is the first to wait. For all others the source is `flight`. */
  readonly loader: LookupBatch;
  waiters: { readonly batch: LookupBatch; readonly lookup: Lookup }[];
}

const nothing: ReadonlyMap<ScopedKey, Entry> = new Map();

let turns = 0;
let isCounted = false;

function thisTurn(): number {
  if (isCounted) return turns;
  isCounted = true;
  setImmediate(() => {
    isCounted = false;
  });
  turns += 1;
  return turns;
}

/** The look-ups of one scope and one tick. What no other batch is loading is one read of Redis, one load, and one pipeline of writes. */
export class LookupBatch implements Receiver<Loaded> {
  readonly #startedAt = performance.now();
  /** Those that a load of another batch gave up: in time of which they had less than half, or because its operation has read too much. */
  readonly late: Lookup[] = [];
  readonly #state: CacheState;
  readonly #load: Load<Lookup>;
  readonly #span: Span | undefined;
  #missing = 0;
  #resolve = () => {};
  #reject: (reason: unknown) => void = () => {};
  /** What it waits for, and of that, what it loads, by the index of its load. */
  readonly #joined: InFlight[] = [];
  readonly #loads: InFlight[] = [];
  #inRedis = nothing;
  #loading: ReturnType<Load<Lookup>> | undefined;
  /** How many of those that it started have no result yet. */
  #running = 0;
  readonly #writes = new Map<ScopedKey, Entry>();
  /** The proposed tokens of what is to be written, and their tags. */
  readonly #proposed = new Map<string, string>();

  constructor(state: CacheState, load: Load<Lookup>, span: Span | undefined) {
    this.#state = state;
    this.#load = load;
    this.#span = span;
  }

  /**
   * Fulfilled when all look-ups but those that are `late` have received their outcomes.
   * @param generations of the tags. If one is unknown or unsettled, the cache is neither read nor written for it.
   */
  run(lookups: readonly Lookup[], generations: ReadonlyMap<string, Generation | undefined>): Promise<void> {
    const complete = new Promise<void>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const { memory, inFlight: all } = this.#state;
    const started: InFlight[] = [];
    this.#missing = lookups.length;
    for (const lookup of lookups) {
      const generation = lookup.tag === undefined ? undefined : generations.get(lookup.tag);
      const isCacheable = lookup.tag === undefined || (generation !== undefined && generation.state !== 'unsettled');
      const { maxAge } = lookup.lifetime;
      const fresh = isCacheable && freshEntry(memory, lookup.key, generation?.token, 'freshUntil', maxAge);
      if (fresh) {
        this.#give(lookup, resultOf(fresh, 'memory'));
        this.#missing -= 1;
        continue;
      }
      // A read after a write joins no load from before it: where writes are not known, none that has begun.
      const key = (
        lookup.tag === undefined ? lookup.key : `${lookup.key} ${generation?.token ?? thisTurn()}`
      ) as ScopedKey;
      const waiter = { batch: this, lookup };
      let inFlight = all.get(key);
      if (inFlight === undefined) {
        inFlight = { key, lookup, generation, isCacheable, loader: this, waiters: [waiter] };
        all.set(key, inFlight);
        started.push(inFlight);
      } else inFlight.waiters.push(waiter);
      this.#joined.push(inFlight);
    }
    if (this.#missing === 0) this.#resolve();
    void this.#start(started);
    return complete;
  }

  /** Waits no longer. Aborts the loads that no other batch waits for. */
  leave(reason: unknown): void {
    const { inFlight: all } = this.#state;
    for (const inFlight of this.#joined) {
      inFlight.waiters = inFlight.waiters.filter(({ batch }) => batch !== this);
      if (inFlight.waiters.length > 0 || all.get(inFlight.key) !== inFlight) continue;
      all.delete(inFlight.key);
      const { loader } = inFlight;
      loader.#loading?.abort(loader.#loads.indexOf(inFlight), new Abandoned('No request waits for this any more'));
    }
    this.#reject(reason);
  }

  async #start(started: readonly InFlight[]): Promise<void> {
    const { redis } = this.#state;
    const cached = redis === undefined ? [] : started.flatMap(({ isCacheable, lookup }) => (isCacheable ? lookup : []));
    if (redis !== undefined && cached.length > 0) this.#inRedis = await redis.getMany(cached, this.#span);
    this.#running = started.length;
    const lookups: Lookup[] = [];
    for (const inFlight of started) {
      if (inFlight.waiters.length === 0) {
        this.#running -= 1;
      } else if (this.#inRedis.size === 0 || !this.#answerFromRedis(inFlight)) {
        this.#loads.push(inFlight);
        lookups.push(inFlight.lookup);
      }
    }
    if (lookups.length > 0) this.#loading = this.#load(lookups, this);
  }

  #answerFromRedis(inFlight: InFlight): boolean {
    const { key, lifetime } = inFlight.lookup;
    const fresh = freshEntry(this.#inRedis, key, inFlight.generation?.token, 'freshUntil', lifetime.maxAge);
    if (fresh === undefined) return false;
    this.#state.memory.set(key, fresh);
    this.#settle(inFlight, resultOf(fresh, 'redis'));
    return true;
  }

  resolve(index: number, { value, bytes, noStore }: Loaded): void {
    const inFlight = this.#loads[index] as InFlight;
    const { lifetime } = inFlight.lookup;
    const isStored = inFlight.isCacheable && !noStore;
    const freshUntil = isStored ? timeNow() + lifetime.maxAge : 0;
    const usableUntil = freshUntil + lifetime.grace;
    const entry: Entry = { value, bytes, freshUntil, usableUntil, generation: inFlight.generation?.token };
    if (isStored) this.#store(inFlight, entry);
    this.#settle(inFlight, resultOf(entry, 'network'));
  }

  reject(index: number, error: Error): void {
    const inFlight = this.#loads[index] as InFlight;
    this.#settle(inFlight, this.#instead(inFlight, error));
  }

  #settle(inFlight: InFlight, result: LookupOutcome): void {
    const { key, waiters } = inFlight;
    const { inFlight: all } = this.#state;
    // The next look-up of its key loads again.
    if (all.get(key) === inFlight) all.delete(key);
    // Where the loading operation has ended, what the service has sent counts for those who wait.
    const isCounted = waiters[0]?.batch === this;
    for (const [place, { batch, lookup }] of waiters.entries()) {
      const isOwn = batch === this && place === 0;
      const isLate = result instanceof UpstreamTimeout && this.#joinedLate(batch);
      if (isLate || (result instanceof QueryTooComplex && batch !== this)) batch.late.push(lookup);
      else if (isOwn || result instanceof Error) this.#give(lookup, result);
      else this.#give(lookup, { ...result, source: 'flight', bytes: isCounted ? 0 : result.bytes });
      batch.#missing -= 1;
      if (batch.#missing === 0) batch.#resolve();
    }
    this.#running -= 1;
    if (this.#running === 0 && this.#writes.size > 0) void this.#share(scopeOfKey(inFlight.lookup.key));
  }

  #give(lookup: Lookup, outcome: LookupOutcome): void {
    if (!(outcome instanceof Error)) this.#state.telemetry.lookup(lookup.family, outcome.source);
    lookup.receive(outcome);
  }

  /** Writes to Redis. What has a proposed token is written once the fleet has kept it: another gateway may have been first. Never rejects. */
  async #share(scope: Scope): Promise<void> {
    const { generations, redis } = this.#state;
    const proposed = this.#proposed;
    const keep = async ([token, tag]: readonly [string, string]) => {
      const current = await generations.current(tag, scope);
      if (current?.state === 'settled' && current.token === token) proposed.delete(token);
    };
    if (proposed.size > 0) await Promise.all([...proposed].map(keep));
    for (const [key, { generation = '', usableUntil }] of this.#writes)
      if (usableUntil > 0 && proposed.has(generation)) this.#writes.delete(key);
    if (this.#writes.size > 0) await redis?.setMany(this.#writes, this.#span);
  }

  /** Whether another batch had less than half of the time that this one has taken. */
  #joinedLate(batch: LookupBatch): boolean {
    return batch.#startedAt > (this.#startedAt + performance.now()) / 2;
  }

  /** What takes the place of a value that the service did not send: after a failure an older entry, if there is a usable one; else the error. */
  #instead(inFlight: InFlight, error: Error): LookupOutcome {
    const { lookup, generation, isCacheable } = inFlight;
    if (!isCacheable) return error;
    if (error instanceof NotFound) {
      this.#storeRefusal(inFlight, error.upstream?.noStore ? 0 : lookup.lifetime.absent, error.upstream);
    }
    const refuses = error instanceof Forbidden || error instanceof Unauthenticated || isUndocumentedRefusal(error);
    if (refuses) this.#storeRefusal(inFlight, 0);
    if (refuses || !(error instanceof UpstreamFailure)) return error;
    const { key, lifetime, outlivesTag } = lookup;
    const usable = outlivesTag ? anyGeneration : generation?.token;
    const maxMs = lifetime.maxAge + lifetime.grace;
    const olderInRedis = freshEntry(this.#inRedis, key, usable, 'usableUntil', maxMs);
    if (olderInRedis !== undefined) return resultOf(olderInRedis, 'redis', true);
    const olderInMemory = freshEntry(this.#state.memory, key, usable, 'usableUntil', maxMs);
    return olderInMemory === undefined ? error : resultOf(olderInMemory, 'memory', true);
  }

  /** Replaces the entry after a refusal. @param milliseconds how long to remember it; 0: not at all, even if the clock is set back. */
  #storeRefusal(inFlight: InFlight, milliseconds: number, fault?: UpstreamFault): void {
    // Without the pause that the service asked for: it has passed when the entry is read.
    const absent = fault && { status: fault.status, errorCode: fault.errorCode };
    const until = milliseconds === 0 ? 0 : timeNow() + milliseconds;
    const generation = inFlight.generation?.token;
    this.#store(inFlight, { absent, freshUntil: until, usableUntil: until, generation, bytes: 0 });
  }

  #store({ lookup: { key, tag = '' }, generation }: InFlight, entry: Entry): void {
    const { memory, redis } = this.#state;
    memory.set(key, entry);
    if (redis !== undefined) this.#writes.set(key, entry);
    if (generation?.state === 'proposed' && entry.usableUntil > 0) this.#proposed.set(generation.token, tag);
  }
}

/** A redirect, as to a page for signing in, or a 4xx that says no more: the credential may have lost its rights, and sees nothing older. */
function isUndocumentedRefusal(error: Error): boolean {
  const { status, stated = status ?? 0 } = (error instanceof UpstreamInvalidResponse && error.upstream) || {};
  return stated >= 300 && stated <= 499;
}

/** Makes the result of a look-up from its entry: NotFound if that is a 404. */
export function resultOf(
  { absent, value, freshUntil, generation, bytes }: Entry,
  source: Source,
  stale = false,
): LookupResult | NotFound {
  if (absent !== undefined) return new NotFound('The service knows no such thing', absent);
  return { value, source, stale, freshUntil: stale ? 0 : freshUntil, generation, bytes };
}
