import { isDeepStrictEqual } from 'node:util';
import { mapSchema } from '@graphql-tools/utils';
import { afterAll, beforeAll, expect, jest } from '@jest/globals';
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  type GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  isObjectType,
  OperationTypeNode,
  parse,
  print,
  responsePathAsArray,
} from 'graphql';
import { createPlanExecutor, type ExecutionInput } from '../../src/graphql/executor/execute.js';
import { responseMessage } from '../../src/graphql/response-text.js';
import type { Claim } from '../../src/lib/memory-budget.js';
import { createSchema } from '../../src/schema.js';
import { faultyContext } from './faulty-context.js';
import { randomVariables } from './random-queries.js';
import { drawFrom } from './seeded.js';

/** For a suite that makes many errors, since most of the cost of an error is its stack. */
export function withoutStacks(): void {
  const { stackTraceLimit } = Error;
  beforeAll(() => {
    Error.stackTraceLimit = 0;
  });
  afterAll(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });
}

/** What the resolvers of an execution were called with. */
let resolverCalls: string[] = [];

// A copy, because gateways share the schema itself.
export const schema = recordCalls(mapSchema(createSchema(), {}));
export const executePlanned = createPlanExecutor(schema);

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

/** graphql-js forgets what still runs where a value beside it has failed. Here its rejections are heard: they would fail the test. */
export async function executeWithGraphqlJs(input: ExecutionInput): Promise<ExecutionResult> {
  const { document, operationName, variables: variableValues, context } = input;
  const { all } = Promise;
  const { then } = Promise.prototype;
  const heard = <T>(promise: Promise<T>): Promise<T> => {
    then.call(promise, undefined, () => {});
    return promise;
  };
  const spies = [
    jest.spyOn(Promise, 'all').mockImplementation(values => heard(all.call(Promise, values))),
    jest.spyOn(Promise.prototype, 'then').mockImplementation(function (this: Promise<unknown>, ...handlers) {
      return heard(then.apply(this, handlers));
    }),
  ];
  try {
    return await execute({ schema, document, operationName, variableValues, contextValue: context });
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** @returns undefined where there is no plan. */
async function run(
  executor: (input: ExecutionInput) => PromiseLike<ExecutionResult | undefined> | ExecutionResult | undefined,
  { document, operationName, variables, seed, trouble }: Run,
): Promise<Outcome | undefined> {
  resolverCalls = [];
  const { context, calls } = faultyContext(schema, seed, trouble);
  const counted = { length: Number.NaN };
  const result = await executor({ document, operationName, variables, context, counted });
  if (result === undefined) return undefined;
  const reserved: number[] = [];
  const claim: Partial<Claim> = { reserveResponse: bytes => reserved.push(bytes) };
  const data = responseMessage({ data: result.data }, claim as Claim).parts.join('');
  // Before it is serialized, with the name `data`. NaN: it has a value that only `responseMessage` can count.
  if (result.errors === undefined && counted.length > 0 && reserved[0] !== counted.length + 10)
    throw new Error(`Counted ${counted.length} for ${data}`);
  return {
    data,
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
export async function runs(
  text: string,
  operationName: string | undefined,
  times: number,
  seed: string,
): Promise<number> {
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
  return conditions.some(name => coerced[name] === null);
}
