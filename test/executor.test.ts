import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  type GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getIntrospectionQuery,
  getOperationAST,
  getVariableValues,
  isObjectType,
  Kind,
  OperationTypeNode,
  parse,
  print,
  responsePathAsArray,
  validate,
} from 'graphql';
import { stringifyResult } from '../src/graphql/answer-text.js';
import { type Asked, createQueryExecutor } from '../src/graphql/executor/execute.js';
import { createSchema } from '../src/schema.js';
import { faultyContext } from './support/faulty-context.js';
import { demoHeaders, startGateway } from './support/gateway.js';
import { randomQuery, randomVariables } from './support/random-queries.js';
import { drawFrom } from './support/seeded.js';

/** What the resolvers of an execution were called with. */
let heard: string[] = [];

const schema = listened(createSchema());
const planned = createQueryExecutor(schema, { isLarge: () => false });

/** The schema, whose resolvers tell what they are given. */
function listened(of: GraphQLSchema): GraphQLSchema {
  const fields = Object.values(of.getTypeMap())
    .filter(isObjectType)
    .filter(({ name }) => !name.startsWith('__'))
    .flatMap(type => Object.values(type.getFields()));
  for (const field of fields) {
    const { resolve } = field;
    if (resolve === undefined) continue;
    field.resolve = (source, args, context, info) => {
      heard.push(JSON.stringify([args, told(info)]));
      return resolve(source, args, context, info);
    };
  }
  return of;
}

function told({ path, operation, fragments, fieldNodes, ...info }: GraphQLResolveInfo): unknown {
  return [
    responsePathAsArray(path),
    path.typename,
    operation.name?.value,
    Object.keys(fragments),
    fieldNodes.map(({ loc }) => loc?.start),
    [info.fieldName, `${info.returnType}`, `${info.parentType}`, info.variableValues, typeof info.rootValue],
    info.schema === schema,
  ];
}

/** A whole answer as it is sent, and what of its errors is not. */
function shown({ data, errors, ...rest }: ExecutionResult): string {
  return stringifyResult({ errors: errors?.map(shownError), data, ...rest });
}

function shownError(error: GraphQLError): unknown {
  const { originalError } = error;
  const original = originalError && [originalError.constructor.name, originalError.message];
  return { ...error.toJSON(), extensions: error.extensions, original, nodes: error.nodes?.length };
}

interface Run {
  readonly document: DocumentNode;
  readonly operationName?: string | undefined;
  readonly variables: Record<string, unknown>;
  /** What the answers of the loaders are drawn from, and how much is wrong with them. */
  readonly seed: string;
  readonly trouble: number;
}

const byGraphqlJs = ({ document, operationName, variables: variableValues, context: contextValue }: Asked) =>
  execute({ schema, document, operationName, variableValues, contextValue });

/** What came of an execution, and all that it did; undefined where there is no plan. */
async function ran(
  how: (asked: Asked) => PromiseLike<ExecutionResult> | ExecutionResult | undefined,
  { document, operationName, variables, seed, trouble }: Run,
): Promise<string | undefined> {
  heard = [];
  const { context, calls } = faultyContext(schema, seed, trouble);
  const result = await how({ document, operationName, variables, context });
  return result && [shown(result), ...calls, ...heard].join('\n');
}

/** Whether there is a plan, which then does what graphql-js does. */
async function hasPlan(run: Run): Promise<boolean> {
  const plan = await ran(planned, run);
  if (plan === undefined) return false;
  const expected = await ran(byGraphqlJs, run);
  if (plan !== expected) expect(`${plan}\n${run.document.loc?.source.body}`).toBe(expected);
  return true;
}

/** A document that has come once before: the first time is for graphql-js. */
function met(text: string, operationName?: string): DocumentNode {
  const document = parse(text);
  expect(planned({ document, operationName, variables: {}, context: {} })).toBeUndefined();
  return document;
}

/** Runs an operation with random values for its variables. @returns how many of the runs had a plan. */
async function runs(text: string, operationName: string | undefined, times: number, seed: string): Promise<number> {
  const document = met(text, operationName);
  const operation = getOperationAST(document, operationName);
  if (operation == null) throw new Error(`There is no operation in ${text}`);
  let plans = 0;
  for (let time = 0; time < times; time += 1) {
    const draw = drawFrom(`${seed} ${time}`);
    const variables = randomVariables(schema, operation, draw);
    const run = { document, operationName, variables, seed: `${seed}`, trouble: draw.pick([0, 0.01, 0.05, 0.2]) };
    const isPlanned = await hasPlan(run);
    if (!isPlanned && !isForGraphqlJs(run)) throw new Error(`There is no plan for ${text}`);
    if (isPlanned) plans += 1;
  }
  return plans;
}

/** What a plan is never made for. Of unions the type is known only when there are values: `Export.result` is the one that a query reaches. */
function isForGraphqlJs({ document, operationName, variables }: Run): boolean {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== OperationTypeNode.QUERY) return true;
  const { errors, coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variables);
  if (errors !== undefined || /\bresult\b/.test(print(document))) return true;
  const conditions = [...print(document).matchAll(/@(?:skip|include)\(if: \$(\w+)\)/g)].map(([, name = '']) => name);
  return conditions.some(name => typeof coerced[name] !== 'boolean');
}

