/** What each field costs: the upstream calls, and the work of the gateway itself. A field with a resolver must be in it, or the schema is not built. */

/** The arguments of a field that its cost depends on. */
interface CountedArguments {
  /** The size of the page, 0 to 100; undefined if the field is not paginated. */
  readonly size: number | undefined;
  /** Whether the client gives this argument, and not as null. */
  readonly has: (name: string) => boolean;
  /** The number of identifiers; undefined if the field takes no list of them. */
  readonly ids: number | undefined;
  /** `EVENT_STATISTICS_LIMIT`. */
  readonly statisticsLimit: number;
}

/** The most that a field costs, upstream and in the gateway itself. */
export interface FieldCost {
  /** Calls for one object that has the field. */
  readonly calls: number | ((given: CountedArguments) => number);
  /** Fields with the same name here share one call. Without it, only the same field with the same arguments shares its call. */
  readonly shares?: string;
  /** The type whose objects share the call. Without it: the type that has the field. */
  readonly per?: 'Market';
  /** How many objects the field returns for one object, if no argument says so. */
  readonly objects?: number;
  /** Records that the gateway filters, sorts or counts for one object. The same arguments on the same object do so only once. */
  readonly records?: (given: CountedArguments) => number;
  /** The cost of the field itself, without its selections, in values of a response. Default: 1. */
  readonly values?: number;
}

/**
 * An assumption: the service states no limit for the references of an event (docs/upstream-api.md: GET events). Most events have fewer than five.
 */
const referencesPerEvent = 10;

/** The assumed length of a list that nothing limits. */
export const listLength = 4;
/** The assumed number of companies of a market. */
const companiesPerMarket = 5_000;
/** The most countries that companies can operate in, rounded. */
const countries = 250;
/** The assumed number of NAICS codes of a market: about half of the codes there are. */
const industries = 1_000;
/** A field that is looked up costs as much as this many properties. */
const lookUp = 5;
/** A JSON object of unknown size. */
const json = 10;
/** An item of a list that the client identifies. Each item can fail separately, and an error costs as much as 200 properties. */
const identified = 200;

/** A selection of companies may be filtered and sorted. */
const selection = () => 2 * companiesPerMarket;
/** The most buckets of `eventStatistics`. */
export const maxBuckets = 1_000;
/** Counting 2,000 events costs as much as this many values. */
const statisticsValue = 10_000;
const objects = (number: number): FieldCost => ({ calls: 0, objects: number });
const facet = objects(100);
const found: FieldCost = { calls: 0, values: lookUp };
const record: FieldCost = { calls: 1, shares: 'record' };
/** Also where it is refused: its own error takes as long as finding it. */
const companies: FieldCost = { calls: 1, shares: 'companies', values: 6 * lookUp };
const call: FieldCost = { calls: 1, values: lookUp };
const write: FieldCost = { calls: 1 };
/** Works with what its parent has, or with what the gateway itself keeps. The calls of a subscription are those of its polls. */
const free: FieldCost = { calls: 0 };

