import { BadUserInput } from '../../errors.js';
import type { SearchCriteriaInput } from '../../generated/schema-types.js';
import { plainText } from '../../graphql/input.js';
import { boundedList, type ListCoordinate } from '../../graphql/limits/list-bounds.js';
import { criteriaMembers, keywordMembers, locationMembers } from './model.js';

const maxTextLength = 10_000;

/**
 * Converts search criteria to the service's format (docs/upstream-api.md: Search criteria), without members that are null or left out. Criteria
 * that were read pass unchanged, so texts may be empty and contain any character. They only become part of a JSON body.
 * @throws BadUserInput
 */
export function criteriaBody(input: SearchCriteriaInput, argument: string): Record<string, unknown> {
  const at = (member: string) => `${argument}.${member}`;
  const text = (member: 'userPrompt' | 'marketName' | 'marketType' | 'marketRole' | 'projectKind') =>
    input[member] == null ? undefined : checkedText(input[member], at(member));
  return {
    ...checkedAttributes(input.attributes, criteriaMembers, at('attributes')),
    userPrompt: text('userPrompt'),
    marketName: text('marketName'),
    marketType: text('marketType'),
    marketRole: text('marketRole'),
    keywords: input.keywords == null ? undefined : checkedKeywords(input.keywords, at('keywords')),
    seedDomains:
      input.seedDomains == null
        ? undefined
        : checkedTexts('SearchCriteriaInput.seedDomains', input.seedDomains, at('seedDomains')),
    projectKind: text('projectKind'),
    locations: input.locations == null ? undefined : checkedLocations(input.locations, at('locations')),
    count: input.count == null ? undefined : checkedCount(input.count, at('count')),
    performSearch: input.performSearch ?? undefined,
  };
}

/** Checks a question in natural language, which may contain line breaks. @throws BadUserInput */
export function checkedPrompt(text: string, argument: string): string {
  plainText(text.replaceAll(/[\n\r\t]/g, ' '), argument, maxTextLength);
  return text;
}

function checkedText(text: string, argument: string): string {
  if (text.length > maxTextLength) throw new BadUserInput(argument, `must be at most ${maxTextLength} characters`);
  return text;
}

function checkedTexts(coordinate: ListCoordinate, texts: readonly string[], argument: string): readonly string[] {
  for (const [index, text] of boundedList(coordinate, texts, argument).entries())
    checkedText(text, `${argument}.${index}`);
  return texts;
}

type Attributes = SearchCriteriaInput['attributes'];

function checkedAttributes(attributes: Attributes, members: readonly string[], argument: string): Attributes {
  const known = members.find(member => attributes != null && Object.hasOwn(attributes, member));
  if (known !== undefined) throw new BadUserInput(argument, `must not contain ${known}, which has a field of its own`);
  return attributes;
}

function checkedKeywords({ attributes, ...lists }: NonNullable<SearchCriteriaInput['keywords']>, argument: string) {
  for (const member of ['features', 'user', 'synonyms', 'irrelevant'] as const) {
    checkedTexts(`SearchKeywordsInput.${member}`, lists[member], `${argument}.${member}`);
  }
  return { ...checkedAttributes(attributes, keywordMembers, `${argument}.attributes`), ...lists };
}

function checkedLocations(locations: NonNullable<SearchCriteriaInput['locations']>, argument: string) {
  const bounded = boundedList('SearchCriteriaInput.locations', locations, argument);
  return bounded.map(({ countryCode, countryName, attributes }, index) => {
    const at = `${argument}.${index}`;
    if (!/^[A-Za-z]{2}$/.test(countryCode)) throw new BadUserInput(`${at}.countryCode`, 'must be two letters');
    return {
      ...checkedAttributes(attributes, locationMembers, `${at}.attributes`),
      countryCode,
      countryName: countryName == null ? undefined : checkedText(countryName, `${at}.countryName`),
    };
  });
}

function checkedCount(count: number, argument: string): number {
  if (count < 1) throw new BadUserInput(argument, 'must be 1 or more');
  return count;
}
