import type { Lifetime } from '../../data/cache/lookup.js';
import type { Reader } from '../../data/reader.js';
import { andThen, type MaybePromise } from '../../lib/maybe-promise.js';
import { runYielding } from '../../lib/turns.js';
import { companiesRead, esgRead } from './client.js';
import { type CompanyConditions, companiesByDomain, companySelection } from './filter.js';
import type { CompanyRecord } from './model.js';

/** A company with the market it belongs to. */
export interface Company extends CompanyRecord {
  readonly marketId: string;
}

/** The reads of the companies domain for one request. */
export type CompaniesLoaders = ReturnType<typeof createCompaniesLoaders>;

export function createCompaniesLoaders(reader: Reader, lifetimes: Readonly<Record<'companies' | 'esg', Lifetime>>) {
  const all = (marketId: string) => reader.read(companiesRead(marketId), lifetimes.companies);
  const selected = new Map<string, MaybePromise<readonly CompanyRecord[]>>();

  return {
    all,
    /**
     * The companies that match a filter, in the service's order; all companies if there is no filter. Equal filters are applied once for each
     * market.
     * @param argument the name of the filter in errors.
     * @throws BadUserInput if the filter is invalid, before the service is called.
     */
    matching(marketId: string, filter: CompanyConditions | null | undefined, argument: string) {
      if (filter == null) return all(marketId);
      const selection = companySelection(filter, argument);
      const key = `${marketId} ${selection.key}`;
      let found = selected.get(key);
      if (found === undefined) {
        found = andThen(all(marketId), companies => runYielding(() => selection.from(companies)));
        selected.set(key, found);
      }
      return found;
    },
    /** The company with this domain. Case does not matter. */
    byDomain: (marketId: string, domain: string) =>
      andThen(all(marketId), companies => companiesByDomain(companies).get(domain.toLowerCase())),
    esg: (marketId: string) => reader.read(esgRead(marketId), lifetimes.esg),
  };
}
