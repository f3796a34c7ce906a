import type { CodegenConfig } from '@graphql-codegen/cli';
import { addTypenameSelectionDocumentTransform } from '@graphql-codegen/client-preset';

const config: CodegenConfig = {
  schema: '../../schema/*.graphql',
  documents: ['src/**/*.{ts,tsx}', '!src/gql/**'],
  generates: {
    'src/gql/': {
      preset: 'client',
      presetConfig: {
        // Apollo Client masks fragments itself (`dataMasking`).
        fragmentMasking: false,
        persistedDocuments: { hashAlgorithm: 'sha256' },
      },
      // The hash is that of the document as Apollo Client sends it.
      documentTransforms: [addTypenameSelectionDocumentTransform],
      config: {
        useTypeImports: true,
        enumsAsTypes: true,
        inlineFragmentTypes: 'mask',
        scalars: {
          DateTime: 'string',
          DateOrDateTime: 'string',
          Vector: 'number[]',
          JSONObject: 'Record<string, unknown>',
        },
      },
    },
    'src/gql/possible-types.ts': { plugins: ['fragment-matcher'], config: { useTypeImports: true } },
  },
};

export default config;
