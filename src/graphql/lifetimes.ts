import { type GraphQLSchema, isObjectType } from 'graphql';
import type { Lifetime } from '../data/cache/lookup.js';

/** The field whose `@cacheControl` in the SDL says how long each kind of read is kept. */
const fields = {
  events: 'Query.events',
  observation: 'Query.observation',
  record: 'Market.name',
  topics: 'Market.topics',
  suggestions: 'Query.suggestMarkets',
  companies: 'Market.companies',
  esg: 'Market.esg',
  jobs: 'Market.jobs',
  criteria: 'Market.searchCriteria',
} as const;

/** How long each kind of read is kept. */
export type Lifetimes = Readonly<Record<keyof typeof fields, Lifetime>>;

/** After its time, an entry may stand in for a failing service for ten times as long. */
const graceFactor = 10;
/** An observation that the service does not know is not asked for again within this time. */
const absentObservationMs = 30_000;

/** The lifetimes that the schema states. @throws Error where a field has no `@cacheControl`. */
export function lifetimesOf(schema: GraphQLSchema): Lifetimes {
  const entries = Object.entries(fields).map(([kind, coordinate]) => {
    const maxAge = maxAgeOf(schema, coordinate) * 1_000;
    const absent = kind === 'observation' ? absentObservationMs : 0;
    return [kind, { maxAge, grace: maxAge * graceFactor, absent }];
  });
  return Object.fromEntries(entries);
}

function maxAgeOf(schema: GraphQLSchema, coordinate: string): number {
  const [typeName = '', fieldName = ''] = coordinate.split('.');
  const type = schema.getType(typeName);
  const field = isObjectType(type) ? type.getFields()[fieldName] : undefined;
  const directive = field?.astNode?.directives?.find(({ name }) => name.value === 'cacheControl');
  const value = directive?.arguments?.find(({ name }) => name.value === 'maxAge')?.value;
  if (value?.kind !== 'IntValue') throw new Error(`The schema gives ${coordinate} no @cacheControl(maxAge:)`);
  return Number(value.value);
}
