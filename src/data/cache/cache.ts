import { Forbidden, NotFound, Unauthenticated, UpstreamFailure, type UpstreamFault } from '../../errors.js';
import type { MaybePromise } from '../../lib/maybe-promise.js';
import type { Span } from '../../observability/operation-info.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Generations } from './generations.js';
import { inGeneration, type Keys, lastOf, type ScopedKey } from './keys.js';
import { allFresh, type Entry, type Loaded, type Lookup, type LookupResult, lookupResult } from './lookup.js';
import { type InFlight, SingleFlight } from './single-flight.js';
import type { MemoryTier, RedisTier, RedisWrite } from './tiers.js';

type AnyResult = LookupResult<unknown, unknown>;

/** Memory, then Redis, then the service: one load in flight for each key, one round trip to Redis for each batch. */
export class Cache {
  readonly #tiers: Tiers;
  readonly #generations: Generations;
  readonly #telemetry: Telemetry;
  readonly #inFlight = new SingleFlight<AnyResult>();

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

  /**
   * Returns what memory has, synchronously, without the cost of a promise; undefined if it takes more than that.
   * @throws NotFound if it is known that there is nothing.
   */
  peek<T, Embeddings>(lookup: Lookup<T, Embeddings>): LookupResult<T, Embeddings> | undefined {
    const generation = lookup.tag === undefined ? undefined : this.#generations.known(lookup.tag);
    if (lookup.tag !== undefined && generation === undefined) return undefined;
    const fresh = allFresh(this.#inMemory(lookup), generation, 'freshUntil');
    if (fresh === undefined) return undefined;
    this.#telemetry.lookup(lookup.family, 'memory');
    return lookupResult(fresh, 'memory') as LookupResult<T, Embeddings>;
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
    const tags = [...new Set(lookups.flatMap(({ tag }) => tag ?? []))];
    const generations = tags.length === 0 ? none : await this.#generations.current(tags);
    signal.throwIfAborted();
    const batch = new Batch(this.#tiers, span);
    const joined: InFlight<AnyResult>[] = [];

    const load = (lookup: Lookup<T, Embeddings>): MaybePromise<AnyResult | Error> => {
      const { tag } = lookup;
      const generation = tag === undefined ? undefined : generations.get(tag);
      // If the generation is unknown, the cache is neither read nor written.
      const isCacheable = tag === undefined || generation !== undefined;
      const inMemory = isCacheable ? this.#inMemory(lookup) : [undefined];
      const fresh = allFresh(inMemory, generation, 'freshUntil');
      if (fresh !== undefined) return resultOrError(fresh);

      const started = this.#inFlight.startFlight(inGeneration(lastOf(lookup.keys), generation), loadSignal =>
        isCacheable ? batch.fetch({ lookup, inMemory, generation }, loadSignal) : loadUncached(lookup, loadSignal),
      );
      joined.push(started);
      return started.join() ? started.result.then(asShared) : started.result;
    };

    try {
      const results = await unlessAborted(Promise.all(lookups.map(load)), signal);
      for (const [index, { family }] of lookups.entries()) {
        const result = results[index];
        if (result !== undefined && !(result instanceof Error)) this.#telemetry.lookup(family, result.source);
      }
      return results as (LookupResult<T, Embeddings> | Error)[];
    } finally {
      for (const each of joined) each.leave();
    }
  }

  #inMemory({ keys }: Lookup<unknown, unknown>): readonly (Entry | undefined)[] {
    return keys.map(key => this.#tiers.memory.get(key));
  }
}

const none: ReadonlyMap<string, string | undefined> = new Map();

const asShared = (result: AnyResult | Error) =>
  result instanceof Error ? result : { ...result, source: 'flight' as const };

function resultOrError(entries: readonly Entry[]): AnyResult | Error {
  try {
    return lookupResult(entries, 'memory');
  } catch (error) {
    return error as Error;
  }
}

async function loadUncached(lookup: Lookup<unknown, unknown>, signal: AbortSignal): Promise<AnyResult> {
  const { value, embeddings, bytes } = await lookup.load(signal);
  const uncached = { stale: false, freshUntil: 0, generation: undefined, bytes: bytes + (embeddings?.bytes ?? 0) };
  return { value, embeddings: embeddings?.value, source: 'network', ...uncached };
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
  });
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The tiers of a cache, fastest first. */
interface Tiers {
  readonly memory: MemoryTier;
  readonly redis: RedisTier | undefined;
}

/** A look-up that memory could not answer. */
interface Missing {
  readonly lookup: Lookup<unknown, unknown>;
  /** What memory has under its keys: nothing, or entries that are no longer fresh. */
  readonly inMemory: readonly (Entry | undefined)[];
  /** The generation of the look-up's tag; undefined if it has no tag. */
  readonly generation: string | undefined;
}

