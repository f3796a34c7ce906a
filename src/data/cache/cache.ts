import { NotFound } from '../../errors.js';
import type { Span } from '../../observability/operation-info.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Generation, Generations } from './generations.js';
import { scopeOfKey } from './keys.js';
import type { Load, Lookup, LookupResult, ReceiveOutcome } from './lookup.js';
import { type CacheState, LookupBatch, resultOf } from './lookup-batch.js';
import { freshEntries } from './tiers.js';

/** Memory, then Redis, then the service: one load in flight for each key, one round trip to Redis for each batch. */
export class Cache {
  /** Renewing that of a tag voids everything cached under it, for every scope and in every process. */
  readonly generations: Generations;
  readonly #state: CacheState;
  readonly #telemetry: Telemetry;

  /** @param tiers fastest first. */
  constructor(tiers: Pick<CacheState, 'memory' | 'redis'>, generations: Generations, telemetry: Telemetry) {
    this.#state = { ...tiers, generations, inFlight: new Map() };
    this.generations = generations;
    this.#telemetry = telemetry;
  }

  /** What memory has, at once; undefined if it takes more than that. @throws NotFound if it is known that there is nothing. */
  peek({ keys, tag, family, lifetime }: Lookup): LookupResult | undefined {
    const generation = tag === undefined ? undefined : this.generations.known(tag);
    if (tag !== undefined && generation === undefined) return undefined;
    const fresh = freshEntries(this.#state.memory, keys, generation?.token, 'freshUntil', lifetime.maxAge);
    if (fresh === undefined) return undefined;
    const result = resultOf(fresh, 'memory');
    if (result instanceof NotFound) throw result;
    this.#telemetry.lookup(family, 'memory');
    return result;
  }

  /**
   * Looks up several things of one scope. Fulfilled once all outcomes have been received.
   * @param load what is not cached.
   * @param receive is called once for each look-up.
   * @param span of the operation: reads and writes of Redis are below it.
   * @throws the signal's reason as soon as it aborts; loads that have no other waiter are aborted too.
   */
  async loadMany<L extends Lookup>(
    lookups: readonly L[],
    load: Load<L>,
    receive: ReceiveOutcome,
    signal: AbortSignal,
    span?: Span,
  ): Promise<void> {
    const tags = new Set<string>();
    for (const { tag } of lookups) if (tag !== undefined) tags.add(tag);
    const read = async (tag: string) => [tag, await this.generations.current(tag, scopeOf(lookups))] as const;
    const generations = tags.size === 0 ? none : new Map(await Promise.all([...tags].map(read)));
    signal.throwIfAborted();
    const counted: ReceiveOutcome = (index, outcome) => {
      if (!(outcome instanceof Error)) this.#telemetry.lookup((lookups[index] as L).family, outcome.source);
      receive(index, outcome);
    };
    const batch = new LookupBatch(this.#state, load as Load<Lookup>, counted, span);
    const leave = () => batch.leave(signal.reason);
    signal.addEventListener('abort', leave);
    try {
      await batch.run(lookups, generations);
    } finally {
      signal.removeEventListener('abort', leave);
    }
    const { late } = batch;
    if (late.length === 0) return;
    const again = late.map(index => lookups[index] as L);
    await this.loadMany(again, load, (at, outcome) => receive(late[at] as number, outcome), signal, span);
  }
}

const scopeOf = (lookups: readonly Lookup[]) => scopeOfKey((lookups[0] as Lookup).keys[0]);
const none: ReadonlyMap<string, Generation | undefined> = new Map();
