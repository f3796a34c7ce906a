import type { Scope } from '../../auth/credentials.js';
import type { Reader } from '../../data/reader.js';
import { BadUserInput } from '../../errors.js';
import { andThen, type MaybePromise } from '../../lib/maybe-promise.js';
import { runYielding } from '../../lib/run-yielding.js';
import { companiesRead, esgRead } from './client.js';
import { facetsOf } from './facets.js';
import { type Companies, type CompanyConditions, companiesByDomain, preparedFilter } from './filter.js';
import type { CompanyRecord } from './model.js';
import { orderKey, sortedCompanies } from './order.js';
import { type CompanyChoice, type CompanyListing, selectedCompanies } from './selection.js';

/** A company with the market it belongs to. */
export interface Company extends CompanyRecord {
  readonly marketId: string;
}

/** The reads of the companies domain for one request. @param client whose requests they are: clients take turns in computing lists. */
export function createCompaniesLoaders(reader: Reader, client: Scope | undefined) {
  const all = (marketId: string) => reader.read(companiesRead(marketId));
  const lists = new Map<string, MaybePromise<Companies>>();

  /** Computes a list once for each key, in turns with the work of other requests. */
  function once(key: string, companies: MaybePromise<Companies>, compute: (companies: Companies) => Companies) {
    const list = lists.get(key) ?? andThen(companies, found => runYielding(client, () => compute(found)));
    lists.set(key, list);
    return list;
  }

  /** The companies that match a filter, in the service's order. */
  function matching(marketId: string, filter: CompanyConditions | null | undefined, argument: string) {
    if (filter == null) return { key: marketId, companies: all(marketId) };
    const { key, from } = preparedFilter(filter, argument);
    const filterKey = `${marketId} ${key}`;
    return { key: filterKey, companies: once(filterKey, all(marketId), from) };
  }

  /**
   * The companies that match a filter, in an order; without `orderBy`, in the service's order. Equal arguments are computed once for each
   * market.
   * @param filterArgument the name of the filter in errors.
   * @throws BadUserInput if the filter is invalid, before the service is called.
   */
  function list(
    marketId: string,
    { filter, orderBy }: CompanyListing,
    filterArgument = 'filter',
  ): MaybePromise<Companies> {
    const { key, companies } = matching(marketId, filter, filterArgument);
    if (orderBy == null) return companies;
    const order = orderKey(orderBy);
    const sorted = () => once(`${order} ${marketId}`, all(marketId), list => sortedCompanies(list, orderBy));
    if (filter == null) return sorted();
    return andThen(companies, selected =>
      once(`${order} ${key}`, sorted(), list => {
        const isSelected = new Set(selected);
        return list.filter(company => isSelected.has(company));
      }),
    );
  }

  return {
    list,
    /**
     * The companies of a selection, at least one.
     * @throws BadUserInput if the selection is invalid, before the service is called; also if it selects no company, or a domain that is not in
     * the market.
     */
    selected(marketId: string, selection: CompanyChoice, argument: string): MaybePromise<Companies> {
      const companies = selectedCompanies(marketId, selection, argument, (...listing) => list(marketId, ...listing));
      return andThen(companies, selected => {
        if (selected.length === 0) throw new BadUserInput(argument, 'selects no company');
        return selected;
      });
    },
    /** The values of the companies that match a filter. @throws BadUserInput if the filter is invalid, before the service is called. */
    facets: (marketId: string, filter: CompanyConditions | null | undefined) =>
      andThen(matching(marketId, filter, 'filter').companies, companies =>
        runYielding(client, () => facetsOf(companies)),
      ),
    /** The company with this domain. Case does not matter. */
    byDomain: (marketId: string, domain: string) =>
      andThen(all(marketId), companies => companiesByDomain(companies).get(domain.toLowerCase())),
    esg: (marketId: string) => reader.read(esgRead(marketId)),
  };
}
