import { z } from 'zod';
import { NotFound, type UpstreamFault } from '../../errors.js';
import type { Source } from '../../observability/response-metadata.js';
import type { Keys } from './keys.js';

/** What a tier stores under a key: a value that is safe as JSON, or the fact that there is none. Times are milliseconds since 1970. */
export interface Entry {
  readonly value?: unknown;
  /** The service's 404, stored in place of a value. */
  readonly absent?: UpstreamFault | undefined;
  /** Until this time it is used without asking the service. */
  readonly freshUntil: number;
  /** Until this time it may replace the answer of a service that fails. */
  readonly usableUntil: number;
  /** The generation of its tag when the service was asked. Under another generation the entry is void. */
  readonly generation?: string | undefined;
  /** The approximate size of the value's JSON text. */
  readonly bytes: number;
}

/** Checks an entry from Redis. The namespace and the signature vouch for its value. */
export const entrySchema: z.ZodType<Entry> = z.strictObject({
  value: z.unknown().optional(),
  absent: z.strictObject({ status: z.int().nullable(), errorCode: z.string().nullable() }).optional(),
  freshUntil: z.number(),
  usableUntil: z.number(),
  generation: z.string().optional(),
  bytes: z.number().min(0),
});

/** Returns the entries if none of them is missing, of another generation, or past the given time. */
export function allFresh(
  entries: readonly (Entry | undefined)[],
  generation: string | undefined,
  until: 'freshUntil' | 'usableUntil',
): readonly Entry[] | undefined {
  const now = Date.now();
  for (const entry of entries) {
    if (entry === undefined || entry.generation !== generation || entry[until] <= now) return undefined;
  }
  return entries as readonly Entry[];
}

/** How long an entry lives, in milliseconds: fresh; then in place of a failing service; and how long a 404 is remembered. */
export interface Lifetime {
  readonly maxAge: number;
  readonly grace: number;
  readonly absent: number;
}

/** What the service returned: a value, its embeddings if they are stored separately, and the sizes of their texts. */
export interface Loaded<T, H> {
  readonly value: T;
  readonly bytes: number;
  readonly embeddings?: { readonly value: H; readonly bytes: number } | undefined;
  /** Whether the service forbids storing it. */
  readonly noStore: boolean;
}

/** One thing to look up, and how to load it from the service if it is not cached. */
export interface Lookup<T, H> {
  readonly keys: Keys;
  /** The endpoint family, for the metrics: `events`. */
  readonly family: string;
  /** What a write makes stale: `market:7`. */
  readonly tag?: string | undefined;
  readonly lifetime: Lifetime;
  /** @throws NotFound, which may be cached; UpstreamFailure, which a cached entry may replace; every other error is passed on. */
  load(signal: AbortSignal): Promise<Loaded<T, H>>;
}

/** The result of a look-up, and where it came from. */
export interface LookupResult<T, H> {
  readonly value: T;
  readonly embeddings: H | undefined;
  readonly source: Source;
  /** Whether the service failed and an older entry was used. */
  readonly stale: boolean;
  /** Until when others may store it, in milliseconds since 1970; 0: not at all. */
  readonly freshUntil: number;
  /** The generation of its tag; undefined if it has none. */
  readonly generation: string | undefined;
  /** The approximate length of its text. */
  readonly bytes: number;
}

/** The result that the entries of a look-up stand for. @throws NotFound if they say that there is nothing. */
export function lookupResult(
  [record, embeddings]: readonly Entry[],
  source: Source,
  stale = false,
): LookupResult<unknown, unknown> {
  if (record?.absent !== undefined) throw new NotFound('The service knows no such thing', record.absent);
  const freshUntil = stale ? 0 : Math.min(record?.freshUntil ?? 0, embeddings?.freshUntil ?? Number.POSITIVE_INFINITY);
  const bytes = (record?.bytes ?? 0) + (embeddings?.bytes ?? 0);
  return {
    value: record?.value,
    embeddings: embeddings?.value,
    source,
    stale,
    freshUntil,
    generation: record?.generation,
    bytes,
  };
}
