import { BadUserInput } from '../../errors.js';
import type { SearchCriteriaInput } from '../../generated/schema-types.js';
import { checkedDomains, plainText } from '../../graphql/input.js';
import { boundedList } from '../../graphql/limits/list-bounds.js';
import { criteriaMembers } from './model.js';

const longestText = 10_000;

/**
 * Search criteria in the service's form (docs/upstream-api.md: Search criteria), without what is null or was left out. Criteria that were read pass
 * unchanged, so texts may be empty and may hold any character: they go into a JSON body and nowhere else.
 * @throws BadUserInput
 */
export function criteriaBody(input: SearchCriteriaInput, argument: string): Record<string, unknown> {
  const at = (member: string) => `${argument}.${member}`;
  const text = (member: 'userPrompt' | 'marketName' | 'marketType' | 'marketRole' | 'projectKind') =>
    input[member] == null ? undefined : short(input[member], at(member));
  return {
    ...(input.attributes != null && others(input.attributes, at('attributes'))),
    userPrompt: text('userPrompt'),
    marketName: text('marketName'),
    marketType: text('marketType'),
    marketRole: text('marketRole'),
    keywords: input.keywords == null ? undefined : words(input.keywords, at('keywords')),
    seedDomains:
      input.seedDomains == null
        ? undefined
        : checkedDomains('SearchCriteriaInput.seedDomains', input.seedDomains, at('seedDomains'), 0),
    projectKind: text('projectKind'),
    locations: input.locations == null ? undefined : countries(input.locations, at('locations')),
    count: input.count == null ? undefined : positive(input.count, at('count')),
    performSearch: input.performSearch ?? undefined,
  };
}

/** A question in natural language, which may have lines. @throws BadUserInput */
export function prompt(text: string, argument: string): string {
  plainText(text.replaceAll(/[\n\r\t]/g, ' '), argument, longestText);
  return text;
}

function short(text: string, argument: string): string {
  if (text.length > longestText) throw new BadUserInput(argument, `must be at most ${longestText} characters`);
  return text;
}

function others(attributes: Record<string, unknown>, argument: string) {
  const known = criteriaMembers.find(member => Object.hasOwn(attributes, member));
  if (known !== undefined) throw new BadUserInput(argument, `must not hold ${known}, which has a field of its own`);
  return attributes;
}

function words(keywords: NonNullable<SearchCriteriaInput['keywords']>, argument: string) {
  for (const member of ['features', 'user', 'synonyms', 'irrelevant'] as const) {
    const at = `${argument}.${member}`;
    for (const word of boundedList(`SearchKeywordsInput.${member}`, keywords[member], at)) short(word, at);
  }
  return keywords;
}

function countries(locations: NonNullable<SearchCriteriaInput['locations']>, argument: string) {
  const bounded = boundedList('SearchCriteriaInput.locations', locations, argument);
  return bounded.map(({ countryCode, countryName }, index) => {
    const at = `${argument}.${index}`;
    if (!/^[A-Za-z]{2}$/.test(countryCode)) throw new BadUserInput(`${at}.countryCode`, 'must be two letters');
    return { countryCode, countryName: countryName == null ? undefined : short(countryName, `${at}.countryName`) };
  });
}

function positive(count: number, argument: string): number {
  if (count < 1) throw new BadUserInput(argument, 'must be 1 or more');
  return count;
}
