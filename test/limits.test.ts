// What one request may cost, and how much of it is answered.
import { makeExecutableSchema } from '@graphql-tools/schema';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  buildSchema,
  execute,
  type GraphQLError,
  type GraphQLObjectType,
  type GraphQLSchema,
  getIntrospectionQuery,
  getNamedType,
  getOperationAST,
  getVariableValues,
  isNonNullType,
  isObjectType,
  lexicographicSortSchema,
  parse,
  printSchema,
  validate,
  visit,
} from 'graphql';
import { createPlanExecutor } from '../src/graphql/executor/execute.js';
import { maxErrors, moreErrors } from '../src/graphql/executor/run-plan.js';
import { bounds } from '../src/graphql/limits/bounds.js';
import { costsOf, estimateCost, type OperationCost } from '../src/graphql/limits/cost.js';
import { nodeId } from '../src/graphql/node.js';
import { readExamples } from '../src/http/graphiql/graphiql.js';
import { createSchema, readTypeDefs } from '../src/schema.js';
import { cursorOf } from './support/calls-table.js';
import { forTest } from './support/cleanups.js';
import { demoHeaders, postJson, startGateway, startOverSandbox, type TestGateway } from './support/gateway.js';
import { reply, startStubService } from './support/stub-service.js';

const schema = createSchema();
function costOf(query: string, variables: Record<string, unknown> = {}): OperationCost {
  const document = parse(query);
  const operation = getOperationAST(document);
  if (operation == null) throw new Error(`There is no operation in ${query}`);
  const { coerced = {} } = getVariableValues(schema, operation.variableDefinitions ?? [], variables);
  return estimateCost(schema, document, operation, coerced, 2_000);
}

const callsOf = (query: string, variables?: Record<string, unknown>) => costOf(query, variables).calls;

const { sandbox, gateway } = await startOverSandbox();

afterAll(() => gateway.close());

const repeated = (times: number, text: (index: number) => string) =>
  Array.from({ length: times }, (_, i) => text(i)).join(' ');

const longName = 'k'.repeat(bounds.name + 1);

/** Lists of 100 companies, each with a deferred fragment. */
function deferring(lists: number, condition = ''): string {
  const nodes = `nodes { ... @defer${condition} { domain } }`;
  return `{ market(id: 1) { ${repeated(lists, i => `a${i}: companies(first: 100) { ${nodes} }`)} } }`;
}

