import { Abandoned, Forbidden, NotFound, Unauthenticated, UpstreamFailure, type UpstreamFault } from '../../errors.js';
import type { Span } from '../../observability/operation-info.js';
import type { Source } from '../../observability/response-metadata.js';
import type { Receiver } from '../upstream/call-batch.js';
import type { Entry } from './entry.js';
import type { Keys, ScopedKey } from './keys.js';
import type { Load, Loaded, Lookup, LookupOutcome, LookupResult } from './lookup.js';
import {
  allFresh,
  anyGeneration,
  type MemoryTier,
  type RedisTier,
  type RedisWrite,
  type WantedGeneration,
} from './tiers.js';

/** The tiers of a cache, fastest first. */
export interface Tiers {
  readonly memory: MemoryTier;
  readonly redis: RedisTier | undefined;
}

/** The look-ups of one scope and one tick, which are answered together. */
export interface Batch {
  readonly results: LookupOutcome[];
  /** How many results are missing. */
  missing: number;
  readonly resolve: (results: LookupOutcome[]) => void;
}

/** A look-up that memory could not answer, and the places in the results of batches that wait for it. */
export interface InFlight {
  readonly key: ScopedKey;
  readonly lookup: Lookup;
  /** The generation of the look-up's tag; undefined if it has no tag, or if it is unknown. */
  readonly generation: string | undefined;
  readonly isCacheable: boolean;
  /** Those that were started with it. */
  readonly group: LoadGroup;
  waiters: { readonly batch: Batch; readonly index: number; readonly isFirst: boolean }[];
}

const nothing: ReadonlyMap<ScopedKey, Entry | undefined> = new Map();

/** The look-ups that one batch started: read from Redis in one round trip, else loaded together, and written to Redis in one pipeline. */
export class LoadGroup implements Receiver<Loaded> {
  readonly started: InFlight[] = [];
  readonly #tiers: Tiers;
  readonly #inFlight: Map<ScopedKey, InFlight>;
  readonly #load: Load<Lookup>;
  readonly #span: Span | undefined;
  /** Those that are loaded, by the index of their load, and what Redis has of them. */
  readonly #loads: InFlight[] = [];
  #inRedis: ReadonlyMap<ScopedKey, Entry | undefined> = nothing;
  #loading: ReturnType<Load<Lookup>> | undefined;
  /** How many loads have not ended. */
  #running = 0;
  readonly #writes: RedisWrite[] = [];

  constructor(tiers: Tiers, inFlight: Map<ScopedKey, InFlight>, load: Load<Lookup>, span: Span | undefined) {
    this.#tiers = tiers;
    this.#inFlight = inFlight;
    this.#load = load;
    this.#span = span;
  }

