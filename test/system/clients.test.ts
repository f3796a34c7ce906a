import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { printSchemaWithDirectives } from '@graphql-tools/utils';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { gql as urqlGql } from '@urql/core';
import { isAbstractType, isObjectType } from 'graphql';
import relay from 'relay-runtime';
import WebSocket, { WebSocketServer } from 'ws';
import { createUrqlClient, keys, possibleTypes } from '../../examples/clients/src/urql.js';
import { startSandbox } from '../../src/sandbox/server.js';
import { createSchema } from '../../src/schema.js';
import { cleanups, forSuite, listening, temporaryFolder } from '../support/cleanups.js';
import { demoHeaders, startGateway } from '../support/gateway.js';
import { counted } from '../support/metrics.js';
import { reply, startStubService } from '../support/stub-service.js';
import { until } from '../support/until.js';

/** The service numbers the topics, groups, jobs and companies of each market from the start. */
const bodies: Record<string, (market: string) => unknown> = {
  topics: market => ({
    data: [{ topicId: 1, label: `Topic of ${market}`, groups: [{ topicId: 2, label: `Group of ${market}` }] }],
  }),
  companies: market => ({ data: [{ domain: 'shared.example', name: `Company of ${market}` }] }),
  jobs: market => ({ metadata: { marketId: Number(market) }, data: [{ jobId: 3, workflowName: `Job of ${market}` }] }),
};

const selection = `
  nodeId
  topics { nodeId id label groups { nodeId id label } }
  jobs { nodeId id workflowName }
  company(domain: "shared.example") { nodeId name }
`;

/** What every client must show of a market, however its cache identifies objects. */
const shown = (market: string) => ({
  topics: [{ id: '1', label: `Topic of ${market}`, groups: [{ id: '2', label: `Group of ${market}` }] }],
  jobs: [{ id: '3', workflowName: `Job of ${market}` }],
  company: { name: `Company of ${market}` },
});

const schema = createSchema();
const objectTypes = Object.values(schema.getTypeMap()).filter(isObjectType);

const stub = forSuite(
  await startStubService((request, response) => {
    const [, market = '', list = ''] = /\/(\d+)\/(\w+)$/.exec(request.url ?? '') ?? [];
    const body = bodies[list];
    reply(response, body ? 200 : 404, body?.(market));
  }),
);
const gateway = forSuite(
  await startGateway({
    env: { UPSTREAM_BASE_URL: stub.origin, UPSTREAM_API_URL: stub.origin, UPSTREAM_DEV_URL: stub.origin },
  }),
);
const folder = await mkdtemp(join(tmpdir(), 'relay-'));
await compileForRelay(
  folder,
  'javascript',
  `graphql\`query identityMarketQuery($id: ID!) { market(id: $id) { ${selection} } }\`;
     graphql\`fragment identity_company on Company @refetchable(queryName: "identityCompanyRefetchQuery") { name domain }\`;`,
);

afterAll(() => rm(folder, { recursive: true }));

test('a Relay store keeps two markets apart, and refetches a company by its nodeId', async () => {
  const { Environment, Network, RecordSource, Store, fetchQuery } = relay;
  const environment = new Environment({
    network: Network.create(async ({ text }, variables) => (await gateway.query(text ?? '', variables)) as never),
    store: new Store(new RecordSource()),
    getDataID: fields => fields.nodeId,
  });
  const read = async (query: string, variables: Record<string, unknown>) => {
    const compiled = await import(pathToFileURL(join(folder, `src/__generated__/${query}.graphql.js`)).href);
    return fetchQuery(environment, compiled.default, variables, { fetchPolicy: 'store-or-network' }).toPromise();
  };

  await read('identityMarketQuery', { id: '1' });
  await read('identityMarketQuery', { id: '2' });
  const calls = stub.calls.length;
  for (const market of ['1', '2']) {
    expect(await read('identityMarketQuery', { id: market })).toMatchObject({ market: shown(market) });
  }
  expect(stub.calls.length).toBe(calls);

  const { data } = await gateway.query('{ market(id: "2") { company(domain: "shared.example") { nodeId } } }');
  const { nodeId } = data.market.company;
  await read('identityCompanyRefetchQuery', { nodeId });
  const company = environment.getStore().getSource().get(nodeId);
  expect(company).toMatchObject({ name: 'Company of 2', domain: 'shared.example' });
});

