import { z } from 'zod';
import type { UpstreamFault } from '../../errors.js';

/** What a tier keeps under a key: a value that is safe as JSON, or the fact that there is none. Times are milliseconds since 1970. */
export interface Entry {
  readonly value?: unknown;
  /** The service's 404, kept in place of a value. */
  readonly absent?: UpstreamFault | undefined;
  /** Until here it answers by itself. */
  readonly freshUntil: number;
  /** Until here it may still stand in for a service that fails. */
  readonly usableUntil: number;
  /** The generation of its tag when the service was asked; under another one the entry is void. */
  readonly generation?: string | undefined;
  /** The size of the value's JSON text, about. */
  readonly bytes: number;
}

/** The shape of an entry that another gateway kept. What its value is like, the namespace and the signature vouch for. */
export const entrySchema: z.ZodType<Entry> = z.strictObject({
  value: z.unknown().optional(),
  absent: z.strictObject({ status: z.int().nullable(), errorCode: z.string().nullable() }).optional(),
  freshUntil: z.number(),
  usableUntil: z.number(),
  generation: z.string().optional(),
  bytes: z.number().min(0),
});

/** The entries, if none of them is missing, of another generation, or past the time that is asked about. */
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
