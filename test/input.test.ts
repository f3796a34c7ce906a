import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  type FragmentDefinitionNode,
  type GraphQLResolveInfo,
  Kind,
  type OperationDefinitionNode,
  parse,
} from 'graphql';
import { withoutValue } from '../src/graphql/argument-errors.js';
import { selectionsOf, selectsMember } from '../src/graphql/input.js';
import { nodeId } from '../src/graphql/node.js';
import { cursorOf, eventsWith } from './support/calls-table.js';
import { forSuite, forTest } from './support/cleanups.js';
import { expectCpuTime } from './support/cpu-time.js';
import { ask, demoHeaders, postJson, startGateway, type TestGateway } from './support/gateway.js';
import { overSse } from './support/streams.js';
import { eventPage, fakeWire } from './support/wire.js';

const companies = [
  { domain: 'acme.example', name: 'Acme, Inc.' },
  { domain: 'beta.example', name: 'Beta Oy' },
  { domain: 'unnamed.example', name: '' },
];
const service = fakeWire(({ url }) => {
  if (url.pathname.endsWith('/events')) return eventPage([]);
  return { body: url.pathname.endsWith('/companies') ? { data: companies } : { title: 'A plant burns' } };
});
const gateway = forSuite(await startGateway({ wire: service.wire }));

beforeEach(() => {
  service.calls.length = 0;
});

const codesOf = (errors: { extensions: { code: string; argument?: string } }[] | undefined) =>
  errors?.map(({ extensions: { code, argument } }) => ({ code, argument }));

const badInput = (argument: string) => [{ code: 'BAD_USER_INPUT', argument }];

const eventsQuery = `query ($first: Int, $after: String, $filter: EventFilter) {
  events(first: $first, after: $after, filter: $filter) { totalCount }
}`;

