import type { Lifetime } from '../../data/cache/lookup.js';
import type { Reader } from '../../data/reader.js';
import { andThen, type MaybePromise } from '../../lib/maybe-promise.js';
import { inTurn } from '../../lib/turns.js';
import { companiesRead, esgRead } from './client.js';
import { companiesByDomain } from './company-index.js';
import { type CompanyConditions, companySelection } from './filter.js';
import type { CompanyRecord, Esg } from './model.js';

/** A company, and the market it was read from. */
export interface Company extends CompanyRecord {
  readonly marketId: string;
}

/** What the companies room can load for one request. */
export interface CompaniesLoaders {
  all(marketId: string): MaybePromise<readonly CompanyRecord[]>;
  /**
   * The companies that pass a filter, all of them without one, in the service's order. Equal filters of one market are applied once.
   * @param argument what errors call the filter.
   * @throws BadUserInput where the filter is wrong, before the service is called.
   */
  matching(
    marketId: string,
    filter: CompanyConditions | null | undefined,
    argument: string,
  ): MaybePromise<readonly CompanyRecord[]>;
  /** The company of a domain, upper and lower case being one. */
  byDomain(marketId: string, domain: string): MaybePromise<CompanyRecord | undefined>;
  esg(marketId: string): MaybePromise<Esg>;
}

export function createCompaniesLoaders(
  reader: Reader,
  lifetimes: { readonly companies: Lifetime; readonly esg: Lifetime },
): CompaniesLoaders {
  const all = (marketId: string) => reader.read(companiesRead(marketId), lifetimes.companies);
  const selected = new Map<string, MaybePromise<readonly CompanyRecord[]>>();

  return {
    all,
    matching(marketId, filter, argument) {
      if (filter == null) return all(marketId);
      const selection = companySelection(filter, argument);
      const key = `${marketId} ${selection.key}`;
      let found = selected.get(key);
      if (found === undefined) {
        found = andThen(all(marketId), companies => inTurn(() => selection.from(companies)));
        selected.set(key, found);
      }
      return found;
    },
    byDomain: (marketId, domain) =>
      andThen(all(marketId), companies => companiesByDomain(companies).get(domain.toLowerCase())),
    esg: marketId => reader.read(esgRead(marketId), lifetimes.esg),
  };
}
