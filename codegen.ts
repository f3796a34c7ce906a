import { readFileSync } from 'node:fs';
import type { CodegenConfig } from '@graphql-codegen/cli';
import { callsTableAsMarkdown } from './test/support/calls-table.js';

/** `docs/cost.md` with the tested table of calls. */
function costPage(): string {
  const page = readFileSync('docs/cost.md', 'utf8');
  return page.replace(/(?<=<!-- calls -->\n)[\s\S]*(?=\n<!-- \/calls -->)/, () => callsTableAsMarkdown());
}

/**
 * Writes the types of the schema, and those of its resolvers, which know the models. A non-null field that its model does not have must have a resolver, or the build fails. A nullable field
 * compiles without one and is then always null.
 */
const config: CodegenConfig = {
  schema: 'schema/*.graphql',
  config: {
    useTypeImports: true,
    enumsAsTypes: true,
    immutableTypes: true,
    avoidOptionals: { defaultValue: true },
    scalars: {
      ID: { input: 'string', output: 'string' },
      DateTime: { input: 'string', output: '../data/parsing.js#ReadTime' },
      Float: { input: 'number', output: '../data/parsing.js#ReadNumber' },
      Int: { input: 'number', output: '../data/parsing.js#ReadNumber' },
      DateOrDateTime: 'string',
      Vector: { input: 'never', output: '../data/vector.js#Vector' },
      JSONObject: 'Record<string, unknown>',
    },
  },
  generates: {
    'docs/cost.md': { plugins: [{ add: { content: costPage() } }] },
    'src/generated/schema-types.ts': { plugins: ['typescript'] },
    'src/generated/resolver-types.ts': {
      plugins: [{ add: { content: "import type * as Types from './schema-types.js';" } }, 'typescript-resolvers'],
      config: {
        namespacedImportName: 'Types',
        contextType: '../context.js#Context',
        mapperTypeSuffix: 'Model',
        customDirectives: { semanticNonNull: true },
        mappers: {
          Company: '../domains/companies/client.js#Company',
          DiscoveryAlreadyRunning: '../domains/discovery/model.js#DiscoveryAlreadyRunning',
          Export: '../domains/exports/model.js#ExportRecord',
          ExportEndpoint: '../domains/exports/model.js#Endpoint',
          Event: '../domains/events/model.js#Event',
          EventUpdate: '../domains/events/updates.js#EventUpdate',
          Job: '../domains/discovery/model.js#Job',
          Market: '../domains/markets/model.js#Market',
          Observation: '../domains/events/model.js#Observation',
          ReviewCompaniesPayload: '../domains/discovery/model.js#ReviewedMarket',
          SearchKeywords: '../domains/discovery/model.js#SearchKeywords',
          SearchCriteria: '../domains/discovery/model.js#SearchCriteria',
          Watch: '../domains/watches/model.js#Watch',
          Topic: '../domains/markets/model.js#MarketTopic',
          TopicGroup: '../domains/markets/model.js#MarketTopicGroup',
        },
      },
    },
  },
};

export default config;
