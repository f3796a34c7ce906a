import { readdirSync, readFileSync } from 'node:fs';
import type { CodegenConfig } from '@graphql-codegen/cli';
import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLNamedType,
  getNullableType,
  isInputObjectType,
  isIntrospectionType,
  isListType,
  isObjectType,
} from 'graphql';
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

type Input = readonly [coordinate: string, input: GraphQLArgument | GraphQLInputField];

function inputsOf(type: GraphQLNamedType): Input[] {
  if (isInputObjectType(type)) return Object.values(type.getFields()).map(field => [`${type}.${field.name}`, field]);
  if (!isObjectType(type) || isIntrospectionType(type)) return [];
  return Object.values(type.getFields()).flatMap(({ args, name }) =>
    args.map((argument): Input => [`${type}.${name}(${argument.name}:)`, argument]),
  );
}

/** How long each list in the inputs may be, as its description says first: "at most 1,000", "1 to 10,000". */
function listBounds(): string {
  const files = readdirSync('schema').map(file => readFileSync(`schema/${file}`, 'utf8'));
  const types = buildSchema(files.join('\n'), { assumeValidSDL: true }).getTypeMap();
  const lists = Object.values(types)
    .flatMap(inputsOf)
    .filter(([, { type }]) => isListType(getNullableType(type)));
  const bounds = lists.map(([coordinate, { description }]) => {
    const [, max] = /(?:at most|1 to) ([\d,]+)/i.exec(`${description}`) ?? [];
    if (max === undefined) throw new Error(`The description of ${coordinate} does not say how long the list may be`);
    return `  '${coordinate}': ${max.replaceAll(',', '')},\n`;
  });
  return `/** The most items of each list in the inputs of the schema. */\nexport const listBounds = {\n${bounds.join('')}} as const;`;
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
    'src/generated/list-bounds.ts': { plugins: [{ add: { content: listBounds() } }] },
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
