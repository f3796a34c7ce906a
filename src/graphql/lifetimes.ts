import { type GraphQLSchema, getDirectiveValues, isObjectType } from 'graphql';
import type { Lifetimes, ReadFamily } from '../data/reader.js';

/** The field whose `@cacheControl` in the SDL says how long the responses of each endpoint family are cached. Only these fields have the directive. */
const fields: Readonly<Record<ReadFamily, string>> = {
  events: 'Query.events',
  observations: 'Query.observation',
  market: 'Market.name',
  topics: 'Market.topics',
  suggest: 'Query.suggestMarkets',
  companies: 'Market.companies',
  esg: 'Market.esg',
  jobs: 'Market.jobs',
  criteria: 'Market.searchCriteria',
};

/** While the service fails, an expired entry is served for ten times its lifetime. */
const graceFactor = 10;
/** How long the gateway remembers that an observation does not exist. */
const absentObservationMs = 30_000;

/** Reads the lifetimes from the schema. @throws Error if a field has no `@cacheControl`. */
export function lifetimesOf(schema: GraphQLSchema): Lifetimes {
  const entries = Object.entries(fields).map(([family, coordinate]) => {
    const maxAge = maxAgeOf(schema, coordinate) * 1_000;
    const absent = family === 'observations' ? absentObservationMs : 0;
    return [family, { maxAge, grace: maxAge * graceFactor, absent }];
  });
  return Object.fromEntries(entries) as Lifetimes;
}

function maxAgeOf(schema: GraphQLSchema, coordinate: string): number {
  const [typeName = '', fieldName = ''] = coordinate.split('.');
  const type = schema.getType(typeName);
  const field = isObjectType(type) ? type.getFields()[fieldName] : undefined;
  const directive = schema.getDirective('cacheControl');
  const { maxAge } = (directive && field?.astNode && getDirectiveValues(directive, field.astNode)) ?? {};
  if (typeof maxAge !== 'number') throw new Error(`${coordinate} has no @cacheControl(maxAge:) in the schema`);
  return maxAge;
}
