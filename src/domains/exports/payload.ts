import { BadUserInput } from '../../errors.js';

/** A company of the market, as the service gives it; `score` is among the attributes. */
export interface ExportCompany {
  readonly domain: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly overallMomentum: number | null;
  readonly contactNumber: string | null;
  readonly contactEmail: string | null;
  readonly actualRevenue: number | null;
  readonly naics: readonly {
    readonly code: string;
    readonly name: string | null;
    readonly level: number | null;
    readonly isPrimary: boolean | null;
  }[];
  readonly operatesIn: readonly string[];
  readonly dunsNumbers: readonly string[];
  readonly attributes: Readonly<Record<string, unknown>> | null;
}

/** Which companies of a market are exported (docs/upstream-api.md: Export to API): all, one page, or those named. */
export type Choice =
  | { readonly kind: 'all' }
  | { readonly kind: 'visible'; readonly offset: number; readonly size: number }
  | { readonly kind: 'domains'; readonly domains: readonly string[] };

/** The body of the call, and how many companies were selected and are in it. */
export interface Payload {
  readonly body: string;
  readonly selected: number;
  readonly sent: number;
}

const mostCompanies = 500;
const mostNamed = 5;

/** The companies chosen of those that pass the filter. @throws BadUserInput where that is none, or where a domain is none of the market's. */
export function chosen(
  companies: readonly ExportCompany[],
  choice: Choice,
  argument: string,
): readonly ExportCompany[] {
  const found = pick(companies, choice, argument);
  if (found.length === 0) throw new BadUserInput(argument, 'selects no company');
  return found;
}

function pick(companies: readonly ExportCompany[], choice: Choice, argument: string): readonly ExportCompany[] {
  switch (choice.kind) {
    case 'all':
      return companies;
    case 'visible':
      return companies.slice(choice.offset, choice.offset + choice.size);
    case 'domains': {
      const wanted = new Set(choice.domains.map(domain => domain.toLowerCase()));
      const found = companies.filter(({ domain }) => wanted.has(domain.toLowerCase()));
      for (const { domain } of found) wanted.delete(domain.toLowerCase());
      if (wanted.size === 0) return found;
      const some = [...wanted].slice(0, mostNamed).join(', ');
      throw new BadUserInput(`${argument}.domains`, `${wanted.size} are not in the market: ${some}`);
    }
  }
}

/** The body of an export (docs/upstream-api.md: Outbound request body): the first 500 by score, those of equal score in the service's order. */
export function payloadOf(market: { id: string; name: string }, selected: readonly ExportCompany[]): Payload {
  const data = selected
    .toSorted((one, other) => scoreOf(other) - scoreOf(one))
    .slice(0, mostCompanies)
    .map(companyRecord);
  const body = { meta: { totalItems: selected.length }, market: { id: Number(market.id), name: market.name }, data };
  return { body: JSON.stringify(body), selected: selected.length, sent: data.length };
}

/** A company without a score comes after those that have one. */
function scoreOf({ attributes }: ExportCompany): number {
  return typeof attributes?.score === 'number' ? attributes.score : -Number.MAX_VALUE;
}

/** The fields of the specification, in its order, and no others (docs/upstream-api.md: Company record). */
function companyRecord(company: ExportCompany) {
  const { domain, name, description, overallMomentum, contactNumber, contactEmail, actualRevenue } = company;
  return {
    ...{ domain, name, description, overallMomentum, contactNumber, contactEmail, actualRevenue },
    naics: company.naics.map(({ code, name, level, isPrimary }) => ({ code, name, level, isPrimary })),
    operatesIn: company.operatesIn.map(country => country.toLowerCase()),
    dunsNumbers: company.dunsNumbers,
  };
}
