import { known } from '../../data/upstream/schema-drift.js';
import { BadUserInput } from '../../errors.js';
import { plainText } from '../../graphql/input.js';
import { boundedList } from '../../graphql/limits/list-bounds.js';
import { oncePerValue } from '../../lib/once-per-value.js';
import type { CompanyRecord } from './model.js';

export type Companies = readonly CompanyRecord[];

/** A prepared filter. */
export interface PreparedFilter {
  /** Equal for filters that mean the same. */
  readonly key: string;
  /** The companies that match, in the order of the list. One pass with a few look-ups per company, however long the filter is. */
  from(companies: Companies): Companies;
}

/** A range of numbers that includes its ends, as `FloatRange` in the schema. */
export interface FloatRange {
  readonly min?: number | null;
  readonly max?: number | null;
}

/** The conditions of a filter, as `CompanyFilter` in the schema. */
export interface CompanyConditions {
  readonly search?: string | null;
  readonly domains?: readonly string[] | null;
  readonly operatesIn?: readonly string[] | null;
  readonly naics?: readonly string[] | null;
  readonly actualRevenue?: FloatRange | null;
  readonly overallMomentum?: FloatRange | null;
}

const maxCodeLength = 10;
/** To search a text that repeats itself takes a time that grows with the length of both. */
const maxSearchLength = 100;

/** The text that a search looks at, in lower case, in the order of the list. Computed once for each list. */
const searchTexts = oncePerValue((companies: Companies): readonly string[] =>
  companies.map(({ name, domain, description }) => [name, domain, description].join('\n').toLowerCase()),
);

/** The companies by their lower-case domain; the first one if several share a domain. Computed once for each list. */
export const companiesByDomain = oncePerValue(
  (companies: Companies): ReadonlyMap<string, CompanyRecord> =>
    new Map(companies.map(company => [company.domain.toLowerCase(), company] as const).reverse()),
);

type ListMember = 'domains' | 'operatesIn' | 'naics';

/** A list of a filter, in lower case. The key is equal for lists that mean the same. */
interface PreparedList {
  readonly values: ReadonlySet<string>;
  readonly key: string;
}

/** The prepared lists of an array. An operation that uses a variable in several places passes the same array to each. */
const preparedListsOf = oncePerValue((_: readonly string[]) => new Map<ListMember, PreparedList>());

/** Prepares a filter. @throws BadUserInput that names the member of the argument: `filter.search`. */
export function preparedFilter(filter: CompanyConditions, argument: string): PreparedFilter {
  const prepare = (member: ListMember, maxLength?: number): PreparedList | undefined => {
    const [given, at] = [filter[member], `${argument}.${member}`];
    // An empty list of facets means any; one of domains selects nothing.
    if (given == null || (given.length === 0 && member !== 'domains')) return undefined;
    const known = preparedListsOf(given).get(member);
    if (known !== undefined) return known;
    const bounded = boundedList(`CompanyFilter.${member}`, given, at);
    const values = new Set(bounded.map((value, index) => plainText(value, `${at}.${index}`, maxLength).toLowerCase()));
    const prepared = { values, key: JSON.stringify([...values].sort()) };
    preparedListsOf(given).set(member, prepared);
    return prepared;
  };
  const text =
    filter.search == null ? undefined : plainText(filter.search, `${argument}.search`, maxSearchLength).toLowerCase();
  const lists = [prepare('domains'), prepare('operatesIn'), prepare('naics', maxCodeLength)] as const;
  const [domains, countries, codes] = lists.map(list => list?.values);
  const lengths = codes && [...new Set([...codes].map(code => code.length))];
  const revenue = checkedRange(filter.actualRevenue, `${argument}.actualRevenue`);
  const momentum = checkedRange(filter.overallMomentum, `${argument}.overallMomentum`);
  const matches = ({ domain, operatesIn, naics, actualRevenue, overallMomentum }: CompanyRecord) =>
    (domains === undefined || domains.has(domain.toLowerCase())) &&
    (countries === undefined || operatesIn.some(country => countries.has(country.toLowerCase()))) &&
    (codes === undefined || naics.some(({ code }) => lengths?.some(length => codes.has(code.slice(0, length))))) &&
    (revenue === undefined || isWithin(actualRevenue, revenue)) &&
    (momentum === undefined || isWithin(overallMomentum, momentum));
  return {
    key: JSON.stringify([text, ...lists.map(list => list?.key), revenue, momentum]),
    from(companies) {
      if (text === undefined) return companies.filter(matches);
      const texts = searchTexts(companies);
      return companies.filter((company, index) => texts[index]?.includes(text) && matches(company));
    },
  };
}

/** The ends of a range; null for an open one. */
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
