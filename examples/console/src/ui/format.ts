/** A function that formats a value, and shows a dash for a value that the service does not know. */
const orDash =
  <T>(format: (value: T) => string) =>
  (value: T | null | undefined) =>
    value == null ? '–' : format(value);

const numberFormat = (decimals: number, options: Intl.NumberFormatOptions = {}) =>
  new Intl.NumberFormat('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals, ...options }).format;

export const formatNumber = orDash<number>(numberFormat(0));
export const formatScore = orDash<number>(numberFormat(1));
export const formatMomentum = orDash<number>(numberFormat(2, { signDisplay: 'exceptZero' }));
export const formatAmount = orDash<number>(numberFormat(1, { notation: 'compact' }));
/** All digits, with the unit that makes them few: `1.25M`. */
export const formatExact = numberFormat(0, { notation: 'compact', maximumFractionDigits: 12 });

const dayFormat = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', hourCycle: 'h23', ...options });

/** Formats times in the zone of the reader, with their year if it is not this one. */
function timeFormat(options: Intl.DateTimeFormatOptions) {
  const thisYear = dayFormat(options);
  const otherYear = dayFormat({ ...options, year: 'numeric' });
  return orDash<string | number>(time => {
    const date = new Date(time);
    return (date.getFullYear() === new Date().getFullYear() ? thisYear : otherYear).format(date);
  });
}

/** `Nov 22, 13:00`. */
export const formatTime = timeFormat({ hour: '2-digit', minute: '2-digit' });
/** `Nov 22`. */
export const formatDay = timeFormat({});
/** As `formatDay`, for what the gateway counts by days, which are those of UTC. */
export const formatUtcDay = timeFormat({ timeZone: 'UTC' });
/** `Nov 22, 13:00 – 15:00`, or `Nov 22 – 24` with the last day, and with the year if it is not this one. */
export function formatRange(from: number, to: number, interval: 'HOUR' | 'DAY'): string {
  const year = new Date(from).getFullYear() === new Date().getFullYear() ? undefined : 'numeric';
  if (interval === 'DAY') return dayFormat({ timeZone: 'UTC', year }).formatRange(from, to);
  return dayFormat({ hour: '2-digit', minute: '2-digit', year }).formatRange(from, to + 1);
}

/** A time with its zone, and in UTC. */
export const formatZoned = (time: string) =>
  `${new Date(time).toLocaleString('en', { dateStyle: 'long', timeStyle: 'full', hourCycle: 'h23' })}, ${time}`;

/** A number of things: `1 event`, `1,200 companies`. */
export const formatCount = (count: number | null | undefined, one: string, other = `${one}s`) =>
  `${formatNumber(count)} ${count === 1 ? one : other}`;

export const formatCompanies = (count: number | null | undefined) => formatCount(count, 'company', 'companies');

/** A length of time in words, such as `12 s`, `3 min` or `2 h`. */
export function formatSpan(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

const countries = new Intl.DisplayNames('en', { type: 'region' });

/** The name of a country by its two letters. The code itself if it is not one of ISO 3166: for such a code, `Intl` throws. */
export function countryName(code: string): string {
  return (/^[a-z]{2}$/i.test(code) ? countries.of(code.toUpperCase()) : undefined) ?? code;
}

/** A text that begins with a capital letter. */
export const capitalized = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** A name that programs use, such as `news-crawler`, as words: `News crawler`. */
export const words = (name: string) =>
  capitalized(
    name
      .replace(/[_-]+/g, ' ')
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase(),
  );
