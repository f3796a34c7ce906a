/** Filters of the companies, as they stand in the address. */
export interface CompanySearch {
  readonly search?: string;
}

export function companySearch(search: Record<string, unknown>): CompanySearch {
  return typeof search.search === 'string' ? { search: search.search } : {};
}