describe('the list of events', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['first 0', { first: 0 }, 'first'],
    ['first 101', { first: 101 }, 'first'],
    ['first -1', { first: -1 }, 'first'],
    ['first that is a fraction', { first: 1.5 }, 'first'],
    ['first beyond 32 bits', { first: 2 ** 31 }, 'first'],
    ['first that is text', { first: '10' }, 'first'],
    ['an after that is not a cursor', { after: 'x' }, 'after'],
    ['an empty after', { after: '' }, 'after'],
    ['an after of an earlier release', { after: Buffer.from('item:3').toString('base64url') }, 'after'],
    ['an after with a huge index', { after: cursorOf(2 ** 32 - 1) }, 'after'],
    ['an after in another encoding', { after: `${cursorOf(3)}==` }, 'after'],
    ['an after with a suffix', { after: `${cursorOf(3)}AAAA` }, 'after'],
    ['an after without an index', { after: cursorOf(3).slice(0, 7) }, 'after'],
    ['an after of another filter', { after: cursorOf(3, eventsWith('steel')) }, 'after'],
    ['a score of 4', { filter: { severity: { min: 4 } } }, 'filter.severity.min'],
    ['a score of -1', { filter: { likelihood: { max: -1 } } }, 'filter.likelihood.max'],
    ['min above max of likelihood', { filter: { likelihood: { min: 3, max: 1 } } }, 'filter.likelihood.min'],
    ['min above max of severity', { filter: { severity: { min: 2, max: 1 } } }, 'filter.severity.min'],
    ['from after to', { filter: { from: '2026-02-02', to: '2026-02-01' } }, 'filter.from'],
    [
      'from after to on one day',
      { filter: { from: '2026-02-02T10:00Z', to: '2026-02-02T10:00+01:00' } },
      'filter.from',
    ],
    ['a date that does not exist', { filter: { from: '2026-02-30' } }, 'filter.from'],
    ['a date in words', { filter: { to: 'yesterday' } }, 'filter.to'],
    ['an empty date', { filter: { to: '' } }, 'filter.to'],
    ['a date at second 61', { filter: { from: '2026-01-01T23:59:61Z' } }, 'filter.from'],
    ['a zone that does not exist', { filter: { to: '2026-01-01T23:59:00+24:00' } }, 'filter.to'],
    ['a date at hour 24', { filter: { from: '2026-01-01T24:00:00Z' } }, 'filter.from'],
    ['a date followed by a parameter', { filter: { from: '2026-01-01&page=2' } }, 'filter.from'],
    ['a date that is a number', { filter: { from: 20_260_101 } }, 'filter.from'],
    ['a name with a comma', { filter: { impactedEntities: ['x', 'Acme, Inc.'] } }, 'filter.impactedEntities.1'],
    ['a name of 10,000 characters', { filter: { alertTypes: ['x'.repeat(10_000)] } }, 'filter.alertTypes.0'],
    ['an empty name', { filter: { affectedDatapoints: [''] } }, 'filter.affectedDatapoints.0'],
    ['a name with NUL', { filter: { impactedEntities: ['a\0b'] } }, 'filter.impactedEntities.0'],
    ['a name with a line break', { filter: { impactedEntities: ['a\r\nb'] } }, 'filter.impactedEntities.0'],
    ['a name with half a surrogate pair', { filter: { impactedEntities: ['\ud800'] } }, 'filter.impactedEntities.0'],
    [
      'more than 100 names',
      { filter: { alertTypes: Array.from({ length: 101 }, (_, index) => `${index}`) } },
      'filter.alertTypes',
    ],
    [
      'names that are too long together',
      { filter: { alertTypes: Array.from({ length: 100 }, (_, index) => `${index}${'ü'.repeat(200)}`) } },
      'filter',
    ],
    [
      'names that are too long together in a URL',
      { filter: { impactedEntities: Array.from({ length: 10 }, (_, index) => `${index}${'市'.repeat(100)}`) } },
      'filter',
    ],
    ['an empty search', { filter: { search: '  ' } }, 'filter.search'],
    ['a search of 5,000 characters', { filter: { search: 'x'.repeat(5_000) } }, 'filter.search'],
    ['a member that does not exist', { filter: { page: 3 } }, 'filter.page'],
  ])('refuses %s', async (_, variables, argument) => {
    const { data, errors } = await gateway.query(eventsQuery, variables);
    expect(codesOf(errors)).toEqual(badInput(argument));
    expect(data?.events ?? null).toBeNull();
    expect(service.calls).toEqual([]);
  });

  test('refuses the same values as literals in the document', async () => {
    const { errors } = await gateway.query('{ events(first: 101) { totalCount } }');
    expect(codesOf(errors)).toEqual(badInput('first'));
    const literal = await gateway.query('{ events(filter: { from: 5 }) { totalCount } }');
    expect(literal.errors?.[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    expect(service.calls).toEqual([]);
  });

  const revenueOf = (range: string) =>
    `{ market(id: 1) { companies(filter: { actualRevenue: { ${range} } }) { totalCount } } }`;
  test.each([
    ['a number of a filter', revenueOf('min: 1e400')],
    ['a whole one', revenueOf(`max: 1${'0'.repeat(400)}`)],
    ['a default', `query ($min: Float = -1e400) ${revenueOf('min: $min')}`],
    [
      'a number in an object',
      'mutation { startDiscovery(input: { marketId: 1, searchCriteria: { attributes: { x: [1e400] } } }) { __typename } }',
    ],
  ])('refuses %s that would be infinite', async (_, query) => {
    const { errors } = await gateway.query(query);
    expect(new Set(errors?.map(({ extensions }) => extensions.code))).toEqual(new Set(['GRAPHQL_VALIDATION_FAILED']));
    expect(errors?.map(({ message }) => message).join()).not.toContain('stack');
    expect(service.calls).toEqual([]);
  });

  test('takes a number as an identifier only where JSON keeps all its digits', async () => {
    const query = 'query ($id: ID!) { observation(id: $id) { id } }';
    expect((await gateway.query(query, { id: 2 ** 53 - 1 })).errors).toBeUndefined();
    service.calls.length = 0;
    for (const id of [2 ** 53, 1e21, 1.5]) {
      expect(codesOf((await gateway.query(query, { id })).errors)).toEqual(badInput('id'));
    }
    expect(service.calls).toEqual([]);
  });

  test('takes other numbers in a document', async () => {
    for (const min of ['1', '-0.5', '1e308', '5e-324']) {
      expect((await gateway.query(revenueOf(`min: ${min}`))).errors).toBeUndefined();
    }
  });

  test('refuses an infinite number in a variable', async () => {
    const query = `mutation ($attributes: JSONObject) {
      startDiscovery(input: { marketId: 1, searchCriteria: { attributes: $attributes } }) { __typename } }`;
    const response = await postJson(
      `${gateway.url}/graphql`,
      `{"query":${JSON.stringify(query)},"variables":{"attributes":{"x":[1e400]}}}`,
    );
    expect(codesOf(JSON.parse(await response.text()).errors)).toEqual(badInput('input.searchCriteria.attributes'));
    expect(service.calls).toEqual([]);
  });

  test('passes a time on unchanged, and adds missing seconds and a missing zone', async () => {
    const sent = async (from: string) => {
      service.calls.length = 0;
      const { errors } = await gateway.query(eventsQuery, { filter: { from } });
      expect(errors).toBeUndefined();
      return service.calls[0]?.url.searchParams.get('from');
    };
    expect(await sent('2026-01-31')).toBe('2026-01-31');
    expect(await sent('2026-01-31T08:20')).toBe('2026-01-31T08:20:00Z');
    expect(await sent('2026-01-31T08:30:00Z')).toBe('2026-01-31T08:30:00Z');
    expect(await sent('2026-01-31T08:30:00.123456Z')).toBe('2026-01-31T08:30:00.123456Z');
    expect(await sent('2026-01-31T08:30:00+05:30')).toBe('2026-01-31T08:30:00+05:30');
    expect(await sent('2026-01-31t08:31:00z')).toBe('2026-01-31T08:31:00Z');
    expect(await sent('2026-01-31T08:30:00+0000')).toBe('2026-01-31T08:30:00+00:00');
    expect(await sent('2026-01-31T08:30:00+02')).toBe('2026-01-31T08:30:00+02:00');
    expect(await sent('2026-12-31T23:59:60Z')).toBe('2026-12-31T23:59:59Z');
  });

  test('sends null as the schema describes it: for a score the end of its scale, for a time nothing', async () => {
    const sent = async (filter: object) => {
      service.calls.length = 0;
      const { errors } = await gateway.query(eventsQuery, { filter: { alertTypes: ['Null'], ...filter } });
      expect(errors).toBeUndefined();
      return Object.fromEntries(service.calls[0]?.url.searchParams ?? []);
    };
    const rest = { pageSize: '10', page: '1', alertType: 'Null' };
    const scores = (likelihood: string, severity: string) => ({
      ...{ minLikelihood: likelihood[0], maxLikelihood: likelihood[1] },
      ...{ minSeverity: severity[0], maxSeverity: severity[1] },
    });
    expect(await sent({ from: null, to: null, impactedEntities: null })).toEqual(rest);
    expect(await sent({ likelihood: null, severity: {} })).toEqual({ ...rest, ...scores('03', '03') });
    expect(await sent({ likelihood: { min: 1 }, severity: { min: null, max: 1 } })).toEqual({
      ...rest,
      ...scores('13', '01'),
    });
    expect(await sent({ likelihood: { min: 2 }, severity: { min: 2, max: null } })).toEqual({
      ...rest,
      ...scores('23', '23'),
    });

    const { data } = await gateway.query(
      '{ __type(name: "EventFilter") { description inputFields { name description } } }',
    );
    const { description, inputFields } = data.__type as {
      description: string;
      inputFields: { name: string; description: string }[];
    };
    const described = new Map(inputFields.map(field => [field.name, field.description]));
    expect(description).not.toMatch(/`?null`? means/);
    expect(described.get('from')).toMatch(/left out or null: the previous UTC day, 00:00/i);
    expect(described.get('to')).toMatch(/left out or null: the current UTC day, 23:59/i);
  });

  test('takes the default scores of the schema where the whole filter is left out or null, as one list', async () => {
    service.calls.length = 0;
    const { data, errors } = await gateway.query(
      `query ($none: EventFilter) { a: events(first: 7) { totalCount } b: events(first: 7, filter: null) { totalCount }
        c: events(first: 7, filter: {}) { totalCount } d: events(first: 7, filter: $none) { totalCount }
        e: events(first: 7, filter: { severity: { min: 2, max: 3 } }) { totalCount }
        __type(name: "EventFilter") { inputFields { name defaultValue } } }`,
    );
    expect(errors).toBeUndefined();
    expect(service.calls.map(({ url }) => url.search)).toEqual(['?pageSize=7&page=1']);
    const defaults = data.__type.inputFields.filter(({ defaultValue }: { defaultValue: unknown }) => defaultValue);
    expect(defaults).toEqual(['severity', 'likelihood'].map(name => ({ name, defaultValue: '{min: 2, max: 3}' })));
  });

  test('accepts values at the limits', async () => {
    const { errors } = await gateway.query(
      `{ a: events(first: 1) { totalCount } b: events(first: 100) { totalCount }
        c: events(filter: { likelihood: { min: 0, max: 3 }, severity: { min: 3, max: 3 } }) { totalCount }
        d: events(filter: { from: "2026-02-02", to: "2026-02-02", severity: null }) { totalCount }
        e: events(filter: { from: "2028-02-29T23:59:59.123456Z", impactedEntities: ["A & B=C?#/%2f"] }) { totalCount } }`,
    );
    expect(errors).toBeUndefined();
    expect(service.calls).toHaveLength(5);
    const named = service.calls.find(({ url }) => url.searchParams.has('impactedEntity'));
    expect(named?.url.searchParams.get('impactedEntity')).toBe('A & B=C?#/%2f');
  });
});

