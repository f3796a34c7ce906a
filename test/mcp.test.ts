import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { Client as UndiciClient } from 'undici';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { demoHeaders, startGateway, type TestGateway } from './support/gateway.js';
import { connectMcp, sendMcp, toolCall } from './support/mcp.js';
import { counted } from './support/metrics.js';
import { until } from './support/until.js';

// biome-ignore lint/suspicious/noExplicitAny: an answer is what the test is about to find out
type Any = any;

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
let sandbox: Sandbox;
let gateway: TestGateway;
let client: Client;
let tools: Any[];
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date(Date.now() + ahead), discoveryMs: 600_000 });
  gateway = await startGateway({ sandbox, env });
  client = await connectMcp(gateway.url);
  ({ tools } = await client.listTools());
});
afterAll(async () => {
  await client?.close();
  await gateway?.close();
  await sandbox?.close();
  rmSync(folders, { recursive: true });
});
beforeEach(() => {
  ahead = 0;
  sandbox.reset();
});

const call = async (name: string, variables: object = {}, from = client): Promise<Any> =>
  from.callTool({ name, arguments: { ...variables } });
const codesOf = ({ structuredContent: { errors = [] } }: Any) => errors.map(({ extensions }: Any) => extensions.code);

/** Starts a gateway for one test. */
async function withGateway(env: Record<string, string>, run: (own: TestGateway) => Promise<void>): Promise<void> {
  const own = await startGateway({ sandbox, env });
  try {
    await run(own);
  } finally {
    await own.close();
  }
}

