import type { Scope } from '../../auth/credentials.js';
import { Abandoned, Forbidden, NotFound, Unauthenticated, UpstreamFailure, type UpstreamFault } from '../../errors.js';
import type { Span } from '../../observability/operation-info.js';
import type { Source } from '../../observability/response-metadata.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Entry } from './entry.js';
import type { Generations } from './generations.js';
import { type Keys, lookupKey, type ScopedKey } from './keys.js';
import { allFresh, type MemoryTier, type RedisTier, type RedisWrite } from './tiers.js';

/** In milliseconds: how long an entry is fresh, how long after that it may be used if the service fails, and how long a 404 is cached. */
export interface Lifetime {
  readonly maxAge: number;
  readonly grace: number;
  readonly absent: number;
}

/** What the service returned: a value, its embeddings if they are stored separately, and the sizes of their texts. */
export interface Loaded<T, Embeddings> {
  readonly value: T;
  readonly bytes: number;
  readonly embeddings?: { readonly value: Embeddings; readonly bytes: number } | undefined;
  /** Whether the service forbids storing it. */
  readonly noStore: boolean;
}

/** One thing to look up, and how to load it from the service if it is not cached. */
export interface Lookup<T, Embeddings> {
  readonly keys: Keys;
  /** The endpoint family, for the metrics: `events`. */
  readonly family: string;
  /** Renewing this tag, such as `market:7`, invalidates the entry. Undefined if nothing does. */
  readonly tag?: string | undefined;
  /** Whether an entry of an earlier generation may replace a failing call. */
  readonly outlivesTag?: boolean | undefined;
  readonly lifetime: Lifetime;
  /** @throws NotFound, which may be cached; UpstreamFailure, which a cached entry may replace; every other error is passed on. */
  load(signal: AbortSignal): Promise<Loaded<T, Embeddings>>;
}

/** The result of a look-up, and where it came from. */
export interface LookupResult<T, Embeddings> {
  readonly value: T;
  readonly embeddings: Embeddings | undefined;
  readonly source: Source;
  /** Whether the service failed and an older entry was used. */
  readonly stale: boolean;
  /** Until when a response that contains the value may be cached, in milliseconds since 1970; 0 if it may not be cached. */
  readonly freshUntil: number;
  /** The generation of the look-up's tag; undefined without a tag. */
  readonly generation: string | undefined;
  /** The approximate size of the JSON text, in bytes. */
  readonly bytes: number;
}

type AnyResult = LookupResult<unknown, unknown>;
type Result = AnyResult | Error;
type Entries = readonly (Entry | undefined)[];

/** The tiers of a cache, fastest first. */
interface Tiers {
  readonly memory: MemoryTier;
  readonly redis: RedisTier | undefined;
}

/** The look-ups of one scope and one tick, which are answered together. */
interface Batch {
  readonly results: Result[];
  /** How many results are missing. */
  missing: number;
  readonly resolve: (results: Result[]) => void;
}

/** A load that memory could not replace, and the places in the results of batches that wait for it. */
interface InFlight {
  readonly key: ScopedKey;
  readonly lookup: Lookup<unknown, unknown>;
  /** The generation of the look-up's tag; undefined if it has no tag, or if it is unknown. */
  readonly generation: string | undefined;
  readonly isCacheable: boolean;
  readonly controller: AbortController;
  waiters: { readonly batch: Batch; readonly index: number; readonly isFirst: boolean }[];
}

/** Memory, then Redis, then the service: one load in flight for each key, one round trip to Redis for each batch. */
export class Cache {
  readonly #tiers: Tiers;
  readonly #generations: Generations;
  readonly #telemetry: Telemetry;
  /** Equal look-ups share one load. */
  readonly #inFlight = new Map<ScopedKey, InFlight>();

  constructor(tiers: Tiers, generations: Generations, telemetry: Telemetry) {
    this.#tiers = tiers;
    this.#generations = generations;
    this.#telemetry = telemetry;
  }