/** Documents that are just above a limit. */
const tooLarge: readonly { measure: string; limit?: number; query: string; variables?: Record<string, unknown> }[] = [
  { measure: 'text', query: `{ viewer { team } } #${'a'.repeat(bounds.text)}` },
  {
    measure: 'text',
    query: 'query ($t: String) { events(after: $t) { totalCount } }',
    variables: { t: '"'.repeat(bounds.text / 2 + 1) },
  },
  { measure: 'lines', query: `{ viewer { team } } ${'\n'.repeat(bounds.lines)}` },
  { measure: 'tokens', query: `{ ${repeated(bounds.tokens, () => 'a')} }` },
  { measure: 'operations', query: repeated(bounds.operations + 1, i => `query Q${i} { a }`) },
  {
    measure: 'fragments',
    query: `{ a } ${repeated(bounds.fragments + 1, i => `fragment F${i} on Query { a }`)}`,
  },
  { measure: 'depth', query: `${'{ a '.repeat(bounds.depth + 1)}${'}'.repeat(bounds.depth + 1)}` },
  {
    measure: 'selections',
    query: `{ ${repeated(40, i => `a${i} { ...F }`)} } fragment F on Query { ${repeated(40, i => `b${i}`)} }`,
  },
  {
    measure: 'mutations',
    query: `mutation { ${repeated(bounds.mutations, i => `a${i}: signOut { __typename } `)} ...F } fragment F on Mutation { signOut { __typename } }`,
  },
  { measure: 'aliases', query: `{ ${repeated(bounds.aliases + 1, i => `a${i}: viewer`)} }` },
  ...[
    `{ viewer { ${longName}: team } }`,
    `{ viewer { ...F } } fragment F on Viewer { ${longName}: team }`,
    `query ${longName} { viewer { team } }`,
    `{ viewer { ... @defer(label: "${longName}") { team } } }`,
    `{ __schema { types { fields { ${longName}: name } } } }`,
  ].map(query => ({ measure: 'name', query })),
  { measure: 'directives', query: `{ viewer ${'@a '.repeat(bounds.directives + 1)} }` },
  { measure: 'repetitions', query: `{ ${'viewer '.repeat(65)} }` },
  {
    measure: 'repetitions',
    query: `{ ${'...F '.repeat(65)} } fragment F on Query { viewer { team } }`,
  },
  {
    measure: 'repetitions',
    query: `{ ${`market(id: 1) { ${'name '.repeat(10)} } `.repeat(10)} }`,
  },
  {
    measure: 'nesting',
    query: `{ events(filter: ${'['.repeat(bounds.nesting + 2)}${']'.repeat(bounds.nesting + 2)}) { totalCount } }`,
  },
  {
    measure: 'levels',
    query: 'query ($filter: EventFilter) { events(filter: $filter) { totalCount } }',
    variables: { filter: JSON.parse(`${'['.repeat(bounds.levels)}${']'.repeat(bounds.levels)}`) },
  },
  {
    measure: 'items',
    query: 'query ($names: [String!]) { events(filter: { alertTypes: $names }) { totalCount } }',
    variables: { names: Array.from({ length: bounds.items + 1 }, () => 'a') },
  },
  {
    measure: 'items',
    query: 'query ($names: [String!]) { events(filter: { alertTypes: $names }) { totalCount } }',
    variables: { names: Array.from({ length: bounds.items / 2 + 1 }, () => [{}]) },
  },
  {
    measure: 'members',
    query: 'query ($filter: EventFilter) { events(filter: $filter) { totalCount } }',
    variables: { filter: Object.fromEntries(Array.from({ length: bounds.members }, (_, i) => [`m${i}`, 1])) },
  },
  {
    measure: 'literals',
    query: `{ ${repeated(90, i => `a${i}: market(id: 1) { ...F }`)} }
      fragment F on Market { companies(filter: { naics: [${repeated(60, i => `"${i}"`)}] }) { totalCount } }`,
  },
  { measure: '__schema', limit: 1, query: `{ ${repeated(90, i => `a${i}: __schema { types { name } }`)} }` },
  {
    measure: '__schema',
    limit: 1,
    query: '{ ...F ... { b: __schema { types { name } } } } fragment F on Query { __schema { types { name } } }',
  },
  { measure: '__type', limit: 10, query: `{ ${repeated(11, i => `a${i}: __type(name: "Event") { name }`)} }` },
  {
    measure: 'records',
    query: `{ market(id: 1) { ${repeated(51, i => `a${i}: companies(filter: { search: "x${i}" }) { totalCount }`)} } }`,
  },
  {
    measure: 'records',
    query: `{ market(id: 1) { ${repeated(26, i => `a${i}: companies(filter: { search: "x${i}" }, orderBy: { field: NAME }) { totalCount }`)} } }`,
  },
  {
    measure: 'records',
    query: `{ market(id: 1) { ${repeated(26, i => `a${i}: companyFacets(filter: { search: "x${i}" }) { __typename }`)} } }`,
  },
  {
    measure: 'values',
    query: `{ market(id: 1) { ${repeated(50, i => `a${i}: companies(first: 100) { nodes { domain name description naics { code name } attributes } }`)} } }`,
  },
  {
    measure: 'values',
    query: `query ($domains: [String!]) { market(id: 1) { ${repeated(11, i => `a${i}: companies(first: ${i + 1}, filter: { domains: $domains }) { totalCount }`)} } }`,
    variables: { domains: Array.from({ length: 10_000 }, (_, i) => `c${i}.example`) },
  },
  { measure: 'values', query: `{ ${repeated(11, i => `a${i}: market(id: 1) { esg }`)} }` },
  {
    measure: 'values',
    query: `query ($texts: JSONObject) { ${repeated(5, i => `a${i}: suggestKeywords(input: { searchCriteria: { attributes: $texts } }) { keywords }`)} }`,
    variables: { texts: { list: Array(9).fill('t'.repeat(99_000)) } },
  },
  {
    measure: 'values',
    query: `query ($domains: [String!]) { market(id: 1) { companies(filter: { domains: $domains }) { totalCount } } }`,
    variables: { domains: Array.from({ length: 9_000 }, (_, index) => `${'中'.repeat(28)}${index}.example`) },
  },
  {
    measure: 'values',
    query: `{ __schema { ${repeated(95, i => `a${i}: types { name fields { name type { name } } }`)} } }`,
  },
  { measure: 'values', query: deferring(35) },
  {
    measure: 'upstream calls',
    limit: 2_000,
    query:
      '{ market(id: 1) { companies(first: 100) { nodes { events(first: 100) { nodes { references { observation { id } } } } } } } }',
  },
];