describe('companies and suggestions', () => {
  test.each([
    ['first 0', 'companies(first: 0) { totalCount }', 'first'],
    ['first 101', 'companies(first: 101) { totalCount }', 'first'],
    ['an after that is not a cursor', 'companies(after: "x") { totalCount }', 'after'],
    ['an empty search', 'companies(filter: { search: "" }) { totalCount }', 'filter.search'],
    ['an empty domain', 'companies(filter: { domains: [""] }) { totalCount }', 'filter.domains.0'],
    ['a country with NUL', 'companies(filter: { operatesIn: ["\\u0000"] }) { totalCount }', 'filter.operatesIn.0'],
    [
      'a country of two lines',
      'companies(filter: { operatesIn: ["a\\u2028b"] }) { totalCount }',
      'filter.operatesIn.0',
    ],
    ['a search of two paragraphs', 'companies(filter: { search: "a\\u2029b" }) { totalCount }', 'filter.search'],
    [
      'a code of 5,000 characters',
      `companies(filter: { naics: ["${'1'.repeat(5_000)}"] }) { totalCount }`,
      'filter.naics.0',
    ],
    ['an empty domain argument', 'company(domain: "") { name }', 'domain'],
    ['a domain of 5 KB', `company(domain: "${'x'.repeat(5_000)}") { name }`, 'domain'],
  ])('refuse %s', async (_, field, argument) => {
    const { errors } = await gateway.query(`{ market(id: 1) { ${field} } }`);
    expect(codesOf(errors)).toEqual(badInput(argument));
    expect(service.calls).toEqual([]);
  });

  test.each([
    ['first 0', 'beta.example', 'events(first: 0) { totalCount }', 'first'],
    [
      'entities of its own',
      'beta.example',
      'events(filter: { impactedEntities: ["x"] }) { totalCount }',
      'filter.impactedEntities',
    ],
    ['a score of 4', 'beta.example', 'events(filter: { severity: { max: 4 } }) { totalCount }', 'filter.severity.max'],
  ])('a company refuses %s without an upstream call for events', async (_, domain, field, argument) => {
    const { data, errors } = await gateway.query(
      `{ market(id: 1) { company(domain: "${domain}") { domain ${field} } } }`,
    );
    expect(codesOf(errors)).toEqual(badInput(argument));
    expect(data.market.company).toEqual({ domain, events: null });
    expect(service.calls.filter(({ path }) => path.includes('events'))).toEqual([]);
  });

  test('an empty list of entities means any, as if it was left out', async () => {
    const { errors } = await gateway.query(
      '{ market(id: 1) { company(domain: "beta.example") { events(filter: { impactedEntities: [], alertTypes: [] }) { totalCount } } } }',
    );
    expect(errors).toBeUndefined();
  });

  test.each([
    ['domains', { domains: [] }],
    ['matching.domains', { matching: { domains: [], search: 'a' } }],
    ['visible.filter.domains', { visible: { first: 3, filter: { domains: [] } } }],
  ])('a file of nothing is refused without an upstream call: %s', async (argument, companies) => {
    const { errors } = await gateway.query(
      'mutation ($input: ExportMarketCsvInput!) { exportMarketCsv(input: $input) { selected } }',
      { input: { marketId: '1', companies } },
    );
    expect(codesOf(errors)).toEqual(badInput(`input.companies.${argument}`));
    expect(service.calls).toEqual([]);
  });

  test.each(['acme.example', 'unnamed.example'])('the events of %s cannot be queried', async domain => {
    const { data, errors } = await gateway.query(
      `{ market(id: 1) { company(domain: "${domain}") { domain events { totalCount } } } }`,
    );
    expect(errors?.map(({ path, extensions }) => ({ path, extensions }))).toEqual([
      { path: ['market', 'company', 'events'], extensions: { code: 'NOT_QUERYABLE' } },
    ]);
    expect(data.market.company).toEqual({ domain, events: null });
    expect(service.calls.filter(({ path }) => path.includes('events'))).toEqual([]);
  });

  test.each(['', '   ', 'x'.repeat(1_001), 'a\0'])('suggestions refuse the keyword %j', async keyword => {
    const { errors } = await gateway.query('query ($keyword: String!) { suggestMarkets(keyword: $keyword) }', {
      keyword,
    });
    expect(codesOf(errors)).toEqual(badInput('keyword'));
    expect(service.calls).toEqual([]);
  });
});

