import { Forbidden, NotFound, Unauthenticated, UpstreamFailure, type UpstreamFault } from '../../errors.js';
import { allFresh, type Entry } from './entry.js';
import { type Answer, answerOf, type Loaded, type Lookup } from './lookup.js';
import type { MemoryTier } from './memory-tier.js';
import type { RedisTier, Write } from './redis-tier.js';
import type { Keys, ScopedKey } from './scoped-key.js';

/** Where a batch looks and keeps. */
export interface Tiers {
  readonly memory: MemoryTier;
  readonly redis: RedisTier | undefined;
}

/** One look-up that memory could not answer. */
export interface Missing {
  readonly lookup: Lookup<unknown, unknown>;
  /** What memory still has under its keys: nothing, or too old to answer by itself. */
  readonly remembered: readonly (Entry | undefined)[];
  /** The generation of the look-up's tag; undefined where it has no tag. */
  readonly generation: string | undefined;
}

/** What a tier that is not there has under any key. */
const nothing: readonly undefined[] = [undefined];

type AnyAnswer = Answer<unknown, unknown>;

/**
 * The look-ups of one scope and one moment that memory could not answer: together they cost one read of Redis, and one
 * pipeline of writes when the last of them has come back.
 */
export class Batch {
  readonly #tiers: Tiers;
  readonly #keys: ScopedKey[] = [];
  readonly #writes: Write[] = [];
  #found: Promise<readonly (Entry | undefined)[]> | undefined;
  #underWay = 0;

  constructor(tiers: Tiers) {
    this.#tiers = tiers;
  }

  /** From Redis, else from the source, else from what is still usable. All of a batch must be fetched within one tick. */
  fetch(missing: Missing, signal: AbortSignal): Promise<AnyAnswer> {
    const { redis } = this.#tiers;
    return redis === undefined ? this.#load(missing, nothing, signal) : this.#share(redis, missing, signal);
  }

  async #share(redis: RedisTier, missing: Missing, signal: AbortSignal): Promise<AnyAnswer> {
    const { lookup, generation } = missing;
    this.#underWay += 1;
    try {
      const shared = await this.#inRedis(redis, lookup.keys);
      const fresh = allFresh(shared, generation, 'freshUntil');
      if (fresh === undefined) return await this.#load(missing, shared, signal);
      for (const [index, key] of lookup.keys.entries()) {
        const entry = fresh[index];
        if (entry !== undefined) this.#tiers.memory.set(key, entry);
      }
      return answerOf(fresh, 'redis');
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0 && this.#writes.length > 0) void redis.setMany(this.#writes);
    }
  }

  /** Without a frame of its own while it waits: there is one of these for every call under way. */
  #load(
    { lookup, remembered, generation }: Missing,
    shared: readonly (Entry | undefined)[],
    signal: AbortSignal,
  ): Promise<AnyAnswer> {
    return lookup.load(signal).then(
      loaded => {
        const { value, heavy, noStore } = loaded;
        const bytes = loaded.bytes + (heavy?.bytes ?? 0);
        const freshUntil = noStore ? 0 : Date.now() + lookup.lifetime.maxAge;
        if (!noStore) this.#keep(lookup, generation, loaded, freshUntil);
        return { value, heavy: heavy?.value, source: 'network', stale: false, freshUntil, generation, bytes };
      },
      error => {
        if (error instanceof NotFound) this.#keepRefusal(lookup, generation, lookup.lifetime.absent, error.upstream);
        if (error instanceof Forbidden || error instanceof Unauthenticated) this.#keepRefusal(lookup, generation, 0);
        if (!(error instanceof UpstreamFailure)) throw error;
        const inRedis = allFresh(shared, generation, 'usableUntil');
        if (inRedis !== undefined) return answerOf(inRedis, 'redis', true);
        const inMemory = allFresh(remembered, generation, 'usableUntil');
        if (inMemory === undefined) throw error;
        return answerOf(inMemory, 'memory', true);
      },
    );
  }

  async #inRedis(redis: RedisTier, keys: Keys): Promise<readonly (Entry | undefined)[]> {
    const first = this.#keys.push(...keys) - keys.length;
    // The keys of the whole batch are there when the microtask runs.
    this.#found ??= Promise.resolve().then(() => redis.getMany(this.#keys));
    return (await this.#found).slice(first, first + keys.length);
  }

  #keep(
    lookup: Lookup<unknown, unknown>,
    generation: string | undefined,
    { value, bytes, heavy }: Loaded<unknown, unknown>,
    freshUntil: number,
  ): void {
    const times = { freshUntil, usableUntil: freshUntil + lookup.lifetime.grace, generation };
    const [recordKey, heavyKey] = lookup.keys;
    this.#set(recordKey, { value, bytes, ...times });
    if (heavyKey !== undefined && heavy !== undefined) this.#set(heavyKey, { ...heavy, ...times });
  }

  /** What was kept before must not stand in for what is refused now; a refusal with a time is remembered for as long. */
  #keepRefusal(
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