describe('the limits of a request', () => {
  test.each(tooLarge)(
    'reject too much of $measure with QUERY_TOO_COMPLEX',
    async ({ query, variables, measure, limit = bounds[measure as keyof typeof bounds] }) => {
      sandbox.calls.clear();
      const { status, errors, data } = await gateway.query(query, variables);
      expect({ status, data }).toEqual({ status: 400, data: undefined });
      expect(errors).toHaveLength(1);
      expect(errors?.[0].extensions).toMatchObject({ code: 'QUERY_TOO_COMPLEX', measure, limit });
      expect(errors?.[0].extensions.value).toBeGreaterThan(limit);
      expect(errors?.[0].message).toContain(String(errors?.[0].extensions.value));
      expect(sandbox.calls.count()).toBe(0);
    },
  );

  test.each([
    'subscription ($a: Boolean = true) { jobProgress(marketId: 3) @skip(if: $a) { finished } }',
    'subscription ($a: Boolean!) { jobProgress(marketId: 3) @include(if: $a) { finished } }',
    'subscription { jobProgress(marketId: 3) @skip(if: true) { finished } }',
    'subscription { ... @include(if: false) { jobProgress(marketId: 3) { finished } } }',
    'subscription { ...updates } fragment updates on Subscription { jobProgress(marketId: 3) @skip(if: true) { finished } }',
  ])('refuse a condition of the root field of %s', async query => {
    const { status, errors } = await gateway.query(query, { a: true });
    expect(status).toBe(400);
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['GRAPHQL_VALIDATION_FAILED']);
    expect(errors?.[0].message).toContain('cannot be used on root fields of the type "Subscription"');
  });

  test('report a few errors of a document and one of its variables, however many there are', async () => {
    const { errors } = await gateway.query(`{ ${repeated(50, i => `nothing${i}`)} }`);
    expect(errors).toHaveLength(bounds.errors + 1);
    expect(new Set(errors?.map(({ extensions }) => extensions.code))).toEqual(new Set(['GRAPHQL_VALIDATION_FAILED']));

    const filter = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`m${i}`, 'a'.repeat(1_000)]));
    const query = 'query ($filter: EventFilter, $n: Int) { events(filter: $filter, first: $n) { totalCount } }';
    const fit = await gateway.query(query, { filter, n: 'no number' });
    expect(fit).toMatchObject({
      status: 400,
      errors: [{ extensions: { code: 'BAD_USER_INPUT', argument: 'filter.m0' } }],
    });
    expect(fit.errors).toHaveLength(1);
  });

  test('reject a batch of operations', async () => {
    expect((await gateway.send([{ query: '{ viewer { team } }' }])).status).toBe(400);
  });

  test('allow GraphiQL to query the whole schema', async () => {
    const whole = getIntrospectionQuery({
      descriptions: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
      inputValueDeprecation: true,
      oneOf: true,
    });
    const { data, errors } = await gateway.query(whole);
    expect(errors).toBeUndefined();
    expect(data.__schema.queryType.name).toBe('Query');
    expect(() => parse(whole, { maxTokens: bounds.tokens / 4 })).not.toThrow();
  });

  test('leave every example in GraphiQL at a tenth of the allowed calls or less', () => {
    for (const { query, variables } of readExamples()) {
      const given = JSON.parse(variables ?? '{}');
      const document = parse(query);
      expect(validate(schema, document)).toEqual([]);
      for (const operation of document.definitions) {
        if (operation.kind !== 'OperationDefinition') throw new Error('An example is no operation');
        const { errors } = getVariableValues(schema, operation.variableDefinitions ?? [], given);
        expect(errors ?? []).toEqual([]);
        expect(estimateCost(schema, document, operation, given, 2_000).calls).toBeLessThanOrEqual(200);
      }
    }
  });

  /** A selection of every field of a type that needs no argument, and of the fields below. */
  function everyField(type: string, except: readonly string[] = []): string {
    const named = schema.getType(type);
    if (!isObjectType(named)) return '';
    const fields = Object.values(named.getFields()).filter(
      ({ name, args }) => !except.includes(name) && !args.some(({ type }) => isNonNullType(type)),
    );
    return `{ ${fields.map(field => `${field.name} ${everyField(getNamedType(field.type).name, except)}`).join(' ')} }`;
  }

  const [domains, ids] = [500, 50].map(length => Array.from({ length }, (_, i) => `${i}`));
  test.each([
    ['100 events with every field and their observations', `{ events(first: 100) { nodes ${everyField('Event')} } }`],
    [
      '100 companies with every field',
      `{ market(id: 1) { companies(first: 100) { nodes ${everyField('Company', ['events', 'market'])} } } }`,
    ],
    ['the introspection query of GraphiQL and other tools', getIntrospectionQuery({ inputValueDeprecation: true })],
    [
      'one filter over fifty markets',
      `{ ${repeated(50, i => `a${i}: market(id: ${ids?.[i]}) { companies(filter: { search: "a" }) { totalCount } }`)} }`,
    ],
    [
      'a sorted table of companies with its facets',
      '{ market(id: 1) { companies(first: 100, filter: { search: "a" }, orderBy: { field: NAME }) { nodes { name domain } } companyFacets(filter: { search: "a" }) { operatesIn { value count } naics { code name count } } } }',
    ],
    [
      'ten tables of companies, each for 500 domains of a list',
      `query ($domains: [String!] = ${JSON.stringify(domains)}) { market(id: 1) { ${repeated(10, i => `a${i}: companies(first: 100, filter: { domains: $domains, search: "${i}" }) { nodes { name domain } }`)} } }`,
    ],
  ])('allow %s', (_, query) => {
    expect(validate(schema, parse(query))).toEqual([]);
    const { calls, records, values } = costOf(query);
    expect(calls).toBeLessThanOrEqual(1_001);
    expect(records).toBeLessThanOrEqual(bounds.records);
    expect(values).toBeLessThanOrEqual(bounds.values / 2);
  });
});

