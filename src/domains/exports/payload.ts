import { known, type ReadNumber } from '../../data/upstream/schema-drift.js';

/** A company of the market as the service sends it. */
interface ExportCompany {
  readonly domain: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly score: ReadNumber | null;
  readonly overallMomentum: ReadNumber | null;
  readonly contactNumber: string | null;
  readonly contactEmail: string | null;
  readonly actualRevenue: ReadNumber | null;
  readonly naics: readonly {
    readonly code: string;
    readonly name: string | null;
    readonly level: ReadNumber | null;
    readonly isPrimary: boolean | null;
  }[];
  readonly operatesIn: readonly string[];
  readonly dunsNumbers: readonly string[];
}

/** The body of an outbound call, and how many companies were selected and are in it. */
export interface Payload {
  readonly body: string;
  readonly selected: number;
  readonly sent: number;
}

const maxCompanies = 500;

/**
 * The body of an export (docs/upstream-api.md: Outbound request body): the 500 companies with the highest score, in descending order.
 * Companies with equal scores keep their order.
 */
export function payloadOf(market: { id: string; name: string }, selected: readonly ExportCompany[]): Payload {
  const data = selected
    .toSorted((one, other) => scoreOf(other) - scoreOf(one))
    .slice(0, maxCompanies)
    .map(exportedFields);
  const body = { meta: { totalItems: selected.length }, market: { id: Number(market.id), name: market.name }, data };
  return { body: JSON.stringify(body), selected: selected.length, sent: data.length };
}

/** The body of a test: an export of no companies. */
export const testPayload: Payload = {
  body: JSON.stringify({ meta: { totalItems: 0, isTest: true }, market: null, data: [] }),
  selected: 0,
  sent: 0,
};

/** Companies without a score come last. */
function scoreOf({ score }: ExportCompany): number {
  return known(score) ?? -Number.MAX_VALUE;
}

/** The documented fields of a company record and no others, in the documented order (docs/upstream-api.md: Company record). */
function exportedFields(company: ExportCompany) {
  const { domain, name, description, contactNumber, contactEmail } = company;
  const [overallMomentum, actualRevenue] = [known(company.overallMomentum), known(company.actualRevenue)];
  return {
    ...{ domain, name, description, overallMomentum, contactNumber, contactEmail, actualRevenue },
    naics: company.naics.map(({ code, name, level, isPrimary }) => ({ code, name, level: known(level), isPrimary })),
    operatesIn: company.operatesIn,
    dunsNumbers: company.dunsNumbers,
  };
}
