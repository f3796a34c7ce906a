import { BadUserInput } from '../../errors.js';

/** A company of the market as the service sends it. */
export interface ExportCompany {
  readonly domain: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly score: number | null;
  readonly overallMomentum: number | null;
  readonly contactNumber: string | null;
  readonly contactEmail: string | null;
  readonly actualRevenue: number | null;
  readonly naics: readonly Readonly<
    Record<'code' | 'name' | 'level' | 'isPrimary', string | number | boolean | null>
  >[];
  readonly operatesIn: readonly string[];
  readonly dunsNumbers: readonly string[];
}

/** Which companies of a market to export (docs/upstream-api.md: Export to API): all, one page, or those with the given domains. */
export type CompanyChoice =
  | { readonly kind: 'all' }
  | { readonly kind: 'visible'; readonly offset: number; readonly size: number }
  | { readonly kind: 'domains'; readonly domains: readonly string[] };

/** The body of an outbound call, and how many companies were selected and are in it. */
export interface Payload {
  readonly body: string;
  readonly selected: number;
  readonly sent: number;
}

const mostCompanies = 500;
const mostDomainsInMessage = 5;

/**
 * The companies to export, out of those that match the filter.
 * @throws BadUserInput if the choice selects no company, or if a domain is not in the market.
 */
export function chosenCompanies(
  companies: readonly ExportCompany[],
  choice: CompanyChoice,
  argument: string,
): readonly ExportCompany[] {
  const chosen = choose(companies, choice, argument);
  if (chosen.length === 0) throw new BadUserInput(argument, 'selects no company');
  return chosen;
}

function choose(companies: readonly ExportCompany[], choice: CompanyChoice, argument: string) {
  switch (choice.kind) {
    case 'all':
      return companies;
    case 'visible':
      return companies.slice(choice.offset, choice.offset + choice.size);
    case 'domains': {
      const missing = new Set(choice.domains.map(domain => domain.toLowerCase()));
      const found = companies.filter(({ domain }) => missing.has(domain.toLowerCase()));
      for (const { domain } of found) missing.delete(domain.toLowerCase());
      if (missing.size === 0) return found;
      const some = [...missing].slice(0, mostDomainsInMessage).join(', ');
      throw new BadUserInput(`${argument}.domains`, `${missing.size} of the domains are not in the market: ${some}`);
    }
  }
}

/**
 * The body of an export (docs/upstream-api.md: Outbound request body): the 500 companies with the highest score, in descending order.
 * Companies with equal scores keep the order of the service.
 */
export function payloadOf(market: { id: string; name: string }, selected: readonly ExportCompany[]): Payload {
  const data = selected
    .toSorted((one, other) => scoreOf(other) - scoreOf(one))
    .slice(0, mostCompanies)
    .map(exportedFields);
  const body = { meta: { totalItems: selected.length }, market: { id: Number(market.id), name: market.name }, data };
  return { body: JSON.stringify(body), selected: selected.length, sent: data.length };
}

/** Companies without a score come last. */
function scoreOf({ score }: ExportCompany): number {
  return score ?? -Number.MAX_VALUE;
}

/** The documented fields of a company record and no others, in the documented order (docs/upstream-api.md: Company record). */
function exportedFields(company: ExportCompany) {
  const { domain, name, description, overallMomentum, contactNumber, contactEmail, actualRevenue } = company;
  return {
    ...{ domain, name, description, overallMomentum, contactNumber, contactEmail, actualRevenue },
    naics: company.naics.map(({ code, name, level, isPrimary }) => ({ code, name, level, isPrimary })),
    operatesIn: company.operatesIn.map(country => country.toLowerCase()),
    dunsNumbers: company.dunsNumbers,
  };
}
