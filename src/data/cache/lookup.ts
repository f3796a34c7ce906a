import { z } from 'zod';
import { NotFound, type UpstreamFault } from '../../errors.js';
import type { Source } from '../../observability/response-metadata.js';
import type { Keys } from './keys.js';

/** What a tier stores under a key: a JSON value, or the service's 404. Times are in milliseconds since 1970. */
export interface Entry {
  readonly value?: unknown;
  /** The service's 404, stored in place of a value. */
  readonly absent?: UpstreamFault | undefined;
  /** Until this time the entry is used without a call to the service. */
  readonly freshUntil: number;
  /** Until this time the entry may be used if the service fails. */
  readonly usableUntil: number;
  /** The generation of the look-up's tag when the service was called. The entry is invalid once the tag has another generation. Undefined without a tag. */
  readonly generation?: string | undefined;
  /** The approximate size of the value's JSON text, in bytes. */
  readonly bytes: number;
}

/** Checks an entry from Redis. Its value is not checked: the namespace and the signature prove that a gateway with the same models wrote it. */
export const entrySchema: z.ZodType<Entry> = z.strictObject({
  value: z.unknown().optional(),
  absent: z.strictObject({ status: z.int().nullable(), errorCode: z.string().nullable() }).optional(),
  freshUntil: z.number(),
  usableUntil: z.number(),
  generation: z.string().optional(),
  bytes: z.number().min(0),
});

/** Returns the entries if each of them exists, has this generation, and has not reached the given time. Otherwise returns undefined. */
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
  /** A write that renews this tag, such as `market:7`, invalidates the entry. Undefined if no write does. */
  readonly tag?: string | undefined;
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

/** Makes the result of a look-up from its entries. @throws NotFound if the record's entry is a 404. */
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
