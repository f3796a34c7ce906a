import { type GraphQLSchema, isEnumType, isInputObjectType, isInterfaceType, isObjectType, isUnionType } from 'graphql';

/** Arguments of a field as far as its cost depends on them. */
export interface CountedArguments {
  /** The size of the page, 0 to 100; undefined where the field has no such argument. */
  readonly first: number | undefined;
  /** Whether the page begins further down the list. */
  readonly after: boolean;
  /** Whether it is given a filter. */
  readonly filter: boolean;
}

/** What a field may cost, upstream and in the gateway itself. */
export interface FieldCost {
  /** The most calls for one object that the field is asked of. */
  readonly calls: number | ((given: CountedArguments) => number);
  /** Fields of one object that share a call bear one name here; without it, the same field with the same arguments shares it. */
  readonly shares?: string;
  /** The type whose objects share the call; without it, the type that the field is of. */
  readonly per?: 'Market';
  /** How many objects come of one, where no argument says so. */
  readonly objects?: number;
  /** How many records the gateway looks through for one object. What shares arguments and an object is looked through once. */
  readonly records?: (given: CountedArguments) => number;
  /** How many values of the answer its own value takes as long as, without what is selected of it: 1 where it is left out. */
  readonly values?: number;
}

/**
 * The specification bounds the references of an event nowhere (docs/upstream-api.md: GET events). Most have fewer than five; this is the number that is
 * reckoned with.
 */
const referencesPerEvent = 10;

/** How long lists are reckoned to be whose length nothing says. */
export const listLength = 4;
/** How many companies a market is reckoned to have. */
export const companiesPerMarket = 5_000;
/** A field that is looked up takes as long as this many that are there. */
const lookUp = 5;
/** An object of JSON of which nothing is known. */
const json = 10;

const record: FieldCost = { calls: 1, shares: 'record' };
const companies: FieldCost = { calls: 1, shares: 'companies', values: lookUp };
const call: FieldCost = { calls: 1, values: lookUp };

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
  'Market.companies': { ...companies, records: ({ filter }) => (filter ? companiesPerMarket : 0) },
  'Market.company': companies,
  'Market.esg': { calls: 1, shares: 'esg', values: 2 * companiesPerMarket },
  'Company.esg': { calls: 1, shares: 'esg', per: 'Market', values: json },
  // Together they take no more pages than they are; whose events those pages leave unclear is asked for alone.
  'Company.events': { calls: 2, values: 6 * lookUp },
  'Company.attributes': { calls: 0, values: json },
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

/** What a question about the schema itself comes to, on average over its types: the lists of `__Schema` and `__Type` are as long as they are. */
export function introspectionTable(schema: GraphQLSchema): Readonly<Record<string, FieldCost>> {
  const types = Object.values(schema.getTypeMap());
  const directives = schema.getDirectives();
  const withFields = types.filter(type => isObjectType(type) || isInterfaceType(type));
  const fields = withFields.flatMap(type => Object.values(type.getFields()));
  const each = (count: number, of: readonly unknown[]): FieldCost => ({ calls: 0, objects: count / of.length });
  const count = <T>(of: readonly T[], parts: (one: T) => number) => of.reduce((sum, one) => sum + parts(one), 0);
  return {
    '__Schema.types': { calls: 0, objects: types.length },
    '__Schema.directives': { calls: 0, objects: directives.length },
    '__Directive.args': each(
      count(directives, directive => directive.args.length),
      directives,
    ),
    '__Type.fields': each(fields.length, types),
    '__Field.args': each(
      count(fields, field => field.args.length),
      fields,
    ),
    '__Type.inputFields': each(
      count(types.filter(isInputObjectType), type => Object.keys(type.getFields()).length),
      types,
    ),
    '__Type.enumValues': each(
      count(types.filter(isEnumType), type => type.getValues().length),
      types,
    ),
    '__Type.interfaces': each(
      count(withFields, type => type.getInterfaces().length),
      types,
    ),
    '__Type.possibleTypes': each(
      count(types.filter(isUnionType), type => type.getTypes().length),
      types,
    ),
    // Half of all types in fields are wrapped in a list or in non-null, and few more than three times.
    '__Type.ofType': { calls: 0, objects: 0.5 },
  };
}
