import type { MaybePromise } from '../../lib/maybe-promise.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { Batch, type Tiers } from './batch.js';
import { allFresh, type Entry } from './entry.js';
import type { Generations } from './generations.js';
import { type Answer, answerOf, type Lookup } from './lookup.js';
import { inGeneration, lastOf } from './scoped-key.js';
import { type InFlight, SingleFlight } from './single-flight.js';

type AnyAnswer = Answer<unknown, unknown>;

/** Memory over Redis over the source, by scoped key: one flight for each key, one round trip for each batch. */
export class Cache {
  readonly #tiers: Tiers;
  readonly #generations: Generations;
  readonly #telemetry: Telemetry;
  readonly #flights = new SingleFlight<AnyAnswer>();

  constructor(tiers: Tiers, generations: Generations, telemetry: Telemetry) {
    this.#tiers = tiers;
    this.#generations = generations;
    this.#telemetry = telemetry;
  }

  /** The generations of tags; see `Generations`. */
  async generationsOf(tags: readonly string[]): Promise<ReadonlyMap<string, string | undefined>> {
    return tags.length === 0 ? none : this.#generations.current(tags);
  }

  /** The generation of one tag; see `Generations`. */
  async generationOf(tag: string): Promise<string | undefined> {
    return (await this.#generations.current([tag])).get(tag);
  }

  /** Voids whatever is kept under a tag, for every scope and in every process. */
  async renew(tag: string): Promise<void> {
    await this.#generations.renew(tag);
  }

  /**
   * What this process's memory answers at once, without a promise and its cost; undefined where it takes more than that.
   * @throws NotFound where it is known that there is nothing.
   */
  peek<T, H>(lookup: Lookup<T, H>): Answer<T, H> | undefined {
    const generation = lookup.tag === undefined ? undefined : this.#generations.known(lookup.tag);
    if (lookup.tag !== undefined && generation === undefined) return undefined;
    const fresh = allFresh(this.#remembered(lookup), generation, 'freshUntil');
    if (fresh === undefined) return undefined;
    this.#telemetry.lookup(lookup.family, 'memory');
    return answerOf(fresh, 'memory') as Answer<T, H>;
  }

  /**
   * Looks all of them up, which are of one scope; answers in their order. Each stands for itself: one that failed is an Error in its place.
   * @throws the signal's reason as soon as it aborts; what nobody else waits for is aborted too.
   */
  async loadMany<T, H>(lookups: readonly Lookup<T, H>[], signal: AbortSignal): Promise<(Answer<T, H> | Error)[]> {
    const generations = await this.generationsOf([...new Set(lookups.flatMap(({ tag }) => tag ?? []))]);
    signal.throwIfAborted();
    const batch = new Batch(this.#tiers);
    const boarded: InFlight<AnyAnswer>[] = [];

    const leases = (lookup: Lookup<T, H>): MaybePromise<AnyAnswer | Error> => {
      const { tag } = lookup;
      const generation = tag === undefined ? undefined : generations.get(tag);
      // Without its generation nothing kept can be trusted: the source is asked, and its answer not kept.
      const keepable = tag === undefined || generation !== undefined;
      const remembered = keepable ? this.#remembered(lookup) : [undefined];
      const fresh = allFresh(remembered, generation, 'freshUntil');
      if (fresh !== undefined) return answerOrError(fresh);

      const flight = this.#flights.to(inGeneration(lastOf(lookup.keys), generation), flightSignal =>
        keepable ? batch.fetch({ lookup, remembered, generation }, flightSignal) : straight(lookup, flightSignal),
      );
      boarded.push(flight);
      return flight.leases() ? flight.landing.then(asShared) : flight.landing;
    };

    try {
      const answers = await unlessAborted(Promise.all(lookups.map(leases)), signal);
      for (const [index, { family }] of lookups.entries()) {
        const answer = answers[index];
        if (answer !== undefined && !(answer instanceof Error)) this.#telemetry.lookup(family, answer.source);
      }
      return answers as (Answer<T, H> | Error)[];
    } finally {
      for (const flight of boarded) flight.leave();
    }
  }

  #remembered({ keys }: Lookup<unknown, unknown>): readonly (Entry | undefined)[] {
    return keys.map(key => this.#tiers.memory.get(key));
  }
}

const none: ReadonlyMap<string, string | undefined> = new Map();

const asShared = (answer: AnyAnswer | Error) =>
  answer instanceof Error ? answer : { ...answer, source: 'flight' as const };

function answerOrError(entries: readonly Entry[]): AnyAnswer | Error {
  try {
    return answerOf(entries, 'memory');
  } catch (error) {
    return error as Error;
  }
}

async function straight(lookup: Lookup<unknown, unknown>, signal: AbortSignal): Promise<AnyAnswer> {
  const { value, heavy, bytes } = await lookup.load(signal);
  const unkept = { stale: false, freshUntil: 0, generation: undefined, bytes: bytes + (heavy?.bytes ?? 0) };
  return { value, heavy: heavy?.value, source: 'network', ...unkept };
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
