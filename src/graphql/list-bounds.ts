import { BadUserInput } from '../errors.js';

const maxDomains = 10_000;
const maxWords = 1_000;
const maxNames = 100;

/** The maximum length of each list in the schema's inputs, by the coordinate of its input field or argument. A test checks that no list is missing. */
export const listBounds = {
  'CompanyFilter.domains': maxDomains,
  'CompanyFilter.operatesIn': 300,
  'CompanyFilter.naics': 1_000,
  'CompanyFilter.dunsNumbers': 1_000,
  'CompanySelection.domains': maxDomains,
  'EventFilter.affectedDatapoints': maxNames,
  'EventFilter.alertTypes': maxNames,
  'EventFilter.impactedEntities': maxNames,
  'Query.markets(ids:)': 50,
  'Query.nodes(nodeIds:)': 100,
  'Query.observations(ids:)': 100,
  'RegisterExportEndpointInput.headers': 50,
  'ReviewTarget.domains': maxDomains,
  'SearchCriteriaInput.locations': 300,
  'SearchCriteriaInput.seedDomains': maxDomains,
  'SearchKeywordsInput.features': maxWords,
  'SearchKeywordsInput.irrelevant': maxWords,
  'SearchKeywordsInput.synonyms': maxWords,
  'SearchKeywordsInput.user': maxWords,
  'UpdateExportEndpointInput.headers': 50,
} as const;

/** A list in the schema's inputs: `CompanyFilter.naics`, `Query.nodes(nodeIds:)`. */
export type ListCoordinate = keyof typeof listBounds;

/** Returns a list that is not too long. @param argument the path of the list within the arguments. @throws BadUserInput */
export function boundedList<T>(coordinate: ListCoordinate, values: readonly T[], argument: string): readonly T[] {
  const max = listBounds[coordinate];
  if (values.length > max) throw new BadUserInput(argument, `must contain at most ${max} values`);
  return values;
}
