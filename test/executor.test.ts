import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
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
import { createPlanExecutor, type ExecutionInput } from '../src/graphql/executor/execute.js';
import { responseText } from '../src/graphql/response-text.js';
import { createSchema } from '../src/schema.js';
import { collectGarbage } from './support/collect-garbage.js';
import { faultyContext } from './support/faulty-context.js';
import { demoHeaders, startGateway } from './support/gateway.js';
import { randomQuery, randomVariables } from './support/random-queries.js';
import { drawFrom } from './support/seeded.js';
import { until } from './support/until.js';

/** What the resolvers of an execution were called with. */
let resolverCalls: string[] = [];

const schema = recordCalls(createSchema());
const executePlanned = createPlanExecutor(schema);

/** Makes each resolver of a schema record what it is called with. */
function recordCalls(of: GraphQLSchema): GraphQLSchema {
  const fields = Object.values(of.getTypeMap())
    .filter(isObjectType)
    .filter(({ name }) => !name.startsWith('__'))
    .flatMap(type => Object.values(type.getFields()));
  for (const field of fields) {
    const { resolve } = field;
    if (resolve === undefined) continue;
    field.resolve = (source, args, context, info) => {
      resolverCalls.push(JSON.stringify([args, summaryOf(info)]));
      return resolve(source, args, context, info);
    };
  }
  return of;
}

function summaryOf({ path, operation, fragments, fieldNodes, ...info }: GraphQLResolveInfo): unknown {
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

interface Run {
  readonly document: DocumentNode;
  readonly operationName?: string | undefined;
  readonly variables: Record<string, unknown>;
  /** Decides what the loaders return, and how much of it is faulty. */
  readonly seed: string;
  readonly trouble: number;
}

/** Everything about an execution that has to be the same, however it is executed. */
interface Outcome {
  readonly data: string;
  /** The loader and resolver calls, in their order. */
  readonly calls: readonly string[];
  /** By the null that they caused. */
  readonly errors: Readonly<Record<string, readonly string[]>>;
}

const executeWithGraphqlJs = ({ document, operationName, variables: variableValues, context }: ExecutionInput) =>
  execute({ schema, document, operationName, variableValues, contextValue: context });

/** @returns undefined where there is no plan. */
async function run(
  executor: (input: ExecutionInput) => PromiseLike<ExecutionResult | undefined> | ExecutionResult | undefined,
  { document, operationName, variables, seed, trouble }: Run,
): Promise<Outcome | undefined> {
  resolverCalls = [];
  const { context, calls } = faultyContext(schema, seed, trouble);
  const result = await executor({ document, operationName, variables, context });
  if (result === undefined) return undefined;
  return {
    data: responseText({ data: result.data }),
    calls: [...calls, ...resolverCalls],
    errors: errorsByNull(result),
  };
}

/**
 * The errors of a result, grouped by the null that they caused. Where a null was caused by values below it that may not be null, the specification
 * leaves open which of their errors are reported: those are left out, so that only the place of the null is compared.
 */
function errorsByNull({ data, errors = [] }: ExecutionResult): Outcome['errors'] {
  const groups: Record<string, string[]> = {};
  for (const error of errors) {
    const path = error.path ?? [];
    const place = placeOfNull(data, path);
    const key = place.join('.');
    const details = place.length === path.length ? [JSON.stringify(errorDetails(error))] : [];
    groups[key] = [...(groups[key] ?? []), ...details];
  }
  return groups;
}

function placeOfNull(data: unknown, path: readonly (string | number)[]): readonly (string | number)[] {
  let value = data;
  for (const [depth, key] of path.entries()) {
    if (value === null || value === undefined) return path.slice(0, depth);
    value = (value as Record<string | number, unknown>)[key];
  }
  if (value !== null) throw new Error(`There is an error for ${path.join('.')}, which is not null`);
  return path;
}

function errorDetails(error: GraphQLError): unknown {
  const { originalError } = error;
  const original = originalError && [originalError.constructor.name, originalError.message];
  return { ...error.toJSON(), extensions: error.extensions, original, nodes: error.nodes?.length };
}

/** Executes with both, and expects the same outcome. @returns whether there is a plan. */
async function comparePlanned(input: Run): Promise<boolean> {
  const planned = await run(executePlanned, input);
  if (planned === undefined) return false;
  const expected = await run(executeWithGraphqlJs, input);
  if (!isDeepStrictEqual(planned, expected)) {
    const text = input.document.loc?.source.body;
    expect({ ...planned, text }).toEqual({ ...expected, text });
  }
  return true;
}

/** Runs an operation with random values for its variables. @returns how many of the runs had a plan. */
async function runs(text: string, operationName: string | undefined, times: number, seed: string): Promise<number> {
  const document = parse(text);
  const operation = getOperationAST(document, operationName);
  if (operation == null) throw new Error(`There is no operation in ${text}`);
  let plans = 0;
  for (let time = 0; time < times; time += 1) {
    const draw = drawFrom(`${seed} ${time}`);
    const variables = randomVariables(schema, operation, draw);
    const input = { document, operationName, variables, seed: `${seed}`, trouble: draw.pick([0, 0.01, 0.05, 0.2]) };
    const isPlanned = await comparePlanned(input);
    if (!isPlanned && !isForGraphqlJs(input)) throw new Error(`There is no plan for ${text}`);
    if (isPlanned) plans += 1;
  }
  return plans;
}

/** Whether no plan is expected. */
function isForGraphqlJs({ document, operationName, variables }: Run): boolean {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== OperationTypeNode.QUERY) return true;
  const { errors, coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variables);
  if (errors !== undefined) return true;
  const conditions = [...print(document).matchAll(/@(?:skip|include)\(if: \$(\w+)\)/g)].map(([, name = '']) => name);
  return conditions.some(name => typeof coerced[name] !== 'boolean');
}