  /** The generation of one tag; see `Generations`. */
  async generationOf(tag: string): Promise<string | undefined> {
    return (await this.#generations.current([tag])).get(tag);
  }

  /** Voids everything cached under a tag, for every scope and in every process. */
  async renew(tag: string): Promise<void> {
    await this.#generations.renew(tag);
  }

  /** The epoch of a scope; see `Generations`. */
  epochOf(scope: Scope): string {
    return this.#generations.epochOf(scope);
  }

  /**
   * Returns what memory has, synchronously, without the cost of a promise; undefined if it takes more than that.
   * @throws NotFound if it is known that there is nothing.
   */
  peek<T, Embeddings>({ keys, tag, family }: Lookup<T, Embeddings>): LookupResult<T, Embeddings> | undefined {
    const generation = tag === undefined ? undefined : this.#generations.known(tag);
    if (tag !== undefined && generation === undefined) return undefined;
    const fresh = allFresh(this.#tiers.memory.getMany(keys), generation, 'freshUntil');
    if (fresh === undefined) return undefined;
    const result = resultOf(fresh, 'memory');
    if (result instanceof NotFound) throw result;
    this.#telemetry.lookups(family, 'memory', 1);
    return result as LookupResult<T, Embeddings>;
  }

  /**
   * Looks up several things of one scope. The results are in the same order, with an Error in the place of each look-up that failed.
   * @param span of the operation: reads and writes of Redis are below it.
   * @throws the signal's reason as soon as it aborts; loads that have no other waiter are aborted too.
   */
  async loadMany<T, Embeddings>(
    lookups: readonly Lookup<T, Embeddings>[],
    signal: AbortSignal,
    span?: Span,
  ): Promise<(LookupResult<T, Embeddings> | Error)[]> {
    const tags = new Set<string>();
    for (const { tag } of lookups) if (tag !== undefined) tags.add(tag);
    const generations = tags.size === 0 ? none : await this.#generations.current([...tags]);
    signal.throwIfAborted();
    const joined: InFlight[] = [];
    const started: InFlight[] = [];
    let onAbort = () => {};
    const complete = new Promise<Result[]>((resolve, reject) => {
      const batch: Batch = { results: [], missing: lookups.length, resolve };
      onAbort = () => {
        for (const load of joined) this.#leave(load, batch);
        reject(signal.reason);
      };
      for (const [index, lookup] of lookups.entries()) {
        const generation = lookup.tag === undefined ? undefined : generations.get(lookup.tag);
        // If the generation is unknown, the cache is neither read nor written.
        const isCacheable = lookup.tag === undefined || generation !== undefined;
        const fresh = isCacheable && allFresh(this.#tiers.memory.getMany(lookup.keys), generation, 'freshUntil');
        if (fresh) {
          take(batch, index, resultOf(fresh, 'memory'));
          continue;
        }
        const key = lookupKey(lookup.keys, generation);
        let load = this.#inFlight.get(key);
        if (load === undefined) {
          load = { key, lookup, generation, isCacheable, controller: new AbortController(), waiters: [] };
          this.#inFlight.set(key, load);
          started.push(load);
        }
        load.waiters.push({ batch, index, isFirst: load.waiters.length === 0 });
        joined.push(load);
      }
    });
    signal.addEventListener('abort', onAbort);
    void this.#run(started, span);
    try {
      const results = await complete;
      for (const [index, { family }] of lookups.entries()) {
        const result = results[index];
        if (result !== undefined && !(result instanceof Error)) this.#telemetry.lookups(family, result.source, 1);
      }
      return results as (LookupResult<T, Embeddings> | Error)[];
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** A batch no longer waits for a load. The load is aborted if no other does. */
  #leave(load: InFlight, batch: Batch): void {
    load.waiters = load.waiters.filter(waiter => waiter.batch !== batch);
    if (load.waiters.length > 0 || this.#inFlight.get(load.key) !== load) return;
    this.#inFlight.delete(load.key);
    load.controller.abort(new Abandoned('No request waits for this any more'));
  }

  #settle(load: InFlight, result: Result): void {
    // The next look-up of its key loads again.
    if (this.#inFlight.get(load.key) === load) this.#inFlight.delete(load.key);
    for (const { batch, index, isFirst } of load.waiters) {
      take(batch, index, isFirst || result instanceof Error ? result : { ...result, source: 'flight' });
    }
  }

  /** The loads of one batch: from Redis in one round trip, else from the service. What the service sends goes to Redis in one pipeline. */
  async #run(loads: readonly InFlight[], span: Span | undefined): Promise<void> {
    const { redis } = this.#tiers;
    const inRedis = new Map<ScopedKey, Entry | undefined>();
    const keys =
      redis === undefined ? [] : loads.flatMap(({ isCacheable, lookup }) => (isCacheable ? lookup.keys : []));
    if (redis !== undefined && keys.length > 0) {
      const entries = await redis.getMany(keys, span);
      for (const [index, key] of keys.entries()) inRedis.set(key, entries[index]);
    }
    const writes: RedisWrite[] = [];
    await Promise.all(loads.map(load => this.#load(load, inRedis, writes)));
    if (writes.length > 0) void redis?.setMany(writes, span);
  }

  /** From Redis, else from the service, else from a usable older entry. Not an async function, which would hold a frame for every call in flight. */
  #load(load: InFlight, inRedis: ReadonlyMap<ScopedKey, Entry | undefined>, writes: RedisWrite[]): unknown {
    const { lookup, generation, controller } = load;
    const shared = inRedis.size === 0 ? undefined : lookup.keys.map(key => inRedis.get(key));
    const fresh = shared && allFresh(shared, generation, 'freshUntil');
    if (fresh === undefined) {
      return lookup.load(controller.signal).then(
        loaded => this.#settle(load, this.#store(load, loaded, writes)),
        error => this.#settle(load, this.#instead(load, shared, error, writes)),
      );
    }
    for (const [index, key] of lookup.keys.entries()) this.#tiers.memory.set(key, fresh[index] as Entry);
    return this.#settle(load, resultOf(fresh, 'redis'));
  }

  #store(
    load: InFlight,
    { value, bytes, embeddings, noStore }: Loaded<unknown, unknown>,
    writes: RedisWrite[],
  ): Result {
    const { keys, lifetime } = load.lookup;
    const isStored = load.isCacheable && !noStore;
    const freshUntil = isStored ? Date.now() + lifetime.maxAge : 0;
    const times = { freshUntil, usableUntil: freshUntil + lifetime.grace, generation: load.generation };
    const entries: Entry[] = [{ value, bytes, ...times }];
    if (embeddings !== undefined) entries.push({ ...embeddings, ...times });
    if (isStored) {
      for (const [index, key] of keys.entries()) {
        const entry = entries[index];
        if (entry !== undefined) this.#set(key, entry, writes);
      }
    }
    return resultOf(entries, 'network');
  }

  /** What takes the place of a value that the service did not send: after a failure an older entry, if there is a usable one; else the error. */
  #instead(load: InFlight, shared: Entries | undefined, error: Error, writes: RedisWrite[]): Result {
    if (error instanceof NotFound) this.#storeRefusal(load, load.lookup.lifetime.absent, writes, error.upstream);
    if (error instanceof Forbidden || error instanceof Unauthenticated) this.#storeRefusal(load, 0, writes);
    if (!(error instanceof UpstreamFailure) || !load.isCacheable) return error;
    const usable = (entries: Entries) =>
      allFresh(entries, load.lookup.outlivesTag ? entries[0]?.generation : load.generation, 'usableUntil');
    const olderInRedis = shared && usable(shared);
    if (olderInRedis !== undefined) return resultOf(olderInRedis, 'redis', true);
    const olderInMemory = usable(this.#tiers.memory.getMany(load.lookup.keys));
    return olderInMemory === undefined ? error : resultOf(olderInMemory, 'memory', true);
  }

  /** Replaces the entries after a refusal, so that an older value is not used any more. @param milliseconds how long to remember it. */
  #storeRefusal(load: InFlight, milliseconds: number, writes: RedisWrite[], absent?: UpstreamFault): void {
    if (!load.isCacheable) return;
    const until = Date.now() + milliseconds;
    const entry = { absent, freshUntil: until, usableUntil: until, generation: load.generation, bytes: 0 };
    for (const key of load.lookup.keys) this.#set(key, entry, writes);
  }

  #set(key: ScopedKey, entry: Entry, writes: RedisWrite[]): void {
    this.#tiers.memory.set(key, entry);
    if (this.#tiers.redis !== undefined) writes.push({ key, entry });
  }
}

function take(batch: Batch, index: number, result: Result): void {
  batch.results[index] = result;
  batch.missing -= 1;
  if (batch.missing === 0) batch.resolve(batch.results);
}

const none: ReadonlyMap<string, string | undefined> = new Map();

/** Makes the result of a look-up from its entries: NotFound if the record's entry is a 404. */
function resultOf([record, embeddings]: readonly Entry[], source: Source, stale = false): AnyResult | NotFound {
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
