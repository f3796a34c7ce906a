import { known } from '../../data/upstream/schema-drift.js';
import { oncePerValue } from '../../lib/once-per-value.js';
import type { Companies } from './filter.js';
import type { CompanyRecord } from './model.js';

/** The order of a list, as `CompanyOrder` in the schema. */
export interface CompanySorting {
  readonly field: 'SCORE' | 'NAME' | 'DOMAIN' | 'OVERALL_MOMENTUM' | 'ACTUAL_REVENUE';
  readonly direction: 'ASC' | 'DESC';
}

/** What each field compares. Case does not matter. */
const sortKeys: Readonly<Record<CompanySorting['field'], (company: CompanyRecord) => string | number | null>> = {
  SCORE: ({ score }) => known(score),
  NAME: ({ name }) => name?.toLowerCase() ?? null,
  DOMAIN: ({ domain }) => domain.toLowerCase(),
  OVERALL_MOMENTUM: ({ overallMomentum }) => known(overallMomentum),
  ACTUAL_REVENUE: ({ actualRevenue }) => known(actualRevenue),
};

/** The sorted copies of a list, by their order. */
const sortedCopies = oncePerValue((_: Companies) => new Map<string, Companies>());

/**
 * All companies of a list in an order. Companies without the value come last in both directions. Those with equal values are sorted by domain,
 * ascending. Computed once for each list and order, however many requests need it.
 */
export function sortedCompanies(companies: Companies, { field, direction }: CompanySorting): Companies {
  const copies = sortedCopies(companies);
  const key = `${field} ${direction}`;
  let sorted = copies.get(key);
  if (sorted === undefined) {
    sorted = sort(companies, sortKeys[field], direction === 'ASC' ? 1 : -1);
    copies.set(key, sorted);
  }
  return sorted;
}

function sort(
  companies: Companies,
  keyOf: (company: CompanyRecord) => string | number | null,
  sign: 1 | -1,
): Companies {
  return companies
    .map(company => ({ company, key: keyOf(company), domain: company.domain.toLowerCase() }))
    .sort((one, other) => {
      if (one.key === other.key) return compare(one.domain, other.domain);
      if (one.key === null) return 1;
      if (other.key === null) return -1;
      return sign * compare(one.key, other.key);
    })
    .map(({ company }) => company);
}

function compare<T extends string | number>(one: T, other: T): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
