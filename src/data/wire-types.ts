import { z } from 'zod';
import { completeTime, maxTimeLength, readTime } from '../lib/time.js';
import { parseWebUrl } from '../lib/web-url.js';
import { Vector } from './vector.js';

/** A time as the service sends it. */
export const utcTime = z.union([
  z.string().max(maxTimeLength).regex(completeTime),
  z.string().transform((text, context) => {
    const time = readTime(text);
    if (time !== undefined) return time;
    context.addIssue({ code: 'custom', message: 'is not a time' });
    return z.NEVER;
  }),
]);

/** At most 16,384 numbers: those of the largest models are 4,096. */
const numbers = /^ *(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)? *(?:, *(?=\S)|$)){0,16384}$/;

/** A wanted vector, which `replyText` has turned into the text between its brackets. */
export const vector = z
  .string()
  .regex(numbers)
  .transform(text => new Vector(text));

/** A URL in its usual form, which needs no parser: a domain in ASCII, and nothing that is not printable. */
const usualUrl = /^https?:\/\/(?:(?!xn--)[a-z\d-]{1,63}\.){1,8}[a-z]{2,24}(?:[/?#][!-~]*)?$/;

/** A URL that a browser may open. */
export const webUrl = z.union([z.string().regex(usualUrl), z.string().refine(url => parseWebUrl(url) !== undefined)]);

/** A closed set of the service's values, mapped to their names in the schema. */
export const closedSet = <const T extends Readonly<Record<string, string>>>(names: T) =>
  z.enum(Object.keys(names) as (keyof T & string)[]).transform(value => names[value] as T[keyof T]);

/** An identifier, which is text in the schema also where the service sends a number. */
export const identifier = z.union([z.string().min(1), z.int().min(0)]).transform(String);

/** The content of a body whose wrapper the specification does not show: `{data}`, `{metadata, data}` or the content itself. */
export function unwrapped(body: unknown): unknown {
  const { data } = (body ?? {}) as { data?: unknown };
  return data ?? body;
}

/** The list in such a body: the content itself, or a member of it. */
export function listIn(body: unknown, member: string): unknown {
  const content = unwrapped(body) as Readonly<Record<string, unknown>> | null | undefined;
  return Array.isArray(content) ? content : content?.[member];
}

/** A record that the specification shows only in part: the known members, and all others under `attributes` (null if there are none). */
export function withAttributes<T extends z.ZodObject>(known: T) {
  const members = new Set(Object.keys(known.shape));
  return z.record(z.string(), z.unknown()).transform((record, context) => {
    const result = known.safeParse(record);
    if (!result.success) {
      context.issues.push(...result.error.issues.map(issue => ({ ...issue, input: record }) as z.core.$ZodRawIssue));
      return z.NEVER;
    }
    const others = Object.entries(record).filter(([member]) => !members.has(member));
    return { ...result.data, attributes: others.length === 0 ? null : Object.fromEntries(others) };
  });
}