test('a page counts as often as it occurs, also where all its markets are the same one', () => {
  const nested = (fields: string) => `{ market(id: 1) { companies(first: 20) { nodes { market { ${fields} } } } } }`;
  const [one = 0, two = 0] = ['domain', 'domain name'].map(
    fields => costOf(nested(`companies(first: 30) { nodes { ${fields} } }`)).values,
  );
  expect(two - one).toBe(20 * 30);
});

test('a deferred fragment counts as 30 values for each object', () => {
  const [plain = 0, deferred = 0] = [deferring(10, '(if: false)'), deferring(10)].map(query => costOf(query).values);
  expect(deferred - plain).toBe(10 * 100 * 30);
});

describe('the estimated calls of a query', () => {
  test.each([
    ['{ viewer { team } __typename }', 0],
    ['{ events(first: 10) { totalCount } }', 1],
    [`{ events(first: 10, after: "${cursorOf(3)}") { totalCount } }`, 3],
    ['query ($after: String) { events(after: $after) { totalCount } }', 1],
    ['{ events(first: 10, page: 4) { totalCount } }', 1],
    ['{ events(last: 10) { totalCount } }', 4],
    ['{ events(last: 3) { nodes { references { observation { id } } } } }', 34],
    ['{ observations(ids: ["a", "b", "a"]) { title } }', 3],
    ['{ node(nodeId: "a") { ... on Observation { title } } }', 1],
    ['{ a: events { totalCount } b: events { nodes { id } } }', 1],
    ['{ a: events { totalCount } b: events(first: 11) { nodes { id } } }', 2],
    [
      '{ events(first: 3) { nodes { references { observation { id } } } edges { node { references { observation { title } } } } } }',
      31,
    ],
    ['query ($n: Int = 4) { events(first: $n) { nodes { references { observation { id } } } } }', 41],
    ['{ events(first: 1000000) { nodes { references { observation { id } } } } }', 1_001],
    ['{ market(id: 1) { name subtitle again: name } other: market(id: 1) { reviewStatus } }', 1],
    ['{ market(id: 1) { esg companies { nodes { esg } edges { node { esg } } } } }', 2],
    ['{ a: market(id: 1) { companies { nodes { esg } } } b: market(id: 2) { companies { nodes { esg } } } }', 4],
    [
      '{ market(id: 1) { name companies(first: 100, orderBy: { field: NAME }) { nodes { market { name } } } companyFacets { naics { code } } } }',
      2,
    ],
    ['{ nodes(nodeIds: ["a", "b"]) { ... on Company { name market { name } } } }', 4],
    ['{ market(id: 1) { companies(first: 7) { nodes { events { totalCount } } } } }', 15],
    ['{ market(id: 1) { name @skip(if: true) esg @include(if: false) ... @include(if: true) { topics { id } } } }', 1],
    ['query ($no: Boolean = false) { market(id: 1) { ...F @include(if: $no) } } fragment F on Market { name }', 0],
    [
      'mutation { a: publishMarket(input: { marketId: 1 }) { marketId } b: publishMarket(input: { marketId: 1 }) { marketId } }',
      6,
    ],
    [
      'mutation { reviewCompanies(input: { marketId: 1, reviewStatus: INCLUDE, target: { all: true } }) { market { name companies { totalCount } } } }',
      5,
    ],
    ...['market { name }', 'esg'].map((field): [string, number] => [
      `mutation { reviewCompanies(input: { marketId: 1, reviewStatus: INCLUDE, target: { all: true } }) { companies { domain ${field} } } }`,
      5,
    ]),
    ['mutation { signOut { __typename } }', 0],
    ['{ viewer { canExport } capabilities { exports } markets(ids: [1, 2]) { id } }', 0],
    ['query ($ids: [ID!]! = [1, 2, 3]) { markets(ids: $ids) { name reviewStatus companies { nodes { esg } } } }', 9],
    ['{ node(nodeId: "a") { nodeId ... on Market { name subtitle esg } } }', 2],
    ['{ node(nodeId: "a") { nodeId ...F } } fragment F on Node { ... on Market { name } ... on Topic { label } }', 2],
    ['{ nodes(nodeIds: ["a", "b", "c"]) { nodeId ... on Market { name companies { nodes { esg } } } } }', 9],
    ['query ($ids: [ID!]! = ["a", "b"]) { nodes(nodeIds: $ids) { ... on Market { name } } }', 2],
  ])('of %s are %d', (query, calls) => {
    expect(callsOf(query)).toBe(calls);
  });

  test('of nodes are those of the types that their identifiers name, whatever fragments there are', () => {
    const found = '... on Event { title } ... on Company { name } ... on Node { ... on Observation { title } }';
    const ids = repeated(99, index => `"${nodeId('Company', ['1', `c${index}.example`])}"`);
    const [event, observation] = [nodeId('Event', ['e']), nodeId('Observation', ['o'])];
    expect(callsOf(`{ nodes(nodeIds: [${ids} "${observation}"]) { ${found} } }`)).toBe(100);
    const variable = `query ($ids: [ID!]!) { nodes(nodeIds: $ids) { ${found} } }`;
    expect(callsOf(variable, { ids: [event, observation] })).toBe(callsOf(variable, { ids: [event] }) + 1);
    expect(callsOf(variable, { ids: ['unreadable'] })).toBe(callsOf(variable, { ids: [event] }) + 2);
  });

  test('of nodes count the fields of a fragment for as many of them as can have its type', () => {
    const market = nodeId('Market', ['1']);
    const observations = (count: number) => repeated(count, index => `"${nodeId('Observation', [`o${index}`])}"`);
    const inside = '... on Market { name topics { id } jobs { id } esg } ... on Observation { title }';
    const calls = callsOf(`{ node(nodeId: "${market}") { ${inside} } }`);
    expect(callsOf(`{ nodes(nodeIds: ["${market}" ${observations(99)}]) { ${inside} } }`)).toBe(calls + 99);
    expect(costOf(`{ nodes(nodeIds: [${observations(3)}]) { ... on Market { name topics { id } } } }`)).toEqual(
      costOf(`{ nodes(nodeIds: [${observations(3)}]) { ... on Event { title } } }`),
    );
    // Two types that have a field of one name.
    const company = nodeId('Company', ['1', 'a.example']);
    const both = ['Market', 'Company'].map(type => `... on ${type} { esg }`);
    const ofBoth = (parts: string[]) =>
      callsOf(`{ nodes(nodeIds: ["${market}" "${market}" "${company}"]) { ${parts} } }`);
    expect(ofBoth(both)).toBe(ofBoth(both.toReversed()));
    expect(ofBoth(both)).toBe(ofBoth(both.slice(0, 1)) + ofBoth(both.slice(1)));
  });

  test('of a union are those of one of its results', () => {
    const start = 'startDiscovery(input: { marketId: 1, searchCriteria: { marketName: "M" } })';
    const each = ['DiscoveryStarted', 'DiscoveryAlreadyRunning'].map(
      type => `... on ${type} { market { name companies { totalCount } } }`,
    );
    const [both, first] = [each.join(' '), each[0]].map(inside => callsOf(`mutation { ${start} { ${inside} } }`));
    expect(both).toBe(first);
  });

  test('of a node are those of the type that its identifier names', () => {
    const inside = '... on Event { title } ... on Company { name } ... on Observation { title }';
    const found = (id: string) =>
      callsOf(`query ($id: ID!) { node(nodeId: $id) { ...F } } fragment F on Node { ${inside} }`, { id });
    expect(found(nodeId('Observation', ['o']))).toBe(1);
    expect(found('unreadable')).toBeGreaterThan(found(nodeId('Event', ['e'])));
  });

  test.each([
    ['eventChanges', 100, 'nodes { event { references { observation { id } } } }'],
    ['events', 10, 'nodes { references { observation { id } } }'],
    ['exports', 10, 'nodes { market { name } }'],
  ])('of %s are those of its default of %d where the size is null', (field, size, inside) => {
    const argued = (text: string) => callsOf(`{ ${field}${text} { ${inside} } }`);
    expect([argued('(first: null)'), argued('')]).toEqual(Array(2).fill(argued(`(first: ${size})`)));
  });

  test.each([
    ['events(first: 50) { nodes {', 'Event', 'title'],
    ['market(id: 1) { companies { nodes {', 'Company', 'name esg market { name }'],
    ['nodes(nodeIds: ["a"]) { ... on Market {', 'Market', 'companies { nodes { esg } }'],
  ])('of %s do not rise with fragments on an interface of what is there already', (above, type, fields) => {
    const costBelow = (inside: string) => costOf(`{ ${above} ${inside} ${'} '.repeat(above.split('{').length - 1)} }`);
    const other = '... on Observation @defer { title content }';
    expect(costBelow(`... on Node { nodeId ... on ${type} { ${fields} } ${other} }`)).toEqual(
      costBelow(`nodeId ${fields}`),
    );
  });

  test('a field with a resolver that states no cost is not in a schema', () => {
    const typeDefs =
      'directive @cost(calls: Int! = 0) on FIELD_DEFINITION type Query { viewer: Int @cost unknown: Int }';
    const resolvers = { Query: { viewer: () => 1, unknown: () => 1 } };
    const built = makeExecutableSchema({ typeDefs, resolvers });
    expect(() => costsOf(built)).toThrow('Query.unknown has a resolver, but no @cost in the schema');
  });

  test('a market is read by its fields: its model is an identifier', () => {
    const { id, nodeId, ...fields } = (schema.getType('Market') as GraphQLObjectType).getFields();
    for (const { name, resolve } of Object.values(fields)) expect([name, typeof resolve]).toEqual([name, 'function']);
  });

  const page = fc.integer({ min: 1, max: 12 });
  const companyFields = fc.subarray(
    ['name', 'esg', 'events(first: 2) { totalCount }', 'e: events(first: 3) { nodes { title } }'],
    { minLength: 1 },
  );
  const marketFields = fc.subarray(
    [
      'name',
      'reviewStatus',
      'esg',
      'topics { id }',
      'jobs { id }',
      'p: jobs(phase: PUBLISH) { id }',
      'searchCriteria { count }',
      'company(domain: "a.example") { esg market { name } }',
      'companyFacets { naics { code count } }',
    ],
    { minLength: 1 },
  );
  const eventsField = fc
    .tuple(page, fc.option(fc.integer({ min: 0, max: 30 })), fc.boolean())
    .map(([first, after, deep]) => {
      const cursor = after === null ? '' : `, after: "${cursorOf(after)}"`;
      return `events(first: ${first}${cursor}) { nodes { title ${deep ? 'references { observation { id } }' : ''} } }`;
    });
  const marketField = fc
    .tuple(fc.integer({ min: 1, max: 3 }), marketFields, page, companyFields)
    .map(
      ([id, own, first, its]) =>
        `market(id: ${id}) { ${own.join(' ')} companies(first: ${first}) { nodes { ${its.join(' ')} } } }`,
    );
  const queries = fc
    .array(fc.oneof(eventsField, marketField), { minLength: 1, maxLength: 4 })
    .map(fields => `{ ${fields.map((field, index) => `f${index}: ${field}`).join(' ')} }`);

  test('are never exceeded by a random query', async () => {
    await fc.assert(
      fc.asyncProperty(queries, async query => {
        const cold = await startGateway({ sandbox });
        try {
          sandbox.calls.clear();
          await cold.query(query);
          expect(sandbox.calls.count()).toBeLessThanOrEqual(callsOf(query));
        } finally {
          await cold.close();
        }
      }),
      { numRuns: 12 },
    );
  });

  test('are limited by QUERY_CALL_LIMIT', async () => {
    const other = forTest(await startGateway({ sandbox, env: { QUERY_CALL_LIMIT: '10' } }));
    const query = 'query ($n: Int) { events(first: $n) { nodes { references { observation { id } } } } }';
    expect((await other.query(query, { n: 1 })).errors?.[0].extensions).toMatchObject({ value: 11, limit: 10 });
    expect((await other.query('{ events { totalCount } }')).errors).toBeUndefined();
    expect((await other.query(query, { n: 'no number' })).errors?.[0].extensions.code).toBe('BAD_USER_INPUT');
  });
});

