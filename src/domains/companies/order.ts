import { known } from '../../data/upstream/schema-drift.js';
import { oncePerValue } from '../../lib/once-per-value.js';
import type { Companies } from './filter.js';
import type { CompanyRecord } from './model.js';

/** The order of a list, as `CompanyOrder` in the schema. */
export interface CompanySorting {
  readonly field: 'SCORE' | 'NAME' | 'DOMAIN' | 'OVERALL_MOMENTUM' | 'ACTUAL_REVENUE';
  readonly direction: 'ASC' | 'DESC';
}

/** Equal for orders that are the same. */
export const orderKey = ({ field, direction }: CompanySorting): string => `${field} ${direction}`;

type SortKey = (company: CompanyRecord) => string | number | null;

/** Sorts a list in both directions, each once for each list, however many requests need it. */
const sorters = (keyOf: SortKey) => ({
  ASC: oncePerValue((companies: Companies) => sort(companies, keyOf, 1)),
  DESC: oncePerValue((companies: Companies) => sort(companies, keyOf, -1)),
});

/** What each field compares. Case does not matter. */
const sortersByField = {
  SCORE: sorters(({ score }) => known(score)),
  NAME: sorters(({ name }) => name?.toLowerCase() ?? null),
  DOMAIN: sorters(({ domain }) => domain.toLowerCase()),
  OVERALL_MOMENTUM: sorters(({ overallMomentum }) => known(overallMomentum)),
  ACTUAL_REVENUE: sorters(({ actualRevenue }) => known(actualRevenue)),
};

/**
 * All companies of a list in an order. Companies without the value come last in both directions. Those with equal values are sorted by domain,
 * ascending.
 */
export const sortedCompanies = (companies: Companies, { field, direction }: CompanySorting): Companies =>
  sortersByField[field][direction](companies);

function sort(companies: Companies, keyOf: SortKey, sign: 1 | -1): Companies {
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
