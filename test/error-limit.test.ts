import { expect, test } from '@jest/globals';
import { buildSchema, execute, type GraphQLError, parse } from 'graphql';
import { createPlanExecutor } from '../src/graphql/executor/execute.js';
import { maxErrors, moreErrors } from '../src/graphql/executor/run-plan.js';
import { startGateway } from './support/gateway.js';
import { reply, startStubService } from './support/stub-service.js';

const schema = buildSchema(`
  directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
  type Query { items: [Item]! }
  type Item { id: Int, score: Int, rank: Int! }
`);

/** An error that counts how often an error of a response is made of it. */
class CountingError extends Error {
  made = 0;
  override get message(): string {
    this.made += 1;
    return 'no score';
  }
}

/** Executes a query on items of which each score and rank fails. */
async function run(query: string, items: number) {
  const error = new CountingError();
  const executePlanned = createPlanExecutor(schema);
  const field = schema.getQueryType()?.getFields().items;
  if (field !== undefined)
    field.resolve = () => Array.from({ length: items }, () => ({ id: 1, score: error, rank: error }));
  const document = parse(query);
  const result = await executePlanned({ document, operationName: undefined, variables: {}, context: {}, defers: true });
  if (result === undefined) throw new Error('There is no plan');
  return { error, document, ...result };
}

test.each(['score', 'rank'])('reports the first 200 errors and one that stands for all others: %s', async name => {
  const { error, document, data, errors = [] } = await run(`{ items { id ${name} } }`, 2_000);
  expect(errors).toHaveLength(maxErrors + 1);
  expect(errors.at(maxErrors - 1)?.path).toEqual(['items', maxErrors - 1, name]);
  expect(errors.at(-1)).toBe(moreErrors);
  // Its stack takes one more.
  expect(error.made).toBeLessThanOrEqual(maxErrors + 1);
  expect(JSON.stringify(data)).toBe(JSON.stringify((await execute({ schema, document })).data));
});

test('reports as many of a response in parts, and says of each fragment without data that it failed', async () => {
  const fragments = '... @defer { id score } ... @defer { rank }';
  const { error, errors = [], deferred } = await run(`{ items { ${fragments} } }`, 1_000);
  const found: GraphQLError[] = [...errors];
  let failed = 0;
  for await (const { incremental = [], completed = [] } of deferred?.parts ?? []) {
    for (const part of incremental) found.push(...(part.errors ?? []));
    for (const { errors: reasons } of completed) {
      if (reasons === undefined) continue;
      expect(reasons).toHaveLength(1);
      failed += 1;
      found.push(...reasons);
    }
  }
  expect(failed).toBe(1_000);
  expect(found.filter(each => each !== moreErrors)).toHaveLength(maxErrors);
  // Its stack takes one more.
  expect(error.made).toBeLessThanOrEqual(maxErrors + 1);
});

test.each(['plan', 'graphql-js'])('holds over HTTP with the executor %s', async GRAPHQL_EXECUTOR => {
  const companies = Array.from({ length: 100 }, (_, index) => ({ domain: `c${index}.example`, score: 'high' }));
  const service = await startStubService((_, response) => reply(response, 200, { data: companies }));
  const gateway = await startGateway({ env: { UPSTREAM_BASE_URL: service.origin, GRAPHQL_EXECUTOR } });
  try {
    const ids = [1, 2, 3, 4, 5, 6];
    const query = 'query ($ids: [ID!]!) { markets(ids: $ids) { companies(first: 100) { nodes { score } } } }';
    const { data, errors } = await gateway.query(query, { ids });
    const nodes = ids.flatMap((_, index) => data.markets[index].companies.nodes);
    expect(nodes).toEqual(Array.from({ length: 600 }, () => ({ score: null })));
    expect(errors).toHaveLength(maxErrors + 1);
    expect(errors?.at(-1)).toEqual({
      message: expect.any(String),
      extensions: { code: 'QUERY_TOO_COMPLEX', measure: 'errors', value: maxErrors + 1, limit: maxErrors },
    });
  } finally {
    await gateway.close();
    await service.close();
  }
});

test('reports 200 of the records that were left out', async () => {
  const service = await startStubService((_, response) => reply(response, 200, { data: Array(150).fill({}) }));
  const gateway = await startGateway({ env: { UPSTREAM_BASE_URL: service.origin } });
  try {
    const { data, errors } = await gateway.query(
      '{ markets(ids: [1, 2]) { companies { totalCount nodes { domain } } } }',
    );
    expect(data.markets[1].companies.totalCount).toBe(0);
    expect(errors).toHaveLength(201);
    expect(errors?.[199]?.extensions).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', record: 'Company' });
  } finally {
    await gateway.close();
    await service.close();
  }
});
