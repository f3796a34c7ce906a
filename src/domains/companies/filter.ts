import { plainText } from '../../graphql/input.js';
import { boundedList } from '../../graphql/limits/list-bounds.js';
import { oncePerValue } from '../../lib/once-per-value.js';
import { searchTexts } from './company-index.js';
import type { CompanyRecord } from './model.js';

/** Which companies of a market are wanted. */
export interface CompanySelection {
  /** The same for filters that mean the same. */
  readonly key: string;
  /** Those of the list that are wanted, in its order. One pass, in which each company takes a few look-ups, however long the filter is. */
  from(companies: readonly CompanyRecord[]): readonly CompanyRecord[];
}

/** What a company must have to be selected, as `CompanyFilter` of the schema. */
export interface CompanyConditions {
  readonly search?: string | null;
  readonly domains?: readonly string[] | null;
  readonly operatesIn?: readonly string[] | null;
  readonly naics?: readonly string[] | null;
}

const longestCode = 10;

type ListMember = 'domains' | 'operatesIn' | 'naics';

/** A list of a filter, in lower case. Lists that mean the same have the same key. */
interface PreparedList {
  readonly values: ReadonlySet<string>;
  readonly key: string;
}

/** The prepared forms of a list: the list of a variable is the same array wherever the operation uses the variable. */
const formsOf = oncePerValue((_: readonly string[]) => new Map<ListMember, PreparedList>());

/** A filter, prepared for any number of companies. @throws BadUserInput that names the member of the argument: `filter.search`. */
export function companySelection(filter: CompanyConditions, argument: string): CompanySelection {
  const listOf = (member: ListMember, longest?: number): PreparedList | undefined => {
    const [given, at] = [filter[member], `${argument}.${member}`];
    if (given == null) return undefined;
    const known = formsOf(given).get(member);
    if (known !== undefined) return known;
    const bounded = boundedList(`CompanyFilter.${member}`, given, at);
    const values = new Set(bounded.map(value => plainText(value, at, longest).toLowerCase()));
    const prepared = { values, key: JSON.stringify([...values].sort()) };
    formsOf(given).set(member, prepared);
    return prepared;
  };
  const text = filter.search == null ? undefined : plainText(filter.search, `${argument}.search`).toLowerCase();
  const lists = [listOf('domains'), listOf('operatesIn'), listOf('naics', longestCode)] as const;
  const [domains, countries, codes] = lists.map(list => list?.values);
  const lengths = codes && [...new Set([...codes].map(code => code.length))];
  const isWanted = ({ domain, operatesIn, naics }: CompanyRecord) =>
    (domains === undefined || domains.has(domain.toLowerCase())) &&
    (countries === undefined || operatesIn.some(country => countries.has(country.toLowerCase()))) &&
    (codes === undefined || naics.some(({ code }) => lengths?.some(length => codes.has(code.slice(0, length)))));
  return {
    key: JSON.stringify([text, ...lists.map(list => list?.key)]),
    from(companies) {
      if (text === undefined) return companies.filter(isWanted);
      const texts = searchTexts(companies);
      return companies.filter((company, index) => texts[index]?.includes(text) && isWanted(company));
    },
  };
}