/** A field without a resolver, whose value comes with its parent's response, costs no call. Retries do not count. */
export const costTable: Readonly<Record<string, FieldCost>> = {
  // The window lies on one page of the service, or on two adjacent ones, of which the first is read again if the list has changed. Its position may depend
  // on the length of the list.
  'Query.events': { calls: ({ has }) => (has('last') ? 4 : has('after') ? 3 : 1) },
  // The newest end of the list, before each of at most three pages: two calls; at most 36 in a long list that is not newest first. The pages are read apart
  // from those of an equal list without it.
  'EventConnection.updatesCursor': { calls: 111, values: lookUp },
  // The first page, twenty calls to find the newest events, and the pages of those.
  'Query.eventStatistics': {
    calls: ({ statisticsLimit }) => 21 + Math.ceil(statisticsLimit / 100),
    values: statisticsValue,
  },
  'EventStatistics.buckets': objects(maxBuckets),
  // All buckets together have at most as many severities as events are counted: 2,000 by default.
  'EventBucket.bySeverity': objects(2),
  'EventStatistics.alertTypes': facet,
  'EventStatistics.affectedDatapoints': facet,
  'EventStatistics.impactedEntities': facet,
  'EventStatistics.relevantEntities': facet,
  'EventStatistics.scores': objects(16),
  'Query.observation': call,
  'Query.observations': { calls: ({ ids }) => ids ?? 0, values: identified },
  'Query.suggestMarkets': call,
  'Query.market': free,
  'Query.markets': { calls: 0, values: identified },
  'Query.node': free,
  'Query.nodes': { calls: 0, values: identified },
  'Query.viewer': free,
  'Query.capabilities': free,
  'Query.export': free,
  'Query.exports': free,
  'Query.exportEndpoints': free,
  'Event.severity': free,
  'Event.likelihood': free,
  'Event.references': objects(referencesPerEvent),
  'EventReference.observation': call,
  'Market.name': record,
  'Market.subtitle': record,
  'Market.description': record,
  'Market.dateCreated': record,
  'Market.companyCount': record,
  'Market.headerImageUrl': record,
  'Market.reviewStatus': record,
  'Market.topics': call,
  'Market.companies': {
    ...companies,
    records: ({ has }) => companiesPerMarket * (Number(has('filter')) + Number(has('orderBy'))),
  },
  // An edge has a cursor, even where it is not selected.
  'CompanyConnection.edges': { calls: 0, values: 3 },
  'Market.companyFacets': { ...companies, records: ({ has }) => companiesPerMarket * (has('filter') ? 2 : 1) },
  'CompanyFacets.operatesIn': objects(countries),
  'CompanyFacets.naics': objects(industries),
  'Histogram.buckets': objects(20),
  'Market.company': companies,
  'Market.esg': { calls: 1, shares: 'esg', values: 2 * companiesPerMarket },
  'Company.esg': { calls: 1, shares: 'esg', per: 'Market', values: json },
  // The companies of a page share calls, at most one for each company. A company whose events the shared call cannot determine needs a call of its own.
  'Company.events': { calls: 2, values: 6 * lookUp },
  'Company.attributes': { calls: 0, values: json },
  'Company.id': free,
  'Company.market': free,
  'Market.jobs': call,
  'Market.searchCriteria': call,
  'Market.searchCriteriaHistory': call,
  'DiscoveryAlreadyRunning.jobs': call,
  'ExportEndpoint.id': free,
  'ExportDelivered.redirectUrl': free,
  'ExportReference.url': free,
  'Export.endpoint': found,
  'Export.endpointName': free,
  'Export.endpointUrl': free,
  'Export.isTest': free,
  'Export.market': free,
  'Export.outcome': free,
  'Export.result': free,
  'Export.retryOf': found,
  'Export.retriedBy': found,
  'Subscription.eventUpdates': free,
  'Subscription.exportProgress': free,
  'Subscription.jobProgress': free,
  'Mutation.signIn': write,
  'Mutation.signOut': free,
  'Mutation.createEmbedSession': write,
  'Mutation.createSearchCriteria': write,
  'Mutation.suggestKeywords': write,
  'Mutation.startDiscovery': write,
  // The jobs of both phases explain a refusal.
  'Mutation.reviewCompanies': { calls: 3 },
  'Mutation.publishMarket': { calls: 3 },
  'Mutation.registerExportEndpoint': free,
  'Mutation.updateExportEndpoint': free,
  'Mutation.deleteExportEndpoint': free,
  'Mutation.rotateExportEndpointSecret': free,
  // Four attempts at the client's endpoint.
  'Mutation.testExportEndpoint': { calls: 4 },
  // The companies and the file.
  'Mutation.exportMarketCsv': { calls: 2, records: selection },
  // The market, its companies, and four attempts at the client's endpoint.
  'Mutation.exportMarketToEndpoint': { calls: 6, records: selection },
  'Mutation.retryExport': { calls: 6, records: selection },
  // Introspection: the average lengths in this schema, rounded up. A test compares them.
  '__Schema.types': objects(140),
  '__Schema.directives': objects(10),
  '__Directive.args': objects(1),
  '__Type.fields': objects(3),
  '__Field.args': objects(0.2),
  '__Type.inputFields': objects(0.75),
  '__Type.enumValues': objects(0.75),
  '__Type.interfaces': objects(0.1),
  '__Type.possibleTypes': objects(0.05),
  // Half of the types of fields are lists or non-null, and few of them have more than three such wrappers.
  '__Type.ofType': objects(0.5),
};
