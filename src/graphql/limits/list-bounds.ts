import { BadUserInput } from '../../errors.js';

const mostDomains = 10_000;
const mostWords = 1_000;
const mostNames = 100;

/** The most values that each list argument takes, by the coordinate of its input field. Every list of the schema's inputs stands here. */
export const listBounds = {
  'CompanyFilter.domains': mostDomains,
  'CompanyFilter.operatesIn': 300,
  'CompanyFilter.naics': 1_000,
  'EventFilter.affectedDatapoints': mostNames,
  'EventFilter.alertTypes': mostNames,
  'EventFilter.impactedEntities': mostNames,
  'ExportCompaniesInput.domains': mostDomains,
  'ExportMarketCsvInput.domains': mostDomains,
  'RegisterExportEndpointInput.headers': 50,
  'ReviewTarget.domains': mostDomains,
  'SearchCriteriaInput.locations': 300,
  'SearchCriteriaInput.seedDomains': mostDomains,
  'SearchKeywordsInput.features': mostWords,
  'SearchKeywordsInput.irrelevant': mostWords,
  'SearchKeywordsInput.synonyms': mostWords,
  'SearchKeywordsInput.user': mostWords,
} as const;

/** Where a list argument stands in the schema: `CompanyFilter.naics`. */
export type ListCoordinate = keyof typeof listBounds;

/** A list argument, which is no longer than it may be. @param argument its path in the operation. @throws BadUserInput */
export function boundedList<T>(coordinate: ListCoordinate, values: readonly T[], argument: string): readonly T[] {
  const most = listBounds[coordinate];
  if (values.length > most) throw new BadUserInput(argument, `must be at most ${most} values`);
  return values;
}
