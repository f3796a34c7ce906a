// The cache of what the service answers: memory, then Redis, then one call for all who ask for the same.
//
//   client -> scope    whose: a part of every key; no scope sees what another has
//   market -> tag      of what: `market:7`, `jobs:7`; a record has at most one
//                      |
//                      generation  which state the tag is in: `proposed` -> `settled` <-> `unsettled`
//   purge  -> epoch    since when: a part of every key; what was kept before is not found
//
// Promises: after an answered write, nothing from before it; for equal look-ups, one load; nothing in Redis for a scope that the service has
// not accepted. Where Redis is away, slow or full, it costs speed, never a wrong answer: what has a tag is then neither kept nor used.
// An entry is fresh, then usable if the service fails, then gone. It is used only under the token of its generation (generations.ts).
// Needs: a clock that gateways share, Redis or none, and `load`, which asks the service.
// Never: keeps what the service forbids to store or what was refused, waits for a write to Redis, or holds more than its bytes.
import { NotFound } from '../../errors.js';
import type { Span } from '../../observability/operation-info.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { SharedStore } from '../shared-store.js';
import type { Generations } from './generations.js';
import { type ScopedKey, scopeOfKey } from './keys.js';
import type { Load, Lookup, LookupResult } from './lookup.js';
import { type CacheState, LookupBatch, resultOf } from './lookup-batch.js';
import { anyGeneration, createRedisTier, freshEntry, MemoryTier } from './tiers.js';

export type { Lifetime, Load, Loaded, Lookup, LookupOutcome, LookupResult } from './lookup.js';

/** Memory, then Redis, then the service: one load in flight for each key, one round trip to Redis for each batch. */
export class Cache {
  /** Renewing that of a tag voids everything cached under it, for every scope and in every process. */
  readonly generations: Generations;
  readonly #state: CacheState;

  /** @param bytes the bound of memory. @param shared undefined: nothing is kept in Redis. */
  constructor(bytes: number, shared: SharedStore | undefined, generations: Generations, telemetry: Telemetry) {
    const redis = shared && createRedisTier(shared);
    this.#state = { memory: new MemoryTier(bytes), redis, generations, telemetry, inFlight: new Map() };
    this.generations = generations;
  }

  /** What memory has, at once; undefined if it takes more than that. @throws NotFound if it is known that there is nothing. */
  peek({ key, tag, family, lifetime }: Lookup): LookupResult | undefined {
    const generation = tag === undefined ? undefined : this.generations.known(tag);
    if (tag !== undefined && generation === undefined) return undefined;
    const fresh = freshEntry(this.#state.memory, key, generation?.token, 'freshUntil', lifetime.maxAge);
    if (fresh === undefined) return undefined;
    const result = resultOf(fresh, 'memory');
    if (result instanceof NotFound) throw result;
    this.#state.telemetry.lookup(family, 'memory');
    return result;
  }

  /** The value that memory has, even if it is old: as long as it may replace a failing call. Undefined otherwise. */
  remembered(key: ScopedKey): unknown {
    return freshEntry(this.#state.memory, key, anyGeneration, 'usableUntil')?.value;
  }

  /**
   * Looks up several things of one scope. Fulfilled once each has received its outcome.
   * @param load what is not cached.
   * @param span of the operation: reads and writes of Redis are below it.
   * @throws the signal's reason as soon as it aborts; loads that have no other waiter are aborted too.
   */
  async loadMany<L extends Lookup>(
    lookups: readonly L[],
    load: Load<L>,
    signal: AbortSignal,
    span?: Span,
  ): Promise<void> {
    const scope = lookups[0] && scopeOfKey(lookups[0].key);
    const tags = [...new Set(lookups.flatMap(({ tag }) => tag ?? []))];
    const read = async (tag: string) => [tag, await this.generations.current(tag, scope)] as const;
    const generations = new Map(tags.length === 0 ? [] : await Promise.all(tags.map(read)));
    signal.throwIfAborted();
    const batch = new LookupBatch(this.#state, load as Load<Lookup>, span);
    const leave = () => batch.leave(signal.reason);
    signal.addEventListener('abort', leave);
    try {
      await batch.run(lookups, generations);
    } finally {
      signal.removeEventListener('abort', leave);
    }
    if (batch.late.length > 0) await this.loadMany(batch.late as L[], load, signal, span);
  }
}