test('the cache of Apollo Client keeps two markets apart', async () => {
  const client = new ApolloClient({
    link: new HttpLink({ uri: `${gateway.url}/graphql`, headers: demoHeaders }),
    cache: new InMemoryCache({ dataIdFromObject: ({ nodeId }) => (typeof nodeId === 'string' ? nodeId : undefined) }),
  });
  const query = gql(`query ($id: ID!) { market(id: $id) { ${selection} } }`);
  for (const id of ['1', '2']) await client.query({ query, variables: { id } });
  for (const id of ['1', '2']) {
    expect(client.readQuery({ query, variables: { id } })).toMatchObject({ market: shown(id) });
  }
});

test('the normalized cache of urql keeps two markets apart, and knows every type', async () => {
  for (const { name } of objectTypes) {
    expect([keys[name]?.({ nodeId: 'n', id: '1' } as never), keys[name]?.({ id: '1' } as never)]).toEqual(['n', null]);
  }
  const abstract = Object.values(schema.getTypeMap()).filter(isAbstractType);
  const sorted = (names: string[] = []) => names.toSorted();
  expect(Object.keys(possibleTypes).sort()).toEqual(abstract.map(({ name }) => name).sort());
  for (const type of abstract) {
    expect(sorted(possibleTypes[type.name])).toEqual(sorted(schema.getPossibleTypes(type).map(({ name }) => name)));
  }
  const client = createUrqlClient(gateway.url, { subscribe: () => () => {} }, demoHeaders);
  const query = urqlGql(`query ($id: ID!) { market(id: $id) { ${selection} } }`);
  for (const id of ['1', '2']) await client.query(query, { id });
  const calls = stub.calls.length;
  for (const id of ['1', '2']) {
    const result = await client.query(query, { id }, { requestPolicy: 'cache-only' });
    expect(result.data).toMatchObject({ market: shown(id) });
  }
  expect(stub.calls.length).toBe(calls);
});

test('urql follows a list of events over the socket, and continues behind the last one after it was lost', async () => {
  const sandbox = await startSandbox();
  const own = await startGateway({ sandbox, env: { POLL_INTERVAL_MS: '200' } });
  const { socket, reconnect } = await socketTo(own.url);
  cleanups.push(() => sandbox.close());
  cleanups.push(() => own.close());
  const client = createUrqlClient(own.url, socket, demoHeaders);
  const { data } = await client.query(urqlGql('{ events(first: 1) { updatesCursor } }'), {});
  const updates = urqlGql(
    'subscription ($after: String) { eventUpdates(after: $after) { cursor event { nodeId title } } }',
  );
  const titles: string[] = [];
  const { unsubscribe } = client
    .subscription(updates, { after: data?.events.updatesCursor })
    .subscribe(({ data }) => titles.push(data?.eventUpdates.event?.title));
  for (const title of ['first', 'second', 'third']) {
    sandbox.publishEvent({ title });
    await until(() => titles.includes(title));
    reconnect();
  }
  unsubscribe();
  expect(titles).toEqual(['first', 'second', 'third']);
});

test('a subscription continues after the gateway had no memory for what its socket sends', async () => {
  const sandbox = await startSandbox();
  const memory = { total: 10_000_000, perOwner: 5_000_000, perResponse: 2_500_000 };
  const env = { POLL_INTERVAL_MS: '200' };
  const own = await startGateway({ sandbox, env, seams: { memory, streams: { heartbeatMs: 300 } } });
  const { socket } = await socketTo(own.url);
  cleanups.push(() => sandbox.close());
  cleanups.push(() => own.close());
  const codes: number[] = [];
  socket.on('closed', event => codes.push((event as { code: number }).code));
  const titles: string[] = [];
  const failures: unknown[] = [];
  const query = 'subscription ($after: String) { eventUpdates(after: $after) { cursor event { title } } }';
  const { data } = await own.query('{ events(first: 1) { updatesCursor } }');
  const stop = socket.subscribe<{ eventUpdates: { event: { title: string } | null } }>(
    { query, variables: { after: data.events.updatesCursor } },
    {
      next: ({ data }) => data?.eventUpdates.event && titles.push(data.eventUpdates.event.title),
      error: failure => failures.push(failure),
      complete() {},
    },
  );
  cleanups.push(stop);
  await until(async () => (await counted(own.url, 'gateway_live_listeners')) === 1);
  const { total } = memory;
  // Then there is no room for the answer to a heartbeat, either.
  memory.total = 0;
  await until(() => codes.length > 0);
  memory.total = total;
  sandbox.publishEvent({ title: 'after' });
  await until(() => titles.includes('after') || failures.length > 0);
  expect([failures, codes[0]]).toEqual([[], 1013]);
});

