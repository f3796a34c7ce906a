import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Redis } from 'ioredis';
import { Client as UndiciClient } from 'undici';
import { hashOfKey } from '../src/auth/credentials.js';
import { Topic } from '../src/data/polling/topic.js';
import { FairCount } from '../src/http/limits/concurrency-limit.js';
import { startSandbox } from '../src/sandbox/server.js';
import { cleanups, forSuite, forTest, listening } from './support/cleanups.js';
import { collectGarbage } from './support/collect-garbage.js';
import { demoHeaders, postJson, startGateway } from './support/gateway.js';
import { hold } from './support/hold.js';
import { takeLog } from './support/log.js';
import { connectMcp, connectOldMcp, modern, revisions, sendMcp, toolCall } from './support/mcp.js';
import { counted } from './support/metrics.js';
import { startRedis } from './support/redis.js';
import { reply, startStubService } from './support/stub-service.js';
import { until } from './support/until.js';

// biome-ignore lint/suspicious/noExplicitAny: an answer is what the test is about to find out
type Any = any;

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const markets = { published: '3', draft: '5' };
const env = { MCP_OPERATIONS: 'operations', MCP_ALLOW_MUTATIONS: 'true', POLL_INTERVAL_MS: '100' };
const folders = mkdtempSync(join(tmpdir(), 'mcp-'));

