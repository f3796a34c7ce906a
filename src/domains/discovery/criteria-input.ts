import { BadUserInput } from '../../errors.js';
import type { SearchCriteriaInput } from '../../generated/schema-types.js';
import { plainText } from '../../graphql/input.js';
import { boundedList, type ListCoordinate } from '../../graphql/limits/list-bounds.js';
import { criteriaMembers, keywordMembers, locationMembers } from './model.js';

const maxTextLength = 10_000;
const texts = ['userPrompt', 'marketName', 'marketType', 'marketRole', 'projectKind'] as const;

/**
 * Converts search criteria to the service's format (docs/upstream-api.md: Search criteria), without members that are null or left out. Criteria
 * that were read pass unchanged, so texts may be empty and contain any character. They only become part of a JSON body.
 * @throws BadUserInput
 */
export function criteriaBody(input: SearchCriteriaInput, argument: string): Record<string, unknown> {
  const { attributes, keywords, locations, ...members } = input;
  for (const member of texts) checkText(members[member], `${argument}.${member}`);
  checkTexts('SearchCriteriaInput.seedDomains', members.seedDomains, `${argument}.seedDomains`);
  if (members.count != null && members.count < 1) throw new BadUserInput(`${argument}.count`, 'must be 1 or more');
  return {
    ...checkedAttributes(attributes, criteriaMembers, `${argument}.attributes`),
    ...withoutNulls(members),
    ...(keywords != null && { keywords: checkedKeywords(keywords, `${argument}.keywords`) }),
    ...(locations != null && { locations: checkedLocations(locations, `${argument}.locations`) }),
  };
}

/** Checks a question in natural language, which may contain line breaks. @throws BadUserInput */
export function checkedPrompt(text: string, argument: string): string {
  plainText(text.replaceAll(/[\n\r\t]/g, ' '), argument, maxTextLength);
  return text;
}

const withoutNulls = (members: object) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value != null));

function checkText(text: string | null | undefined, argument: string): void {
  if (text != null && text.length > maxTextLength)
    throw new BadUserInput(argument, `must be at most ${maxTextLength} characters`);
}

function checkTexts(coordinate: ListCoordinate, list: readonly string[] | null | undefined, argument: string): void {
  const bounded = boundedList(coordinate, list ?? [], argument);
  for (const [index, text] of bounded.entries()) checkText(text, `${argument}.${index}`);
}

type Attributes = SearchCriteriaInput['attributes'];

function checkedAttributes(attributes: Attributes, members: readonly string[], argument: string): Attributes {
  const known = members.find(member => attributes != null && Object.hasOwn(attributes, member));
  if (known !== undefined) throw new BadUserInput(argument, `must not contain ${known}, which has a field of its own`);
  return attributes;
}

function checkedKeywords({ attributes, ...lists }: NonNullable<SearchCriteriaInput['keywords']>, argument: string) {
  for (const member of ['features', 'user', 'synonyms', 'irrelevant'] as const) {
    checkTexts(`SearchKeywordsInput.${member}`, lists[member], `${argument}.${member}`);
  }
  return { ...checkedAttributes(attributes, keywordMembers, `${argument}.attributes`), ...lists };
}

function checkedLocations(locations: NonNullable<SearchCriteriaInput['locations']>, argument: string) {
  const bounded = boundedList('SearchCriteriaInput.locations', locations, argument);
  return bounded.map(({ attributes, ...location }, index) => {
    const at = `${argument}.${index}`;
    if (!/^[A-Za-z]{2}$/.test(location.countryCode)) throw new BadUserInput(`${at}.countryCode`, 'must be two letters');
    checkText(location.countryName, `${at}.countryName`);
    return { ...checkedAttributes(attributes, locationMembers, `${at}.attributes`), ...withoutNulls(location) };
  });
}
