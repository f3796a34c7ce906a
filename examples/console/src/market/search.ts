import type { CompanyFilter, CompanyOrder, CompanyOrderField } from '../gql/graphql';
import { number, oneOf, reader, text, texts } from '../ui';

const ends = reader({ min: number, max: number });

/** A range of numbers. Undefined if it has no end. */
export function range(value: unknown): ReturnType<typeof ends> | undefined {
  const { min, max } = ends(Object(value));
  return min === undefined && max === undefined ? undefined : { min, max };
}

/** Filter and order of the companies, as they stand in the address. */
export const companySearch = reader({
  search: text,
  operatesIn: texts,
  naics: texts,
  actualRevenue: range,
  overallMomentum: range,
  sort: oneOf<CompanyOrderField>('NAME', 'SCORE', 'OVERALL_MOMENTUM', 'ACTUAL_REVENUE'),
  descending: oneOf(true, false),
  /** Domain of the company whose details are shown. */
  company: text,
});

export type CompanySearch = ReturnType<typeof companySearch>;

export const companyFilter = ({ sort, descending, company, ...filter }: CompanySearch): CompanyFilter => filter;

export const companyOrder = ({ sort, descending }: CompanySearch): CompanyOrder | null =>
  sort ? { field: sort, direction: descending ? 'DESC' : 'ASC' } : null;
