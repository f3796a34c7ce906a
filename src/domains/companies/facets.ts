import { known } from '../../data/upstream/schema-drift.js';
import { countValues } from '../../lib/count-values.js';
import { histogramOf } from '../../lib/histogram.js';
import { oncePerValue } from '../../lib/once-per-value.js';
import type { Companies } from './filter.js';
import type { CompanyRecord } from './model.js';

/**
 * Counts, for each value that occurs in a list, the companies that a filter with that value selects. The most frequent value comes first; values
 * with equal counts are sorted. Numbers are counted in ranges. Computed once for each list.
 */
export const facetsOf = oncePerValue((companies: Companies) => {
  const names = new Map<string, string | null>();
  for (const { naics } of companies) {
    for (const { code, name } of naics) names.set(code, names.get(code) ?? name);
  }
  const lengths = [...new Set([...names.keys()].map(code => code.length))];
  const countries = countValues(companies, ({ operatesIn }) => operatesIn.map(country => country.toLowerCase()));
  // A filter matches a code by each of its beginnings.
  const codes = countValues(companies, ({ naics }) =>
    naics.flatMap(({ code }) => lengths.map(length => code.slice(0, length)).filter(part => names.has(part))),
  );
  const histogram = (numberOf: (company: CompanyRecord) => CompanyRecord['score']) =>
    histogramOf(companies.flatMap(company => known(numberOf(company)) ?? []));
  return {
    operatesIn: countries,
    naics: codes.map(({ value: code, count }) => ({ code, name: names.get(code) ?? null, count })),
    score: histogram(({ score }) => score),
    actualRevenue: histogram(({ actualRevenue }) => actualRevenue),
    overallMomentum: histogram(({ overallMomentum }) => overallMomentum),
  };
});