test('a subscription begins again after errors that may pass, not before the gateway says, and ends with others', async () => {
  const sent = [
    { type: 'error', payload: [{ message: 'Too much', extensions: { code: 'RATE_LIMITED', retryable: true } }] },
    { type: 'error', payload: [{ message: 'Down', extensions: { retryable: true, retryAfterSeconds: 3 } }] },
    4500,
    { type: 'next', payload: { data: { eventUpdates: { cursor: 'c' } } } },
    { type: 'error', payload: [{ message: 'Down', extensions: { retryable: true } }] },
    { type: 'error', payload: [{ message: 'Wrong', extensions: { code: 'BAD_USER_INPUT' } }] },
  ];
  const asked: { at: number; after: string | undefined }[] = [];
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  cleanups.push(() => server.close());
  server.on('connection', opened =>
    opened.on('message', text => {
      const { type, id, payload } = JSON.parse(String(text));
      if (type === 'connection_init') opened.send('{"type":"connection_ack"}');
      if (type !== 'subscribe') return;
      asked.push({ at: performance.now(), after: payload.variables.after });
      const tell = () => {
        const message = sent.shift();
        if (typeof message === 'number') opened.close(message);
        else opened.send(JSON.stringify({ ...message, id }));
        if (typeof message === 'object' && message.type === 'next') tell();
      };
      tell();
    }),
  );
  const { socket } = await socketTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const results: unknown[] = [];
  const failure = await new Promise(resolve => {
    const query = 'subscription ($after: String) { eventUpdates(after: $after) { cursor } }';
    socket.subscribe({ query }, { next: result => results.push(result), error: resolve, complete() {} });
  });
  expect(failure).toMatchObject([{ message: 'Wrong' }]);
  expect(results).toHaveLength(1);
  expect(asked.map(({ after }) => after)).toEqual([undefined, undefined, undefined, undefined, 'c']);
  expect((asked[2]?.at ?? 0) - (asked[1]?.at ?? 0)).toBeGreaterThanOrEqual(2_990);
});

test('a connection that never opens is tried again', async () => {
  jest.useFakeTimers();
  cleanups.push(() => jest.useRealTimers());
  const sockets: object[] = [];
  class Silent {
    constructor() {
      sockets.push(this);
    }
    close() {}
  }
  Object.assign(globalThis, { WebSocket: Silent });
  cleanups.push(() => Object.assign(globalThis, { WebSocket: undefined }));
  const path = '../../examples/clients/src/socket.js?silent';
  const { socket }: typeof import('../../examples/clients/src/socket.js') = await import(path);
  socket.subscribe({ query: 'subscription { eventUpdates { cursor } }' }, { next() {}, error() {}, complete() {} });
  await jest.advanceTimersByTimeAsync(30_000);
  expect(sockets.length).toBeGreaterThan(1);
});

test('after a session that ended during an outage, the socket reconnects at once when the user has signed in', async () => {
  jest.useFakeTimers();
  cleanups.push(() => jest.useRealTimers());
  const ends = [1006, 1006, 1006, 1006, 4401];
  const sockets: object[] = [];
  class Failing {
    onclose = (_event: object) => {};
    constructor() {
      const code = ends[sockets.push(this) - 1];
      if (code !== undefined) void Promise.resolve().then(() => this.onclose({ code, reason: '', wasClean: false }));
    }
  }
  Object.assign(globalThis, { WebSocket: Failing });
  cleanups.push(() => Object.assign(globalThis, { WebSocket: undefined }));
  const path = '../../examples/clients/src/socket.js?outage';
  const { socket, reconnect }: typeof import('../../examples/clients/src/socket.js') = await import(path);
  socket.subscribe({ query: 'subscription { eventUpdates { cursor } }' }, { next() {}, error() {}, complete() {} });
  await jest.advanceTimersByTimeAsync(60_000);
  expect(sockets.length).toBe(ends.length);
  reconnect();
  await jest.advanceTimersByTimeAsync(0);
  expect(sockets.length).toBe(ends.length + 1);
});