/** What a missing tier has under any key. */
const nothing: readonly undefined[] = [undefined];

/**
 * The look-ups of one scope and one tick that memory could not answer. Together they cost one read of Redis, and one pipeline of writes when
 * the last of them has ended.
 */
class Batch {
  readonly #tiers: Tiers;
  readonly #span: Span | undefined;
  readonly #keys: ScopedKey[] = [];
  readonly #writes: RedisWrite[] = [];
  #entries: Promise<readonly (Entry | undefined)[]> | undefined;
  #pending = 0;

  constructor(tiers: Tiers, span: Span | undefined) {
    this.#tiers = tiers;
    this.#span = span;
  }

  /** From Redis, else from the service, else from a usable older entry. All look-ups of a batch must be fetched within one tick. */
  fetch(missing: Missing, signal: AbortSignal): Promise<AnyResult> {
    const { redis } = this.#tiers;
    return redis === undefined ? this.#load(missing, nothing, signal) : this.#fetchShared(redis, missing, signal);
  }

  async #fetchShared(redis: RedisTier, missing: Missing, signal: AbortSignal): Promise<AnyResult> {
    const { lookup, generation } = missing;
    this.#pending += 1;
    try {
      const shared = await this.#readRedis(redis, lookup.keys);
      const fresh = allFresh(shared, generation, 'freshUntil');
      if (fresh === undefined) return await this.#load(missing, shared, signal);
      for (const [index, key] of lookup.keys.entries()) {
        const entry = fresh[index];
        if (entry !== undefined) this.#tiers.memory.set(key, entry);
      }
      return lookupResult(fresh, 'redis');
    } finally {
      this.#pending -= 1;
      if (this.#pending === 0 && this.#writes.length > 0) void redis.setMany(this.#writes, this.#span);
    }
  }

  /** Not an async function, which would hold a frame for every call in flight. */
  #load(
    { lookup, inMemory, generation }: Missing,
    shared: readonly (Entry | undefined)[],
    signal: AbortSignal,
  ): Promise<AnyResult> {
    return lookup.load(signal).then(
      loaded => {
        const { value, embeddings, noStore } = loaded;
        const bytes = loaded.bytes + (embeddings?.bytes ?? 0);
        const freshUntil = noStore ? 0 : Date.now() + lookup.lifetime.maxAge;
        if (!noStore) this.#store(lookup, generation, loaded, freshUntil);
        return { value, embeddings: embeddings?.value, source: 'network', stale: false, freshUntil, generation, bytes };
      },
      error => {
        if (error instanceof NotFound) this.#storeRefusal(lookup, generation, lookup.lifetime.absent, error.upstream);
        if (error instanceof Forbidden || error instanceof Unauthenticated) this.#storeRefusal(lookup, generation, 0);
        if (!(error instanceof UpstreamFailure)) throw error;
        const olderInRedis = allFresh(shared, generation, 'usableUntil');
        if (olderInRedis !== undefined) return lookupResult(olderInRedis, 'redis', true);
        const olderInMemory = allFresh(inMemory, generation, 'usableUntil');
        if (olderInMemory === undefined) throw error;
        return lookupResult(olderInMemory, 'memory', true);
      },
    );
  }

  async #readRedis(redis: RedisTier, keys: Keys): Promise<readonly (Entry | undefined)[]> {
    const first = this.#keys.push(...keys) - keys.length;
    // The microtask runs after all look-ups of the batch have added their keys.
    this.#entries ??= Promise.resolve().then(() => redis.getMany(this.#keys, this.#span));
    return (await this.#entries).slice(first, first + keys.length);
  }

  #store(
    lookup: Lookup<unknown, unknown>,
    generation: string | undefined,
    { value, bytes, embeddings }: Loaded<unknown, unknown>,
    freshUntil: number,
  ): void {
    const times = { freshUntil, usableUntil: freshUntil + lookup.lifetime.grace, generation };
    const [recordKey, embeddingsKey] = lookup.keys;
    this.#set(recordKey, { value, bytes, ...times });
    if (embeddingsKey !== undefined && embeddings !== undefined) this.#set(embeddingsKey, { ...embeddings, ...times });
  }

  /** Replaces the entries after a refusal, so that an older value is not used any more. @param milliseconds how long to remember it. */
  #storeRefusal(
    lookup: Lookup<unknown, unknown>,
    generation: string | undefined,
    milliseconds: number,
    absent?: UpstreamFault,
  ): void {
    const until = Date.now() + milliseconds;
    const entry = { absent, freshUntil: until, usableUntil: until, generation, bytes: 0 };
    for (const key of lookup.keys) this.#set(key, entry);
  }

  #set(key: ScopedKey, entry: Entry): void {
    this.#tiers.memory.set(key, entry);
    if (this.#tiers.redis !== undefined) this.#writes.push({ key, entry });
  }
}
