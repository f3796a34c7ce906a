import { BadUserInput } from '../../errors.js';

const mostDomains = 10_000;
const mostWords = 1_000;
const mostNames = 100;

/** The maximum length of each list in the schema's inputs, by the coordinate of its input field or argument. A test checks that no list is missing. */
export const listBounds = {
  'CompanyFilter.domains': mostDomains,
  'CompanyFilter.operatesIn': 300,
  'CompanyFilter.naics': 1_000,
  'CompanySelection.domains': mostDomains,
  'EventFilter.affectedDatapoints': mostNames,
  'EventFilter.alertTypes': mostNames,
  'EventFilter.impactedEntities': mostNames,
  'Query.markets(ids:)': 50,
  'Query.nodes(nodeIds:)': 100,
  'Query.observations(ids:)': 100,
  'RegisterExportEndpointInput.headers': 50,
  'ReviewTarget.domains': mostDomains,
  'SearchCriteriaInput.locations': 300,
  'SearchCriteriaInput.seedDomains': mostDomains,
  'SearchKeywordsInput.features': mostWords,
  'SearchKeywordsInput.irrelevant': mostWords,
  'SearchKeywordsInput.synonyms': mostWords,
  'SearchKeywordsInput.user': mostWords,
} as const;

/** A list in the schema's inputs: `CompanyFilter.naics`, `Query.nodes(nodeIds:)`. */
export type ListCoordinate = keyof typeof listBounds;

/** Returns a list that is not too long. @param argument the path of the list within the arguments. @throws BadUserInput */
export function boundedList<T>(coordinate: ListCoordinate, values: readonly T[], argument: string): readonly T[] {
  const most = listBounds[coordinate];
  if (values.length > most) throw new BadUserInput(argument, `must contain at most ${most} values`);
  return values;
}
