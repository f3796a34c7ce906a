/** A function that formats a value, and shows a dash for a value that the service does not know. */
const orDash =
  <T>(format: (value: T) => string) =>
  (value: T | null | undefined) =>
    value == null ? '–' : format(value);

const numberFormat = (decimals: number, options: Intl.NumberFormatOptions = {}) =>
  new Intl.NumberFormat('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals, ...options }).format;
const plain = numberFormat(0);

export const formatNumber = orDash<number>(plain);
export const formatScore = orDash<number>(numberFormat(1));
export const formatMomentum = orDash<number>(numberFormat(2, { signDisplay: 'exceptZero' }));
export const formatAmount = orDash<number>(numberFormat(1, { notation: 'compact' }));

/** All times of the page are in UTC, which its head says once. */
function timeFormat(options: Intl.DateTimeFormatOptions) {
  const utc = { day: 'numeric', month: 'short', hour12: false, timeZone: 'UTC', ...options } as const;
  const { format } = new Intl.DateTimeFormat('en', utc);
  return orDash<string | number>(time => format(new Date(time)));
}

/** `Nov 22, 13:00`. */
export const formatTime = timeFormat({ hour: '2-digit', minute: '2-digit' });
/** `Nov 22`. */
export const formatDay = timeFormat({});
/** `Nov 22, 2026`. */
export const formatDate = timeFormat({ year: 'numeric' });

/** A number of things: `1 event`, `1,200 companies`. */
export const formatCount = (count: number, one: string, other = `${one}s`) =>
  `${plain(count)} ${count === 1 ? one : other}`;

export const formatCompanies = (count: number) => formatCount(count, 'company', 'companies');

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
