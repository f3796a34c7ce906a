import { BadUserInput } from '../../errors.js';
import { type PageArguments, pageRequest, windowOf } from '../../graphql/connection.js';
import { checkedDomains } from '../../graphql/input.js';
import { type Companies, type CompanyConditions, companiesByDomain } from './filter.js';
import type { CompanySorting } from './order.js';

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

/** A selection of companies, checked: a list, the name of its filter in errors, and which companies of the list are selected. */
interface PreparedSelection {
  readonly listing: CompanyListing;
  readonly filterArgument: string;
  /** @throws BadUserInput if a domain is not in the list. */
  pick(companies: Companies): Companies;
}

const maxDomainsInMessage = 5;

/**
 * Checks a selection (docs/upstream-api.md: Export to API): all companies, one page, those that match a filter, or those with the given
 * domains. A filter is checked when it is applied.
 * @throws BadUserInput
 */
export function preparedSelection(selection: CompanyChoice, argument: string): PreparedSelection {
  const { all, visible, matching, domains } = selection;
  if (visible != null) {
    const path = `${argument}.visible`;
    const { filter, orderBy, ...pageArguments } = visible;
    const page = pageRequest(pageArguments, `${path}.`);
    const pick = (companies: Companies) => {
      const { start, end } = windowOf(page, companies.length);
      return companies.slice(start, end);
    };
    return { listing: { filter, orderBy }, filterArgument: `${path}.filter`, pick };
  }
  const everything = { listing: { filter: matching }, filterArgument: `${argument}.matching` };
  if (domains != null) {
    const wanted = selectedDomains(domains, argument);
    return { ...everything, pick: companies => withDomains(companies, wanted, `${argument}.domains`) };
  }
  if (matching == null && all !== true) {
    throw new BadUserInput(
      `${argument}.all`,
      'must be true; use visible, matching or domains to export some of the companies',
    );
  }
  return { ...everything, pick: companies => companies };
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