describe('without introspection', () => {
  let closed: TestGateway;
  beforeAll(async () => {
    closed = await startGateway({ sandbox, env: { INTROSPECTION: 'false' } });
  });
  afterAll(() => closed.close());

  test.each(['{ __schema { queryType { name } } }', '{ __type(name: "Market") { name } }'])(
    'rejects %s',
    async query => {
      const { status, errors, data } = await closed.query(query);
      expect(status).toBe(400);
      expect(data).toBeUndefined();
      expect(errors?.[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    },
  );

  test('answers queries, including __typename', async () => {
    const { data } = await closed.query('{ __typename market(id: 1) { __typename name } }');
    expect(data).toMatchObject({ __typename: 'Query', market: { __typename: 'Market' } });
  });

  test.each<[string, Record<string, unknown>]>([
    ['{ market(id: 1) { nam } }', {}],
    ['{ evnts { totalCount } }', {}],
    ['{ events(firs: 1) { totalCount } }', {}],
    ['query ($f: EventFilte) { events(filter: $f) { totalCount } }', {}],
    ['{ market(id: 1) { jobs(phase: PUBLIS) { id } } }', {}],
    ['query ($f: EventFilter) { events(filter: $f) { totalCount } }', { f: { minSeverit: 1 } }],
    ['query ($p: JobPhase!) { market(id: 1) { jobs(phase: $p) { id } } }', { p: 'PUBLIS' }],
  ])('suggests no names in the error for %s', async (query, variables) => {
    const [silent, open] = await Promise.all([closed.query(query, variables), gateway.query(query, variables)]);
    expect(JSON.stringify(open.errors)).toMatch(/Did you mean/);
    expect(silent.errors).toHaveLength(open.errors?.length ?? 0);
    expect(JSON.stringify(silent.errors)).not.toMatch(/Did you mean/);
  });

  test('does not serve the SDL, which is otherwise that of schema/ with every description', async () => {
    const [silent, open] = await Promise.all([closed, gateway].map(({ url }) => fetch(`${url}/schema.graphql`)));
    expect(silent?.status).toBe(404);
    const sorted = (each: GraphQLSchema) => printSchema(lexicographicSortSchema(each));
    const written = sorted(buildSchema(readTypeDefs().join('\n')));
    expect(sorted(buildSchema((await open?.text()) ?? ''))).toBe(written);
    // What introspection describes.
    expect(sorted(schema)).toBe(written);
  });

  test('declares each directive that the SDL uses, so that programs can read it that are older than the directive', async () => {
    const sdl = await (await fetch(`${gateway.url}/schema.graphql`)).text();
    const declared = new Set(['deprecated', 'specifiedBy']);
    const used = new Set<string>();
    visit(parse(sdl, { noLocation: true }), {
      DirectiveDefinition: ({ name }) => void declared.add(name.value),
      Directive: ({ name }) => void used.add(name.value),
    });
    expect([...used].filter(name => !declared.has(name))).toEqual([]);
    expect(used).toContain('oneOf');
  });

  test.each(['extensions', 'variables'])('bounds the %s of a GET as those of a body', async name => {
    const deep = `{"a":${'['.repeat(bounds.levels)}${']'.repeat(bounds.levels)}}`;
    const search = new URLSearchParams({ query: '{ __typename }', [name]: deep });
    const response = await fetch(`${closed.url}/graphql?${search}`, { headers: { 'apollo-require-preflight': '1' } });
    expect(await response.json()).toMatchObject({
      errors: [{ extensions: { code: 'QUERY_TOO_COMPLEX', measure: 'levels' } }],
    });
  });

  test.each(['/', '/graphql', '/graphql/assets/graphiql.css'])('serves no GraphiQL at %s', async path => {
    const response = await fetch(closed.url + path, { headers: { accept: 'text/html' }, redirect: 'manual' });
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.headers.get('content-type')).not.toContain('html');
  });
});

test('the name of the operation to execute is bounded, because the error repeats it', async () => {
  const answer = async (operationName: string) => {
    const response = await postJson(`${gateway.url}/graphql`, { query: '{ viewer { team } }', operationName });
    return response.text();
  };
  expect(await answer('n'.repeat(90_000))).toContain('"measure":"name"');
  expect(await answer('other')).toContain('Unknown operation named');
});

test.each(['/graphql', '/graphql/stream'])(
  'an operation that the document does not have is refused at %s',
  async path => {
    const answer = async (body: object) => {
      const response = await postJson(gateway.url + path, body, {
        ...demoHeaders,
        accept: 'application/json, text/event-stream',
      });
      return `${response.status} ${await response.text()}`;
    };
    const query = 'query A { viewer { team } } query B { viewer { team } }';
    for (const body of [{ query }, { query, operationName: 'C' }]) {
      const refused = await answer(body);
      expect(refused).toContain('"code":"OPERATION_RESOLUTION_FAILURE"');
      expect(refused).not.toContain('"data":');
      // That of a stream has been sent before the operation is read.
      if (path === '/graphql') expect(refused).toMatch(/^200 /);
    }
  },
);

const failing = buildSchema(`
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
async function runFailing(query: string, items: number) {
  const error = new CountingError();
  const executePlanned = createPlanExecutor(failing);
  const field = failing.getQueryType()?.getFields().items;
  if (field !== undefined)
    field.resolve = () => Array.from({ length: items }, () => ({ id: 1, score: error, rank: error }));
  const document = parse(query);
  const result = await executePlanned({ document, operationName: undefined, variables: {}, context: {}, defers: true });
  if (result === undefined) throw new Error('There is no plan');
  return { error, document, ...result };
}

describe('a response with many errors', () => {
  test.each(['score', 'rank'])('reports the first 200 errors and one that stands for all others: %s', async name => {
    const { error, document, data, errors = [] } = await runFailing(`{ items { id ${name} } }`, 2_000);
    expect(errors).toHaveLength(maxErrors + 1);
    expect(errors.at(maxErrors - 1)?.path).toEqual(['items', maxErrors - 1, name]);
    expect(errors.at(-1)).toBe(moreErrors);
    // Its stack takes one more.
    expect(error.made).toBeLessThanOrEqual(maxErrors + 1);
    expect(JSON.stringify(data)).toBe(JSON.stringify((await execute({ schema: failing, document })).data));
  });

  test('reports as many of a response in parts, and says of each fragment without data that it failed', async () => {
    const fragments = '... @defer { id score } ... @defer { rank }';
    const { error, errors = [], deferred } = await runFailing(`{ items { ${fragments} } }`, 1_000);
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
    const service = forTest(await startStubService((_, response) => reply(response, 200, { data: companies })));
    const over = forTest(await startGateway({ env: { UPSTREAM_BASE_URL: service.origin, GRAPHQL_EXECUTOR } }));
    const ids = [1, 2, 3, 4, 5, 6];
    const query = 'query ($ids: [ID!]!) { markets(ids: $ids) { companies(first: 100) { nodes { score } } } }';
    const { data, errors } = await over.query(query, { ids });
    const nodes = ids.flatMap((_, index) => data.markets[index].companies.nodes);
    expect(nodes).toEqual(Array.from({ length: 600 }, () => ({ score: null })));
    expect(errors).toHaveLength(maxErrors + 1);
    expect(errors?.at(-1)).toEqual({
      message: expect.any(String),
      extensions: { code: 'QUERY_TOO_COMPLEX', measure: 'errors', value: maxErrors + 1, limit: maxErrors },
    });
  });

  test('reports 200 of the records that were left out', async () => {
    const service = forTest(
      await startStubService((_, response) => reply(response, 200, { data: Array(150).fill({}) })),
    );
    const over = forTest(await startGateway({ env: { UPSTREAM_BASE_URL: service.origin } }));
    const { data, errors } = await over.query('{ markets(ids: [1, 2]) { companies { totalCount nodes { domain } } } }');
    expect(data.markets[1].companies.totalCount).toBe(0);
    expect(errors).toHaveLength(201);
    expect(errors?.[199]?.extensions).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', record: 'Company' });
  });
});
