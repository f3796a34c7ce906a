// What is looked up, what a load returns for it, and what comes of it.
import type { Source } from '../../observability/response-metadata.js';
import type { Receiver } from '../upstream/request.js';
import type { Entry } from './entry.js';
import type { ScopedKey } from './keys.js';

/** In milliseconds: how long an entry is fresh, how long after that it may be used if the service fails, and how long a 404 is cached. */
export interface Lifetime {
  readonly maxAge: number;
  readonly grace: number;
  readonly absent: number;
}

/** What the service returned, and the size of its text. */
export interface Loaded<T = unknown> {
  readonly value: T;
  readonly bytes: number;
  /** Of its text, as the claim of the response counts it while it is parsed. */
  readonly characters?: number;
  readonly noStore: boolean;
}

export interface Lookup {
  readonly key: ScopedKey;
  /** The endpoint family, for the metrics: `events`. */
  readonly family: string;
  /** Renewing this tag, such as `market:7`, invalidates the entry. Undefined if nothing does. */
  readonly tag?: string | undefined;
  readonly outlivesTag?: boolean | undefined;
  readonly lifetime: Lifetime;
  /** Whether the value may be large, as lists and vectors are: few of them are read from Redis at once. */
  readonly isLarge?: boolean | undefined;
  /** Is called once, as soon as the outcome is known: what depends on it waits for no other. Must not throw. */
  receive(outcome: LookupOutcome): void;
}

/**
 * Loads look-ups that are not cached, together. The receiver learns of each by its index. Of its errors, a NotFound may be cached, and a cached entry may
 * replace an UpstreamFailure.
 * @returns what ends one load early.
 */
export type Load<L extends Lookup> = (
  lookups: readonly L[],
  receiver: Receiver<Loaded>,
) => { abort(index: number, reason: Error): void };

/**
 * The result of a look-up, and where it came from. `freshUntil` is 0 if a response that contains the value may not be cached, and `bytes` where it comes
 * from a flight that another operation counts.
 */
export interface LookupResult extends Pick<Entry, 'value' | 'freshUntil' | 'generation' | 'bytes'> {
  readonly source: Source;
  readonly stale: boolean;
}

export type LookupOutcome = LookupResult | Error;