/** Arguments for each tool of the sandbox. */
const calls = async (from = client): Promise<Record<string, object>> => {
  const marketId = markets.published;
  const { structuredContent: companies }: Any = await call('findCompanies', { marketId, first: 1 }, from);
  const { structuredContent: criteria }: Any = await call('createSearchCriteria', { question: 'Who?' }, from);
  return {
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

  test('are on by default with the embedded sandbox, without mutations', async () => {
    const own = await startGateway();
    const reader = await connectMcp(own.url, {});
    try {
      const listed = (await reader.listTools()).tools;
      expect(listed.map(({ name }) => name)).toEqual(
        tools.filter(({ annotations }) => annotations.readOnlyHint).map(({ name }) => name),
      );
      expect((await call('describeMarket', { marketId: markets.published }, reader)).isError).toBe(false);
      await expect(call('createSearchCriteria', { question: 'Who?' }, reader)).rejects.toThrow('no tool of this name');
    } finally {
      await reader.close();
      await own.close();
    }
  });

  test.each(['API key', 'bearer token'])(
    'can each be called with an %s, and answer as their schemas say',
    async kind => {
      const { data } = await gateway.query('mutation { createEmbedSession { session { accessToken } } }');
      const { accessToken } = data.createEmbedSession.session;
      const own = await connectMcp(
        gateway.url,
        kind === 'API key' ? demoHeaders : { authorization: `Bearer ${accessToken}` },
      );
      try {
        await own.listTools();
        for (const [name, variables] of Object.entries(await calls(own))) {
          const { content, structuredContent, isError } = await call(name, variables, own);
          expect([name, isError, structuredContent]).toEqual([
            name,
            false,
            { ...structuredContent, data: expect.anything() },
          ]);
          expect(JSON.parse(content[0].text)).toEqual(structuredContent);
          expect(content[0].text.length).toBeLessThanOrEqual(61 * 1024);
        }
        // Now a discovery runs.
        const { startDiscovery } = await calls(own);
        const again = await call('startDiscovery', startDiscovery, own);
        expect(again.structuredContent.data.startDiscovery.__typename).toBe('DiscoveryAlreadyRunning');
      } finally {
        await own.close();
      }
    },
  );

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
      search: { maxLength: 1_000, description: expect.stringContaining('Text that must occur') },
      after: { type: 'string', description: expect.stringMatching(/^`after` of `next` in the previous answer\./) },
    });
    expect(input('countEvents').properties.interval).toMatchObject({
      enum: ['HOUR', 'DAY', 'WEEK', 'MONTH'],
      default: 'DAY',
      description: expect.stringContaining('`WEEK`: A week, from Monday.'),
    });
    expect(input('countEvents').properties.from.description).toContain('a day (`2026-01-31`');
    expect(JSON.stringify(tools)).not.toContain('Upstream:');
    expect(input('startDiscovery').required).toEqual(['marketId', 'searchCriteria']);
  });

  test('state bounds that the gateway enforces', async () => {
    const valid = await calls();
    let checked = 0;
    for (const { name, inputSchema } of tools) {
      for (const [path, value] of excesses(inputSchema)) {
        const variables = withValue(valid[name] ?? {}, path, value);
        expect([name, path, codesOf(await call(name, variables))]).toEqual([name, path, ['BAD_USER_INPUT']]);
        checked += 1;
      }
    }
    expect(checked).toBeGreaterThan(40);
  });
});

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
      expect(Buffer.byteLength(content[0].text)).toBeLessThanOrEqual(61 * 1024);
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
        '# All.\nquery large { events(first: 100, filter: { from: "2020-01-01", minSeverity: 0, minLikelihood: 0 }) { nodes { nodeId title summary impactedEntities { name impact { rationale } } } } }',
    });
    await withGateway({ MCP_OPERATIONS: operations }, async own => {
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
  });

  test('stays whole if it is of a mutation, however large: the mutation has taken effect', async () => {
    const operations = folderOf({
      'review.graphql':
        '# Includes all.\nmutation review { reviewCompanies(input: { marketId: "3", reviewStatus: INCLUDE, target: { all: true } }) { market { one: companies(first: 100) { ...all } two: companies(first: 100) { ...all } three: companies(first: 100) { ...all } } } } fragment all on CompanyConnection { nodes { nodeId name domain description attributes esg } }',
    });
    await withGateway({ ...env, MCP_OPERATIONS: operations }, async own => {
      const { result }: Any = await (await sendMcp(own.url, toolCall('review'))).json();
      expect(result.isError).toBe(false);
      expect(result.content[0].text.length).toBeGreaterThan(61_440);
    });
  });

  test('has what the next tool needs', async () => {
    const every = { minSeverity: 0, minLikelihood: 0, from: '2020-01-01', first: 1 };
    const [event] = (await call('searchEvents', every)).structuredContent.data.events.nodes;
    const { data } = (await call('readObservation', { id: event.references[0].id })).structuredContent;
    expect(data.observation.title).toBe(event.references[0].title);
    const explained = await call('explainEvents', { ...every, search: event.title });
    expect(explained.structuredContent.data.events.nodes).toEqual([expect.objectContaining({ id: event.id })]);
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
    expect(codesOf(await call('searchCriteria', { marketId: deep(12) }))).toEqual(['QUERY_TOO_COMPLEX']);
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
    return from.callTool({ name: 'startDiscovery', arguments: startDiscovery as Any }, undefined, {
      onprogress,
      ...(signal && { signal }),
    });
  };

  test('reports its progress until it ends', async () => {
    const reported: Any[] = [];
    const result = await start(progress => {
      reported.push(progress);
      ahead = reported.length * 200_000;
    });
    expect(result.isError).toBe(false);
    expect(result.structuredContent).toMatchObject({
      data: { startDiscovery: { __typename: 'DiscoveryStarted' } },
      progress: { finished: true, overallProgress: 1 },
    });
    const shares = reported.map(({ progress }) => progress);
    expect(shares.length).toBeGreaterThan(2);
    expect(shares).toEqual([...new Set(shares)].sort((one, other) => one - other));
    expect(reported.at(-1)).toEqual({ progress: 1, total: 1, message: 'first_pass: completed' });
  });

  test('is no longer polled when the client leaves', async () => {
    const leaving = new AbortController();
    const own = await connectMcp(gateway.url);
    const left = start(() => leaving.abort(), own, leaving.signal).catch(error => error.message);
    expect(await left).toContain('AbortError');
    await own.close();
    await until(async () => (await counted(gateway.url, 'gateway_live_pollers')) === 0);
  });

  test('does not keep the gateway from closing: the call ends with the last known state', async () => {
    const own = await startGateway({ sandbox, env });
    const other = await connectMcp(own.url);
    let closing: Promise<void> | undefined;
    const result = await start(() => {
      closing ??= own.close();
    }, other);
    expect(result.structuredContent.progress).toMatchObject({ finished: false });
    await closing;
    await other.close();
  });
});

