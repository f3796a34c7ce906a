import { z } from 'zod';

/** An entry in Redis, with times in milliseconds since 1970. The signature proves that a gateway with the same models wrote its value. */
export const entrySchema = z.strictObject({
  value: z.unknown().optional(),
  /** The service's 404, stored in place of a value. */
  absent: z.strictObject({ status: z.int().nullable(), errorCode: z.string().nullable() }).optional(),
  freshUntil: z.number(),
  usableUntil: z.number(),
  /** The generation of the look-up's tag when the service was called. The entry is invalid once the tag has another generation. Undefined without a tag. */
  generation: z.string().optional(),
  /** The approximate size of the value's JSON text. */
  bytes: z.number().min(0),
});

/** What a tier stores under a key: a JSON value, or the service's 404. */
export type Entry = Readonly<z.output<typeof entrySchema>>;
