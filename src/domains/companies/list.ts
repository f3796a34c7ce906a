// Lists of companies in memory: filtered, sorted, counted, and as an export sends them.
import { hash } from 'node:crypto';
import { isLeftOut, known, type LeftOut, present } from '../../data/parsing.js';
import { BadUserInput } from '../../errors.js';
import type { CompanyFilter, CompanyOrder, FloatRange } from '../../generated/schema-types.js';
import { plainText } from '../../graphql/input.js';
import { boundedList } from '../../graphql/list-bounds.js';
import { countValues } from '../../lib/count-values.js';
import { domainKey } from '../../lib/domain.js';
import { histogramOf } from '../../lib/histogram.js';
import { oncePerValue } from '../../lib/run.js';
import type { CompanyRecord } from './model.js';

export type Companies = readonly CompanyRecord[];
/** Also with those that cannot be read. */
export type CompanyList = readonly (CompanyRecord | LeftOut)[];

const maxCodeLength = 10;
const maxDunsLength = 20;
/** To search a text that repeats itself takes a time that grows with the length of both. */
const maxSearchLength = 100;

/** A text as a search compares it: in lower case, and in one form of Unicode. */
const searchable = (text: string) => text.normalize().toLowerCase().normalize();

/** A D-U-N-S number as a filter compares it: `15-048-3782` is `150483782`. */
const digitsOf = (number: string) => number.replaceAll(/[- ]/g, '');

const searchText = oncePerValue(({ name, domain, description }: CompanyRecord) =>
  searchable([name, domain, description].join('\n')),
);

/** The companies of a list, each domain once: the first record that can be read counts. Computed once for each list. */
export const distinctCompanies = oncePerValue((companies: CompanyList): CompanyList => {
  const domains = new Set<string>();
  const distinct = companies.filter(company => {
    const before = domains.size;
    return isLeftOut(company) || domains.add(domainKey(company.domain)).size > before;
  });
  return distinct.length < companies.length ? distinct : companies;
});

/** The companies by what identifies their domains. Computed once for each list. */
export const companiesByDomain = oncePerValue(
  (companies: Companies): ReadonlyMap<string, CompanyRecord> =>
    new Map(companies.map(company => [domainKey(company.domain), company])),
);

/**
 * Prepares a filter. An operation that uses a variable in several places passes the same filter to each.
 * @throws BadUserInput that names the member of the argument: `filter.search`.
 */
export const preparedFilter = oncePerValue((filter: CompanyFilter, argument: string) => {
  const setOf = (
    member: 'domains' | 'operatesIn' | 'naics' | 'dunsNumbers',
    keyOf: (value: string) => string,
    maxLength?: number,
  ): ReadonlySet<string> | undefined => {
    const [given, at] = [filter[member], `${argument}.${member}`];
    // An empty list of facets means any; one of domains selects nothing.
    if (given == null || (given.length === 0 && member !== 'domains')) return undefined;
    const bounded = boundedList(`CompanyFilter.${member}`, given, at);
    return new Set(bounded.map((value, index) => keyOf(plainText(value, `${at}.${index}`, maxLength))));
  };
  const text =
    filter.search == null ? undefined : searchable(plainText(filter.search, `${argument}.search`, maxSearchLength));
  const domains = setOf('domains', domainKey);
  const countries = setOf('operatesIn', searchable, maxSearchLength);
  const codes = setOf('naics', code => code, maxCodeLength);
  const numbers = setOf('dunsNumbers', digitsOf, maxDunsLength);
  const lengths = codes && [...new Set([...codes].map(code => code.length))];
  const revenue = checkedRange(filter.actualRevenue, `${argument}.actualRevenue`);
  const momentum = checkedRange(filter.overallMomentum, `${argument}.overallMomentum`);
  const matches = (company: CompanyRecord) =>
    (domains === undefined || domains.has(domainKey(company.domain))) &&
    (countries === undefined || present(company.operatesIn).some(country => countries.has(country))) &&
    (codes === undefined ||
      present(company.naics).some(({ code }) => lengths?.some(length => codes.has(code.slice(0, length))))) &&
    (numbers === undefined || present(company.dunsNumbers).some(number => numbers.has(digitsOf(number)))) &&
    (revenue === undefined || isWithin(company.actualRevenue, revenue)) &&
    (momentum === undefined || isWithin(company.overallMomentum, momentum)) &&
    (text === undefined || searchText(company).includes(text));
  const lists = [domains, countries, codes, numbers].map(values => values && [...values].sort());
  return {
    /** Short, and equal for filters that mean the same. */
    key: hash('sha256', JSON.stringify([text, ...lists, revenue, momentum])),
    matchesAll: [text, domains, countries, codes, numbers, revenue, momentum].every(
      condition => condition === undefined,
    ),
    /** The companies that match, in the order of the list. One pass with a few look-ups per company, however long the filter is. */
    from: (companies: Companies): Companies => companies.filter(matches),
  };
});

