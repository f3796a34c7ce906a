import { z } from 'zod';
import { Vector } from './embeddings/vector.js';

const isoTime = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?(?:(Z)|([+-]\d{2}):?(\d{2}))?)?$/;

/** Whether a text such as `2026-02-29` is a day that exists. */
export function isCalendarDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** Every day of a year but February 29. */
const monthAndDay = '(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31';
/** The form of nearly all times: complete, with every part in its range. */
const completeTime = new RegExp(`^\\d{4}-(?:${monthAndDay})T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?Z$`);

/** A time as the service sends it, in RFC 3339. A missing time of day, second or offset is filled in, and nothing is rounded. */
export const utcTime = z.string().transform((text, context) => {
  if (completeTime.test(text)) return text;
  const [, day = '', time = '00:00', seconds = ':00', , hours, minutes] = isoTime.exec(text) ?? [];
  const zone = hours === undefined ? 'Z' : `${hours}:${minutes}`;
  // JavaScript takes 24:00 for the end of a day, RFC 3339 does not.
  if (!isCalendarDay(day) || time.startsWith('24') || Number.isNaN(Date.parse(`${day}T${time}${seconds}${zone}`))) {
    context.addIssue({ code: 'custom', message: 'is not a time' });
    return z.NEVER;
  }
  return `${day}T${time}${seconds}${zone}`;
});

const numbers = /^ *(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)? *(?:, *(?=\S)|$))*$/;

/** A wanted vector, which `replyText` has turned into the text between its brackets. */
export const vector = z
  .string()
  .regex(numbers)
  .transform(text => new Vector(text));

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
