import type { CompanyFilter, CompanyOrder, CompanyOrderField } from '../gql/graphql';
import { namesIn } from '../ui';

/** Filter and order of the companies, as they stand in the address. */
export interface CompanySearch {
  readonly search?: string;
  readonly operatesIn?: string[];
  readonly naics?: string[];
  readonly minRevenue?: number;
  readonly maxRevenue?: number;
  readonly minMomentum?: number;
  readonly maxMomentum?: number;
  readonly sort?: CompanyOrderField;
  readonly descending?: boolean;
  /** Domain of the company whose details are shown. */
  readonly company?: string;
}

const SORTS: readonly CompanyOrderField[] = ['NAME', 'SCORE', 'OVERALL_MOMENTUM', 'ACTUAL_REVENUE'];

/** Reads the address. What it cannot read, it leaves out. */
export function companySearch(search: Record<string, unknown>): CompanySearch {
  const number = (name: string) => (typeof search[name] === 'number' ? { [name]: search[name] } : {});
  const sort = SORTS.find(field => field === search.sort);
  return {
    ...(search.search ? { search: String(search.search) } : {}),
    ...(search.company ? { company: String(search.company) } : {}),
    ...namesIn(search, 'operatesIn'),
    ...namesIn(search, 'naics'),
    ...number('minRevenue'),
    ...number('maxRevenue'),
    ...number('minMomentum'),
    ...number('maxMomentum'),
    ...(sort && { sort, descending: search.descending === true }),
  };
}

export function companyFilter(search: CompanySearch): CompanyFilter {
  const { operatesIn, naics, minRevenue, maxRevenue, minMomentum, maxMomentum } = search;
  return {
    ...(search.search && { search: search.search }),
    ...(operatesIn && { operatesIn }),
    ...(naics && { naics }),
    ...range('actualRevenue', minRevenue, maxRevenue),
    ...range('overallMomentum', minMomentum, maxMomentum),
  };
}

function range(name: 'actualRevenue' | 'overallMomentum', min: number | undefined, max: number | undefined) {
  if (min === undefined && max === undefined) return {};
  return { [name]: { ...(min !== undefined && { min }), ...(max !== undefined && { max }) } };
}

export function companyOrder({ sort, descending }: CompanySearch): CompanyOrder | null {
  return sort ? { field: sort, direction: descending ? 'DESC' : 'ASC' } : null;
}
