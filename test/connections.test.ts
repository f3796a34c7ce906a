import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createConnections } from '../src/http/connections.js';
import { startSandbox } from '../src/sandbox/server.js';
import { forSuite, forTest } from './support/cleanups.js';
import { demoHeaders, postJson, startGateway, type TestGateway } from './support/gateway.js';
import { hold } from './support/hold.js';
import { counted } from './support/metrics.js';
import { get, post, rawConnection, toWebSocket } from './support/raw-http.js';
import { silentTelemetry } from './support/silent-telemetry.js';
import { until } from './support/until.js';

/** Of each test, so that nothing is cached for it. */
let market = 10_000;
const slow = (name: string) => `query ${name} { market(id: ${market}) { topics { id } } }`;
const quick = '{ viewer { authentication } }';

const sandbox = forSuite(await startSandbox());
const shared = forSuite(
  await startGateway({ sandbox, env: { MAX_REQUESTS_IN_FLIGHT: '100', UPSTREAM_TIMEOUT_MS: '60000' } }),
);
let gateway: TestGateway;

beforeEach(() => {
  sandbox.reset();
  market += 1;
  gateway = shared;
});
afterEach(() => until(async () => (await counted(shared.url, 'gateway_requests_in_flight')) === 0));

/** The service answers no call for topics until what this returns is called. */
const holdTopics = () => hold(sandbox, /topics/);
const inFlight = () => counted(gateway.url, 'gateway_requests_in_flight');
/** How many calls for topics the service has received. */
const topicCalls = () => sandbox.calls.count(/topics/);

/** Waits for a call for topics, and until what was sent before is answered, or waits behind it. */
async function untilTopicsAreAsked(): Promise<void> {
  await until(() => topicCalls() > 0);
  await gateway.query(quick);
}

/** Sends on and on until the gateway closes the connection. */
async function closedWhileSending({ closed, socket }: ReturnType<typeof rawConnection>): Promise<void> {
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  while (!isClosed) {
    socket.write(Buffer.alloc(16 * 1024));
    await sleep(50);
  }
}

describe('requests that have not arrived', () => {
  /** The gateway answers the head with 100 Continue. */
  const expectContinue = ['expect: 100-continue'];

  test('do not count as requests in flight', async () => {
    const all = Array.from({ length: 120 }, () => rawConnection(gateway.url, post(quick, expectContinue).slice(0, -1)));
    await until(() => all.every(raw => raw.statuses().length === 1));
    expect(await inFlight()).toBe(0);
    expect((await gateway.query(quick)).status).toBe(200);
    for (const { socket } of all) socket.resetAndDestroy();
  });

  test('get 503 beyond the limit if all of them arrive at once', async () => {
    const release = holdTopics();
    const all = Array.from({ length: 120 }, (_, index) =>
      rawConnection(gateway.url, post(slow(`late${index}`), expectContinue).slice(0, -1)),
    );
    await until(() => all.every(raw => raw.statuses().length === 1));
    for (const { socket } of all) socket.write('}');
    await until(() => all.filter(raw => raw.statuses().length === 2).length === 20);
    release();
    await until(() => all.every(raw => raw.statuses().length === 2));
    const statuses = all.map(raw => raw.statuses()[1]);
    expect(statuses.filter(each => each === 503)).toHaveLength(20);
    expect(statuses.filter(each => each === 200)).toHaveLength(100);
    expect(all.find(raw => raw.statuses()[1] === 503)?.received()).toMatch(/\r\nretry-after: 1\r\n/);
    for (const { socket } of all) socket.destroy();
    await until(async () => (await inFlight()) === 0);
  });
});