/** A folder with these files. */
function folderOf(files: Record<string, string>): string {
  const folder = mkdtempSync(join(folders, 'operations-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** How much the clock of the sandbox is ahead, in milliseconds. */
let ahead = 0;
const sandbox = forSuite(await startSandbox({ now: () => new Date(Date.now() + ahead), discoveryMs: 600_000 }));
const gateway = forSuite(await startGateway({ sandbox, env }));
const client = forSuite(await connectMcp(gateway.url));
const tools: Any[] = (await client.listTools()).tools;

afterAll(() => rmSync(folders, { recursive: true }));
beforeEach(() => {
  ahead = 0;
  sandbox.reset();
});

const call = async (name: string, variables: object = {}, from = client): Promise<Any> =>
  from.callTool({ name, arguments: { ...variables } });
const codesOf = ({ structuredContent: { errors = [] } }: Any) => errors.map(({ extensions }: Any) => extensions.code);

/** Arguments for each tool of the sandbox. */
const calls = async (from = client): Promise<Record<string, object>> => {
  const marketId = markets.published;
  const { structuredContent: companies }: Any = await call('findCompanies', { marketId, first: 1 }, from);
  const { structuredContent: criteria }: Any = await call('createSearchCriteria', { question: 'Who?' }, from);
  return {
    companyEvents: { marketId, from: '2020-01-01' },
    compareEsg: { marketId },
    countCompanies: { marketId },
    countEvents: { interval: 'WEEK', from: '2020-01-01' },
    createSearchCriteria: { question: 'Who recycles batteries?' },
    describeCompany: { marketId, domain: companies.data.market.companies.nodes[0].domain },
    describeMarket: { marketId: markets.draft },
    discoveryProgress: { marketId },
    explainEvents: { minSeverity: 0, minLikelihood: 0, from: '2020-01-01' },
    findCompanies: { marketId, orderBy: { field: 'SCORE', direction: 'DESC' }, actualRevenue: { min: 1 } },
    marketTopics: { marketId },
    readObservation: { id: sandbox.data.events[0]?.references[0]?._id },
    searchCriteria: { marketId },
    searchEvents: { minSeverity: 3, from: '2020-01-01' },
    startDiscovery: {
      marketId: markets.draft,
      searchCriteria: criteria.data.createSearchCriteria.searchCriteria,
    },
    suggestMarkets: { keyword: 'battery' },
  };
};

describe('the tools of the sandbox', () => {
  test('are the operations of the folder, and only mutations are not read-only', () => {
    const files = readdirSync('operations')
      .filter(file => file.endsWith('.graphql'))
      .map(file => file.replace('.graphql', ''));
    expect(tools.map(({ name }) => name)).toEqual(files);
    const writing = tools.filter(({ annotations }) => !annotations.readOnlyHint).map(({ name }) => name);
    expect(writing).toEqual(['createSearchCriteria', 'startDiscovery']);
    for (const { description } of tools) expect(description.length).toBeGreaterThan(40);
  });

  test('report no fault of data that they do not select', async () => {
    const data = [{ domain: 'a.example', name: 'A', dunsNumbers: [null], naics: [{ code: '33', name: 'B' }] }, {}];
    sandbox.tell({ path: /markets\/3\/companies$/, status: 200, body: JSON.stringify({ data }) });
    const own = forTest(await startGateway({ sandbox, env }));
    const reader = forTest(await connectMcp(own.url));
    for (const name of ['describeMarket', 'countCompanies']) {
      const { isError, structuredContent } = await call(name, { marketId: markets.published }, reader);
      expect([name, isError, structuredContent.errors]).toEqual([name, false, undefined]);
    }
    const found = await call('findCompanies', { marketId: markets.published }, reader);
    expect([found.isError, codesOf(found)]).toEqual([true, ['UPSTREAM_INVALID_RESPONSE']]);
  });

  test('are on by default with the embedded sandbox, without mutations', async () => {
    const own = forTest(await startGateway());
    const reader = forTest(await connectMcp(own.url, {}));
    const listed = (await reader.listTools()).tools;
    expect(listed.map(({ name }) => name)).toEqual(
      tools.filter(({ annotations }) => annotations.readOnlyHint).map(({ name }) => name),
    );
    expect((await call('describeMarket', { marketId: markets.published }, reader)).isError).toBe(false);
    await expect(call('createSearchCriteria', { question: 'Who?' }, reader)).rejects.toThrow('no tool of this name');
  });

  /** Clients of each revision, by the kind of their credential. */
  const clients: readonly (readonly [kind: string, revision: string, connect: typeof connectOldMcp])[] = [
    ...revisions.map(revision => {
      const connect = (url: string, headers?: Record<string, string>) => connectMcp(url, headers, revision);
      return ['API key', revision, connect] as const;
    }),
    ['bearer token', revisions[0], connectMcp],
    ['API key', '2025-11-25', connectOldMcp],
    ['bearer token', '2025-11-25', connectOldMcp],
  ];

  test.each(clients)(
    'can each be called with an %s in revision %s, and answer as their schemas say',
    async (kind, revision, connect) => {
      const { data } = await gateway.query('mutation { createEmbedSession { session { accessToken } } }');
      const { accessToken } = data.createEmbedSession.session;
      const own = forTest(
        await connect(gateway.url, kind === 'API key' ? demoHeaders : { authorization: `Bearer ${accessToken}` }),
      );
      expect([own.revision, own.getInstructions()]).toEqual([revision, expect.stringContaining('extensions.argument')]);
      expect((await own.listTools()).tools).toEqual(tools);
      for (const [name, variables] of Object.entries(await calls(own))) {
        const { content, structuredContent, isError } = await call(name, variables, own);
        expect([name, isError, structuredContent]).toEqual([
          name,
          false,
          { ...structuredContent, data: expect.anything() },
        ]);
        expect(JSON.stringify(structuredContent).length).toBeLessThanOrEqual(61 * 1024);
        expect([name, content]).toEqual([name, [{ type: 'text', text: expect.stringMatching(/^\w/) }]]);
        expect(content[0].text.length).toBeLessThanOrEqual(1_000);
      }
      // Now a discovery runs.
      const { startDiscovery } = await calls(own);
      const again = await call('startDiscovery', startDiscovery, own);
      expect(again.structuredContent.data.startDiscovery.__typename).toBe('DiscoveryAlreadyRunning');
      await expect(call('nothing', {}, own)).rejects.toMatchObject({ code: -32_602 });
    },
  );

  test('are listed in at most 20 KB, and for how long', async () => {
    const listing = modern(list);
    const text = await (await sendMcp(gateway.url, listing.body, { ...demoHeaders, ...listing.headers })).text();
    expect(JSON.parse(text).result).toMatchObject({ tools, ttlMs: 300_000, cacheScope: 'private' });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(20 * 1024);
    expect(JSON.stringify(tools.map(({ outputSchema }) => outputSchema))).not.toContain('"description":"');
    const { properties } = tools.find(({ name }) => name === 'countEvents').outputSchema;
    const { alertTypes, impactedEntities } = properties.data.properties.eventStatistics.properties;
    const counts = { items: { properties: { value: {}, count: { type: 'integer' } } } };
    expect([alertTypes, impactedEntities]).toEqual([counts, counts]);
  });

  test.each(['x', ''])('have no second page: %j', async cursor => {
    for (const { body, headers } of [
      { body: { ...list, params: { cursor } }, headers: {} },
      modern({ ...list, params: { cursor } as never }),
    ]) {
      const { error }: Any = await (await sendMcp(gateway.url, body, { ...demoHeaders, ...headers })).json();
      expect(error).toMatchObject({ code: -32_602 });
    }
  });

  test('say nothing of null, which is as left out', async () => {
    const query = 'query s($severity: IntRange) { events(filter: { severity: $severity }) { totalCount } }';
    const operations = folderOf({ 's.graphql': `# All.\n${query}` });
    const own = forTest(await startGateway({ sandbox, env: { MCP_OPERATIONS: operations } }));
    const reader = forTest(await connectMcp(own.url));
    const [tool]: Any[] = (await reader.listTools()).tools;
    expect(tool.inputSchema.properties.severity).toMatchObject({
      description: 'Range of the severity of an impacted entity. Its bounds are 0 to 3.',
      default: { min: 2, max: 3 },
    });
    const answer = await call('s', {}, reader);
    expect(await call('s', { severity: null }, reader)).toEqual(answer);
    expect(await call('s', { severity: { min: 0 } }, reader)).not.toEqual(answer);
  });

  test('have no default of null, which is no value of their type', async () => {
    const query = 'query searched($search: String = null) { events(filter: { search: $search }) { totalCount } }';
    const operations = folderOf({ 'searched.graphql': `# All.\n${query}` });
    const own = forTest(await startGateway({ sandbox, env: { MCP_OPERATIONS: operations } }));
    const [tool]: Any[] = (await forTest(await connectMcp(own.url)).listTools()).tools;
    expect(tool.inputSchema.properties.search).not.toHaveProperty('default');
  });

  test('take an argument that is null as left out, so that its default holds', async () => {
    const given = { from: '2020-01-01', interval: 'WEEK' };
    const countOf = async (more: object) => {
      const { structuredContent } = await call('countEvents', { ...given, ...more });
      return structuredContent.data.eventStatistics.total;
    };
    const severe = await countOf({});
    expect(await countOf({ minSeverity: null, minLikelihood: null, search: null })).toBe(severe);
    expect(await countOf({ minSeverity: 0, minLikelihood: 0 })).toBeGreaterThan(severe);
    expect((await call('countEvents', { interval: null })).isError).toBe(false);
    const listed = { marketId: markets.published, orderBy: { field: 'NAME', direction: null } };
    expect((await call('findCompanies', listed)).isError).toBe(false);
  });

  test('take JSON in a text for what it says where the tool takes no text', async () => {
    const { first, alertTypes } = { first: 3, alertTypes: ['Price Volatility', 'Capacity Change'] };
    const events = { from: '2020-01-01', first, alertTypes, to: '2030-01-01' };
    const answer = await call('searchEvents', events);
    expect(answer.structuredContent.data.events.nodes).toHaveLength(first);
    const texts = { ...events, first: `${first}`, alertTypes: JSON.stringify(alertTypes) };
    expect(await call('searchEvents', texts)).toEqual(answer);
    const companies = { marketId: markets.published, orderBy: { field: 'NAME', direction: 'DESC' } };
    expect(await call('findCompanies', { ...companies, orderBy: JSON.stringify(companies.orderBy) })).toEqual(
      await call('findCompanies', companies),
    );
    // A text is what it is, also where it looks like a number; and what does not fit is an error, as it was sent.
    expect((await call('describeMarket', { marketId: `${markets.published}` })).isError).toBe(false);
    for (const wrong of ['"3"', 'three', '[3]', 'null', '1e400'])
      expect((await call('searchEvents', { ...events, first: wrong })).structuredContent.errors).toMatchObject([
        { extensions: { code: 'BAD_USER_INPUT', argument: 'first' } },
      ]);
    const deep = `${'['.repeat(100)}${']'.repeat(100)}`;
    expect((await call('searchEvents', { ...events, alertTypes: deep })).structuredContent.errors).toMatchObject([
      { extensions: { code: 'QUERY_TOO_COMPLEX' } },
    ]);
  });

  test('say what their arguments may be', () => {
    const input = (name: string) => tools.find(tool => tool.name === name).inputSchema;
    const { properties, required } = input('findCompanies');
    expect(required).toEqual(['marketId']);
    expect(properties).toMatchObject({
      first: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
      naics: { type: 'array', maxItems: 1_000, items: { type: 'string', maxLength: 10 } },
      orderBy: {
        type: 'object',
        required: ['field'],
        properties: { direction: { type: 'string', enum: ['ASC', 'DESC'], default: 'ASC' } },
      },
      search: { maxLength: 100, description: expect.stringContaining('Text that must occur') },
      after: { type: 'string', description: expect.stringMatching(/^`after` of the last `next`\./) },
    });
    expect(input('countEvents').properties.interval).toMatchObject({
      enum: ['HOUR', 'DAY', 'WEEK', 'MONTH'],
      default: 'DAY',
      description: expect.stringContaining('`WEEK`: A week, from Monday.'),
    });
    expect(input('countEvents').properties.from.description).toContain('a day (`2026-01-31`');
    expect(JSON.stringify(tools)).not.toContain('Upstream:');
    expect(input('startDiscovery').required).toEqual(['marketId', 'searchCriteria']);
    expect(input('startDiscovery').properties.searchCriteria.description).toMatch(/leave out what is null\.$/);
  });

  test('require of search criteria what the service requires', async () => {
    const { startDiscovery }: Any = await calls();
    const { required, properties } = tools.find(({ name }) => name === 'startDiscovery').inputSchema.properties
      .searchCriteria;
    const refused: string[] = [];
    for (const member of Object.keys(properties)) {
      const { [member]: _, ...searchCriteria } = startDiscovery.searchCriteria;
      sandbox.reset();
      const { structuredContent } = await call('startDiscovery', { ...startDiscovery, searchCriteria });
      const [{ extensions }] = structuredContent.errors ?? [{ extensions: {} }];
      if (extensions.code === 'BAD_USER_INPUT') refused.push(extensions.argument.replace('searchCriteria.', ''));
    }
    expect([...required].sort()).toEqual(refused.sort());
  });

  test('have a single type for each value of their arguments, and at most one for each of their answers', () => {
    let walked = 0;
    const walk = (at: string, schema: Any, isInput: boolean) => {
      const { type, enum: values = [], anyOf, oneOf, items, properties = {} } = schema;
      const isSingle = typeof type === 'string' || (type === undefined && !isInput);
      const isNullable = values.includes(null) || anyOf !== undefined || oneOf !== undefined;
      expect([at, isSingle, isNullable]).toEqual([at, true, false]);
      walked += 1;
      if (items !== undefined) walk(`${at}[]`, items, isInput);
      for (const [name, member] of Object.entries(properties)) walk(`${at}.${name}`, member, isInput);
    };
    for (const { name, inputSchema, outputSchema } of tools) {
      walk(name, inputSchema, true);
      walk(name, outputSchema, false);
    }
    expect(walked).toBeGreaterThan(300);
  });

  test('state bounds that the gateway enforces', async () => {
    const valid = await calls();
    let checked = 0;
    for (const { name, inputSchema } of tools) {
      for (const [path, value] of excesses(inputSchema)) {
        const variables = withValue(valid[name] ?? {}, path, value);
        const { structuredContent } = await call(name, variables);
        expect([name, structuredContent.errors]).toEqual([name, [wrong(path.join('.'))]]);
        checked += 1;
      }
    }
    expect(checked).toBeGreaterThan(40);
  });

  test('name their own arguments in errors, and not those of the fields', async () => {
    const valid = await calls();
    const errorsOf = async (name: string, variables: object) => (await call(name, variables)).structuredContent.errors;
    let checked = 0;
    for (const { name, inputSchema } of tools) {
      for (const argument of inputSchema.required ?? []) {
        const { [argument]: _, ...rest } = valid[name] as Record<string, unknown>;
        expect([name, await errorsOf(name, rest)]).toEqual([name, [wrong(argument)]]);
        expect([name, await errorsOf(name, { ...rest, [argument]: [{}] })]).toEqual([name, [wrong(argument)]]);
        checked += 1;
      }
    }
    expect(checked).toBeGreaterThan(13);
    const { startDiscovery: start } = valid as Any;
    const criteria = (more: object) => ({ ...start, searchCriteria: { ...start.searchCriteria, ...more } });
    const cases: [string, object, string, string][] = [
      ['describeMarket', { marketId: 'x' }, 'marketId', 'marketId: must be a whole number of at most 15 digits'],
      ['findCompanies', { marketId: '3', after: 'x' }, 'after', 'after: is not a valid cursor for this list'],
      [
        'findCompanies',
        { marketId: '3', actualRevenue: { min: 2, max: 1 } },
        'actualRevenue.min',
        'actualRevenue.min: must not be above max',
      ],
      [
        'findCompanies',
        { marketId: '3', orderBy: { field: 'x' } },
        'orderBy.field',
        'Variable "$orderBy" has an invalid value for "orderBy.field":',
      ],
      ['searchEvents', { from: '2026-02-01', to: '2026-01-01' }, 'from', 'from: must not be after to'],
      ['searchEvents', { alertTypes: ['a', 'b,c'] }, 'alertTypes.1', 'alertTypes.1: must not contain a comma'],
      ['describeCompany', { ...valid.describeCompany, eventsFrom: 'x' }, 'eventsFrom', 'eventsFrom: must be a day'],
      ['startDiscovery', { ...start, marketId: 'x' }, 'marketId', 'marketId: must be a whole number'],
      [
        'startDiscovery',
        criteria({ locations: [{ countryCode: 'xyz' }] }),
        'searchCriteria.locations.0.countryCode',
        'searchCriteria.locations.0.countryCode: must be two letters',
      ],
      [
        'startDiscovery',
        criteria({ keywords: { x: [] } }),
        'searchCriteria.keywords.x',
        'Variable "$searchCriteria" has an invalid value for "searchCriteria.keywords.x":',
      ],
    ];
    for (const [name, variables, argument, message] of cases) {
      const errors = await errorsOf(name, variables);
      expect([name, errors]).toEqual([name, [wrong(argument)]]);
      expect(errors[0].message).toContain(message);
    }
  });
});

test.each([
  ['searchEvents', {}, undefined],
  ['readObservation', { id: 'x' }, 'id'],
  ['describeMarket', { marketId: markets.published }, undefined],
  ['suggestMarkets', { keyword: 'a' }, 'keyword'],
])('%s names its argument, if it has one, for what the service rejects', async (name, given, argument) => {
  sandbox.tell({ path: /./, status: 400 });
  const own = forTest(await startGateway({ sandbox, env }));
  const { structuredContent }: Any = await call(name, given, forTest(await connectMcp(own.url)));
  for (const { extensions } of structuredContent.errors)
    expect([extensions.code, extensions.argument]).toEqual(['BAD_USER_INPUT', argument]);
  expect(structuredContent.errors).not.toEqual([]);
});

/** The error for an argument, or for an item in it and what that has. */
function wrong(argument: string) {
  const path = `${argument.replaceAll('.', '\\.')}(?:\\.\\d+(?:\\.\\w+)*)?`;
  const [variable] = argument.split('.');
  return expect.objectContaining({
    message: expect.stringMatching(
      new RegExp(`^(?:${path}: |Variable "\\$${variable}" (?:of required type|has an invalid value for "${path}":))`),
    ),
    extensions: { code: 'BAD_USER_INPUT', argument: expect.stringMatching(new RegExp(`^${path}$`)) },
  });
}

/** For each bound in a schema, the path of a value and a value that exceeds the bound. */
function excesses(schema: Any, path: string[] = []): [string[], unknown][] {
  const { minimum, maximum, minLength, maxLength, maxItems, items, properties = {} } = schema;
  const text = (length: number) => 'x'.repeat(length);
  const sample = () => (items.type === 'string' ? 'x' : {});
  return [
    ...(minimum === undefined ? [] : [[path, minimum - 1] as [string[], unknown]]),
    ...(maximum === undefined ? [] : [[path, maximum + 1] as [string[], unknown]]),
    ...(minLength > 0 ? [[path, text(minLength - 1)] as [string[], unknown]] : []),
    ...(maxLength === undefined ? [] : [[path, text(maxLength + 1)] as [string[], unknown]]),
    ...(maxItems === undefined ? [] : [[path, Array.from({ length: maxItems + 1 }, sample)] as [string[], unknown]]),
    ...(items?.maxLength === undefined ? [] : [[path, [text(items.maxLength + 1)]] as [string[], unknown]]),
    ...Object.entries(properties).flatMap(([name, property]) => excesses(property, [...path, name])),
  ];
}

function withValue(object: object, [name = '', ...rest]: string[], value: unknown): object {
  const inner = (object as Record<string, object>)[name] ?? {};
  return { ...object, [name]: rest.length === 0 ? value : withValue(inner, rest, value) };
}

describe('an answer', () => {
  test('has at most 60 KB, and says how to get the rest', async () => {
    const every = { minSeverity: 0, minLikelihood: 0, from: '2020-01-01', first: 100 };
    const seen: string[] = [];
    let cuts = 0;
    let total: number;
    let next: object | undefined = {};
    do {
      const { structuredContent, content, isError } = await call('searchEvents', { ...every, ...next });
      const { data, note }: Any = structuredContent;
      expect(isError).toBe(false);
      expect(Buffer.byteLength(JSON.stringify(structuredContent))).toBeLessThanOrEqual(61 * 1024);
      const { after } = structuredContent.next ?? {};
      for (const part of [`events.nodes: ${data.events.nodes.length} items`, note ?? '', after ?? '']) {
        expect(content[0].text).toContain(part);
      }
      seen.push(...data.events.nodes.map(({ id }: Any) => id));
      total = data.events.totalCount;
      if (note !== undefined) {
        cuts += 1;
        expect(note).toMatch(new RegExp(`the first ${data.events.nodes.length} of \\d+ items`));
      }
      next = structuredContent.next;
      expect(next === undefined).toBe(!data.events.pageInfo.hasNextPage);
    } while (next !== undefined);
    expect(cuts).toBeGreaterThan(0);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toHaveLength(total);
  });

  test('is an error if it is too large and has no page to cut', async () => {
    const operations = folderOf({
      'large.graphql':
        '# All.\nquery large { events(first: 100, filter: { from: "2020-01-01", severity: null, likelihood: null }) { nodes { nodeId title summary impactedEntities { name impact { rationale } } } } }',
    });
    const own = forTest(await startGateway({ sandbox, env: { MCP_OPERATIONS: operations } }));
    const { result }: Any = await (await sendMcp(own.url, toolCall('large'))).json();
    expect(result.isError).toBe(true);
    expect(result.structuredContent).toEqual({
      data: null,
      errors: [
        {
          message: expect.stringContaining('bytes of the response'),
          extensions: {
            code: 'QUERY_TOO_COMPLEX',
            measure: 'bytes of the response',
            value: expect.any(Number),
            limit: 61_440,
          },
        },
      ],
    });
  });

  test('has as many items as fit beside its errors, of which it has one of each kind', async () => {
    const data = Array.from({ length: 60 }, (_, event) => ({
      ...{ _id: `e${event}`, title: `Event ${event}`, summary: 's'.repeat(1_000), lastUpdated: '2026-01-01T00:00:00Z' },
      references: Array.from({ length: 4 }, (_, index) => ({ _id: `o${event}-${index}`, title: 'News' })),
    }));
    const meta = { totalItems: 60, totalPages: 1, currentPage: 1, pageSize: 60 };
    const service = forTest(
      await startStubService(({ url = '' }, response) =>
        url.includes('/events?') ? reply(response, 200, { meta, data }) : reply(response, 503),
      ),
    );
    const own = forTest(await startGateway({ env: { ...env, UPSTREAM_BASE_URL: service.origin } }));
    const { structuredContent }: Any = await call('explainEvents', { first: 60 }, forTest(await connectMcp(own.url)));
    expect(structuredContent.note).toMatch(/^These are the first \d+ of 60 items/);
    expect(JSON.stringify(structuredContent).length).toBeGreaterThan(58 * 1024);
    expect(structuredContent.errors[0].extensions).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', retryable: true });
    expect(structuredContent.errors.length).toBeLessThanOrEqual(3);
  });

  test('stays whole if it is of a mutation, however large: the mutation has taken effect', async () => {
    const operations = folderOf({
      'review.graphql':
        '# Includes all.\nmutation review { reviewCompanies(input: { marketId: "3", reviewStatus: INCLUDE, target: { all: true } }) { market { one: companies(first: 100) { ...all } two: companies(first: 100) { ...all } three: companies(first: 100) { ...all } } } } fragment all on CompanyConnection { nodes { nodeId name domain description attributes esg } }',
    });
    const own = forTest(await startGateway({ sandbox, env: { ...env, MCP_OPERATIONS: operations } }));
    const { result }: Any = await (await sendMcp(own.url, toolCall('review'))).json();
    expect(result.isError).toBe(false);
    expect(JSON.stringify(result.structuredContent).length).toBeGreaterThan(61_440);
  });

  test("has each company's own impact in an event, not that of others", async () => {
    const own = await startGateway({ sandbox, env });
    const reader = await connectMcp(own.url);
    const ask = async (name: string, variables: object) => {
      const { isError, structuredContent } = await call(name, variables, reader);
      expect([name, isError]).toEqual([name, false]);
      return structuredContent.data;
    };
    const marketId = markets.published;
    const companies = (await ask('findCompanies', { marketId, first: 2 })).market.companies;
    const [mine, other] = companies.nodes;
    const scored = (name: string, severity: number) => ({ name, impact: { likelihood: 3, severity, rationale: '' } });
    const impactedEntities = [scored(other.name, 3), scored(mine.name, 1)];
    sandbox.publishEvent({ title: 'Flood', taxonomicMatches: { impactedEntities } } as Any);
    const filter = { minSeverity: 3, minLikelihood: 0 };
    const { market } = await ask('companyEvents', { marketId, ...filter });
    const impacts = market.companies.nodes.flatMap(({ name, events }: Any) =>
      events.edges.filter(({ node }: Any) => node.title === 'Flood').map(({ impact }: Any) => [name, impact.severity]),
    );
    expect(new Map(impacts)).toEqual(
      new Map([
        [mine.name, 1],
        [other.name, 3],
      ]),
    );
    const { company } = (await ask('describeCompany', { marketId, domain: mine.domain })).market;
    expect(company.events.edges).toContainEqual({
      impact: { likelihood: 3, severity: 1 },
      node: { id: expect.any(String), title: 'Flood', lastUpdated: expect.any(String) },
    });
    const [event] = (await ask('searchEvents', { impactedEntities: [mine.name], ...filter })).events.nodes;
    expect([event.title, event.severity, event.impactedEntities]).toEqual([
      'Flood',
      undefined,
      [
        { name: other.name, impact: { likelihood: 3, severity: 3 } },
        { name: mine.name, impact: { likelihood: 3, severity: 1 } },
      ],
    ]);
    await Promise.all([reader.close(), own.close()]);
  });

  test('has the codes of the errors, each once, and the data that there is', async () => {
    const limited = await connectMcp(gateway.url, { 'x-api-key': 'demo-key-markets-only' });
    try {
      const refused = await call('searchEvents', {}, limited);
      expect([refused.isError, codesOf(refused)]).toEqual([true, ['FORBIDDEN']]);
    } finally {
      await limited.close();
    }
    const unpublished = await call('findCompanies', { marketId: markets.draft });
    expect([unpublished.isError, codesOf(unpublished)]).toEqual([true, ['NOT_FOUND']]);
    expect(unpublished.structuredContent.data.market.name).toEqual(expect.any(String));
    const hidden = await call('describeMarket', { marketId: '999' });
    expect([hidden.isError, codesOf(hidden)]).toEqual([true, ['NOT_FOUND']]);
    expect(codesOf(await call('describeMarket'))).toEqual(['BAD_USER_INPUT']);
    const misspelled = await call('describeMarket', { marketId: '3', market: '3' });
    expect(misspelled.structuredContent.errors[0].extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'market' });
    expect(codesOf(await call('searchCriteria', { marketId: deep(12) }))).toEqual(['BAD_USER_INPUT']);
  });

  test('counts in the metrics under the name of the operation', async () => {
    const labels = { transport: 'mcp', operation: 'suggestMarkets', outcome: 'ok' };
    await call('suggestMarkets', { keyword: 'battery' });
    const before = await counted(gateway.url, 'gateway_requests_total', labels);
    await call('suggestMarkets', { keyword: 'battery' });
    await until(async () => (await counted(gateway.url, 'gateway_requests_total', labels)) === before + 1);
  });
});

const deep = (levels: number): object => (levels === 0 ? {} : { a: deep(levels - 1) });

describe('a discovery', () => {
  /** Starts a discovery and asks for its progress. */
  const start = async (onprogress: (progress: Any) => void, from = client, signal?: AbortSignal): Promise<Any> => {
    const { startDiscovery } = await calls(from);
    const call = { name: 'startDiscovery', arguments: startDiscovery as Any };
    return from.callTool(call, { onprogress, ...(signal && { signal }) });
  };

  const clients: [string, typeof connectOldMcp][] = [
    ['2026-07-28', connectMcp],
    ['2025-11-25', connectOldMcp],
  ];

  test.each(clients)('reports its progress until it ends: %s', async (_, connect) => {
    const reported: Any[] = [];
    const own = await connect(gateway.url);
    const result = await start(progress => {
      reported.push(progress);
      ahead = reported.length * 200_000;
    }, own);
    await own.close();
    expect(result.isError).toBe(false);
    expect(result.structuredContent).toMatchObject({
      data: { startDiscovery: { __typename: 'DiscoveryStarted' } },
      progress: { finished: true, overallProgress: 1, jobs: [{ completion: 1, status: 'completed' }] },
    });
    expect(result.content[0].text).toContain('startDiscovery.__typename: DiscoveryStarted');
    const shares = reported.map(({ progress }) => progress);
    expect(shares.length).toBeGreaterThan(2);
    expect(shares).toEqual([...new Set(shares)].sort((one, other) => one - other));
    expect(reported.at(-1)).toEqual({ progress: 1, total: 1, message: 'first_pass: completed' });
  });

  test('that has ended is forgotten', async () => {
    const signals: WeakRef<AbortSignal>[] = [];
    const { prototype } = Topic;
    const { subscribe } = prototype;
    prototype.subscribe = function (signal) {
      signals.push(new WeakRef(signal));
      return subscribe.call(this, signal);
    };
    cleanups.push(() => Object.assign(prototype, { subscribe }));
    for (let index = 0; index < 6; index += 1) {
      sandbox.reset();
      ahead = 0;
      await start(() => (ahead = 600_000));
    }
    expect(signals.length).toBeGreaterThanOrEqual(6);
    const left = () => {
      collectGarbage();
      return signals.filter(each => each.deref() !== undefined).length;
    };
    // The last one may still be on the stack.
    await until(left, count => count < 3);
  });

  test('is no slow operation, however long it runs', async () => {
    const log = takeLog();
    const own = await startGateway({
      sandbox,
      env: { ...env, LOG_LEVEL: 'warn', SLOW_OPERATION_MS: '4000' },
      seams: { log },
    });
    const from = await connectMcp(own.url);
    const begunAt = performance.now();
    await start(() => {
      if (performance.now() - begunAt > 4_500) ahead = 600_000;
    }, from);
    expect(performance.now() - begunAt).toBeGreaterThan(4_500);
    await from.close();
    await own.close();
    expect(log.lines.join()).not.toContain('Slow operation');
  });

  test('tells a client that it runs, before its timeout, while the service tells of no progress', async () => {
    let now = Date.now();
    const still = forTest(await startSandbox({ now: () => new Date(now), discoveryMs: 600_000 }));
    const own = forTest(await startGateway({ sandbox: still, env }));
    const from = forTest(await connectMcp(own.url));
    const { setInterval } = globalThis;
    const faster = jest
      .spyOn(globalThis, 'setInterval')
      .mockImplementation((run, ms) => setInterval(run, ms === 30_000 ? 20 : ms));
    cleanups.push(() => faster.mockRestore());
    const reported: Any[] = [];
    const ended = start(progress => reported.push(progress), from);
    await until(() => reported.length > 5);
    const shares = reported.map(({ progress }) => progress);
    expect(shares).toEqual([...new Set(shares)].sort((one, other) => one - other));
    expect(shares.at(-1)).toBeLessThan(0.01);
    expect(reported.at(-1).message).toBe('first_pass: running');
    now += 600_000;
    expect((await ended).structuredContent.progress.finished).toBe(true);
    expect(reported.at(-1).progress).toBe(1);
  });

  test.each(clients)('is no longer polled when the client leaves: %s', async (_, connect) => {
    const leaving = new AbortController();
    const own = await connect(gateway.url);
    const left = start(() => leaving.abort(), own, leaving.signal).catch(error => error.message);
    expect(await left).toContain('AbortError');
    await own.close();
    await until(async () => (await counted(gateway.url, 'gateway_live_pollers')) === 0);
  });

  /** A running call of `startDiscovery` with this id, whose stream has told its first progress. */
  const running = async (
    id: unknown,
    headers: Record<string, string> = {},
    from = gateway,
    progressToken: unknown = 1,
  ) => {
    const { startDiscovery } = await calls();
    sandbox.reset();
    const message = toolCall('startDiscovery', startDiscovery, { _meta: { progressToken } });
    const response = await sendMcp(from.url, { ...message, id }, { ...demoHeaders, ...headers });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    let text = '';
    const ended = (async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text;
        text += Buffer.from(value).toString();
      }
    })();
    return { ended, leave: () => reader.cancel() };
  };
  const cancel = async (requestId: unknown, headers: Record<string, string> = {}) => {
    const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } };
    const { status } = await sendMcp(gateway.url, message, { ...demoHeaders, ...headers });
    expect(status).toBe(202);
  };
  const pollers = () => counted(gateway.url, 'gateway_live_pollers');

  test.each([1, '1', 0, ''])(
    'ends with its stream, and without an answer, when its client cancels it: %j',
    async id => {
      const session = { 'mcp-session-id': 'a' };
      const { ended } = await running(id, session);
      expect(await pollers()).toBe(1);
      await cancel(id, session);
      expect(await ended).not.toContain('"result"');
      await until(async () => (await pollers()) === 0);
      // It runs no longer.
      await cancel(id, session);
    },
  );

  test('counts what its client has sent, until it ends', async () => {
    const heldWith = async (padding: string) => {
      const { leave } = await running(1, { 'x-padding': padding.repeat(2) }, gateway, `p${padding}`);
      const held = await counted(gateway.url, 'gateway_held_bytes');
      await leave();
      await until(async () => (await counted(gateway.url, 'gateway_held_bytes')) === 0);
      return held;
    };
    const least = await heldWith('');
    expect((await heldWith('p'.repeat(5_000))) - least).toBeGreaterThan(14_500);
  });

  test('holds nothing for a client that leaves before its jobs are followed', async () => {
    const { startDiscovery } = await calls();
    sandbox.reset();
    const release = hold(sandbox, /start/);
    const leaving = new AbortController();
    const message = toolCall('startDiscovery', startDiscovery, { _meta: { progressToken: 1 } });
    const headers = {
      ...demoHeaders,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const body = JSON.stringify(message);
    const left = fetch(`${gateway.url}/mcp`, { method: 'POST', body, headers, signal: leaving.signal });
    await until(() => sandbox.calls.count(/start/) > 0);
    const abandoned = () => counted(gateway.url, 'gateway_requests_total', { transport: 'mcp', outcome: 'ABANDONED' });
    const written = () => counted(gateway.url, 'gateway_upstream_call_seconds_count', { family: 'discovery' });
    const [leftBefore, writtenBefore] = [await abandoned(), await written()];
    leaving.abort();
    await expect(left).rejects.toThrow();
    await until(async () => (await abandoned()) > leftBefore);
    release();
    await until(async () => (await written()) > writtenBefore);
    for (let turn = 0; turn < 100; turn += 1) await nextTurn();
    expect(await counted(gateway.url, 'gateway_held_bytes')).toBe(0);
  });

  test('ends when an operator blocks its client', async () => {
    const redis = forTest(await startRedis());
    const own = forTest(await startGateway({ sandbox, env, redisUrl: redis.url }));
    const operator = forTest(new Redis(redis.url));
    const { ended } = await running(1, {}, own);
    const block = { requestsPerMinute: 0, until: Date.now() + 600_000, reason: 'Leaked' };
    await operator.hset('mig:clients', `key:${hashOfKey(demoHeaders['x-api-key'])}`, JSON.stringify(block));
    await expect(ended).rejects.toThrow();
    await until(async () => (await counted(own.url, 'gateway_live_pollers')) === 0);
  });

  test('goes on when something else is cancelled', async () => {
    const session = { 'mcp-session-id': 'a' };
    const { ended, leave } = await running(1, session);
    await cancel('1', session);
    await cancel(2, session);
    await cancel(1);
    await cancel(1, { 'mcp-session-id': 'b' });
    await cancel(1, { ...session, 'x-api-key': 'demo-key-markets-only' });
    const { body, headers } = modern({ method: 'notifications/cancelled', params: {} });
    await sendMcp(gateway.url, { ...body, jsonrpc: '2.0' }, { ...demoHeaders, ...headers, ...session });
    expect(await pollers()).toBe(1);
    ahead = 600_000;
    expect(await ended).toContain('"result"');
    await leave();
  });

  test.each([{}, { 'mcp-session-id': '' }])(
    'without a session goes on when another agent cancels its own: %j',
    async none => {
      const { ended, leave } = await running(1, none);
      await cancel(1, none);
      await cancel(1);
      expect(await pollers()).toBe(1);
      ahead = 600_000;
      expect(await ended).toContain('"result"');
      await leave();
    },
  );

  test('of a client of revision 2025-11-25 ends when it is cancelled, and the client can go on', async () => {
    const [own, other] = [await connectOldMcp(gateway.url), await connectOldMcp(gateway.url)];
    const [leaving, staying] = [new AbortController(), new AbortController()];
    const left = start(() => leaving.abort(), own, leaving.signal).catch(error => error.message);
    expect(await left).toContain('AbortError');
    await until(async () => (await pollers()) === 0);
    expect((await call('describeMarket', { marketId: '3' }, own)).isError).toBe(false);
    // Each of these clients numbers its calls from 0, with the same credential.
    let reports = 0;
    const stays = start(() => (reports += 1), other, staying.signal);
    await until(() => reports > 0);
    for (let id = 0; id < 20; id += 1) await cancel(id);
    ahead = 600_000;
    expect((await stays).structuredContent.progress.finished).toBe(true);
    await Promise.all([own.close(), other.close()]);
  });

  test.each(clients)(
    'does not keep the gateway from closing: the call ends with the last known state: %s',
    async (_, connect) => {
      const own = await startGateway({ sandbox, env });
      const other = await connect(own.url);
      let closing: Promise<void> | undefined;
      const result = await start(() => {
        closing ??= own.close();
      }, other);
      expect(result.structuredContent.progress).toMatchObject({ finished: false });
      await closing;
      await other.close();
    },
  );

  test('that has started when the gateway already closes is not followed', async () => {
    const own = await startGateway({ sandbox, env });
    const { startDiscovery } = await calls();
    sandbox.reset();
    const release = hold(sandbox, /start/);
    const begun = sendMcp(own.url, toolCall('startDiscovery', startDiscovery, { _meta: { progressToken: 1 } }));
    await until(() => sandbox.calls.count(/start/) > 0);
    const closed = own.close();
    await until(() =>
      fetch(own.url).then(
        () => false,
        () => true,
      ),
    );
    release();
    expect(await (await begun).text()).toContain('"__typename":"DiscoveryStarted"');
    await closed;
  });
});