  async run(): Promise<void> {
    const { redis } = this.#tiers;
    const keys = redis && this.started.flatMap(({ isCacheable, lookup }) => (isCacheable ? lookup.keys : []));
    if (redis !== undefined && keys !== undefined && keys.length > 0) {
      const entries = await redis.getMany(keys, this.#span);
      this.#inRedis = new Map(keys.map((key, index) => [key, entries[index]]));
    }
    const lookups: Lookup[] = [];
    for (const inFlight of this.started) {
      // No batch waits any more, or Redis has it.
      if (inFlight.waiters.length === 0 || (this.#inRedis.size > 0 && this.#answerFromRedis(inFlight))) continue;
      this.#loads.push(inFlight);
      lookups.push(inFlight.lookup);
    }
    if (lookups.length === 0) return;
    this.#running = lookups.length;
    this.#loading = this.#load(lookups, this);
  }

  #answerFromRedis(inFlight: InFlight): boolean {
    const { keys } = inFlight.lookup;
    const fresh = this.#ofRedis(keys, inFlight.generation, 'freshUntil');
    if (fresh === undefined) return false;
    for (const [index, key] of keys.entries()) this.#tiers.memory.set(key, fresh[index] as Entry);
    this.#settle(inFlight, resultOf(fresh, 'redis'));
    return true;
  }

  #ofRedis(keys: Keys, generation: WantedGeneration, until: 'freshUntil' | 'usableUntil') {
    return allFresh(
      keys.map(key => this.#inRedis.get(key)),
      generation,
      until,
    );
  }

  /** No batch waits for a look-up any more. */
  abort(inFlight: InFlight): void {
    this.#loading?.abort(this.#loads.indexOf(inFlight), new Abandoned('No request waits for this any more'));
  }

  resolve(index: number, { value, bytes, embeddings, noStore }: Loaded): void {
    const inFlight = this.#loads[index] as InFlight;
    const { keys, lifetime } = inFlight.lookup;
    const isStored = inFlight.isCacheable && !noStore;
    const freshUntil = isStored ? Date.now() + lifetime.maxAge : 0;
    const times = { freshUntil, usableUntil: freshUntil + lifetime.grace, generation: inFlight.generation };
    const record: Entry = { value, bytes, ...times };
    const entries = embeddings === undefined ? [record] : [record, { ...embeddings, ...times }];
    if (isStored) {
      for (const [index, entry] of entries.entries()) {
        const key = keys[index];
        if (key !== undefined) this.#set(key, entry);
      }
    }
    this.#settle(inFlight, resultOf(entries, 'network'));
  }

  reject(index: number, error: Error): void {
    const inFlight = this.#loads[index] as InFlight;
    this.#settle(inFlight, this.#instead(inFlight, error));
  }

  #settle(inFlight: InFlight, result: LookupOutcome): void {
    // The next look-up of its key loads again.
    if (this.#inFlight.get(inFlight.key) === inFlight) this.#inFlight.delete(inFlight.key);
    for (const { batch, index, isFirst } of inFlight.waiters) {
      take(batch, index, isFirst || result instanceof Error ? result : { ...result, source: 'flight' });
    }
    this.#running -= 1;
    if (this.#running === 0 && this.#writes.length > 0) void this.#tiers.redis?.setMany(this.#writes, this.#span);
  }

  /** What takes the place of a value that the service did not send: after a failure an older entry, if there is a usable one; else the error. */
  #instead(inFlight: InFlight, error: Error): LookupOutcome {
    const { lookup, generation, isCacheable } = inFlight;
    if (!isCacheable) return error;
    if (error instanceof NotFound) this.#storeRefusal(inFlight, lookup.lifetime.absent, error.upstream);
    if (error instanceof Forbidden || error instanceof Unauthenticated) this.#storeRefusal(inFlight, 0);
    if (!(error instanceof UpstreamFailure)) return error;
    const usable = lookup.outlivesTag ? anyGeneration : generation;
    const olderInRedis = this.#ofRedis(lookup.keys, usable, 'usableUntil');
    if (olderInRedis !== undefined) return resultOf(olderInRedis, 'redis', true);
    const olderInMemory = this.#tiers.memory.allFresh(lookup.keys, usable, 'usableUntil');
    return olderInMemory === undefined ? error : resultOf(olderInMemory, 'memory', true);
  }

  /** Replaces the entries after a refusal, so that an older value is not used any more. @param milliseconds how long to remember it. */
  #storeRefusal({ lookup, generation }: InFlight, milliseconds: number, absent?: UpstreamFault): void {
    const until = Date.now() + milliseconds;
    for (const key of lookup.keys)
      this.#set(key, { absent, freshUntil: until, usableUntil: until, generation, bytes: 0 });
  }

  #set(key: ScopedKey, entry: Entry): void {
    this.#tiers.memory.set(key, entry);
    if (this.#tiers.redis !== undefined) this.#writes.push({ key, entry });
  }
}

/** Puts a result in its place. */
export function take(batch: Batch, index: number, result: LookupOutcome): void {
  batch.results[index] = result;
  batch.missing -= 1;
  if (batch.missing === 0) batch.resolve(batch.results);
}

/** Makes the result of a look-up from its entries: NotFound if the record's entry is a 404. */
export function resultOf(
  [record, embeddings]: readonly Entry[],
  source: Source,
  stale = false,
): LookupResult | NotFound {
  if (record?.absent !== undefined) return new NotFound('The service knows no such thing', record.absent);
  return {
    value: record?.value,
    embeddings: embeddings?.value,
    source,
    stale,
    freshUntil: stale ? 0 : Math.min(record?.freshUntil ?? 0, embeddings?.freshUntil ?? Number.POSITIVE_INFINITY),
    generation: record?.generation,
    bytes: (record?.bytes ?? 0) + (embeddings?.bytes ?? 0),
  };
}
