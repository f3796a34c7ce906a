import { readdirSync, readFileSync } from 'node:fs';
import type { CodegenConfig } from '@graphql-codegen/cli';
import { callsTableAsMarkdown } from './test/support/calls-table.js';

/** `docs/cost.md` with the tested table of calls. */
function costPage(): string {
  const page = readFileSync('docs/cost.md', 'utf8');
  return page.replace(/(?<=<!-- calls -->\n)[\s\S]*(?=\n<!-- \/calls -->)/, () => callsTableAsMarkdown());
}

/** What resolvers get of a type: the model with its name in a `model.ts` or `client.ts`. */
function models(): Record<string, string> {
  const types = readdirSync('schema').flatMap(file => matches(`schema/${file}`, /^type (\w+)/gm));
  const files = readdirSync('src/domains', { recursive: true, encoding: 'utf8' }).sort();
  const found = files
    .filter(file => /(?:client|model)\.ts$/.test(file))
    .flatMap(file => {
      const names = matches(`src/domains/${file}`, /^export (?:type|interface) (\w+)/gm);
      return names.map(name => [name, `../domains/${file.replace('.ts', '.js')}#${name}`] as const);
    });
  return Object.fromEntries(found.filter(([name]) => types.includes(name)));
}

const matches = (file: string, pattern: RegExp) =>
  [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, name = '']) => name);

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
          ...models(),
          EventUpdate: '../domains/events/updates.js#EventUpdate',
          Export: '../domains/exports/model.js#ExportRecord',
          ExportEndpoint: '../domains/exports/model.js#Endpoint',
          Topic: '../domains/markets/model.js#MarketTopic',
          TopicGroup: '../domains/markets/model.js#MarketTopicGroup',
        },
      },
    },
  },
};

export default config;
