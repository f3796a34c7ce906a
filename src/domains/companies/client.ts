// The reads and writes of the companies of a market.
import type { Scope } from '../../auth/credentials.js';
import { isLeftOut, presentOnce } from '../../data/parsing.js';
import { cachedFor, marketRead, ofMarket, type Reader, type ServiceEndpoint } from '../../data/reader.js';
import type { Write } from '../../data/writer.js';
import { BadUserInput } from '../../errors.js';
import type { CompanyPageInput, CompanySelection } from '../../generated/schema-types.js';
import { type ListId, listId, pageRequest, windowOf } from '../../graphql/connection.js';
import { checkedDomains } from '../../graphql/input.js';
import { domainKey } from '../../lib/domain.js';
import { andThen, type MaybePromise, runYielding } from '../../lib/run.js';
import {
  type Companies,
  type CompanyList,
  companiesByDomain,
  distinctCompanies,
  exportedCompanies,
  facetsOf,
  preparedFilter,
  sortedCompanies,
} from './list.js';
import { type CompanyRecord, companyList, companyPieces, csvExport, esgData } from './model.js';

export interface Company extends CompanyRecord {
  readonly marketId: string;
}

type CompanyListing = Pick<CompanyPageInput, 'filter' | 'orderBy'>;

export const companiesEndpoint: ServiceEndpoint = {
  ...ofMarket,
  family: 'companies',
  version: 1,
  lifetime: cachedFor(300),
  onlyPublished: true,
  // All of a market: tens of thousands.
  bounds: { bytes: 32 * 1024 * 1024, items: 500_000, members: 300_000 },
};
/** One object may have a member for each company. */
export const esgEndpoint: ServiceEndpoint = {
  ...companiesEndpoint,
  family: 'esg',
  version: 1,
  bounds: { ...companiesEndpoint.bounds, own: { members: 10_000, items: 10_000 } },
};

const maxDomainsInMessage = 5;
/** The argument that holds a selection. */
const selection = 'input.companies';

