// Without the sign of a negative zero.
const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 1, signDisplay: 'negative' });
const shortNumbers = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const plurals = new Intl.PluralRules('en');
const moments = new Intl.DateTimeFormat('en', {
  dateStyle: 'medium',
  timeStyle: 'short',
  hour12: false,
  timeZone: 'UTC',
});
const hours = new Intl.DateTimeFormat('en', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hour12: false,
  timeZone: 'UTC',
});
const days = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** A dash stands for a value that the service does not know. */
const UNKNOWN = '–';

export const formatNumber = (value: number | null | undefined) => (value == null ? UNKNOWN : numbers.format(value));
/** A number of things: `1 event`, `1,200 companies`. */
export function formatCount(count: number, one: string, other = `${one}s`): string {
  return `${numbers.format(count)} ${plurals.select(count) === 'one' ? one : other}`;
}

export const formatCompanies = (count: number) => formatCount(count, 'company', 'companies');

export const formatShortNumber = (value: number | null | undefined) =>
  value == null ? UNKNOWN : shortNumbers.format(value);
export const formatTime = (time: string | null | undefined) =>
  time ? `${moments.format(new Date(time))} UTC` : UNKNOWN;
/** Without the year: `Nov 22, 13:00`. */
export const formatHour = (time: string | number) => hours.format(new Date(time));
export const formatDay = (time: string | number) => days.format(new Date(time));

/** A length of time in words, such as `12 s`, `3 min` or `2 h`. */
export function formatSpan(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

const DAY = 86_400_000;

/** At most `most` midnights (UTC) between two points in time, evenly spaced, for an axis. In milliseconds since 1970, as the arguments. */
export function daysBetween([start = 0, end = 0]: readonly number[], most: number): number[] {
  const first = Math.ceil(start / DAY) * DAY;
  const step = Math.max(1, Math.ceil((end - start) / DAY / most)) * DAY;
  return Array.from({ length: Math.max(0, Math.ceil((end - first) / step)) }, (_, index) => first + index * step);
}