test('an agent that is hosted elsewhere finds out where it gets a token, and works under it', async () => {
  const signedIn = 'mutation { createEmbedSession { session { accessToken } } }';
  const newToken = async () => (await gateway.query(signedIn)).data.createEmbedSession.session.accessToken;
  let token = await newToken();
  /** An authorization server, whose user agrees at once. */
  const issuer = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(`${origin}${request.url}`);
    const sent = new URLSearchParams(await text(request));
    asked.push([pathname, searchParams.get('resource') ?? sent.get('resource')]);
    const answers: Record<string, object> = {
      '/.well-known/oauth-authorization-server': {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      },
      '/token': { access_token: token, token_type: 'Bearer', refresh_token: 'again' },
    };
    response.writeHead(answers[pathname] ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answers[pathname] ?? {}));
  });
  const asked: unknown[] = [];
  const origin = `http://127.0.0.1:${await listening(issuer)}`;
  const proxied = { MCP_AUTHORIZATION_SERVERS: origin, TRUST_PROXY: '127.0.0.1' };
  const other = forTest(await startGateway({ sandbox, env: { ...env, ...proxied } }));
  const metadata = '/.well-known/oauth-protected-resource';
  const refused = await sendMcp(other.url, list, {});
  expect(refused.status).toBe(401);
  expect(refused.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${other.url}${metadata}"`);
  for (const path of [metadata, `${metadata}/mcp`]) {
    expect(await (await fetch(other.url + path)).json()).toMatchObject({
      resource: `${other.url}/mcp`,
      authorization_servers: [origin],
    });
  }
  // Agents compare it with the address that they know.
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'Gateway.example:443' };
  expect((await sendMcp(other.url, list, headers)).headers.get('www-authenticate')).toBe(
    `Bearer resource_metadata="https://gateway.example${metadata}"`,
  );
  expect(await (await fetch(other.url + metadata, { headers })).json()).toMatchObject({
    resource: 'https://gateway.example/mcp',
  });
  const kept: Any = {};
  const authProvider = {
    redirectUrl: 'http://127.0.0.1/agreed',
    clientMetadata: { redirect_uris: ['http://127.0.0.1/agreed'] },
    clientInformation: () => ({ client_id: 'agent' }),
    tokens: () => kept.tokens,
    saveTokens: (tokens: object) => Object.assign(kept, { tokens }),
    redirectToAuthorization: (url: URL) => Object.assign(kept, { asked: url }),
    saveCodeVerifier: (verifier: string) => Object.assign(kept, { verifier }),
    codeVerifier: () => kept.verifier,
  };
  const transport = () => new StreamableHTTPClientTransport(new URL(`${other.url}/mcp`), { authProvider });
  const first = transport();
  await expect(new Client({ name: 'test', version: '1' }).connect(first)).rejects.toThrow();
  expect(kept.asked.href).toContain(`${origin}/authorize`);
  await first.finishAuth('code');
  const agent = new Client({ name: 'test', version: '1' });
  await agent.connect(transport());
  const result: Any = await agent.callTool({ name: 'suggestMarkets', arguments: { keyword: 'battery' } });
  expect(result.isError ?? false).toBe(false);
  sandbox.revoke(token);
  const { startDiscovery } = await calls();
  const asking = { _meta: { progressToken: 1 } };
  const session = { 'mcp-protocol-version': '2025-11-25' };
  for (const { body, headers } of [
    { body: toolCall('suggestMarkets', { keyword: 'steel' }), headers: {} },
    { body: toolCall('suggestMarkets', { keyword: 'steel' }, asking), headers: session },
    { body: toolCall('startDiscovery', startDiscovery, asking), headers: session },
    modern(toolCall('startDiscovery', startDiscovery, asking)),
  ]) {
    const again = await sendMcp(other.url, body, { ...headers, authorization: `Bearer ${token}` });
    expect([again.status, again.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer error="invalid_token", resource_metadata="${other.url}${metadata}"`,
    ]);
  }
  token = await newToken();
  for (const name of ['suggestMarkets', 'startDiscovery']) {
    const { [name]: given } = await calls();
    expect((await agent.callTool({ name, arguments: given as Any })).isError ?? false).toBe(false);
  }
  await agent.close();
  expect(asked).toContainEqual(['/token', `${other.url}/mcp`]);
});

describe('a request', () => {
  /** Every refusal is an error of JSON-RPC. */
  const codeOf = async (response: Response) => {
    const { jsonrpc, id, error }: Any = await response.json();
    expect([jsonrpc, id, error.message]).toEqual(['2.0', null, expect.stringMatching(/\w/)]);
    expect(error.code).toBe(response.status === 400 || /BAD_REQUEST/.test(error.data.code) ? -32_600 : -32_000);
    return [response.status, error.data.code];
  };

  test.each<[string, Record<string, string>, number, string]>([
    ['without a credential', {}, 401, 'UNAUTHENTICATED'],
    ['with two credentials', { ...demoHeaders, authorization: 'Bearer token' }, 400, 'BAD_USER_INPUT'],
    ['from a page of another origin', { ...demoHeaders, origin: 'https://evil.example' }, 403, 'FORBIDDEN'],
    ['of another site', { ...demoHeaders, 'sec-fetch-site': 'cross-site' }, 403, 'FORBIDDEN'],
  ])('%s is refused', async (_, headers, status, code) => {
    for (const message of [list, toolCall('suggestMarkets', { keyword: 'steel' })]) {
      expect(await codeOf(await sendMcp(gateway.url, message, headers))).toEqual([status, code]);
    }
    if (status !== 401) return;
    const refused = await sendMcp(gateway.url, list, headers);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    expect((await fetch(`${gateway.url}/.well-known/oauth-protected-resource`)).status).toBe(404);
    await expect(connectMcp(gateway.url, headers)).rejects.toThrow('HTTP 401');
    await expect(connectOldMcp(gateway.url, headers)).rejects.toThrow('UNAUTHENTICATED');
  });

  test('from a page of the own origin is answered', async () => {
    const { status } = await sendMcp(gateway.url, list, { ...demoHeaders, origin: gateway.url });
    expect(status).toBe(200);
  });

  test('whose credential has too many connections for progress gets what its call has done', async () => {
    const own = forTest(await startGateway({ sandbox, env }));
    const { startDiscovery } = await calls();
    sandbox.reset();
    // A request and its operation are counted first, then the stream.
    const { begin } = FairCount.prototype;
    const beginning = jest.spyOn(FairCount.prototype, 'begin');
    beginning.mockImplementationOnce(begin).mockImplementationOnce(begin).mockReturnValueOnce(undefined);
    cleanups.push(() => beginning.mockRestore());
    const body = toolCall('startDiscovery', startDiscovery, { _meta: { progressToken: 1 } });
    const response = await sendMcp(own.url, body, { ...demoHeaders, accept: 'application/json, text/event-stream' });
    const text = await response.text();
    expect(text).toContain('"startDiscovery":{');
    expect(text).toContain('"isError":false');
  });

  test('that asks for progress gets a stream that proxies such as nginx do not buffer', async () => {
    const { startDiscovery } = await calls();
    const started = toolCall('startDiscovery', startDiscovery, { _meta: { progressToken: 1 } });
    for (const { body, headers } of [{ body: started, headers: {} }, modern(started)]) {
      sandbox.reset();
      const response = await sendMcp(gateway.url, body, { ...demoHeaders, ...headers });
      expect(response.headers.get('content-type')).toBe('text/event-stream');
      expect(response.headers.get('x-accel-buffering')).toBe('no');
      await response.body?.cancel();
    }
  });

  test('has one message, and is a POST of at most 1 MiB', async () => {
    expect(await codeOf(await sendMcp(gateway.url, [list, list]))).toEqual([400, 'BAD_USER_INPUT']);
    expect(await codeOf(await sendMcp(gateway.url, [modern(list).body]))).toEqual([400, 'BAD_USER_INPUT']);
    expect(await codeOf(await sendMcp(gateway.url, { ...list, more: 'x'.repeat(2 ** 20) }))).toEqual([
      413,
      'BAD_REQUEST',
    ]);
    for (const method of ['GET', 'DELETE']) {
      const response = await fetch(`${gateway.url}/mcp`, { method, headers: demoHeaders });
      expect(await codeOf(response)).toEqual([405, 'BAD_REQUEST']);
    }
    const headers = { ...demoHeaders, 'content-type': 'application/json' };
    expect(await codeOf(await fetch(`${gateway.url}/mcp`, { method: 'DELETE', headers }))).toEqual([
      405,
      'BAD_REQUEST',
    ]);
  });

  test('that is no JSON is an error of JSON-RPC, too', async () => {
    const response = await postJson(`${gateway.url}/mcp`, '{');
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32_700 } });
  });

  test.each([
    [{ name: 'suggestMarkets', arguments: ['battery'] }],
    [{ name: 'suggestMarkets', arguments: 'battery' }],
    [{ name: 7 }],
    [undefined],
  ])('that calls a tool with parameters of another form has invalid parameters: %j', async params => {
    const response = await sendMcp(gateway.url, { ...list, method: 'tools/call', params });
    const { error } = (await response.json()) as Any;
    expect(error).toEqual({
      code: -32_602,
      message: expect.stringMatching(/^Invalid tools\/call request:.*"params"/s),
    });
  });

  test.each<[string, object]>([
    ['notifications/initialized', { params: null }],
    ['notifications/initialized', { params: { _meta: null } }],
    ['ping', { id: 1, params: null }],
    [
      'initialize',
      {
        id: 1,
        params: {
          protocolVersion: '2025-11-25',
          clientInfo: { name: 'a', version: '1', title: null },
          capabilities: { roots: null },
        },
      },
    ],
    ['ping', { id: 1, params: { _meta: { progressToken: null } } }],
    ['tools/list', { id: 1, params: null }],
    ['tools/list', { id: 1, params: { cursor: null, _meta: null } }],
    ['tools/call', { id: 1, params: { name: 'countEvents', arguments: null } }],
    ['tools/call', { id: 1, params: { name: 'countEvents', _meta: null } }],
    ['tools/call', { id: 1, params: { name: 'countEvents', _meta: { progressToken: null } } }],
  ])('%s with null for what may be left out is answered as without it: %j', async (method, more) => {
    const response = await sendMcp(gateway.url, { jsonrpc: '2.0', method, ...more });
    const text = await response.text();
    if ('id' in more) expect(JSON.parse(text)).toMatchObject({ id: 1, result: {} });
    else expect([response.status, text]).toEqual([202, '']);
    expect(text).not.toContain('"isError":true');
    expect(response.headers.get('content-type')).not.toBe('text/event-stream');
  });

  const newMessage = modern(list);
  const oldVersion = (version: string) => ({ body: list, headers: { 'mcp-protocol-version': version } });

  test.each<[string, { readonly body: object; readonly headers: Record<string, string> }]>([
    ['1999-01-01', oldVersion('1999-01-01')],
    ['2025-03-26', oldVersion('2025-03-26')],
    ['2025-03-26', modern(list, '2025-03-26')],
    ['2027-01-01', modern(list, '2027-01-01')],
    ['2027-01-01', { ...modern(list, '2027-01-01'), headers: {} }],
    ['2025-03-26', { ...newMessage, body: modern(list, '2025-03-26').body }],
  ])(
    'of a revision that is not offered is refused with those that are: %s, %j',
    async (requested, { body, headers }) => {
      const response = await sendMcp(gateway.url, body, { ...demoHeaders, ...headers });
      expect([response.status, await response.json()]).toEqual([
        400,
        {
          jsonrpc: '2.0',
          id: 1,
          error: {
            code: -32_022,
            message: expect.stringContaining(requested),
            data: { supported: revisions, requested },
          },
        },
      ]);
    },
  );

  test.each([...revisions, '2025-03-26', '1999-01-01'])(
    'initialize of %s gets a revision that is offered',
    async protocolVersion => {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
      const headers = { ...demoHeaders, 'mcp-protocol-version': protocolVersion };
      const response = await sendMcp(gateway.url, { ...list, method: 'initialize', params }, headers);
      const offered: readonly string[] = revisions.slice(1);
      expect(((await response.json()) as Any).result).toMatchObject({
        protocolVersion: offered.includes(protocolVersion) ? protocolVersion : '2025-11-25',
        capabilities: { tools: {} },
      });
    },
  );

  test('of revision 2026-07-28 can ask what the gateway offers', async () => {
    const { body, headers } = modern({ ...list, method: 'server/discover' });
    const response = await sendMcp(gateway.url, body, { ...demoHeaders, ...headers });
    expect([response.status, ((await response.json()) as Any).result]).toEqual([
      200,
      {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        instructions: expect.stringContaining('Market research'),
        ttlMs: 300_000,
        cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'market-intelligence-gateway', version: '2.0.0' } },
      },
    ]);
  });

  test('of revision 2026-07-28 that listens for changes ends at once: there are none', async () => {
    const params = { notifications: { toolsListChanged: true } };
    const { body, headers } = modern({ ...list, method: 'subscriptions/listen', params } as never);
    const response = await sendMcp(gateway.url, body, { ...demoHeaders, ...headers });
    expect(await response.text()).toContain('"resultType":"complete"');
  });

  test.each<[string, number, number, object, Record<string, string>]>([
    ['has no version in its body', 400, -32_602, list, newMessage.headers],
    [
      'has another version in its headers',
      400,
      -32_020,
      newMessage.body,
      { ...newMessage.headers, 'mcp-protocol-version': '2025-11-25' },
    ],
  ])('of revision 2026-07-28 that %s is refused', async (_, status, code, body, headers) => {
    const response = await sendMcp(gateway.url, body, { ...demoHeaders, ...headers });
    expect([response.status, await response.json()]).toMatchObject([
      status,
      { jsonrpc: '2.0', id: 1, error: { code } },
    ]);
  });

  test.each(['gzip', 'deflate', 'br', 'zstd, gzip'])('whose body is encoded is refused: %s', async encoding => {
    const response = await sendMcp(gateway.url, list, { ...demoHeaders, 'content-encoding': encoding });
    expect(response.headers.get('accept-encoding')).toBe('identity');
    expect(((await response.clone().json()) as Any).error.message).toContain(encoding);
    expect(await codeOf(response)).toEqual([415, 'BAD_REQUEST']);
  });

  test.each(['application/json', '*/*', 'application/*', 'text/html, application/json;q=0.9', undefined])(
    'is answered for Accept: %s',
    async accept => {
      // Not with fetch, which adds a header Accept.
      const client = new UndiciClient(gateway.url);
      const headers = { 'content-type': 'application/json', ...demoHeaders, ...(accept && { accept }) };
      const progress = toolCall('suggestMarkets', { keyword: 'battery' }, { _meta: { progressToken: 1 } });
      const messages = [list, progress].flatMap(message => [{ body: message, headers: {} }, modern(message)]);
      for (const message of messages) {
        const body = JSON.stringify(message.body);
        const sent = { ...headers, ...message.headers };
        const response = await client.request({ path: '/mcp', method: 'POST', headers: sent, body });
        expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'application/json']);
        expect(await response.body.json()).toMatchObject({ jsonrpc: '2.0', id: 1, result: {} });
      }
      await client.close();
    },
  );

  test.each(['text/event-stream', 'Text/Event-Stream'])('is answered with one event for Accept: %s', async accept => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const messages = [list, toolCall('suggestMarkets', { keyword: 'battery' })];
    for (const { body, headers } of [
      { body: { ...list, method: 'initialize', params }, headers: {} },
      ...messages.flatMap(message => [{ body: message, headers: {} }, modern(message)]),
    ]) {
      const response = await sendMcp(gateway.url, body, { ...demoHeaders, ...headers, accept });
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
      const [, data = ''] = /^event: message\ndata: (.*)\n\n$/.exec(await response.text()) ?? [];
      expect(JSON.parse(data)).toMatchObject({ jsonrpc: '2.0', id: 1, result: {} });
    }
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
    expect((await sendMcp(gateway.url, notification, { ...demoHeaders, accept })).status).toBe(202);
  });

  test('for another type is refused', async () => {
    for (const { body, headers } of [{ body: list, headers: {} }, newMessage]) {
      const response = await sendMcp(gateway.url, body, { ...demoHeaders, ...headers, accept: 'text/html' });
      expect(await codeOf(response)).toEqual([406, 'BAD_REQUEST']);
    }
  });

  test('for JSON only starts a discovery and returns at once, also if it asks for progress', async () => {
    const { startDiscovery } = await calls();
    const started = toolCall('startDiscovery', startDiscovery, { _meta: { progressToken: 1 } });
    for (const { body, headers } of [{ body: started, headers: {} }, modern(started)]) {
      const response = await sendMcp(gateway.url, body, { ...demoHeaders, ...headers, accept: 'application/json' });
      expect(((await response.json()) as Any).result.structuredContent).toMatchObject({ data: { startDiscovery: {} } });
    }
  });

  test('counts against the rate limit', async () => {
    const own = forTest(await startGateway({ sandbox, env: { ...env, RATE_LIMIT_PER_CREDENTIAL: '2' } }));
    const sent = [1, 2, 3].map(() => sendMcp(own.url, toolCall('suggestMarkets', { keyword: 'steel' })));
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 200, 429]);
  });

  test('is limited by its cost in upstream calls', async () => {
    const own = forTest(await startGateway({ sandbox, env: { ...env, QUERY_CALL_LIMIT: '20' } }));
    const { result }: Any = await (await sendMcp(own.url, toolCall('explainEvents', { first: 100 }))).json();
    expect(codesOf(result)).toEqual(['QUERY_TOO_COMPLEX']);
  });

  test('calls tools where only trusted documents are executed', async () => {
    const file = join(folders, 'documents.json');
    writeFileSync(file, '{}');
    const trusted = { ...env, PERSISTED_DOCUMENTS: file, PERSISTED_DOCUMENTS_MODE: 'only', INTROSPECTION: 'false' };
    const own = forTest(await startGateway({ sandbox, env: trusted }));
    const { result }: Any = await (await sendMcp(own.url, toolCall('suggestMarkets', { keyword: 'steel' }))).json();
    expect(result).toMatchObject({ isError: false });
    const { errors } = await own.query('{ suggestMarkets(keyword: "battery") }');
    expect(errors?.[0].extensions.code).toBe('FORBIDDEN');
  });

  test('is cancelled without an answer: JSON, and a query with a stream', async () => {
    const labels = { transport: 'mcp', operation: 'suggestMarkets', outcome: 'ABANDONED' };
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    const session = { 'mcp-session-id': 'a' };
    const progress = { _meta: { progressToken: 1 } };
    const messages = [{}, progress].map(more => toolCall('suggestMarkets', { keyword: 'nickel' }, more));
    for (const { body, headers } of messages.flatMap(message => [{ body: message, headers: {} }, modern(message)])) {
      const before = await counted(gateway.url, 'gateway_requests_total', labels);
      const release = hold(sandbox, /suggest/);
      const response = sendMcp(gateway.url, body, { ...demoHeaders, ...session, ...headers });
      const asked = sandbox.calls.count(/suggest/);
      await until(() => sandbox.calls.count(/suggest/) > asked);
      await sendMcp(gateway.url, cancelled, { ...demoHeaders, ...session });
      expect(await (await response).text()).toBe('');
      release();
      await until(async () => (await counted(gateway.url, 'gateway_requests_total', labels)) === before + 1);
    }
  });

  test('finds nothing where no folder is set', async () => {
    const own = forTest(await startGateway({ sandbox }));
    expect(await codeOf(await sendMcp(own.url, list))).toEqual([404, 'NOT_FOUND']);
  });
});

describe('the gateway does not start', () => {
  const starting = (operations: string) =>
    startGateway({ sandbox, env: { MCP_OPERATIONS: operations } }).then(own => own.close());

  const invalid: Record<string, readonly [text: string, reason: string]> = {
    syntax: ['# A.\nquery a { events( }', 'line 2: Syntax Error'],
    field: ['# A.\nquery a { nothing }', 'Cannot query field "nothing"'],
    unnamed: ['# A.\n{ viewer { team } }', 'exactly one operation'],
    two: ['# A.\nquery a { viewer { team } }\n# B.\nquery b { viewer { team } }', 'exactly one operation'],
    undescribed: ['query a { viewer { team } }', 'a comment above'],
    apart: ['# A.\n\nquery a { viewer { team } }', 'a comment above'],
    subscription: ['# A.\nsubscription a { jobProgress(marketId: 1) { finished } }', 'not a subscription'],
    long: [`# A.\nquery ${'a'.repeat(65)} { viewer { team } }`, `the name ${'a'.repeat(65)} must have at most 64`],
    vector: [
      '# A.\nquery a { observation(id: "1") { ...of } }\nfragment of on Observation { textEmbedding }',
      'observation.textEmbedding: vectors are not sent',
    ],
    endless: [
      '# A.\nquery a($after: String) { events(after: $after) { nodes { id } pageInfo { hasNextPage } } }',
      'pageInfo { hasNextPage endCursor }',
    ],
    nested: [
      '# A.\nquery a($after: String) { markets(ids: [1]) { companies(after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } } }',
      'must be in no other list',
    ],
  };

  test('with invalid operations: one line says what is wrong with each', async () => {
    const files = Object.entries(invalid).map(([name, [text]]) => [`${name}.graphql`, text]);
    const folder = folderOf({ ...Object.fromEntries(files), 'valid.graphql': '# A.\nquery a { viewer { team } }' });
    const message: string = await starting(folder).catch(error => error.message);
    expect(message).not.toContain('\n');
    const [, ...faults] = message.split('MCP_OPERATIONS: ');
    const expected = Object.entries(invalid).sort(([one], [other]) => one.localeCompare(other));
    expect(faults).toHaveLength(expected.length);
    for (const [index, [name, [, reason]]] of expected.entries()) {
      expect(faults[index]).toContain(`${join(folder, name)}.graphql: `);
      expect(faults[index]).toContain(reason);
    }
  });

  test('with a folder that is missing or empty, or two operations of one name', async () => {
    await expect(starting(join(folders, 'missing'))).rejects.toThrow('MCP_OPERATIONS: ');
    mkdirSync(join(folders, 'empty'));
    await expect(starting(join(folders, 'empty'))).rejects.toThrow('has no .graphql files');
    const text = '# A.\nquery a { viewer { team } }';
    await expect(starting(folderOf({ 'a.graphql': text, 'b.graphql': text }))).rejects.toThrow(
      'another file has an operation a',
    );
  });
});