type Ends = readonly [min: number | null, max: number | null];

/** @throws BadUserInput if no number can be within the range. */
function checkedRange(range: FloatRange | null | undefined, argument: string): Ends | undefined {
  if (range == null) return undefined;
  const { min = null, max = null } = range;
  if (min !== null && max !== null && min > max) throw new BadUserInput(`${argument}.min`, 'must not be above max');
  return [min, max];
}

function isWithin(number: CompanyRecord['score'], [min, max]: Ends): boolean {
  const value = known(number);
  return value !== null && (min === null || value >= min) && (max === null || value <= max);
}

type SortKey = (company: CompanyRecord) => string | number | null;

/** Sorts a list in both directions, each once for each list, however many requests need it. */
const sorters = (keyOf: SortKey, compareKeys = compare) => ({
  ASC: oncePerValue((companies: Companies) => sort(companies, keyOf, compareKeys, 1)),
  DESC: oncePerValue((companies: Companies) => sort(companies, keyOf, compareKeys, -1)),
});

/** The order of names is the same in each gateway, wherever it runs. */
const names = new Intl.Collator('en', { sensitivity: 'accent' });

/** What each field compares. Case does not matter. */
const sortersByField = {
  SCORE: sorters(({ score }) => known(score)),
  NAME: sorters(
    ({ name }) => name,
    (one, other) => names.compare(`${one}`, `${other}`),
  ),
  DOMAIN: sorters(({ domain }) => domainKey(domain)),
  OVERALL_MOMENTUM: sorters(({ overallMomentum }) => known(overallMomentum)),
  ACTUAL_REVENUE: sorters(({ actualRevenue }) => known(actualRevenue)),
};

/** All companies of a list in an order. In both directions, those without the value come last, and equal ones are sorted by domain. */
export const sortedCompanies = (companies: Companies, { field, direction }: CompanyOrder): Companies =>
  sortersByField[field][direction](companies);

function sort(companies: Companies, keyOf: SortKey, compareKeys: typeof compare, sign: 1 | -1): Companies {
  return companies
    .map(company => ({ company, key: keyOf(company), domain: domainKey(company.domain) }))
    .sort((one, other) => {
      if (one.key === null || other.key === null) {
        return Number(one.key === null) - Number(other.key === null) || compare(one.domain, other.domain);
      }
      return sign * compareKeys(one.key, other.key) || compare(one.domain, other.domain);
    })
    .map(({ company }) => company);
}

function compare(one: string | number, other: string | number): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** How many companies a filter with each value of a list selects, the most frequent value first. Numbers are counted in ranges. Computed once. */
export const facetsOf = oncePerValue((companies: Companies) => {
  // No filter takes a longer code, and each length costs one more look-up for each code.
  const names = new Map<string, string | null>();
  for (const { naics } of companies) {
    for (const { code, name } of present(naics))
      if (code.length <= maxCodeLength) names.set(code, names.get(code) ?? name);
  }
  const lengths = [...new Set([...names.keys()].map(code => code.length))];
  const countries = countValues(companies, ({ operatesIn }) => present(operatesIn));
  // A filter matches a code by each of its beginnings.
  const codes = countValues(companies, ({ naics }) =>
    present(naics).flatMap(({ code }) => lengths.map(length => code.slice(0, length)).filter(part => names.has(part))),
  );
  const histogram = (numberOf: (company: CompanyRecord) => CompanyRecord['score']) =>
    histogramOf(companies.flatMap(company => known(numberOf(company)) ?? []));
  return {
    operatesIn: countries,
    naics: codes.map(({ value: code, count }) => ({ code, name: names.get(code) ?? null, count })),
    score: histogram(({ score }) => score),
    actualRevenue: histogram(({ actualRevenue }) => actualRevenue),
    overallMomentum: histogram(({ overallMomentum }) => overallMomentum),
  };
});

const maxExported = 500;

/** The documented fields of a company record, in the documented order (docs/upstream-api.md: Company record). */
const exportedFields = [
  ...(['domain', 'name', 'description', 'overallMomentum', 'contactNumber', 'contactEmail', 'actualRevenue'] as const),
  ...(['naics', 'operatesIn', 'dunsNumbers'] as const),
];

/** What an export sends (docs/upstream-api.md: Outbound request body): the 500 with the highest score, the highest first. Equal scores keep their order. */
export function exportedCompanies(companies: Companies) {
  const scoreOf = ({ score }: CompanyRecord) => known(score) ?? -Number.MAX_VALUE;
  const highest = companies.toSorted((one, other) => scoreOf(other) - scoreOf(one)).slice(0, maxExported);
  return highest.map(company => Object.fromEntries(exportedFields.map(field => [field, company[field]])));
}
