import { checkedDomains } from '../domains.js';
import { BadUserInput } from '../errors.js';
import type { SearchCriteriaInput } from '../generated/schema-types.js';
import { plainText } from '../input.js';

const longestName = 255;
const longestPrompt = 10_000;
const mostWords = 1_000;
const mostCountries = 300;

/** Search criteria in the service's form (spec.md: Search criteria), without what was left out. @throws BadUserInput */
export function criteriaBody(input: SearchCriteriaInput, argument: string): Record<string, unknown> {
  const at = (member: string) => `${argument}.${member}`;
  const text = (member: 'marketName' | 'marketType' | 'marketRole' | 'projectKind') =>
    input[member] == null ? undefined : plainText(input[member], at(member), longestName);
  return {
    userPrompt: input.userPrompt == null ? undefined : prompt(input.userPrompt, at('userPrompt')),
    marketName: text('marketName'),
    marketType: text('marketType'),
    marketRole: text('marketRole'),
    keywords: input.keywords == null ? undefined : words(input.keywords, at('keywords')),
    seedDomains: input.seedDomains == null ? undefined : checkedDomains(input.seedDomains, at('seedDomains'), 0),
    projectKind: text('projectKind'),
    locations: input.locations == null ? undefined : countries(input.locations, at('locations')),
    count: input.count == null ? undefined : positive(input.count, at('count')),
    performSearch: input.performSearch ?? undefined,
  };
}

/** A question in natural language, which may have lines. @throws BadUserInput */
export function prompt(text: string, argument: string): string {
  plainText(text.replaceAll(/[\n\r\t]/g, ' '), argument, longestPrompt);
  return text;
}

function words(keywords: NonNullable<SearchCriteriaInput['keywords']>, argument: string) {
  for (const [member, list] of Object.entries(keywords)) {
    const at = `${argument}.${member}`;
    if (list.length > mostWords) throw new BadUserInput(at, `must be at most ${mostWords} words`);
    for (const word of list) plainText(word, at, longestName);
  }
  return keywords;
}

function countries(locations: NonNullable<SearchCriteriaInput['locations']>, argument: string) {
  if (locations.length > mostCountries) throw new BadUserInput(argument, `must be at most ${mostCountries} countries`);
  for (const [index, { countryCode, countryName }] of locations.entries()) {
    const at = `${argument}.${index}`;
    if (!/^[A-Za-z]{2}$/.test(countryCode)) throw new BadUserInput(`${at}.countryCode`, 'must be two letters');
    plainText(countryName, `${at}.countryName`, longestName);
  }
  return locations;
}

function positive(count: number, argument: string): number {
  if (count < 1) throw new BadUserInput(argument, 'must be 1 or more');
  return count;
}