describe('a body that is refused before it has arrived', () => {
  const size = 5_000_000;
  const large = Buffer.alloc(size, 'a');
  const head = (path: string, lines: readonly string[] = []) =>
    [`POST ${path} HTTP/1.1`, 'host: gateway', ...lines, '', ''].join('\r\n');
  const json = 'content-type: application/json';
  const length = `content-length: ${size}`;
  const refusals = [
    ['too large', 413, head('/graphql', [json, length])],
    ['too large for a stream', 413, head('/graphql/stream', [json, length])],
    ['too large for a tool', 413, head('/mcp', [json, length])],
    ['of text', 413, head('/graphql', ['content-type: text/plain', length])],
    ['of another type', 415, head('/graphql', ['content-type: text/html', length])],
    ['compressed', 415, head('/graphql', [json, length, 'content-encoding: gzip'])],
    ['for nothing', 404, head('/nothing', [length])],
    ['for no host', 400, head('/graphql', [json, length]).replace('host: gateway', 'host: a b')],
    ['by a proxy of HTTP/1.0', 413, head('/graphql', [json, length]).replace('/1.1', '/1.0')],
    ['in a chunk without a size', 400, head('/graphql', [json, 'transfer-encoding: chunked'])],
    ['beyond a limit', 429, head('/graphql', [json, length])],
  ] as const;

  async function start(kind: string): Promise<void> {
    if (kind !== 'beyond a limit') return;
    gateway = forTest(await startGateway({ sandbox, env: { RATE_LIMIT_PER_ADDRESS: '1' } }));
    await gateway.query(quick);
  }

  test.each(refusals)('%s says so to a client that sends all before it reads: %d', async (kind, status, bytes) => {
    await start(kind);
    const raw = rawConnection(gateway.url, bytes);
    raw.socket.pause();
    let failed: Error | undefined;
    raw.socket.on('error', error => {
      failed = error;
    });
    await new Promise(resolve => raw.socket.write(large, resolve));
    raw.socket.resume();
    await Promise.race([raw.ended, raw.closed]);
    expect(failed).toBeUndefined();
    expect(raw.statuses()).toEqual([status]);
    expect(raw.received()).toMatch(/^connection: close\r$/im);
    raw.socket.destroy();
  });

  test.each(refusals.filter(([kind]) => !/proxy|chunk/.test(kind)))(
    '%s is not even sent by a client that expects 100 Continue: %d',
    async (kind, status, bytes) => {
      await start(kind);
      const raw = rawConnection(gateway.url, bytes.replace(json, `${json}\r\nexpect: 100-continue`));
      await Promise.race([raw.ended, raw.closed]);
      expect(raw.statuses()).toEqual([status]);
      raw.socket.destroy();
    },
  );

  test('in more than 20,000 chunks gets the refusal, too', async () => {
    const chunks = `${'1\r\n \r\n'.repeat(30_000)}0\r\n\r\n`;
    const raw = rawConnection(gateway.url, head('/graphql', [json, 'transfer-encoding: chunked']) + chunks);
    await Promise.race([raw.ended, raw.closed]);
    expect(raw.statuses()).toEqual([413]);
    expect(raw.received()).toContain('20000 chunks');
    raw.socket.destroy();
  });

  test('is read on for a while only', async () => {
    const raw = rawConnection(gateway.url, head('/graphql', [json, 'content-length: 1000000000000']));
    let sent = 0;
    while (!raw.socket.destroyed) {
      await new Promise(resolve => raw.socket.write(large, resolve));
      sent += size;
    }
    expect(raw.statuses()).toEqual([413]);
    expect(sent).toBeLessThan(40 * size);
  });

  const posts = {
    fetch: (body: string) => postJson(`${gateway.url}/graphql`, body, {}),
    'fetch with a stream': (body: string) =>
      fetch(`${gateway.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: new Blob([body]).stream(),
        duplex: 'half',
      } as RequestInit),
    'the HTTP client of Node': (body: string) =>
      new Promise<{ status: number | undefined }>((resolve, reject) => {
        const headers = { 'content-type': 'application/json' };
        request(`${gateway.url}/graphql`, { method: 'POST', headers, agent: false }, response => {
          response.resume();
          resolve({ status: response.statusCode });
        })
          .on('error', reject)
          .end(body);
      }),
  };
  test.each(Object.entries(posts))('says so to %s, each time', async (_, send) => {
    const body = JSON.stringify({ query: quick, padding: large.toString() });
    const statuses = async () => (await send(body)).status;
    expect(await Promise.all(Array.from({ length: 15 }, statuses))).toEqual(Array(15).fill(413));
    for (let sent = 0; sent < 15; sent += 1) expect(await statuses()).toBe(413);
  });
});

describe('requests that are pipelined on one connection', () => {
  test('no longer count as in flight once the connection is gone', async () => {
    holdTopics();
    const all = Array.from({ length: 5 }, () => rawConnection(gateway.url, post(slow('a'))));
    await until(async () => (await inFlight()) === 5);
    for (const { socket } of all) socket.write(get('/nothing').repeat(25));
    await until(async () => (await inFlight()) === 100);
    for (const { socket } of all) socket.resetAndDestroy();
    await until(async () => (await inFlight()) === 0);
    expect((await gateway.query(quick)).status).toBe(200);
  });

  test('are answered in their order', async () => {
    const release = holdTopics();
    const raw = rawConnection(gateway.url, post(slow('a')) + get('/nothing') + post(quick) + get('/healthz'));
    await untilTopicsAreAsked();
    expect(raw.statuses()).toEqual([]);
    release();
    await until(() => raw.statuses().length === 4);
    expect(raw.statuses()).toEqual([200, 404, 200, 200]);
    raw.socket.destroy();
  });

  test.each([
    ['and one that cannot be parsed follows', [], 'nonsense\r\n\r\n', [200, 200, 400]],
    ['and one with a header that cannot be parsed follows', [], get('/healthz', ['two words: 1']), [200, 200, 400]],
    ['and one follows the last', ['connection: close'], get('/healthz'), [200, 200]],
  ])('are all answered where they are complete, %s', async (_, headers, next, statuses) => {
    const release = holdTopics();
    const raw = rawConnection(gateway.url, post(slow('a')) + post(quick, headers) + next);
    await untilTopicsAreAsked();
    expect(raw.statuses()).toEqual([]);
    release();
    await raw.ended;
    expect(raw.statuses()).toEqual(statuses);
    raw.socket.destroy();
  });

  test('get 503 beyond the bound of one connection, which is then closed', async () => {
    const release = holdTopics();
    const raw = rawConnection(gateway.url, post(slow('a')) + get('/healthz').repeat(40));
    await untilTopicsAreAsked();
    release();
    await raw.ended;
    expect(raw.statuses()).toEqual([...Array(32).fill(200), 503]);
    expect(raw.received()).toContain('connection: close');
    raw.socket.destroy();
  });

  test('and heads of many lines count for their network for as long as they wait', async () => {
    const held = () => counted(gateway.url, 'gateway_held_bytes');
    const many = Array.from({ length: 1_500 }, () => 'a:');
    holdTopics();
    const waiting = rawConnection(gateway.url, post(slow('a')) + get('/healthz').repeat(20));
    await untilTopicsAreAsked();
    expect(await held()).toBeGreaterThan(20 * 6_000);
    waiting.socket.destroy();
    await until(async () => (await held()) === 0);
    const unfinished = rawConnection(gateway.url, post(quick, many).slice(0, -1));
    await until(async () => (await held()) > 1_500 * 40);
    unfinished.socket.destroy();
    await until(async () => (await held()) === 0);
  });

  test('end their connection where their network holds too much', async () => {
    const memory = { total: 400_000, perOwner: 200_000, perResponse: 100_000 };
    const strict = forTest(await startGateway({ sandbox, seams: { memory } }));
    holdTopics();
    const waiting = rawConnection(strict.url, post(slow('a')) + get('/healthz').repeat(30));
    await waiting.ended;
    waiting.socket.destroy();
    expect((await strict.query(quick)).status).toBe(200);
  });

  test('get the same metrics where they ask for them at once', async () => {
    const raw = rawConnection(gateway.url, get('/metrics').repeat(5));
    await until(() => raw.statuses().length === 5);
    expect(new Set(raw.received().match(/^process_cpu_seconds_total .*$/gm)).size).toBe(1);
    raw.socket.destroy();
  });

  test('leave the other connections their share of the requests in flight', async () => {
    holdTopics();
    const raw = rawConnection(gateway.url, post(slow('a')));
    await until(() => topicCalls() > 0);
    raw.socket.write(post(slow('b')).repeat(500));
    await raw.closed;
    expect((await gateway.query(quick)).status).toBe(200);
  });
});

describe('a head', () => {
  const tooMany = Array.from({ length: 2_001 }, () => 'a:');

  test.each([
    ['a query', post(quick, tooMany)],
    ['a WebSocket', get('/graphql', [...toWebSocket('graphql-transport-ws'), ...tooMany])],
    ['another upgrade', post(quick, ['connection: upgrade', 'upgrade: h2c', ...tooMany])],
  ])('of more than 2,000 lines is refused: %s', async (_, bytes) => {
    const raw = rawConnection(gateway.url, bytes);
    await until(() => raw.statuses().length === 1);
    expect(raw.statuses()).toEqual([431]);
    raw.socket.destroy();
  });

  test('whose address has more than 100 parameters is refused', async () => {
    const statusOf = async (path: string) => (await fetch(`${gateway.url}${path}`)).status;
    expect(await statusOf(`/healthz?${'a&'.repeat(99)}a`)).toBe(200);
    for (const parameter of ['a', '', '%41'])
      expect(await statusOf(`/graphql?${`${parameter}&`.repeat(100)}`)).toBe(400);
  });
});

describe('an upgrade to WebSocket', () => {
  test('that is refused closes the connection although the client goes on sending', async () => {
    const raw = rawConnection(gateway.url, get('/graphql', toWebSocket()));
    await closedWhileSending(raw);
    // The code 4406 closes a WebSocket without the subprotocol, so it is opened first.
    expect(raw.statuses()).toEqual([101]);
    expect(raw.received()).toContain('Subprotocol not acceptable');
  });

  test('with an invalid handshake is refused and counted like any other request', async () => {
    const headers = toWebSocket('graphql-transport-ws').filter(line => !line.startsWith('sec-websocket-key'));
    const labels = { transport: 'websocket', operation: 'none', outcome: 'BAD_REQUEST' };
    const refused = () => counted(gateway.url, 'gateway_requests_total', labels);
    const before = await refused();
    const raw = rawConnection(gateway.url, get('/graphql', headers));
    await closedWhileSending(raw);
    expect(raw.statuses()).toEqual([400]);
    expect((await refused()) - before).toBe(1);
  });

  test.each(['12', ''])('of version %j is told which version there is', async version => {
    const headers = toWebSocket('graphql-transport-ws').map(line => line.replace(/(version: ).*/, `$1${version}`));
    const raw = rawConnection(gateway.url, get('/graphql', headers));
    await raw.ended;
    expect(raw.statuses()).toEqual([426]);
    expect(raw.received()).toMatch(/^sec-websocket-version: 13\r$/im);
    expect(raw.received()).toMatch(/^upgrade: websocket\r$/im);
    raw.socket.destroy();
  });

  test('in HTTP/1.0 is ignored, as HTTP demands', async () => {
    const handshake = get('/graphql', toWebSocket('graphql-transport-ws')).replace('HTTP/1.1', 'HTTP/1.0');
    const raw = rawConnection(gateway.url, handshake);
    await raw.ended;
    expect(raw.statuses()).toEqual([400]);
    raw.socket.destroy();
  });

  test('behind a request that is not answered yet waits for it', async () => {
    const release = holdTopics();
    const raw = rawConnection(gateway.url, post(slow('a')) + get('/graphql', toWebSocket('graphql-transport-ws')));
    await untilTopicsAreAsked();
    expect(raw.statuses()).toEqual([]);
    release();
    await until(() => raw.statuses().length === 2);
    expect(raw.statuses()).toEqual([200, 101]);
    raw.socket.destroy();
    expect((await gateway.query(quick)).status).toBe(200);
  });
});

describe('an upgrade that the gateway does not offer', () => {
  const h2c = ['connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AAMAAABkAAQCAAAAAAIAAAAA'];
  const large = `{ viewer { authentication } } # ${'x'.repeat(90 * 1024)}`;

  test('is ignored: the body is read, and the connection goes on', async () => {
    const raw = rawConnection(gateway.url, post(large, h2c) + post(quick));
    await until(() => raw.statuses().length === 2);
    raw.socket.write(post(quick, h2c) + post(quick, h2c));
    await until(() => raw.statuses().length === 4);
    expect(raw.statuses()).toEqual([200, 200, 200, 200]);
    expect(raw.received().match(/"authentication":"API_KEY"/g)).toHaveLength(4);
    raw.socket.destroy();
  });

  test('is ignored behind a request that is not answered yet', async () => {
    const release = holdTopics();
    const raw = rawConnection(gateway.url, post(slow('a')) + post(large, h2c) + get('/nothing'));
    await untilTopicsAreAsked();
    expect(raw.statuses()).toEqual([]);
    release();
    await until(() => raw.statuses().length === 3);
    expect(raw.statuses()).toEqual([200, 200, 404]);
    raw.socket.destroy();
  });

  test('is ignored for WebSocket at another path, and the answer says that there is nothing', async () => {
    const raw = rawConnection(gateway.url, get('/elsewhere', toWebSocket('graphql-transport-ws')) + get('/healthz'));
    await until(() => raw.statuses().length === 2);
    expect(raw.statuses()).toEqual([404, 200]);
    raw.socket.destroy();
  });

  test('hides no request in a body, however many headers stand before its length', async () => {
    const hidden = get('/healthz');
    const many = Array.from({ length: 1_500 }, () => 'a:b');
    const head = ['POST /nothing HTTP/1.1', 'host: gateway', ...h2c, ...many, `content-length: ${hidden.length}`];
    const raw = rawConnection(gateway.url, `${head.join('\r\n')}\r\n\r\n${hidden}${get('/readyz')}`);
    await until(() => raw.statuses().length === 2);
    expect(raw.received()).not.toContain('{"status":"ok"}');
    expect(raw.received()).toContain('{"status":"ready"}');
    raw.socket.destroy();
  });

  test('does not skip the limits: not when it is proposed, and not when it is only named', async () => {
    holdTopics();
    const named = ['upgrade: websocket'];
    const all = [h2c, named].flatMap(headers =>
      Array.from({ length: 50 }, (_, index) => rawConnection(gateway.url, post(slow(`q${index}`), headers))),
    );
    await until(async () => (await inFlight()) === 100);
    const over = rawConnection(gateway.url, post(quick, named));
    await until(() => over.statuses().length === 1);
    expect(over.statuses()).toEqual([503]);
    const health = rawConnection(gateway.url, get('/healthz', named));
    await until(() => health.statuses().length === 1);
    expect(health.statuses()).toEqual([200]);
    for (const { socket } of [...all, over, health]) socket.destroy();
    await until(async () => (await inFlight()) === 0);
  });
});

describe('a response that its client does not read', () => {
  const sweepMs = 1_000;
  const sweep = () => jest.advanceTimersByTime(sweepMs);
  const large = Buffer.alloc(64 * 1024 * 1024);
  let isClosed = false;
  let answerLate: (() => void) | undefined;
  const server = createServer(({ url }, response) => {
    response.on('close', () => {
      isClosed = true;
    });
    if (url === '/late') answerLate = () => response.end('late');
    else response.end(large);
  });
  let connections: ReturnType<typeof createConnections>;
  let url: string;
  beforeAll(async () => {
    // All but the intervals, which sweep when a test says so.
    jest.useFakeTimers({
      doNotFake: [
        ...(['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask'] as const),
        ...(['setImmediate', 'clearImmediate', 'setTimeout', 'clearTimeout'] as const),
      ],
    });
    connections = createConnections(silentTelemetry, 0, sweepMs);
    connections.watch(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    connections.close();
    jest.useRealTimers();
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    isClosed = false;
  });

  test('is aborted with its connection although the client goes on sending', async () => {
    const raw = rawConnection(url, `${get('/large')}GET /late HTTP/1.1\r\n`);
    raw.socket.pause();
    await until(() => {
      raw.socket.write('a: b\r\n');
      sweep();
      return isClosed;
    });
    raw.socket.resume();
    await Promise.race([raw.ended, raw.closed]);
    expect(raw.received().length).toBeLessThan(large.length);
  });

  test('is sent as long as the client reads something now and then', async () => {
    const raw = rawConnection(url, get('/large', ['connection: close']));
    let bytes = 0;
    raw.socket.removeAllListeners('data').on('data', part => {
      bytes += part.length;
      // After more than the operating system holds.
      if (bytes % (16 * 1024 * 1024) < part.length) sweep();
    });
    await raw.ended;
    expect(bytes).toBeGreaterThan(large.length);
    raw.socket.destroy();
  });

  test('does not include a response that has not begun yet', async () => {
    const raw = rawConnection(url, get('/late', ['connection: close']));
    await until(() => answerLate !== undefined);
    for (let sweeps = 0; sweeps < 4; sweeps += 1) sweep();
    answerLate?.();
    await raw.ended;
    expect(raw.statuses()).toEqual([200]);
    raw.socket.destroy();
  });
});

test('a pipelined request whose connection breaks is counted once, as abandoned', async () => {
  holdTopics();
  const headers = [`x-api-key: ${demoHeaders['x-api-key']}`, 'apollo-require-preflight: 1'];
  const query = `/graphql?query=${encodeURIComponent(slow('b'))}`;
  const raw = rawConnection(gateway.url, post(slow('a')) + get(query, headers).repeat(3));
  await until(() => topicCalls() > 0);
  const abandoned = () => counted(gateway.url, 'gateway_requests_total', { outcome: 'ABANDONED' });
  const before = await abandoned();
  raw.socket.resetAndDestroy();
  await until(async () => (await abandoned()) === before + 4);
  expect((await gateway.query(quick)).status).toBe(200);
  expect(await abandoned()).toBe(before + 4);
});

test('while the gateway closes, it refuses what comes on a connection that waits for a response, and ends the connection', async () => {
  const mcp = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const requests = {
    query: post('{ viewer { team } }'),
    cached: post('{ events(first: 2) { totalCount } }'),
    'of a page of another origin': post(quick, ['origin: https://pages.example']),
    stream: post(quick).replace('/graphql', '/graphql/stream'),
    websocket: get('/graphql', toWebSocket('graphql-transport-ws')),
    agent: `POST /mcp HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\ncontent-length: ${mcp.length}\r\n\r\n${mcp}`,
    page: get('/graphql', ['accept: text/html']),
    unknown: get('/nowhere'),
  };
  const closing = await startGateway({ sandbox, env: { RESPONSE_CACHE: 'true' } });
  const first = rawConnection(closing.url, requests.cached);
  await until(() => first.statuses().length === 1);
  first.socket.destroy();
  const release = holdTopics();
  const all = Object.entries(requests).map(([name, bytes], index) => ({
    name,
    bytes,
    raw: rawConnection(closing.url, post(slow(`waits${index}`))),
  }));
  await until(async () => (await counted(closing.url, 'gateway_requests_in_flight')) === all.length);
  const closed = closing.close();
  await Promise.all(all.map(({ raw, bytes }) => new Promise(resolve => raw.socket.write(bytes, resolve))));
  // The gateway, which is in this process, reads them.
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  release();
  for (const { name, raw } of all) {
    await raw.ended;
    raw.socket.end();
    const last = raw.received().slice(raw.received().lastIndexOf('HTTP/1.1'));
    const [head = '', body = ''] = last.split('\r\n\r\n');
    const lines = head.toLowerCase().split('\r\n');
    const message = 'The gateway is closing; try again in a moment';
    const extensions = { code: 'RATE_LIMITED', retryAfterSeconds: 1, retryable: true };
    expect({ name, statuses: raw.statuses(), retry: lines.includes('retry-after: 1'), body: JSON.parse(body) }).toEqual(
      {
        name,
        statuses: [200, 503],
        retry: true,
        body:
          name === 'agent'
            ? { jsonrpc: '2.0', id: null, error: { code: -32_000, message, data: extensions } }
            : { errors: [{ message, extensions }] },
      },
    );
    expect(lines).toContain('connection: close');
  }
  await closed;
});

describe('a slow service', () => {
  const events = '/v2/events-monitor/events';

  /** Asks, and hangs up when the signal says so. */
  const ask = (query: string, signal?: AbortSignal, { url } = gateway) =>
    postJson(`${url}/graphql`, { query }, demoHeaders, signal).then(response => response.json());

  const countOf = (first: number) => `events(first: ${first}) { totalCount }`;

  const abandonedCalls = () =>
    counted(gateway.url, 'gateway_upstream_call_seconds_count', { family: 'events', outcome: 'abandoned' });

  describe('a client that disconnects', () => {
    test('aborts an upstream call that only it waits for', async () => {
      sandbox.tell({ path: events, hang: true });
      const before = await abandonedCalls();
      const client = new AbortController();
      const asked = ask(`{ ${countOf(1)} }`, client.signal);
      await until(() => sandbox.calls.count(events) === 1);
      client.abort();
      await expect(asked).rejects.toThrow();
      await until(abandonedCalls, calls => calls === before + 1);
    });

    test('does not abort a call that others wait for', async () => {
      const release = hold(sandbox, events);
      const client = new AbortController();
      const left = ask(`{ ${countOf(2)} }`, client.signal);
      await until(() => sandbox.calls.count(events) === 1);
      // Its market is asked for in the moment in which it begins to wait for the events.
      const stays = ask(`{ ${countOf(2)} market(id: 1) { name } }`);
      await until(() => sandbox.calls.count(/markets\/1$/) === 1);
      client.abort();
      await expect(left).rejects.toThrow();
      release();
      expect(await stays).toEqual({
        data: { events: { totalCount: expect.any(Number) }, market: { name: expect.any(String) } },
      });
      expect(sandbox.calls.count(events)).toBe(1);
    });
  });

  test('returns UPSTREAM_TIMEOUT after a time, for queued requests too', async () => {
    sandbox.tell({ path: events, hang: true });
    const hurried = await startGateway({ sandbox, env: { UPSTREAM_TIMEOUT_MS: '600', UPSTREAM_CONNECTIONS: '2' } });
    const answers = await Promise.all([3, 4, 5].map(first => ask(`{ ${countOf(first)} }`, undefined, hurried)));
    await hurried.close();
    for (const { errors } of answers as { errors: { extensions: object }[] }[]) {
      expect(errors[0]?.extensions).toMatchObject({ code: 'UPSTREAM_TIMEOUT', retryable: true });
    }
  });
});

test.each(['GET', 'HEAD'])(
  'no body of a %s keeps the gateway parsing: its response is the last of the connection',
  async method => {
    const chunked = get('/healthz', ['transfer-encoding: chunked']).replace('GET', method);
    const raw = rawConnection(gateway.url, `${chunked}1\r\na\r\n`);
    await until(() => raw.received().includes('\r\n\r\n'));
    expect(raw.received()).toMatch(/^connection: close\r$/im);
    raw.socket.write('1\r\na\r\n'.repeat(1_000));
    await raw.ended;
    expect(raw.statuses()).toEqual([200]);
    raw.socket.destroy();
  },
);
