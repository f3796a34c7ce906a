import { readdirSync, readFileSync } from 'node:fs';
import { makeExecutableSchema } from '@graphql-tools/schema';
import type { GraphQLObjectType, GraphQLSchema } from 'graphql';
import { companiesNodes, companiesResolvers } from './domains/companies/resolvers.js';
import { discoveryNodes, discoveryResolvers } from './domains/discovery/resolvers.js';
import { eventsNodes, eventsResolvers } from './domains/events/resolvers.js';
import { exportsNodes, exportsResolvers } from './domains/exports/resolvers.js';
import type { Market } from './domains/markets/model.js';
import { marketsNodes, marketsResolvers } from './domains/markets/resolvers.js';
import { sessionsResolvers } from './domains/sessions/resolvers.js';
import { watchesResolvers } from './domains/watches/resolvers.js';
import { namedIfRejected } from './graphql/input.js';
import { createNodeResolvers } from './graphql/node.js';
import { scalars } from './graphql/scalars.js';

const directory = new URL('../schema/', import.meta.url);

/** The contents of the SDL files in `schema/`. */
export function readTypeDefs(): string[] {
  const files = readdirSync(directory).filter(file => file.endsWith('.graphql'));
  return files.sort().map(file => readFileSync(new URL(file, directory), 'utf8'));
}

let schema: GraphQLSchema | undefined;

/** Combines the SDL and the resolvers of all domains into an executable schema. All gateways of a process share it. */
export function createSchema(): GraphQLSchema {
  if (schema !== undefined) return schema;
  schema = makeExecutableSchema({
    typeDefs: readTypeDefs(),
    resolvers: [
      scalars,
      eventsResolvers,
      marketsResolvers,
      companiesResolvers,
      discoveryResolvers,
      sessionsResolvers,
      exportsResolvers,
      watchesResolvers,
      createNodeResolvers({ ...eventsNodes, ...marketsNodes, ...companiesNodes, ...discoveryNodes, ...exportsNodes }),
    ],
    resolverValidationOptions: { requireResolversToMatchSchema: 'error' },
  });
  for (const field of Object.values((schema.getType('Market') as GraphQLObjectType<Market>).getFields())) {
    const { resolve } = field;
    if (resolve) field.resolve = (market, ...given) => namedIfRejected(market.argument, resolve(market, ...given));
  }
  return schema;
}
