import { NotFound } from '../../errors.js';
import type { Source } from '../../observability/response-metadata.js';
import type { Entry } from './entry.js';
import type { Keys } from './scoped-key.js';

/** How long an entry lives, in milliseconds: by itself; then in place of a failing source; and how long a 404 is remembered. */
export interface Lifetime {
  readonly maxAge: number;
  readonly grace: number;
  readonly absent: number;
}

/** What the source gave: a value, perhaps a heavy part kept apart from it, and the sizes of their texts. */
export interface Loaded<T, H> {
  readonly value: T;
  readonly bytes: number;
  readonly heavy?: { readonly value: H; readonly bytes: number } | undefined;
  /** Whether the source forbids keeping it. */
  readonly noStore: boolean;
}

/** One thing to look up, and how to get it from the source where it is not kept. */
export interface Lookup<T, H> {
  readonly keys: Keys;
  /** The endpoint family it belongs to, for the metrics: `events`. */
  readonly family: string;
  /** What a write makes stale: `market:7`. */
  readonly tag?: string | undefined;
  readonly lifetime: Lifetime;
  /** @throws NotFound, which may be kept; UpstreamFailure, for which a kept entry may stand in; anything else goes to the one who asked. */
  load(signal: AbortSignal): Promise<Loaded<T, H>>;
}

/** What a look-up gave, and who gave it. */
export interface Answer<T, H> {
  readonly value: T;
  readonly heavy: H | undefined;
  readonly source: Source;
  /** Whether the source failed and an older entry stood in. */
  readonly stale: boolean;
  /** Until when it may be kept by others, in milliseconds since 1970; 0: not at all. */
  readonly freshUntil: number;
  /** The generation of its tag; undefined where it has none. */
  readonly generation: string | undefined;
  /** The length of its text, about. */
  readonly bytes: number;
}

/** What a look-up's entries say. @throws NotFound where they say that there is nothing. */
export function answerOf([record, heavy]: readonly Entry[], source: Source, stale = false): Answer<unknown, unknown> {
  if (record?.absent !== undefined) throw new NotFound('The service knows no such thing', record.absent);
  const freshUntil = stale ? 0 : Math.min(record?.freshUntil ?? 0, heavy?.freshUntil ?? Number.POSITIVE_INFINITY);
  const bytes = (record?.bytes ?? 0) + (heavy?.bytes ?? 0);
  return {
    value: record?.value,
    heavy: heavy?.value,
    source,
    stale,
    freshUntil,
    generation: record?.generation,
    bytes,
  };
}
