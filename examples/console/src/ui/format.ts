const plain = new Intl.NumberFormat('en');
const scores = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const momenta = new Intl.NumberFormat('en', {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  signDisplay: 'exceptZero',
});
const amounts = new Intl.NumberFormat('en', {
  notation: 'compact',
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});
const plurals = new Intl.PluralRules('en');
const countries = new Intl.DisplayNames('en', { type: 'region' });
/** All times of the page are in UTC, which its head says once. */
const inUtc = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', hour12: false, timeZone: 'UTC', ...options });
const times = inUtc({ hour: '2-digit', minute: '2-digit' });
const days = inUtc({});
const dates = inUtc({ year: 'numeric' });

/** A function that formats a value, and shows a dash for a value that the service does not know. */
const orDash =
  <T>(format: (value: T) => string) =>
  (value: T | null | undefined) =>
    value == null ? '–' : format(value);

export const formatNumber = orDash<number>(plain.format);
export const formatScore = orDash<number>(scores.format);
export const formatMomentum = orDash<number>(momenta.format);
export const formatAmount = orDash<number>(amounts.format);
/** `Nov 22, 13:00`. */
export const formatTime = orDash<string | number>(time => times.format(new Date(time)));
/** `Nov 22`. */
export const formatDay = orDash<string | number>(time => days.format(new Date(time)));
/** `Nov 22, 2026`. */
export const formatDate = orDash<string>(time => dates.format(new Date(time)));

/** A number of things: `1 event`, `1,200 companies`. */
export function formatCount(count: number, one: string, other = `${one}s`): string {
  return `${plain.format(count)} ${plurals.select(count) === 'one' ? one : other}`;
}

export const formatCompanies = (count: number) => formatCount(count, 'company', 'companies');

/** A length of time in words, such as `12 s`, `3 min` or `2 h`. */
export function formatSpan(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

/** The name of a country by its two letters. The code itself if it is not one of ISO 3166: for such a code, `Intl` throws. */
export function countryName(code: string): string {
  return (/^[a-z]{2}$/i.test(code) ? countries.of(code.toUpperCase()) : undefined) ?? code;
}

/** A name that programs use, such as `news-crawler`, as words: `News crawler`. */
export function words(name: string): string {
  const text = name
    .replace(/[_-]+/g, ' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
