/** Arguments of a field as far as its cost depends on them. */
export interface CountedArguments {
  /** The size of the page, 0 to 100; undefined where the field has no such argument. */
  readonly first: number | undefined;
  /** Whether the page begins further down the list. */
  readonly after: boolean;
}

/** What a field may cost upstream. */
export interface FieldCost {
  /** The most calls for one object that the field is asked of. */
  readonly calls: number | ((given: CountedArguments) => number);
  /** Fields of one object that share a call bear one name here; without it, the same field with the same arguments shares it. */
  readonly shares?: string;
  /** The type whose objects share the call; without it, the type that the field is of. */
  readonly per?: 'Market';
  /** How many objects come of one, where no argument says so. */
  readonly objects?: number;
}

/**
 * The specification bounds the references of an event nowhere (spec.md: GET events). Most have fewer than five; this is the number that is
 * reckoned with.
 */
const referencesPerEvent = 10;

const record: FieldCost = { calls: 1, shares: 'record' };
const companies: FieldCost = { calls: 1, shares: 'companies' };
const call: FieldCost = { calls: 1 };

/**
 * The fields that call the service, and what for at most. One that the service's answer to its parent holds already is not here; a mutation
 * that is not here counts as one call. The retries of a read do not count.
 */
export const callTable: Readonly<Record<string, FieldCost>> = {
  // One page holds the window, or two neighbours do.
  'Query.events': { calls: ({ after }) => (after ? 2 : 1) },
  'Query.observation': call,
  'Query.suggestMarkets': call,
  'Event.references': { calls: 0, objects: referencesPerEvent },
  'EventReference.observation': call,
  'Market.name': record,
  'Market.subtitle': record,
  'Market.description': record,
  'Market.dateCreated': record,
  'Market.companyCount': record,
  'Market.headerImageUrl': record,
  'Market.reviewStatus': record,
  'Market.topics': call,
  'Market.companies': companies,
  'Market.company': companies,
  'Market.esg': { calls: 1, shares: 'esg' },
  'Company.esg': { calls: 1, shares: 'esg', per: 'Market' },
  // Together they take no more pages than they are; whose events those pages leave unclear is asked for alone.
  'Company.events': { calls: 2 },
  'Market.jobs': call,
  'Market.searchCriteria': call,
  'Market.searchCriteriaHistory': call,
  'DiscoveryAlreadyRunning.jobs': call,
  'Mutation.signOut': { calls: 0 },
  'Mutation.registerExportEndpoint': { calls: 0 },
  'Mutation.deleteExportEndpoint': { calls: 0 },
  // The market, its companies, and four attempts at the client's endpoint.
  'Mutation.exportMarketToEndpoint': { calls: 6 },
};
