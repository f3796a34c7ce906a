import type { Scope } from '../../auth/credentials.js';
import { NotFound } from '../../errors.js';
import type { Span } from '../../observability/operation-info.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Generations } from './generations.js';
import { lookupKey, type ScopedKey } from './keys.js';
import { type Batch, type InFlight, LoadGroup, resultOf, type Tiers, take } from './load-group.js';
import type { Load, Lookup, LookupOutcome, LookupResult } from './lookup.js';

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
  peek({ keys, tag, family }: Lookup): LookupResult | undefined {
    const generation = tag === undefined ? undefined : this.#generations.known(tag);
    if (tag !== undefined && generation === undefined) return undefined;
    const fresh = this.#tiers.memory.allFresh(keys, generation, 'freshUntil');
    if (fresh === undefined) return undefined;
    const result = resultOf(fresh, 'memory');
    if (result instanceof NotFound) throw result;
    this.#telemetry.lookups(family, 'memory', 1);
    return result;
  }

  /**
   * Looks up several things of one scope. The results are in the same order, with an Error in the place of each look-up that failed.
   * @param load what is not cached.
   * @param span of the operation: reads and writes of Redis are below it.
   * @throws the signal's reason as soon as it aborts; loads that have no other waiter are aborted too.
   */
  async loadMany<L extends Lookup>(
    lookups: readonly L[],
    load: Load<L>,
    signal: AbortSignal,
    span?: Span,
  ): Promise<LookupOutcome[]> {
    const tags = new Set<string>();
    for (const { tag } of lookups) if (tag !== undefined) tags.add(tag);
    const generations = tags.size === 0 ? none : await this.#generations.current([...tags]);
    signal.throwIfAborted();
    const joined: InFlight[] = [];
    const group = new LoadGroup(this.#tiers, this.#inFlight, load as Load<Lookup>, span);
    let onAbort = () => {};
    const complete = new Promise<LookupOutcome[]>((resolve, reject) => {
      const batch: Batch = { results: [], missing: lookups.length, resolve };
      onAbort = () => {
        for (const inFlight of joined) this.#leave(inFlight, batch);
        reject(signal.reason);
      };
      for (const [index, lookup] of lookups.entries()) {
        const generation = lookup.tag === undefined ? undefined : generations.get(lookup.tag);
        // If the generation is unknown, the cache is neither read nor written.
        const isCacheable = lookup.tag === undefined || generation !== undefined;
        const fresh = isCacheable && this.#tiers.memory.allFresh(lookup.keys, generation, 'freshUntil');
        if (fresh) {
          take(batch, index, resultOf(fresh, 'memory'));
          continue;
        }
        const key = lookupKey(lookup.keys, generation);
        let inFlight = this.#inFlight.get(key);
        if (inFlight === undefined) {
          inFlight = { key, lookup, generation, isCacheable, group, waiters: [] };
          this.#inFlight.set(key, inFlight);
          group.started.push(inFlight);
        }
        inFlight.waiters.push({ batch, index, isFirst: inFlight.waiters.length === 0 });
        joined.push(inFlight);
      }
    });
    signal.addEventListener('abort', onAbort);
    void group.run();
    try {
      const results = await complete;
      this.#count(lookups, results);
      return results;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** A batch no longer waits for a look-up. Its load is aborted if no other does. */
  #leave(inFlight: InFlight, batch: Batch): void {
    inFlight.waiters = inFlight.waiters.filter(waiter => waiter.batch !== batch);
    if (inFlight.waiters.length > 0 || this.#inFlight.get(inFlight.key) !== inFlight) return;
    this.#inFlight.delete(inFlight.key);
    inFlight.group.abort(inFlight);
  }

  /** Neighbors of one family and source are counted together. */
  #count(lookups: readonly Lookup[], results: readonly LookupOutcome[]): void {
    let count = 0;
    for (const [index, { family }] of lookups.entries()) {
      const result = results[index];
      if (result === undefined || result instanceof Error) continue;
      count += 1;
      const next = results[index + 1];
      const isLast = next === undefined || next instanceof Error || next.source !== result.source;
      if (!isLast && lookups[index + 1]?.family === family) continue;
      this.#telemetry.lookups(family, result.source, count);
      count = 0;
    }
  }
}

const none: ReadonlyMap<string, string | undefined> = new Map();
