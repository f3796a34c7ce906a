import { describe, expect, test } from '@jest/globals';
import { buildSchema, type GraphQLObjectType, parse } from 'graphql';
import { createDeprecations } from '../src/graphql/deprecations.js';
import { createSchema } from '../src/schema.js';
import { forTest } from './support/cleanups.js';
import { demoHeaders, startGateway } from './support/gateway.js';
import { overWebsocket, searchCriteria } from './support/streams.js';
import { until } from './support/until.js';

const schema = buildSchema(`
  directive @shout(at: Int @deprecated) on FIELD
  enum Color { RED BLUE @deprecated }
  input Nested { again: Nested old: Int @deprecated(reason: "no") color: Color }
  input Fine { size: Int }
  interface Named { name: String @deprecated }
  type Query implements Named {
    name: String
    self(old: Int @deprecated, nested: [Nested!], color: Color, fine: Fine): Query
    gone: Int @deprecated(reason: "no")
  }
`);
const find = createDeprecations(schema);

function usesOf(text: string, variables?: Record<string, unknown>, name?: string) {
  const document = parse(text);
  const operation = document.definitions.find(
    each => each.kind === 'OperationDefinition' && (name === undefined || each.name?.value === name),
  );
  return [...(find?.(document, operation as never, variables) ?? [])].sort();
}

describe('what an operation uses of what is deprecated', () => {
  test.each<[string, string, Record<string, unknown>, string[]]>([
    ['nothing', '{ self(fine: { size: 1 }, color: RED) { name } }', {}, []],
    ['a field, once', '{ gone self { gone } }', {}, ['Query.gone']],
    ['a field in a fragment', '{ ...F } fragment F on Query { a: gone }', {}, ['Query.gone']],
    ['a field of an interface', '{ ... on Named { name } }', {}, ['Named.name']],
    ['an argument', '{ self(old: 1) { name } }', {}, ['Query.self(old:)']],
    ['an argument of a directive', '{ name @shout(at: 1) }', {}, ['@shout(at:)']],
    [
      'members and values in the text',
      '{ self(nested: [{ again: { old: 1 } }], color: BLUE) { name } }',
      {},
      ['Color.BLUE', 'Nested.old'],
    ],
    [
      'members and values in variables',
      'query ($n: [Nested!], $c: Color, $f: Fine) { self(nested: $n, color: $c, fine: $f) { name } }',
      { n: [{ again: { old: 1 } }, { color: 'RED' }], c: 'BLUE', f: { size: 1 } },
      ['Color.BLUE', 'Nested.old'],
    ],
    [
      'nothing, though its variables could',
      'query ($n: [Nested!]) { self(nested: $n) { name } }',
      { n: [{ again: { color: 'RED' } }] },
      [],
    ],
  ])('%s', (_, text, variables, expected) => {
    expect(usesOf(text, variables)).toEqual(expected);
  });

  test('not what another operation of its document uses', () => {
    const text = 'query A { name } query B { ...F } fragment F on Query { gone }';
    expect(usesOf(text, {}, 'A')).toEqual([]);
    expect(usesOf(text, {}, 'B')).toEqual(['Query.gone']);
  });
});

/** Our schema with some parts deprecated. */
function deprecatedSchema() {
  const own = createSchema();
  const fieldsOf = (type: string) => (own.getType(type) as GraphQLObjectType).getFields();
  for (const [type, field] of [
    ['Market', 'name'],
    ['Query', 'suggestMarkets'],
    ['JobProgress', 'finished'],
    ['SearchCriteriaInput', 'userPrompt'],
  ] as const) {
    Object.assign(fieldsOf(type)[field] ?? {}, { deprecationReason: 'a test' });
  }
  return own;
}

test('is counted for each execution by the client, over each transport, and nothing else is', async () => {
  const gateway = forTest(
    await startGateway({ env: { RESPONSE_CACHE: 'true' }, seams: { schema: deprecatedSchema() } }),
  );
  const counted = async () => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    const lines = text.matchAll(/^gateway_deprecated_uses_total\{coordinate="([^"]*)",client="([^"]*)"\} (\d+)$/gm);
    return Object.fromEntries(
      [...lines].map(([, coordinate, client, count]) => [`${coordinate} ${client}`, Number(count)]),
    );
  };
  const from = (name: string) => ({ ...demoHeaders, 'graphql-client-name': name, 'graphql-client-version': '2' });
  await gateway.query('{ market(id: 1) { subtitle } viewer { team } }', {}, from('old page'));
  expect(await counted()).toEqual({});

  // The second is answered from the response cache.
  for (const _ of [1, 2]) await gateway.query('{ market(id: 1) { name } }', {}, from('old page'));
  await gateway.query('{ market(id: 1) { name } suggestMarkets(keyword: "a") }');
  expect(await counted()).toEqual({
    'Market.name old page/2': 2,
    'Market.name none': 1,
    'Query.suggestMarkets none': 1,
  });

  const suggest = 'query ($input: SuggestKeywordsInput!) { suggestKeywords(input: $input) { keywords } }';
  const { errors } = await gateway.query(suggest, { input: { searchCriteria } }, from('old page'));
  expect(errors).toBeUndefined();
  expect(await counted()).toMatchObject({ 'SearchCriteriaInput.userPrompt old page/2': 1 });

  // Those that are refused are not executed.
  await gateway.query('{ market(id: 1) { name(x: 1) } }', {}, from('old page'));
  const subscription = 'subscription { jobProgress(marketId: 3, phase: PUBLISH) { finished } }';
  const { ended } = overWebsocket(gateway.url, { query: subscription });
  await ended;
  await until(async () => (await counted())['JobProgress.finished none'] === 1);
  expect(await counted()).toMatchObject({ 'Market.name old page/2': 2 });
});
