import { BadUserInput } from '../errors.js';
import type { CompanyFilter } from '../generated/schema-types.js';
import { plainText } from '../input.js';
import type { CompanyRecord } from './model.js';

const mostValues = 10_000;

/** A filter of the schema as a test of one company. @throws BadUserInput that names the member: `filter.search`. */
export function companyTest(filter: CompanyFilter | null | undefined): (company: CompanyRecord) => boolean {
  const text = filter?.search == null ? undefined : plainText(filter.search, 'filter.search').toLowerCase();
  const domains = lowerCased(filter?.domains, 'filter.domains');
  const countries = lowerCased(filter?.operatesIn, 'filter.operatesIn');
  const codes = lowerCased(filter?.naics, 'filter.naics');
  return company =>
    (text === undefined || textOf(company).includes(text)) &&
    (domains === undefined || domains.has(company.domain.toLowerCase())) &&
    (countries === undefined || company.operatesIn.some(country => countries.has(country.toLowerCase()))) &&
    (codes === undefined || company.naics.some(({ code }) => [...codes].some(wanted => code.startsWith(wanted))));
}

const textOf = ({ name, domain, description }: CompanyRecord) => [name, domain, description].join('\n').toLowerCase();

function lowerCased(values: readonly string[] | null | undefined, argument: string): ReadonlySet<string> | undefined {
  if (values == null) return undefined;
  if (values.length > mostValues) throw new BadUserInput(argument, `must be at most ${mostValues} values`);
  return new Set(values.map(value => plainText(value, argument).toLowerCase()));
}
