import type { CodegenConfig } from '@graphql-codegen/cli';

/**
 * Writes the types of the schema's resolvers. A non-null field that its model does not have must have a resolver, or the build fails. A nullable field
 * compiles without one and is then always null.
 */
const config: CodegenConfig = {
  schema: 'schema/*.graphql',
  generates: {
    'src/generated/schema-types.ts': {
      plugins: ['typescript', 'typescript-resolvers'],
      config: {
        contextType: '../context.js#Context',
        useTypeImports: true,
        enumsAsTypes: true,
        immutableTypes: true,
        avoidOptionals: { defaultValue: true },
        mapperTypeSuffix: 'Model',
        customDirectives: { semanticNonNull: true },
        mappers: {
          Company: '../domains/companies/client.js#Company',
          DiscoveryAlreadyRunning: '../domains/discovery/model.js#DiscoveryAlreadyRunning',
          Export: '../domains/exports/model.js#TeamExport',
          ExportEndpoint: '../domains/exports/model.js#Endpoint',
          Event: '../domains/events/model.js#Event',
          EventUpdate: '../domains/events/updates.js#EventUpdate',
          Job: '../domains/discovery/model.js#Job',
          Market: '../domains/markets/model.js#Market',
          Observation: '../domains/events/model.js#Observation',
          SearchCriteria: '../domains/discovery/model.js#SearchCriteria',
          Topic: '../domains/markets/model.js#MarketTopic',
          TopicGroup: '../domains/markets/model.js#MarketTopicGroup',
        },
        scalars: {
          ID: { input: 'string', output: 'string' },
          DateTime: { input: 'string', output: '../data/upstream/schema-drift.js#ReadTime' },
          Float: { input: 'number', output: '../data/upstream/schema-drift.js#ReadNumber' },
          Int: { input: 'number', output: '../data/upstream/schema-drift.js#ReadNumber' },
          DateOrDateTime: 'string',
          Vector: { input: 'never', output: '../data/vector.js#Vector' },
          JSONObject: 'Record<string, unknown>',
        },
      },
    },
  },
};

export default config;
