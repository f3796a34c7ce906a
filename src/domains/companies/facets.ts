import { oncePerValue } from '../../lib/once-per-value.js';
import type { Companies } from './filter.js';

/** The values of a list of companies, as `CompanyFacets` in the schema. */
export interface CompanyFacets {
  readonly operatesIn: readonly { readonly value: string; readonly count: number }[];
  readonly naics: readonly { readonly code: string; readonly name: string | null; readonly count: number }[];
}

/**
 * Counts, for each value that occurs in a list, the companies that a filter with that value selects. The most frequent value comes first; values
 * with equal counts are sorted. Computed once for each list.
 */
export const facetsOf = oncePerValue((companies: Companies): CompanyFacets => {
  const names = new Map<string, string | null>();
  for (const { naics } of companies) {
    for (const { code, name } of naics) names.set(code, names.get(code) ?? name);
  }
  const lengths = [...new Set([...names.keys()].map(code => code.length))];
  const countries = count(companies, ({ operatesIn }) => operatesIn.map(country => country.toLowerCase()));
  // A filter matches a code by each of its beginnings.
  const codes = count(companies, ({ naics }) =>
    naics.flatMap(({ code }) => lengths.map(length => code.slice(0, length)).filter(part => names.has(part))),
  );
  return {
    operatesIn: countries.map(([value, count]) => ({ value, count })),
    naics: codes.map(([code, count]) => ({ code, name: names.get(code) ?? null, count })),
  };
});

/** How many items have each value, the most frequent first. An item counts once for a value that it repeats. */
function count<T>(items: readonly T[], valuesOf: (item: T) => readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const item of items) {
    for (const value of new Set(valuesOf(item))) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort(([one, count], [other, otherCount]) => otherCount - count || (one < other ? -1 : 1));
}