// The test makes many errors, and most of the cost of an error is its stack.
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

test('plans a query the first time, and computes a response about the schema once for each document', async () => {
  const input = (text: string) => ({ document: parse(text), operationName: undefined, variables: {}, context: {} });
  const plain = await executePlanned(input('{ viewer: __typename }'));
  expect(plain).toEqual({ data: { viewer: 'Query' } });

  const introspection = input(getIntrospectionQuery());
  const first = await executePlanned(introspection);
  expect(JSON.stringify(first)).toBe(JSON.stringify(await executeWithGraphqlJs(introspection)));
  expect(await executePlanned(introspection)).toBe(first);
});

test('plans 10,000 random queries, and executes them as graphql-js does', async () => {
  let plans = 0;
  for (let number = 0; number < 10_000; number += 1) {
    const { text, operationName } = randomQuery(schema, drawFrom(`query ${number}`));
    if (number % 50 === 0) expect(validate(schema, parse(text))).toEqual([]);
    plans += await runs(text, operationName, text.includes('$') ? 2 : 1, `${number}`);
  }
  expect(plans).toBeGreaterThan(10_000);
});

test('executes every query of this project as graphql-js does', async () => {
  const found = [...new Set(['README.md', 'docs', 'src/http/graphiql', 'bench/lib', 'test'].flatMap(textsIn))];
  const documents = [getIntrospectionQuery(), ...found].filter(isQuery);
  expect(documents.length).toBeGreaterThan(80);
  let plans = 0;
  for (const text of documents) plans += await runs(text, undefined, 3, text);
  expect(plans).toBeGreaterThan(documents.length);
});

test('leaves no unhandled rejection when a list fails while its other items are pending', async () => {
  const document = parse('{ market(id: 1) { topics { label } } }');
  const failing = () => Promise.reject(new Error('too late to be reported'));
  const topics = [{ label: failing }, { label: null }];
  const context = { loaders: { markets: { topics: () => topics } } };
  const { data, errors } = (await executePlanned({ document, operationName: undefined, variables: {}, context })) ?? {};
  await nextTurn();
  expect({ data: JSON.stringify(data), paths: errors?.map(({ path }) => path) }).toEqual({
    data: '{"market":{"topics":null}}',
    paths: [['market', 'topics', 1, 'label']],
  });
});

test('answers the same over HTTP with either executor, and each time', async () => {
  const executors = ['plan', 'graphql-js'];
  const gateways = await Promise.all(
    executors.map(GRAPHQL_EXECUTOR => startGateway({ env: { GRAPHQL_EXECUTOR, RESPONSE_CACHE: 'false' } })),
  );
  const answer = async (url: string, body: object, headers: Record<string, string>) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const { errors, ...rest } = (await response.json()) as { errors?: { message: string; path?: unknown }[] };
    const sorted = errors?.map(error => JSON.stringify(error)).sort();
    return { status: response.status, type: response.headers.get('content-type'), errors: sorted, rest };
  };
  const bodies = [
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
    // Its error is masked.
    {
      query: 'query ($domain: String = "a") { market(id: 1) { company(domain: $domain) { name } } }',
      variables: { domain: null },
    },
    { query: 'query ($first: Int) { events(first: $first) { totalCount } }', variables: { first: 'many' } },
    { query: 'query A { viewer { team } } query B { viewer { email } }', operationName: 'B' },
  ];
  try {
    for (const body of bodies) {
      for (const headers of [demoHeaders, { 'x-api-key': 'no key at all' }]) {
        const answers: object[] = [];
        for (const { url } of gateways) {
          // Nothing is cached for the first, so that its metadata may differ.
          await answer(url, body, headers);
          for (let time = 0; time < 3; time += 1) answers.push(await answer(url, body, headers));
        }
        expect(answers).toEqual(answers.map(() => answers[0]));
      }
    }
  } finally {
    await Promise.all(gateways.map(gateway => gateway.close()));
  }
});

test('a finished execution needs no full garbage collection to be freed', async () => {
  const document = parse('{ market(id: "1") { name } }');
  const executions = 100;
  // All of them together are too little for V8 to begin a full collection by itself.
  const bytes = 128 * 1024;
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  for (let time = 0; time < executions; time += 1) {
    const record = async () => {
      await nextTurn();
      return { name: 'Solar' };
    };
    const context = { held: new Uint8Array(bytes), loaders: { markets: { record } } };
    const result = await executePlanned({ document, operationName: undefined, variables: {}, context });
    expect(result?.data).toEqual({ market: { name: 'Solar' } });
    collectGarbage({ type: 'minor' });
  }
  // V8 frees the memory of collected buffers in a thread of its own.
  const grown = () => process.memoryUsage().arrayBuffers - before;
  await until(() => grown() < (executions / 10) * bytes, 2_000).catch(() => {});
  expect(grown()).toBeLessThan((executions / 10) * bytes);
});

/** Every quoted string and GraphQL code block of a file, or of the files of a folder. */
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