/** The reads of the companies domain for one request. @param client whose requests they are: clients take turns in computing lists. */
export function createCompaniesLoaders({ read }: Pick<Reader, 'read'>, client: Scope | undefined) {
  /** GET /v2/markets/{id}/companies: all companies of the market. */
  const all = (marketId: string) =>
    andThen(
      read({
        ...marketRead(marketId, companiesEndpoint, `/v2/markets/${marketId}/companies`, companyList),
        pieces: companyPieces,
      }),
      companies => distinctCompanies(companies),
    );
  const lists = new Map<string, MaybePromise<CompanyList>>();

  /**
   * The companies that match a filter, in an order; without `orderBy`, in the service's order. Equal arguments are computed once for each market. What
   * cannot be read has its place only in the service's order: it is behind all others in another one, and matches no filter.
   * @param filterArgument the name of the filter in errors. @throws BadUserInput if the filter is invalid, before the service is called.
   */
  function list(
    marketId: string,
    { filter, orderBy }: CompanyListing,
    filterArgument = 'filter',
  ): MaybePromise<CompanyList> {
    const given = filter == null ? undefined : preparedFilter(filter, filterArgument);
    const prepared = given?.matchesAll ? undefined : given;
    if (prepared === undefined && orderBy == null) return all(marketId);
    const key = `${marketId} ${orderBy?.field} ${orderBy?.direction} ${prepared?.key}`;
    const compute = (companies: CompanyList): CompanyList => {
      const readable = presentOnce(companies);
      const sorted = orderBy == null ? readable : sortedCompanies(readable, orderBy);
      if (prepared !== undefined) return prepared.from(sorted);
      return readable === companies ? sorted : [...sorted, ...companies.filter(isLeftOut)];
    };
    const found = lists.get(key) ?? andThen(all(marketId), companies => runYielding(client, () => compute(companies)));
    lists.set(key, found);
    return found;
  }

  const readable = (...listing: Parameters<typeof list>): MaybePromise<Companies> =>
    andThen(list(...listing), companies => presentOnce(companies));

  /** The companies of a selection (docs/upstream-api.md: Export to API). @throws as `selected` does. */
  function chosen(marketId: string, { visible, matching, domains }: CompanySelection): MaybePromise<Companies> {
    if (domains != null) {
      const wanted = selectedDomains(domains);
      return andThen(readable(marketId, {}), companies => withDomains(companies, wanted));
    }
    const filter = (visible == null ? matching : visible.filter) ?? null;
    const at = `${selection}.${visible == null ? 'matching' : 'visible.filter'}`;
    if (filter?.domains?.length === 0) throw new BadUserInput(`${at}.domains`, 'selects no company');
    if (visible == null) return readable(marketId, { filter }, at);
    const page = pageRequest(visible, companyListId(marketId, visible, at), `${selection}.visible.`);
    return andThen(readable(marketId, visible, at), companies => {
      const { start, end } = windowOf(page, companies.length);
      return companies.slice(start, end);
    });
  }

  /**
   * The companies of a selection, at least one. @throws BadUserInput if it is invalid, before the service is called; if it selects no company, or a
   * domain that is not in the market.
   */
  const selected = (marketId: string, choice: CompanySelection) =>
    andThen(chosen(marketId, choice), companies => {
      if (companies.length === 0) throw new BadUserInput(selection, 'selects no company');
      return companies;
    });

  return {
    list,
    selected,
    /** What an export sends of a selection, and how many companies that has. @throws as `selected` does */
    exported: (marketId: string, choice: CompanySelection) =>
      andThen(selected(marketId, choice), companies => ({
        selected: companies.length,
        data: exportedCompanies(companies),
      })),
    /** The values of the companies that match a filter. @throws BadUserInput if the filter is invalid, before the service is called. */
    facets: (marketId: string, listing: Pick<CompanyListing, 'filter'>) =>
      andThen(readable(marketId, listing), companies => runYielding(client, () => facetsOf(companies))),
    /** The company with this domain, however it is written. */
    byDomain: (marketId: string, domain: string) =>
      andThen(readable(marketId, {}), companies => companiesByDomain(companies).get(domainKey(domain))),
    /** GET /v2/markets/{id}/esg. */
    esg: (marketId: string) => read(marketRead(marketId, esgEndpoint, `/v2/markets/${marketId}/esg`, esgData)),
  };
}

/** Prepared once. */
const noConditions = {};

/** The list that `Market.companies` pages through. @param filterArgument the name of the filter in errors. @throws BadUserInput if the filter is invalid. */
export function companyListId(
  marketId: string,
  { filter, orderBy }: CompanyListing,
  filterArgument = 'filter',
): ListId {
  const order = orderBy == null ? '' : `${orderBy.field} ${orderBy.direction}`;
  return listId('companies', marketId, preparedFilter(filter ?? noConditions, filterArgument).key, order);
}

/** The domains of a selection, in lower case and without a dot at the end, checked, without duplicates. @throws BadUserInput */
export function selectedDomains(domains: readonly string[]): readonly string[] {
  const checked = checkedDomains('CompanySelection.domains', domains, `${selection}.domains`);
  return checked.map(domain => domain.toLowerCase().replace(/\.$/, ''));
}

function withDomains(companies: Companies, domains: readonly string[]): Companies {
  const wanted = new Set(domains.map(domainKey));
  const known = companiesByDomain(companies);
  const missing = domains.filter(domain => !known.has(domainKey(domain)));
  if (missing.length === 0) return companies.filter(({ domain }) => wanted.has(domainKey(domain)));
  const some = missing.slice(0, maxDomainsInMessage).join(', ');
  throw new BadUserInput(`${selection}.domains`, `${missing.length} of the domains are not in the market: ${some}`);
}

/** POST {api_url}/markets/{id}/export-csv. Returns the URL of the file. */
export function exportCsvWrite(marketId: string, domains: readonly string[]): Write<string> {
  return {
    request: {
      family: 'export-csv',
      address: 'api',
      method: 'POST',
      path: `/markets/${marketId}/export-csv`,
      body: { domainList: domains },
      record: { id: marketId, member: 'marketId' },
      argument: 'input',
      listed: { argument: 'input.companies', values: domains },
      safe: false,
    },
    success: csvExport,
  };
}
