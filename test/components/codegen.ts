import type { CodegenConfig } from '@graphql-codegen/cli';

/** Generates what the components import from `gql/`, by the client preset as front ends use it. `SCHEMA` names the SDL files. */
const config: CodegenConfig = {
  schema: process.env.SCHEMA ?? '../../schema/*.graphql',
  documents: ['*.tsx'],
  importExtension: '.js',
  generates: {
    'gql/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        useTypeImports: true,
        enumsAsTypes: true,
        scalars: {
          DateTime: 'string',
          DateOrDateTime: 'string',
          Vector: 'number[]',
          JSONObject: 'Record<string, unknown>',
        },
      },
    },
  },
};

export default config;
