import { z } from 'zod';
import type { UpstreamFault } from '../../errors.js';

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