describe('a request', () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
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
    for (const message of [list, toolCall('suggestMarkets', { keyword: 'battery' })]) {
      expect(await codeOf(await sendMcp(gateway.url, message, headers))).toEqual([status, code]);
    }
    if (status === 401) await expect(connectMcp(gateway.url, headers)).rejects.toThrow('UNAUTHENTICATED');
  });

  test('from a page of the own origin is answered', async () => {
    const { status, headers } = await sendMcp(gateway.url, list, { ...demoHeaders, origin: gateway.url });
    expect([status, headers.get('x-accel-buffering')]).toEqual([200, 'no']);
  });

  test('has one message, and is a POST of at most 1 MiB', async () => {
    expect(await codeOf(await sendMcp(gateway.url, [list, list]))).toEqual([400, 'BAD_USER_INPUT']);
    expect(await codeOf(await sendMcp(gateway.url, { ...list, more: 'x'.repeat(2 ** 20) }))).toEqual([
      413,
      'BAD_REQUEST',
    ]);
    for (const method of ['GET', 'DELETE']) {
      const response = await fetch(`${gateway.url}/mcp`, { method, headers: demoHeaders });
      expect(await codeOf(response)).toEqual([405, 'BAD_REQUEST']);
    }
  });

  test('that is no JSON is an error of JSON-RPC, too', async () => {
    const headers = { 'content-type': 'application/json', ...demoHeaders };
    const response = await fetch(`${gateway.url}/mcp`, { method: 'POST', headers, body: '{' });
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
      message: expect.stringMatching(/The parameters must be the name of a tool/),
    });
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
      for (const message of [list, progress]) {
        const body = JSON.stringify(message);
        const response = await client.request({ path: '/mcp', method: 'POST', headers, body });
        expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'application/json']);
        expect(await response.body.json()).toMatchObject({ jsonrpc: '2.0', id: 1, result: {} });
      }
      await client.close();
    },
  );

  test('for another type is refused', async () => {
    const response = await sendMcp(gateway.url, list, { ...demoHeaders, accept: 'text/html' });
    expect(response.status).toBe(406);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32_000 } });
  });

  test('counts against the rate limit', async () => {
    await withGateway({ ...env, RATE_LIMIT_PER_CREDENTIAL: '2' }, async own => {
      const sent = [1, 2, 3].map(() => sendMcp(own.url, toolCall('suggestMarkets', { keyword: 'battery' })));
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, 200, 429]);
    });
  });

  test('is limited by its cost in upstream calls', async () => {
    await withGateway({ ...env, QUERY_CALL_LIMIT: '20' }, async own => {
      const { result }: Any = await (await sendMcp(own.url, toolCall('explainEvents', { first: 100 }))).json();
      expect(codesOf(result)).toEqual(['QUERY_TOO_COMPLEX']);
    });
  });

  test('calls tools where only trusted documents are executed', async () => {
    const file = join(folders, 'documents.json');
    writeFileSync(file, '{}');
    const trusted = { ...env, PERSISTED_DOCUMENTS: file, PERSISTED_DOCUMENTS_MODE: 'only', INTROSPECTION: 'false' };
    await withGateway(trusted, async own => {
      const { result }: Any = await (await sendMcp(own.url, toolCall('suggestMarkets', { keyword: 'battery' }))).json();
      expect(result).toMatchObject({ isError: false });
      const { errors } = await own.query('{ suggestMarkets(keyword: "battery") }');
      expect(errors?.[0].extensions.code).toBe('FORBIDDEN');
    });
  });

  test('finds nothing where no folder is set', async () => {
    await withGateway({}, async own => {
      expect(await codeOf(await sendMcp(own.url, list))).toEqual([404, 'NOT_FOUND']);
    });
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
