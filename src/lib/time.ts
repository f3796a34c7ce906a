/** In milliseconds. */
export const minuteMs = 60_000;
export const dayMs = 24 * 60 * 60 * 1_000;

/** A date of HTTP in milliseconds since 1970; NaN for no date. Its oldest form names no zone, and means UTC (RFC 9110, 5.6.7). */
export const httpTime = (text: string): number => Date.parse(/\d:\d+ \d{4}$/.test(text) ? `${text} GMT` : text);

/** A time in milliseconds since 1970 as `2026-01-31T08:30:00.123Z`. */
export const iso = (time: number): string => new Date(time).toISOString();

/** A time of `readTime`, to the last of its digits, in the one form that equal times share. */
export function instantOf(time: string): string {
  const [, digits = ''] = /\.(\d*[1-9])?/.exec(time) ?? [];
  const seconds = Math.floor(Date.parse(time) / 1_000) * 1_000;
  return iso(seconds).replace('.000Z', digits === '' ? 'Z' : `.${digits}Z`);
}

/** Whether a text such as `2026-02-29` is a day that exists. */
export function isCalendarDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** Every day of a year but February 29. */
const monthAndDay = '(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31';
/** The form of nearly all times: complete, with every part in its range. `readTime` leaves it as it is. */
export const completeTime = new RegExp(`^\\d{4}-(?:${monthAndDay})T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?Z$`);
const anyTime =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d|60)(\.\d+)?)?(?:[Zz]|([+-](?:[01]\d|2[0-3]))(?::?([0-5]\d))?)?)?$/;

/** Several times that of a complete time with nanoseconds. */
export const maxTimeLength = 100;

/**
 * A point in time in the one form of RFC 3339 that every program reads: `2026-01-31T08:30:00.123Z`; undefined for any other text. Read are RFC 3339 in
 * full and what ISO 8601 leaves out: the time of day, seconds, minutes of an offset, the zone (UTC). A leap second becomes the second before, since
 * JavaScript has none. Nothing is rounded.
 */
export function readTime(text: string): string | undefined {
  if (text.length > maxTimeLength) return undefined;
  if (completeTime.test(text)) return text;
  const [, day, time = '00:00', seconds = '00', fraction = '', hours, minutes = '00'] = anyTime.exec(text) ?? [];
  if (day === undefined || !isCalendarDay(day)) return undefined;
  return `${day}T${time}:${seconds === '60' ? '59' : seconds}${fraction}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`;
}