test('embedded.mjs opens another EventSource behind the last message when a connection is refused', async () => {
  const opened: unknown[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    const { searchParams } = new URL(url, 'http://gateway');
    opened.push([headers['last-event-id'], JSON.parse(searchParams.get('variables') ?? 'null')]);
    // The second attempt, which the EventSource makes by itself, is refused.
    response.writeHead(opened.length === 2 ? 503 : 200, { 'content-type': 'text/event-stream' });
    response.end('retry: 10\nid: first\nevent: next\ndata: {}\n\n');
  });
  const port = await listening(server);
  const folder = await temporaryFolder();
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  const program = await readFile('examples/clients/src/embedded.mjs', 'utf8');
  await writeFile(join(folder, 'embedded.mjs'), program.replaceAll('s://gateway.example', `://127.0.0.1:${port}`));
  const browser = `--import=${pathToFileURL('test/support/browser.mjs').href}`;
  // A page stays open while its EventSource waits. Undici's would let Node end.
  const open = '--import=data:text/javascript,setInterval(()=>{},1000)';
  const child = spawn(process.execPath, ['--disable-warning=UNDICI-ES', open, browser, join(folder, 'embedded.mjs')]);
  cleanups.push(() => child.kill());
  await until(() => opened.length >= 3);
  expect(opened.slice(0, 3)).toEqual([
    [undefined, {}],
    ['first', {}],
    [undefined, { after: 'first' }],
  ]);
});

describe('generated types have no null where @semanticNonNull says that it is an error', () => {
  const document = (directive: string) =>
    `query typesQuery($id: ID!) ${directive} { market(id: $id) { name topics { label } } observations(ids: [$id]) { title } }`;
  let files = '';
  beforeAll(async () => {
    files = await mkdtemp(join(tmpdir(), 'types-'));
  });
  afterAll(() => rm(files, { recursive: true }));
  const expected = (text: string) => {
    expect(text).toMatch(/market: \{[^?]*name\??: string \| null/);
    expect(text).toMatch(
      /topics: (?:Readonly)?Array<\{[^?]*label: string[^?]*\}>;?[^?]*observations: (?:Readonly)?Array<\{/,
    );
    expect(text).toMatch(/observations: (?:Readonly)?Array<\{[^?]*title\??: string \| null/);
  };

  test('by Relay for @throwOnFieldError', async () => {
    await compileForRelay(files, 'typescript', `graphql\`${document('@throwOnFieldError')}\`;`);
    expected(await readFile(join(files, 'src/__generated__/typesQuery.graphql.ts'), 'utf8'));
  });

  test('by graphql-codegen for a client that throws errors', async () => {
    const config = join(files, 'codegen.json');
    const client = { preset: 'client', config: { nullability: { errorHandlingClient: true } } };
    await writeFile(
      config,
      JSON.stringify({ schema: 'schema/*.graphql', documents: document(''), generates: { [`${files}/`]: client } }),
    );
    await promisify(execFile)(resolve('node_modules/.bin/graphql-codegen'), ['--config', config]);
    expected(await readFile(join(files, 'graphql.ts'), 'utf8'));
  });
});

/** `socket.ts`, as a page of this gateway has it, whose browser sends the credential. */
async function socketTo(url: string): Promise<typeof import('../../examples/clients/src/socket.js')> {
  const introduction = JSON.stringify({ type: 'connection_init', payload: demoHeaders });
  class Signed extends WebSocket {
    constructor(_address: string, protocols: string) {
      super(`${url.replace('http', 'ws')}/graphql`, protocols);
    }
    override send(text: string): void {
      super.send(text.includes('"connection_init"') ? introduction : text);
    }
  }
  Object.assign(globalThis, { WebSocket: Signed });
  cleanups.push(() => Object.assign(globalThis, { WebSocket: undefined }));
  return await import(`../../examples/clients/src/socket.js?${url}`);
}

/** Compiles documents by Relay's compiler, into `src/__generated__`. */
async function compileForRelay(folder: string, language: string, documents: string): Promise<void> {
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, 'schema.graphql'), printSchemaWithDirectives(schema));
  await writeFile(join(folder, 'src/types.js'), documents);
  const config = {
    src: './src',
    schema: './schema.graphql',
    language,
    schemaConfig: { nodeInterfaceIdField: 'nodeId', nodeInterfaceIdVariableName: 'nodeId' },
  };
  await writeFile(join(folder, 'relay.config.json'), JSON.stringify(config));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await promisify(execFile)(resolve('node_modules/.bin/relay-compiler'), ['relay.config.json'], { cwd: folder });
}