const invalidIds = [
  '',
  ' ',
  '.',
  '..',
  '../',
  '../../v2/auth/session',
  '..%2fevents',
  '%2f',
  '%2e%2e',
  '/',
  '\\',
  'a/b',
  'a?page=1',
  'a#b',
  'a;b',
  'a\0b',
  'a\nb',
  'a b',
  'ä',
  '\ud800',
  'x'.repeat(5 * 1024),
];

describe('an invalid identifier', () => {
  test.each(invalidIds)('%j is refused for an observation', async id => {
    const { data, errors } = await gateway.query('query ($id: ID!) { observation(id: $id) { title } }', { id });
    expect(codesOf(errors)).toEqual(badInput('id'));
    expect(data).toEqual({ observation: null });
    expect(service.calls).toEqual([]);
  });

  test.each([...invalidIds, '-1', '1.5', '1e3', '0x10', '01', '+1', 'one', '9'.repeat(16)])(
    '%j is refused for a market',
    async id => {
      const { data, errors } = await gateway.query('query ($id: ID!) { market(id: $id) { id name jobs { id } } }', {
        id,
      });
      expect(codesOf(errors)).toEqual(badInput('id'));
      expect(data).toEqual({ market: null });
      expect(service.calls).toEqual([]);
    },
  );

  test('in a reference from the service is not used as a path', async () => {
    const references = invalidIds.map(id => ({ _id: id, title: 'A reference' }));
    const poisoned = fakeWire(({ url }) =>
      url.pathname.endsWith('/events') ? eventPage([{ _id: 'e-1', references }]) : { body: { title: 'A plant burns' } },
    );
    const other = forTest(await startGateway({ wire: poisoned.wire }));
    await other.query('{ events { nodes { references { observation { id } } } } }');
    const prefix = '/v2/events-monitor/observation/';
    const observations = poisoned.calls.filter(({ path }) => !path.startsWith('/v2/events-monitor/events?'));
    for (const { path, url } of observations) {
      expect(path.startsWith(prefix)).toBe(true);
      // The URL has no other path, even after it is normalized.
      expect(url.pathname).toBe(path);
      expect(path.slice(prefix.length)).toMatch(/^[^/?#]+$/);
      expect(decodeURIComponent(path.slice(prefix.length))).not.toMatch(/^\.*$/);
    }
  });
});

describe('a credential', () => {
  const viewer = '{ viewer { authentication } events { totalCount } }';
  const send = (headers: Record<string, string>, search = '') =>
    ask(`${gateway.url}/graphql${search}`, viewer, {}, headers);

  test.each<[string, Record<string, string>, string, string]>([
    ['two kinds at once', { 'x-api-key': 'k', authorization: 'Bearer t' }, '', 'authorization'],
    ['a key and a session id', { 'x-api-key': 'k' }, '?sessionId=s', 'sessionId'],
    ['a token and a session id', { authorization: 'Bearer t' }, '?sessionId=s', 'sessionId'],
    ['an empty key', { 'x-api-key': '' }, '', 'x-api-key'],
    ['an empty token', { authorization: 'Bearer ' }, '', 'authorization'],
    ['another scheme', { authorization: 'Basic dTpw' }, '', 'authorization'],
    ['an empty session id', {}, '?sessionId=', 'sessionId'],
    ['a session id with a line break', {}, '?sessionId=a%0d%0ax-api-key:%20k', 'sessionId'],
    ['a session id with NUL', {}, '?sessionId=a%00', 'sessionId'],
    ['a session id with a space', {}, '?sessionId=a+b', 'sessionId'],
    ['two session ids', {}, '?sessionId=a%20&sessionId=b', 'sessionId'],
    ['a key with letters beyond ASCII', { 'x-api-key': 'schl\u00fcssel' }, '', 'x-api-key'],
    ['a key of 5 KB', { 'x-api-key': 'k'.repeat(5 * 1024) }, '', 'x-api-key'],
  ])('is refused: %s', async (_, headers, search, argument) => {
    const { status, errors } = await send(headers, search);
    expect(status).toBe(400);
    expect(codesOf(errors)).toEqual(badInput(argument));
    expect(JSON.stringify(errors)).not.toMatch(/dTpw|schl/);
    expect(service.calls).toEqual([]);
  });

  test('is not needed for introspection', async () => {
    const { data, errors } = await ask(`${gateway.url}/graphql`, '{ __typename market(id: 1) { id } }', {}, {});
    expect({ data, errors }).toEqual({ data: { __typename: 'Query', market: { id: '1' } } });
  });
});

test.each([
  ['an argument', 'query ($value: String = "x") { market(id: 1) { company(domain: $value) { name } } }', 'domain'],
  [
    'a member of an input object',
    `mutation ($value: String = "x") { createSearchCriteria(input: { searchInput: $value }) { __typename } }`,
    'input.searchInput',
  ],
  [
    'a member on many objects',
    `query ($value: OrderDirection = ASC) { markets(ids: [1, 2, 3]) { companies(orderBy: { field: NAME, direction: $value }) { totalCount } } }`,
    'orderBy.direction',
  ],
  ['a directive', 'query ($value: Boolean = true) { viewer @skip(if: $value) { team } }', 'if'],
])('names the argument for %s that is null despite the default of its variable', async (_, document, argument) => {
  const { status, data, errors } = await gateway.query(document, { value: null });
  expect({ status, data }).toEqual({ status: 400, data: undefined });
  expect(codesOf(errors)).toEqual(badInput(argument));
  expect(service.calls).toEqual([]);
});

describe('the argument of an error that the service answers with', () => {
  const refusing = fakeWire(({ url }) =>
    url.pathname.endsWith('/events') && url.searchParams.get('pageSize') === '1'
      ? eventPage([{ _id: 'e', title: 'A plant burns', references: [{ _id: 'o', title: 'News' }] }])
      : url.pathname.endsWith('/start')
        ? { status: 409, body: {} }
        : { status: 400, body: {} },
  );
  const id = JSON.stringify(nodeId('Observation', ['o']));
  const job = JSON.stringify(nodeId('Job', ['1', 'DISCOVERY', '2']));
  const everything = 'marketId: 1, companies: { matching: {} }';
  let own: TestGateway;
  beforeAll(async () => {
    own = await startGateway({ wire: refusing.wire });
    await own.query(
      'mutation { registerExportEndpoint(input: { name: "crm", url: "https://crm.example", description: "d" }) { signingSecret } }',
    );
  });
  afterAll(() => own.close());

  test.each<[string, string | undefined]>([
    ['{ observation(id: "o") { title } }', 'id'],
    ['{ observations(ids: ["o"]) { title } }', 'ids.0'],
    [`{ node(nodeId: ${id}) { ... on Observation { title } } }`, 'nodeId'],
    [`{ nodes(nodeIds: [${job}]) { ... on Job { workflowName } } }`, 'nodeIds.0'],
    [`{ node(nodeId: ${JSON.stringify(nodeId('Event', ['e']))}) { ... on Event { title } } }`, 'nodeId'],
    ['{ event(id: "e") { title } }', 'id'],
    ['{ events { totalCount } }', 'filter'],
    ['{ eventStatistics { total } }', 'filter'],
    ['{ suggestMarkets(keyword: "steel") }', 'keyword'],
    ['{ events(first: 1) { nodes { references { observation { title } } } } }', undefined],
    ['{ market(id: 1) { name } }', 'id'],
    ['{ market(id: 1) { jobs { id } } }', 'id'],
    ['{ market(id: 1) { companies { totalCount } } }', 'id'],
    ['{ markets(ids: [1]) { name } }', 'ids.0'],
    ['{ markets(ids: [1]) { company(domain: "a.example") { name } } }', 'ids.0'],
    [`{ node(nodeId: ${JSON.stringify(nodeId('Market', ['1']))}) { ... on Market { esg } } }`, undefined],
    [
      'mutation { startDiscovery(input: { marketId: 1, searchCriteria: {} }) { ... on RunningDiscovery { market { name } } } }',
      undefined,
    ],
    [`mutation { exportMarketCsv(input: { ${everything} }) { downloadLink } }`, 'input.marketId'],
    [`mutation { exportMarketToEndpoint(input: { ${everything}, endpoint: "crm" }) { __typename } }`, 'input.marketId'],
    ['mutation { publishMarket(input: { marketId: 1 }) { marketId } }', 'input'],
  ])('is one of the field: %s', async (query, argument) => {
    expect(codesOf((await own.query(query)).errors)).toEqual([{ code: 'BAD_USER_INPUT', argument }]);
  });

  test('is one of the subscription', async () => {
    const { results, ended } = overSse(own.url, { query: 'subscription { jobProgress(marketId: 1) { finished } }' });
    await ended;
    expect(codesOf(results[0].errors)).toEqual(badInput('marketId'));
  });
});

describe('the argument of an error that GraphQL itself finds', () => {
  const criteria = (value: string) => `{ marketId: "1", searchCriteria: ${value} }`;
  const startWith = (input: string) => `mutation { startDiscovery(input: ${input}) { __typename } }`;
  const start = 'mutation ($input: StartDiscoveryInput!) { startDiscovery(input: $input) { __typename } }';

  test.each<[string, object, string]>([
    ['a member deep in a variable', { searchCriteria: { count: 'many' } }, 'input.searchCriteria.count'],
    [
      'an item of a list in a variable',
      { searchCriteria: { locations: [{ countryCode: 'DE' }, { countryCode: 7 }] } },
      'input.searchCriteria.locations.1.countryCode',
    ],
    ['an unknown member of a variable', { searchCriteria: { cuont: 1 } }, 'input.searchCriteria.cuont'],
    ['a member that is missing in a variable', {}, 'input.searchCriteria'],
    ['a text that looks like the place of an error', { searchCriteria: '" at "input.x"; ' }, 'input.searchCriteria'],
  ])('is the path of %s', async (_, input, argument) => {
    const { status, errors } = await gateway.query(start, { input: { marketId: '1', ...input } });
    expect(status).toBe(400);
    expect(codesOf(errors)).toEqual(badInput(argument));
  });

  const long = 'x'.repeat(2_000);
  const interval = 'query ($value: EventInterval!) { eventStatistics(interval: $value) { total } }';
  const filter = 'query ($value: EventFilter) { events(filter: $value) { totalCount } }';
  test.each<[string, string, unknown, string]>([
    ['a list for an enum', interval, [long], 'interval'],
    ['a long text for an enum', interval, long, 'interval'],
    ['a number as text', 'query ($value: Int) { events(first: $value) { totalCount } }', '1'.repeat(2_000), 'first'],
    ['a list for a text', 'query ($value: String) { events(after: $value) { totalCount } }', [long], 'after'],
    ['a long condition', 'query ($value: Boolean!) { viewer @skip(if: $value) { team } }', long, 'value'],
    ['a member of a long name', filter, { [long]: 1 }, 'filter'],
    ['a long text in a member', filter, { severity: { min: long } }, 'filter.severity.min'],
    ['a long text for members', filter, long, 'filter'],
  ])('names %s and does not repeat it', async (_, document, value, argument) => {
    const { status, errors } = await gateway.query(document, { value });
    expect([status, codesOf(errors)]).toEqual([400, badInput(argument)]);
    expect(JSON.stringify(errors).length).toBeLessThan(500);
    expect(service.calls).toEqual([]);
  });

  test('a node id that is too long is not decoded', async () => {
    const long = Buffer.from(`["Market","${'1'.repeat(4_000)}"]`).toString('base64url');
    const { errors } = await gateway.query('query ($id: ID!) { node(nodeId: $id) { nodeId } }', { id: long });
    expect(codesOf(errors)).toEqual(badInput('nodeId'));
  });

  test.each<[string, object, string]>([
    [
      'of another member',
      { email: 'me@example.com', passwrd: 'secret' },
      'Variable "$input" has an invalid value for "input.password": Field "password" of required type "String!" was not provided.',
    ],
    [
      'of another type',
      { email: 'me@example.com', password: ['secret'] },
      'Variable "$input" has an invalid value for "input.password": String cannot represent a non string value.',
    ],
  ])('does not repeat a secret %s', async (_, input, message) => {
    const { errors } = await gateway.query('mutation ($input: SignInInput!) { signIn(input: $input) { __typename } }', {
      input,
    });
    expect(errors?.map(error => error.message)).toEqual([message]);
    expect(codesOf(errors)).toEqual(badInput('input.password'));
  });

  const values = 'Did you mean HOUR, DAY, WEEK or MONTH';
  const unknown = (value: string) => `Value "${value}" does not exist in "EventInterval" enum. ${values}?`;
  test.each<[string, unknown, string]>([
    ['an unknown one', 'YEAR', unknown('YEAR')],
    ['a long one, cut', 'é'.repeat(200), unknown(`${'é'.repeat(40)}…`)],
    ['a very long one, cut', '\u{1f600}'.repeat(20_000), unknown(`${'\u{1f600}'.repeat(40)}…`)],
    ['one that ends within a letter', `${'x'.repeat(39)}\u{1f600}\u{1f600}`, unknown(`${'x'.repeat(39)}\u{1f600}…`)],
    ['half of a letter', '\ud83d', unknown('\ufffd')],
    ['what GraphQL would write', '" does not exist in "X" enum.', unknown('\\" does not exist in \\"X\\" enum.')],
    ['a number', 5, `Enum "EventInterval" cannot represent non-string value. ${values}, without quotes?`],
  ])('names the values of an enum in place of %s', async (_, interval, message) => {
    const document = 'query ($interval: EventInterval!) { eventStatistics(interval: $interval) { total } }';
    const { errors } = await gateway.query(document, { interval });
    expect(errors).toEqual([
      expect.objectContaining({
        message: `Variable "$interval" has an invalid value for "interval": ${message}`,
        extensions: { code: 'BAD_USER_INPUT', argument: 'interval' },
      }),
    ]);
  });

  const target = (value: string) =>
    `mutation { reviewCompanies(input: { marketId: 1, reviewStatus: INCLUDE, target: ${value} }) { marketId } }`;
  test.each([{}, { domains: null }])(
    'names the variable of a member of a @oneOf that has no value: %j',
    async given => {
      const document = target('{ domains: $domains }').replace('mutation', 'mutation ($domains: [String!])');
      expect((await gateway.query(document, given)).errors).toEqual([
        expect.objectContaining({
          message: 'A variable in "input.target.domains" is null or left out, but must have a value',
          extensions: { code: 'BAD_USER_INPUT', argument: 'input.target.domains' },
        }),
      ]);
    },
  );

  test.each<[string, object]>([
    ['none', {}],
    ['all and domains', { domains: ['a.example'], all: true }],
    ['all and domains', { all: true, domains: null }],
  ])('names the members of a @oneOf that was given %s', async (given, value) => {
    const message = `"ReviewTarget" takes exactly one member, but was given ${given}. Did you mean all or domains?`;
    const literal = target(JSON.stringify(value).replaceAll(/"(\w+)":/g, '$1:'));
    expect((await gateway.query(literal)).errors).toEqual([
      expect.objectContaining({ message, extensions: { code: 'GRAPHQL_VALIDATION_FAILED', argument: 'input.target' } }),
    ]);
    const { errors } = await gateway.query(target('$value').replace('mutation', 'mutation ($value: ReviewTarget!)'), {
      value,
    });
    expect(errors).toEqual([
      expect.objectContaining({
        message: `Variable "$value" has an invalid value for "input.target": ${message}`,
        extensions: { code: 'BAD_USER_INPUT', argument: 'input.target' },
      }),
    ]);
  });

  const signIn = (password: string) => `mutation ($x: String = "x") {
    signIn(input: { email: $x, password: ${password} }) { __typename } }`;
  test.each<[string, string, string]>([
    ['of another type', signIn('12345'), 'String cannot represent a non string value.'],
    ['without quotes', signIn('secret12345'), 'String cannot represent a non string value.'],
    ['in an object', signIn('{ value: "12345" }'), 'String cannot represent a non string value.'],
    [
      'in place of an object',
      '{ events(filter: "x\\", found 12345") { totalCount } }',
      'Expected value of type "EventFilter".',
    ],
    [
      'in place of an identifier',
      '{ market(id: ["12345"]) { id } }',
      'ID cannot represent a non-string and non-integer value.',
    ],
    [
      'in place of a number',
      '{ events(first: "12345 cannot represent x: 12345") { totalCount } }',
      'Int cannot represent non-integer value.',
    ],
    [
      'that is a large number',
      '{ events(first: 1234567890123) { totalCount } }',
      'Int cannot represent non 32-bit signed integer value.',
    ],
    [
      'in place of an enum value, but shows its values',
      '{ eventStatistics(interval: secret12345) { total } }',
      unknown('secret12345'),
    ],
    [
      'in place of an enum value, in quotes',
      '{ eventStatistics(interval: "12345") { total } }',
      `Enum "EventInterval" cannot represent non-enum value. ${values}, without quotes?`,
    ],
    ['in place of a name', '{ "12345 String \\"12345" }', 'Syntax Error: Expected Name, found String.'],
    ['behind its place', '{ market(id: "1" 12345) { id } }', 'Syntax Error: Expected Name, found Int.'],
    ['in a block', '{ market(id: x """12345""") { id } }', 'Syntax Error: Expected Name, found BlockString.'],
    [
      'beside a null variable',
      signIn('"12345"'),
      'A variable in "input.email" is null or left out, but must have a value',
    ],
  ])('does not repeat a literal %s', async (_, document, message) => {
    const { errors } = await gateway.query(document, { x: null });
    expect(errors?.map(error => error.message)).toEqual([message]);
  });

  test('is looked for in a time that does not depend on the names in a message', () => {
    const withName = (name: string) => {
      const message = `Field "${name.repeat(90_000 / name.length)}" is not defined by type "EventFilter".`;
      return () => void withoutValue(message);
    };
    // A time that grows with the square is more than five hundred times as long.
    expectCpuTime(withName(' cannot represent '), 100, withName('a'));
  });

  test.each<[string, string, unknown, string]>([
    [
      'within a literal',
      `mutation ($value: Int) { startDiscovery(input: ${criteria('{ count: $value }')}) { __typename } }`,
      'x',
      'input.searchCriteria.count',
    ],
    ['in a list', 'query ($value: ID!) { markets(ids: ["1", $value]) { id } }', {}, 'ids.1'],
    [
      'in a fragment',
      'query ($value: Int) { ...F } fragment F on Query { events(first: $value) { totalCount } }',
      'x',
      'first',
    ],
    ['of another name', 'query ($value: String!) { suggestMarkets(keyword: $value) }', undefined, 'keyword'],
    ['in a directive first', 'query ($value: Boolean!) { viewer @include(if: $value) { team } }', 'x', 'value'],
  ])('is the path of the variable %s', async (_, document, value, argument) => {
    const { errors } = await gateway.query(document, { value });
    expect(codesOf(errors)).toEqual(badInput(argument));
  });

  test.each<[string, string, string | undefined]>([
    ['an invalid value', startWith(criteria('{ count: "many" }')), 'input.searchCriteria.count'],
    ['an invalid item', startWith(criteria('{ seedDomains: ["a.example", 7] }')), 'input.searchCriteria.seedDomains.1'],
    ['an unknown member', startWith(criteria('{ cuont: 1 }')), 'input.searchCriteria.cuont'],
    ['a missing member', startWith('{ marketId: "1" }'), 'input'],
    ['an unknown argument', '{ market(id: 1, name: "x") { id } }', 'name'],
    ['a missing argument', '{ market { id } }', 'id'],
    ['a variable of another type', 'query ($x: String) { events(first: $x) { totalCount } }', 'first'],
    ['an unknown field', '{ markt { id } }', undefined],
    ['an invalid default', 'query ($x: Int = "x") { events(first: $x) { totalCount } }', undefined],
  ])('is the path of %s in the document', async (_, document, argument) => {
    const { errors } = await gateway.query(document);
    expect(errors?.map(({ extensions }) => extensions)).toEqual([
      { code: 'GRAPHQL_VALIDATION_FAILED', ...(argument && { argument }) },
    ]);
  });
});

test('the method, headers and path of a request are not passed upstream; the gateway says who it is', async () => {
  await gateway.query(
    '{ events { totalCount } }',
    {},
    {
      ...demoHeaders,
      'x-forwarded-host': 'evil.example',
      'x-http-method-override': 'DELETE',
      cookie: 'svc_session=stolen',
      'user-agent': 'something',
    },
  );
  expect(service.calls.map(({ method, headers }) => ({ method, names: Object.keys(headers).sort() }))).toEqual([
    { method: 'GET', names: ['accept', 'accept-encoding', 'user-agent', 'x-api-key', 'x-request-id'] },
  ]);
  expect(service.calls[0]?.headers['user-agent']).toMatch(/^market-intelligence-gateway\/\d+\.\d+\.\d+$/);
});

test('what a field selects is found once, however often fragments spread each other', () => {
  const names = Array.from({ length: 60 }, (_, index) => `F${index}`);
  const spreads = names.map((name, index) => `fragment ${name} on Market { ...F${index + 1} ...F${index + 1} }`);
  const text = `query ($is: Boolean!) { nodes { ...F0 a @include(if: $is) } } ${spreads.join(' ')} fragment F60 on Market { b }`;
  const [operation, ...definitions] = parse(text).definitions as [OperationDefinitionNode, ...FragmentDefinitionNode[]];
  const fragments = Object.fromEntries(definitions.map(each => [each.name.value, each]));
  const fieldNodes = operation.selectionSet.selections;
  const info = { fieldNodes, fragments, variableValues: { is: false } } as unknown as GraphQLResolveInfo;
  expect([...selectionsOf(info)].map(({ kind }) => kind)).toEqual([
    ...definitions.map(() => Kind.FRAGMENT_DEFINITION),
    Kind.FIELD,
  ]);
  expect(['a', 'b'].map(name => selectsMember(info, name))).toEqual([false, true]);
});
