import { BadUserInput } from '../../errors.js';
import { type PageArguments, pageRequest, windowOf } from '../../graphql/connection.js';
import { type ListId, listId } from '../../graphql/cursor.js';
import { checkedDomains } from '../../graphql/input.js';
import { andThen, type MaybePromise } from '../../lib/maybe-promise.js';
import { type Companies, type CompanyConditions, companiesByDomain, preparedFilter } from './filter.js';
import { type CompanySorting, orderKey } from './order.js';

/** Which companies of a market to list, and in which order, as the arguments of `Market.companies`. */
export interface CompanyListing {
  readonly filter?: CompanyConditions | null | undefined;
  readonly orderBy?: CompanySorting | null | undefined;
}

/** Which companies to export, as `CompanySelection` in the schema: exactly one member is set. */
export interface CompanyChoice {
  readonly all?: boolean | null | undefined;
  readonly visible?: (PageArguments & CompanyListing) | null | undefined;
  readonly matching?: CompanyConditions | null | undefined;
  readonly domains?: readonly string[] | null | undefined;
}

/** The list that `Market.companies` pages through. @param filterArgument the name of the filter in errors. @throws BadUserInput if the filter is invalid. */
export function companyListId(
  marketId: string,
  { filter, orderBy }: CompanyListing,
  filterArgument = 'filter',
): ListId {
  const order = orderBy == null ? '' : orderKey(orderBy);
  return listId('companies', marketId, preparedFilter(filter ?? {}, filterArgument).key, order);
}

/** Lists the companies of a market. @param filterArgument the name of the filter in errors. */
type ListCompanies = (listing: CompanyListing, filterArgument?: string) => MaybePromise<Companies>;

const maxDomainsInMessage = 5;

/**
 * The companies of a selection (docs/upstream-api.md: Export to API): all of a market, one page, those that match a filter, or those with the given
 * domains.
 * @throws BadUserInput if the selection is invalid, before the companies are listed; also if a domain is not in the market.
 */
export function selectedCompanies(
  marketId: string,
  { all, visible, matching, domains }: CompanyChoice,
  argument: string,
  list: ListCompanies,
): MaybePromise<Companies> {
  for (const [filter, at] of [
    [visible?.filter, 'visible.filter'],
    [matching, 'matching'],
  ] as const) {
    if (filter?.domains?.length === 0) throw new BadUserInput(`${argument}.${at}.domains`, 'selects no company');
  }
  if (visible != null) {
    const page = pageRequest(
      visible,
      companyListId(marketId, visible, `${argument}.visible.filter`),
      `${argument}.visible.`,
    );
    return andThen(list(visible, `${argument}.visible.filter`), companies => {
      const { start, end } = windowOf(page, companies.length);
      return companies.slice(start, end);
    });
  }
  if (domains != null) {
    const wanted = selectedDomains(domains, argument);
    return andThen(list({}), companies => withDomains(companies, wanted, `${argument}.domains`));
  }
  if (matching == null && all !== true) {
    throw new BadUserInput(
      `${argument}.all`,
      'must be true; use visible, matching or domains to export some of the companies',
    );
  }
  return list({ filter: matching }, `${argument}.matching`);
}

/** The domains of a selection, checked, without duplicates. @throws BadUserInput */
export function selectedDomains(domains: readonly string[], argument: string): readonly string[] {
  return checkedDomains('CompanySelection.domains', domains, `${argument}.domains`);
}

function withDomains(companies: Companies, domains: readonly string[], argument: string): Companies {
  const wanted = new Set(domains.map(domain => domain.toLowerCase()));
  const known = companiesByDomain(companies);
  const missing = [...wanted].filter(domain => !known.has(domain));
  if (missing.length === 0) return companies.filter(({ domain }) => wanted.has(domain.toLowerCase()));
  const some = missing.slice(0, maxDomainsInMessage).join(', ');
  throw new BadUserInput(argument, `${missing.length} of the domains are not in the market: ${some}`);
}
