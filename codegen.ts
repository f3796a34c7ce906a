import type { CodegenConfig } from '@graphql-codegen/cli';

/** Writes the types of the schema's resolvers. A field that a model does not answer must have a resolver, or the build fails. */
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
        mappers: {
          Company: '../companies/loaders.js#Company',
          DiscoveryAlreadyRunning: '../discovery/model.js#DiscoveryAlreadyRunning',
          Export: '../exports/model.js#ExportRecord',
          Event: '../events/model.js#Event',
          Job: '../discovery/model.js#Job',
          Market: '../markets/model.js#Market',
          Observation: '../events/model.js#Observation',
          SearchCriteria: '../discovery/model.js#SearchCriteria',
          Topic: '../markets/model.js#Topic',
        },
        scalars: {
          ID: { input: 'string', output: 'string' },
          DateTime: 'string',
          DateOrDateTime: 'string',
          Vector: { input: 'never', output: '../vector.js#Vector' },
          JSONObject: 'Record<string, unknown>',
        },
      },
    },
  },
};

export default config;