// Most of what is compared are errors, and most of what an error costs is its stack.
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

test('a large query is planned the first time, and the schema is told once for each document', async () => {
  const large = createQueryExecutor(schema, { isLarge: () => true });
  const asked = (text: string) => ({ document: parse(text), operationName: undefined, variables: {}, context: {} });
  const plain = await large(asked('{ viewer: __typename }'));
  expect(plain).toEqual({ data: { viewer: 'Query' } });

  const introspection = asked(getIntrospectionQuery());
  const first = await large(introspection);
  expect(JSON.stringify(first)).toBe(JSON.stringify(await byGraphqlJs(introspection)));
  expect(await large(introspection)).toBe(first);
});

test('10,000 random queries are planned, and their plans do what graphql-js does', async () => {
  let plans = 0;
  for (let number = 0; number < 10_000; number += 1) {
    const { text, operationName } = randomQuery(schema, drawFrom(`query ${number}`));
    if (number % 50 === 0) expect(validate(schema, parse(text))).toEqual([]);
    plans += await runs(text, operationName, text.includes('$') ? 2 : 1, `${number}`);
  }
  expect(plans).toBeGreaterThan(10_000);
});

test('so do those of every query that stands somewhere in the project', async () => {
  const found = [...new Set(['README.md', 'docs', 'src/http/graphiql', 'bench/lib', 'test'].flatMap(textsIn))];
  const documents = [getIntrospectionQuery(), ...found].filter(isQuery);
  expect(documents.length).toBeGreaterThan(80);
  let plans = 0;
  for (const text of documents) plans += await runs(text, undefined, 3, text);
  expect(plans).toBeGreaterThan(documents.length);
});

test('an item that fails at once leaves no rejection behind of those that wait', async () => {
  const document = met('{ market(id: 1) { topics { label } } }');
  const failing = () => Promise.reject(new Error('too late to be heard'));
  const topics = [{ label: failing }, { label: null }];
  const context = { loaders: { markets: { topics: () => topics } } };
  const { data, errors } = (await planned({ document, operationName: undefined, variables: {}, context })) ?? {};
  await nextTurn();
  expect({ data: JSON.stringify(data), paths: errors?.map(({ path }) => path) }).toEqual({
    data: '{"market":{"topics":null}}',
    paths: [['market', 'topics', 1, 'label']],
  });
});

test('over HTTP the answers that a plan makes are those that graphql-js made before', async () => {
  const gateway = await startGateway({ env: { RESPONSE_CACHE: 'false' } });
  const answer = async (body: object, headers: Record<string, string>) => {
    const response = await fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const { status } = response;
    return { status, type: response.headers.get('content-type'), text: await response.text() };
  };
  const asked = [
    {
      query:
        '{ events(first: 2) { nodes { references { observation { title textEmbedding } } vectorIndex { embeddings } } } }',
    },
    {
      query:
        '{ observation(id: "none") { id } none: market(id: "none") { id } market(id: 1) { name } events(first: 0) { totalCount } }',
    },
    {
      query: 'query ($yes: Boolean!) { viewer { team @include(if: $yes) authentication @skip(if: $yes) } }',
      variables: { yes: true },
    },
    // An error that no client may see.
    {
      query: 'query ($domain: String = "a") { market(id: 1) { company(domain: $domain) { name } } }',
      variables: { domain: null },
    },
    { query: 'query ($first: Int) { events(first: $first) { totalCount } }', variables: { first: 'many' } },
    { query: 'query A { viewer { team } } query B { viewer { email } }', operationName: 'B' },
  ];
  try {
    for (const body of asked) {
      for (const headers of [demoHeaders, { 'x-api-key': 'no key at all' }]) {
        const answers: object[] = [];
        for (let time = 0; time < 6; time += 1) answers.push(await answer(body, headers));
        // The first was made of what was not kept yet.
        expect(answers.slice(1)).toEqual(answers.slice(1).map(() => answers[1]));
      }
    }
  } finally {
    await gateway.close();
  }
});

/** All that stands between quotation marks or in a block of GraphQL, in a file or in the files of a folder. */
function textsIn(path: string): string[] {
  const url = new URL(`../${path}`, import.meta.url);
  const files = path.includes('.') ? [url] : readdirSync(url).map(name => new URL(`${url}/${name}`));
  const texts = files.filter(({ pathname }) => /\.(md|ts|mjs)$/.test(pathname)).map(file => readFileSync(file, 'utf8'));
  return texts.flatMap(text => {
    const matches = [/```graphql\n([^`]*)```/g, /`([^`]*)`/g, /'([^'\n]*)'/g].flatMap(quoted => [
      ...text.matchAll(quoted),
    ]);
    return matches.map(([, inside = '']) => inside);
  });
}

function isQuery(text: string): boolean {
  try {
    const document = parse(text);
    const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
    const isOne = operations.length === 1 && getOperationAST(document)?.operation === OperationTypeNode.QUERY;
    return isOne && validate(schema, document).length === 0;
  } catch {
    return false;
  }
}
