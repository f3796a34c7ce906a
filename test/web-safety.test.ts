import { connect, type Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { createConnections } from '../src/http/connections.js';
import { createHttpApp } from '../src/http/fastify.js';
import type { Handler, Stage } from '../src/http/request-state.js';
import { createRequestTelemetry } from '../src/http/request-telemetry.js';
import { refuseUnreadable, safeHeaders } from '../src/http/web-safety.js';
import { createProxyHeaders } from '../src/lib/network.js';
import { startSandbox } from '../src/sandbox/server.js';
import { cleanups, forTest } from './support/cleanups.js';
import {
  demoHeaders,
  postJson,
  signedIn,
  startGateway,
  startOverSandbox,
  type TestGateway,
  wireOrigin,
} from './support/gateway.js';
import { hold } from './support/hold.js';
import { ofTheRun } from './support/of-the-run.js';
import { startRedis } from './support/redis.js';
import { silentTelemetry } from './support/silent-telemetry.js';
import { overWebsocket } from './support/streams.js';
import { until } from './support/until.js';
import { fakeWire } from './support/wire.js';

const ours = 'https://app.example';
const foreign = [
  'https://evil.example',
  'https://app.example.evil.example',
  'https://evil-app.example',
  'https://sub.app.example',
  'http://app.example',
  'https://app.example:8443',
  'null',
];
const document = JSON.stringify({ query: '{ events(first: 1) { totalCount } }' });

const env = { CORS_ORIGINS: `${ours}, https://other.example`, TRUST_PROXY: 'true', MCP_OPERATIONS: 'operations' };
const { sandbox, gateway } = await startOverSandbox({ env });

afterAll(() => gateway.close());

const post = (headers: Record<string, string>, body = document, at = gateway) =>
  postJson(`${at.url}/graphql`, body, { ...demoHeaders, ...headers });

const preflight = (origin: string, method = 'POST') =>
  fetch(`${gateway.url}/graphql`, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': 'content-type' },
  });

describe('another origin', () => {
  test('that is listed may read responses and send cookies', async () => {
    const allowed = await preflight(ours);
    expect(allowed.ok).toBe(true);
    expect(allowed.headers.get('access-control-allow-origin')).toBe(ours);
    expect(allowed.headers.get('access-control-allow-credentials')).toBe('true');
    const sendable = allowed.headers.get('access-control-allow-headers')?.split(', ');
    expect(sendable).toEqual(
      expect.arrayContaining([
        // A browser asks first: that of multipart subscriptions has a quote.
        'accept',
        ...['content-type', 'authorization', 'x-api-key', 'apollo-require-preflight', 'last-event-id', 'graphql-cost'],
        ...['graphql-client-name', 'graphql-client-version'],
        ...['apollographql-client-name', 'apollographql-client-version'],
        ...['mcp-protocol-version', 'mcp-method', 'mcp-name'],
        // What the gateway gives a client so that it sends it again.
        ...['if-none-match', 'mcp-session-id'],
        ...['traceparent', 'tracestate', 'baggage', 'sentry-trace'],
      ]),
    );
    for (const body of [document, '{ broken']) {
      const answer = await post({ origin: ours }, body);
      expect(answer.headers.get('access-control-allow-origin')).toBe(ours);
      expect(answer.headers.get('access-control-allow-credentials')).toBe('true');
      const exposed = answer.headers.get('access-control-expose-headers')?.split(', ');
      expect(exposed).toEqual(expect.arrayContaining(['etag', 'mcp-session-id', 'www-authenticate']));
      expect(answer.headers.get('vary')).toMatch(/origin/i);
    }
  });

  test('that is listed may end the session of an MCP client, and reads that there is none', async () => {
    expect((await preflight(ours, 'DELETE')).headers.get('access-control-allow-methods')).toMatch(/\bDELETE\b/);
    const answer = await fetch(`${gateway.url}/mcp`, { method: 'DELETE', headers: { origin: ours, ...demoHeaders } });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([405, ours]);
  });

  test('gets a response of its own from caches, also of pages and their files', async () => {
    const open = (path: string) =>
      fetch(`${gateway.url}${path}`, { headers: { accept: 'text/html' }, redirect: 'manual' });
    const page = await open('/graphql');
    const [file = ''] = /\/graphql\/assets\/[\w.-]+/.exec(await page.text()) ?? [];
    const vary = [await open('/'), page, await open(file)].map(({ headers }) => headers.get('vary'));
    expect(vary).toEqual(['Origin, accept', 'Origin, accept', 'Origin, accept-encoding']);
  });

  test.each(foreign)('such as %s may not', async origin => {
    for (const { headers } of [await preflight(origin), await post({ origin })]) {
      expect([null, ours]).not.toContain(origin);
      expect(headers.get('access-control-allow-origin')).not.toBe(origin);
      expect(headers.get('access-control-allow-origin')).not.toBe('*');
    }
  });

  test('never gets the response cached for another origin', async () => {
    for (const origin of [ours, 'https://other.example', ours]) {
      expect((await post({ origin })).headers.get('access-control-allow-origin')).toBe(origin);
    }
    expect((await post({ origin: 'https://evil.example' })).headers.get('access-control-allow-origin')).toBeNull();
  });

  test('gets no response cached by a gateway that listed it', async () => {
    const server = forTest(await startRedis());
    const redis = new Redis(server.url);
    const start = (env: Record<string, string>) =>
      startGateway({
        sandbox,
        redisUrl: server.url,
        env: { SESSION_SECRET: 'one secret for both of these gateways', ...env },
      });
    const [before, after] = await Promise.all([start({ CORS_ORIGINS: ours }), start({})]);
    cleanups.push(() => redis.disconnect());
    cleanups.push(() => Promise.all([before.close(), after.close()]));
    expect((await post({ origin: ours }, document, before)).headers.get('access-control-allow-origin')).toBe(ours);
    if (ofTheRun.RESPONSE_CACHE !== 'false') await until(async () => (await redis.keys('mig:response:*')).length > 0);
    expect((await post({ origin: ours }, document, after)).headers.get('access-control-allow-origin')).toBeNull();
  });

  test('can read the error of the rate limit', async () => {
    const strict = forTest(
      await startGateway({ sandbox, env: { CORS_ORIGINS: ours, RATE_LIMIT_PER_CREDENTIAL: '1' } }),
    );
    await post({ origin: ours }, document, strict);
    const { status, headers } = await post({ origin: ours }, document, strict);
    expect(status).toBe(429);
    expect(headers.get('access-control-allow-origin')).toBe(ours);
    expect(headers.get('access-control-expose-headers')).toContain('retry-after');
  });

  test('is refused if no origin is listed', async () => {
    const closed = forTest(await startGateway({ sandbox }));
    expect((await post({ origin: ours }, document, closed)).headers.get('access-control-allow-origin')).toBeNull();
  });

  test.each([
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'text/plain',
    'text/plain; application/json',
    '',
  ])('cannot make a browser post a form of the type "%s"', async type => {
    const before = sandbox.calls.count();
    const response = await post({ 'content-type': type, cookie: 'mig_session=anything' }, 'query={viewer{team}}');
    expect([400, 415]).toContain(response.status);
    expect(sandbox.calls.count()).toBe(before);
  });

  test('cannot make a browser run a query by a link', async () => {
    const response = await fetch(`${gateway.url}/graphql?query={viewer{team}}`, { headers: { accept: '*/*' } });
    expect(response.status).toBe(400);
  });
});

/** How a WebSocket with a key ends, or the data of a query on it. */
async function openSocket(at: TestGateway, headers: Record<string, string>, params: Record<string, string>) {
  const { results, ended } = overWebsocket(at.url, { query: '{ viewer { authentication } }' }, { params, headers });
  return (await ended) ?? results;
}

const forbidden = expect.objectContaining({ code: 4403, reason: expect.stringMatching(/^FORBIDDEN: /) });

describe.each<[string, () => Promise<TestGateway>]>([
  ['the sandbox, whose key anyone knows,', () => startGateway()],
  [
    'a gateway that may export to private addresses',
    () => startGateway({ sandbox, env: { EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true' } }),
  ],
])('%s', (_, start) => {
  let guarded: TestGateway;
  beforeAll(async () => {
    guarded = await start();
  });
  afterAll(() => guarded.close());

  const send = (path: string, accept: string, body: object, headers: Record<string, string>) =>
    postJson(`${guarded.url}${path}`, body, { accept, ...headers });
  const query = { query: '{ viewer { authentication } }' };
  const updates = { query: 'subscription { eventUpdates { cursor } }' };
  const tools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const requests: Readonly<Record<string, readonly [string, string, object]>> = {
    HTTP: ['/graphql', 'application/json', query],
    SSE: ['/graphql/stream', 'text/event-stream', updates],
    multipart: ['/graphql', 'multipart/mixed;subscriptionSpec=1.0,application/json', updates],
    MCP: ['/mcp', 'application/json, text/event-stream', tools],
  };

  test.each(foreign)('refuses every request of a page of %s, with a key or without', async origin => {
    const calls = (guarded.sandbox ?? sandbox).calls.count();
    for (const key of [{}, demoHeaders]) {
      for (const [path, accept, body] of Object.values(requests)) {
        if (path === '/mcp' && guarded.sandbox === undefined) continue;
        const response = await send(path, accept, body, { origin, ...key });
        expect([response.status, await response.text()]).toEqual([403, expect.stringContaining('FORBIDDEN')]);
      }
      expect(await openSocket(guarded, { origin }, key)).toEqual(forbidden);
    }
    expect((guarded.sandbox ?? sandbox).calls.count()).toBe(calls);
  });

  test.each(['cross-site', 'same-site'])('refuses a request of a page that is %s', async site => {
    const address = `${guarded.url}/graphql?query={viewer{authentication}}`;
    const headers = { ...demoHeaders, 'sec-fetch-site': site, 'apollo-require-preflight': '1' };
    expect((await fetch(address, { headers })).status).toBe(403);
  });

  test('answers its own pages, and programs, which send no origin', async () => {
    for (const headers of [{ origin: guarded.url }, {}]) {
      expect((await send(...(requests.HTTP as [string, string, object]), { ...headers, ...demoHeaders })).status).toBe(
        200,
      );
      expect(await openSocket(guarded, headers, demoHeaders)).toMatchObject([
        { data: { viewer: { authentication: 'API_KEY' } } },
      ]);
    }
  });
});

test.each([
  ['https://gateway.example', 'Gateway.example:443', true],
  ['http://gateway.example', 'gateway.example:80', true],
  ['http://gateway.example', 'gateway.example:443', false],
  ['https://gateway.example', 'gateway.example:8443', false],
])('a page of %s is one of the gateway at %s: %s', async (origin, host, isOwn) => {
  const own = forTest(await startGateway({ sandbox, env: { TRUST_PROXY: '127.0.0.1' } }));
  const opened = await openSocket(own, { origin, 'x-forwarded-host': host }, demoHeaders);
  expect(opened).toEqual(isOwn ? [expect.objectContaining({ data: expect.anything() })] : forbidden);
});

test.each(['', ours])('a WebSocket with a key opens only for listed origins (CORS_ORIGINS=%s)', async listed => {
  const own = forTest(await startGateway({ sandbox, ...(listed && { env: { CORS_ORIGINS: listed } }) }));
  for (const origin of foreign) expect(await openSocket(own, { origin }, demoHeaders)).toEqual(forbidden);
  expect(await openSocket(own, { origin: ours }, demoHeaders)).toEqual(
    listed === ours ? [expect.objectContaining({ data: { viewer: { authentication: 'API_KEY' } } })] : forbidden,
  );
});

/** A stream that ends with its first answer. */
const stream = (headers: Record<string, string> = {}) =>
  postJson(`${gateway.url}/graphql/stream`, document, { accept: 'text/event-stream', ...demoHeaders, ...headers });

describe('a stream', () => {
  test('can be read by listed origins only', async () => {
    const { status, headers } = await stream({ origin: ours });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/event-stream');
    expect(headers.get('access-control-allow-origin')).toBe(ours);
    expect(headers.get('access-control-allow-credentials')).toBe('true');
    expect(headers.get('vary')).toMatch(/origin/i);
    for (const origin of foreign) {
      expect((await stream({ origin })).headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  test.each([
    ['cross-site', 403],
    ['same-site', 403],
    ['same-origin', 200],
    ['none', 200],
  ])(
    'that a page asks for with the cookie and no origin is answered by where the page is: %s',
    async (site, expected) => {
      const { cookie } = await signedIn(gateway);
      const headers = { accept: 'text/event-stream', 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' };
      const address = `${gateway.url}/graphql/stream?query={viewer{email}}`;
      const response = await fetch(address, { headers: { ...headers, cookie } });
      expect(response.status).toBe(expected);
      await response.text();
    },
  );

  test('is not buffered by proxies, and has the headers of the rate limit', async () => {
    const { headers } = await stream();
    expect(headers.get('x-accel-buffering')).toBe('no');
    expect(headers.get('cache-control')).toContain('no-transform');
    expect(Number(headers.get('ratelimit-remaining'))).toBeGreaterThan(0);
  });
});

describe('every response', () => {
  test.each([
    ['an answer', () => post({})],
    ['a cached response', () => post({})],
    ['an error', () => post({}, '{ broken')],
    ['a stream', () => stream()],
    ['a page that is not there', () => fetch(`${gateway.url}/nowhere`)],
    ['the SDL', () => fetch(`${gateway.url}/schema.graphql`)],
    ['the health', () => fetch(`${gateway.url}/healthz`)],
    ['the metrics', () => fetch(`${gateway.url}/metrics`)],
  ])('is data that no browser frames, guesses at or gives away the address of: %s', async (_, send) => {
    const { headers } = await send();
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toMatch(/no-store|private/);
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('strict-transport-security')).toBeNull();
  });

  test('over TLS has Strict-Transport-Security, also from a cache that was filled without TLS', async () => {
    for (const scheme of ['http', 'https', 'http', 'HTTPS']) {
      const { headers } = await post({ 'x-forwarded-proto': scheme, accept: 'application/json' });
      const expected = scheme !== 'http' ? 'max-age=31536000; includeSubDomains' : null;
      expect(headers.get('strict-transport-security')).toBe(expected);
    }
  });

  test('except GraphiQL has the strict Content-Security-Policy', async () => {
    const { headers } = await fetch(`${gateway.url}/graphql`, { headers: { accept: 'text/html' } });
    expect(headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });
});

/** Requests that are refused before any handler sees them, as bytes. Each address holds a credential. */
const refusedRequests: [string, string][] = [
  ['a path with a broken escape', request('GET /graphql%zz?sessionId=a-secret')],
  ['a path of broken UTF-8', request('GET /%ff%c0?sessionId=a-secret')],
  ['an invalid absolute address', request('GET http://[::/graphql?sessionId=a-secret')],
  ['an address without a slash', request('GET graphql?sessionId=a-secret')],
  ['a path that is not there', request('GET /nowhere?sessionId=a-secret')],
  ['a method that no path has', request('PROPFIND /graphql?sessionId=a-secret')],
  ['a method that this path does not have', request('DELETE /graphql?sessionId=a-secret')],
  ['an unknown method', request('HELLO /graphql?sessionId=a-secret')],
  ['no host', 'GET /graphql?sessionId=a-secret HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ['no method', '/graphql?sessionId=a-secret\r\n\r\n'],
  ['another protocol', 'GET /graphql?sessionId=a-secret SIP/2.0\r\n\r\n'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['the hello of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['two lengths', request('POST /graphql?sessionId=a-secret', 'Content-Length: 1', 'Content-Length: 2')],
  [
    'a length and chunks',
    request('POST /graphql?sessionId=a-secret', 'Content-Length: 1', 'Transfer-Encoding: chunked'),
  ],
  ['an invalid length', request('POST /graphql?sessionId=a-secret', 'Content-Length: x')],
  ['a header with a control character', request('GET /graphql?sessionId=a-secret', 'x-api-key: a\x01b')],
  ['headers that are too large', request('GET /graphql?sessionId=a-secret', `x-large: ${'a'.repeat(20_000)}`)],
  ['an address that is too large', request(`GET /graphql?sessionId=a-secret&a=${'a'.repeat(20_000)}`)],
  ['an expectation of something else', request('GET /nowhere?sessionId=a-secret', 'Expect: a-secret')],
  ['a form', request('POST /graphql?sessionId=a-secret', 'Content-Type: text/plain', 'Content-Length: 0')],
  ['a stream for who takes none', request('GET /graphql/stream?sessionId=a-secret')],
  [
    'two session ids and a key',
    request('GET /graphql?sessionId=a-secret', 'x-api-key: a', 'Apollo-Require-Preflight: 1'),
  ],
  [
    'a WebSocket whose key is too short',
    upgrade('Sec-WebSocket-Protocol: graphql-transport-ws', `Sec-WebSocket-Key: ${'A'.repeat(21)}==`),
  ],
  ['a WebSocket without a key', upgrade('Sec-WebSocket-Protocol: graphql-transport-ws')],
  [
    'a WebSocket at no address',
    // No upgrade that the gateway offers: a request like any other, whose connection goes on unless it says otherwise.
    upgrade('Sec-WebSocket-Protocol: graphql-transport-ws')
      .replace('/graphql', '/nowhere')
      .replace('Connection: Upgrade', 'Connection: Upgrade, close'),
  ],
];

function request(line: string, ...headers: string[]): string {
  return [`${line} HTTP/1.1`, 'Host: 127.0.0.1', 'Connection: close', ...headers, '', ''].join('\r\n');
}

function upgrade(...headers: string[]): string {
  const line = 'GET /graphql?sessionId=a-secret HTTP/1.1';
  const fixed = ['Host: 127.0.0.1', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
  return [line, ...fixed, ...headers, '', ''].join('\r\n');
}

function expectRefused(answer: string): void {
  expect(answer).toMatch(/^HTTP\/1\.1 (4\d\d|503) /);
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  const headers = head.toLowerCase();
  for (const [name, value] of Object.entries(safeHeaders)) expect(headers).toContain(`\r\n${name}: ${value}`);
  expect(headers).toMatch(/\r\ncontent-type: application\/(json|graphql-response\+json)/);
  expect(answer).not.toContain('a-secret');
  expectMasked(answer);
  // Some of these come in chunks.
  const { errors } = JSON.parse(body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1));
  expect(errors[0].message).toMatch(/\w/);
  expect(errors[0].extensions.code).toMatch(/^[A-Z_]+$/);
  expect(errors[0].extensions.code).not.toBe('INTERNAL_SERVER_ERROR');
}

/** Requests that a proxy may read in another way than the gateway, with the wanted status. The body is small enough for the response cache. */
function ambiguousRequests(): [string, number, string][] {
  const key = `x-api-key: ${demoHeaders['x-api-key']}`;
  const json = 'Content-Type: application/json';
  const length = `Content-Length: ${document.length}`;
  const sent = (...lines: string[]) =>
    [`POST /graphql HTTP/1.1`, 'Connection: close', json, ...lines, '', document].join('\r\n');
  const chunks = `${document.length.toString(16)}\r\n${document}\r\n0\r\n\r\n`;
  const chunked = (...lines: string[]) =>
    ['POST /graphql HTTP/1.1', 'Host: a', 'Connection: close', json, key, ...lines, '', chunks].join('\r\n');
  const one = ['Host: 127.0.0.1', key, length];
  const withoutHost = (...lines: string[]) => sent(key, length, ...lines).replace('HTTP/1.1', 'HTTP/1.0');
  return [
    ['two hosts', 400, sent(...one, 'Host: evil.example')],
    ['two equal hosts', 400, sent(...one, 'host: 127.0.0.1')],
    ['an empty host', 400, sent('Host:', key, length)],
    ...['a b', 'a/b', 'a,b', 'user@a', 'a:b', 'a:1:2', 'http://a', 'a?b', 'a#b', '[::1', 'a\\b', 'a%00', 'ä'].map(
      (host): [string, number, string] => [`the host ${host}`, 400, sent(`Host: ${host}`, key, length)],
    ),
    ['no host in HTTP/1.0', 200, withoutHost()],
    ['a long header Accept without a host', 431, withoutHost(`Accept: ${'a/b,'.repeat(1_000)}`)],
    ['an encoding without a host', 415, withoutHost('Content-Encoding: gzip')],
    ['a whole address', 200, sent(...one).replace('/graphql', 'http://127.0.0.1/graphql')],
    ['a path in the query of an address', 405, sent(...one).replace('/graphql', 'http://127.0.0.1?x=/graphql')],
    ['two keys', 400, sent(...one, 'x-api-key: another')],
    ['two equal keys', 400, sent(...one, key)],
    ['two tokens', 400, sent('Host: a', length, 'Authorization: Bearer a', 'authorization: Bearer b')],
    ['two lengths', 400, sent(...one, 'Content-Length: 1')],
    ['two equal lengths', 400, sent(...one, length)],
    ['a length and chunks', 400, sent(...one, 'Transfer-Encoding: chunked')],
    ['chunks that are compressed', 400, chunked('Transfer-Encoding: gzip, chunked')],
    ['chunks twice', 400, chunked('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
    ['chunks and a length', 400, chunked('Transfer-Encoding: chunked', 'Content-Length: 1')],
    ['chunks', 200, chunked('Transfer-Encoding: Chunked')],
    ...['gzip', 'GZIP', 'x-gzip', 'deflate', 'br', 'zstd', 'nonsense', 'identity, gzip'].map(
      (encoding): [string, number, string] => [
        `the encoding ${encoding}`,
        415,
        sent(...one, `Content-Encoding: ${encoding}`),
      ],
    ),
    ['the encoding identity', 200, sent(...one, 'Content-Encoding: identity')],
    ['two encodings', 415, sent(...one, 'Content-Encoding: identity', 'Content-Encoding: gzip')],
    ['an encoding without a body', 200, request('GET /healthz', 'Content-Encoding: gzip')],
    [
      'an encoding at /graphql/stream',
      415,
      sent(...one, 'Content-Encoding: br').replace('/graphql', '/graphql/stream'),
    ],
    ...['Accept', 'Accept-Encoding', 'Content-Type', 'If-None-Match', 'Mcp-Name', 'Origin', 'Range'].map(
      (name): [string, number, string] => [
        `a long header ${name}`,
        431,
        sent(...one, `${name}: application/json;a=b${' '.repeat(1_000)}x`).replace(
          name === 'Content-Type' ? `${json}\r\n` : '',
          '',
        ),
      ],
    ),
    ['another spelling of a path', 200, request('GET /%6detrics')],
    ['another spelling of /graphql', 200, sent(...one).replace('/graphql', '/%67raphql')],
    ['an escaped slash', 404, sent(...one).replace('/graphql', '/graphql%2fstream')],
    ['an escape that is escaped', 404, request('GET /%256detrics')],
    ['two hosts for a probe', 400, request('GET /healthz', 'Host: a')],
    [
      'two hosts for a WebSocket',
      400,
      upgrade('Sec-WebSocket-Protocol: graphql-transport-ws', `Sec-WebSocket-Key: ${'A'.repeat(22)}==`, 'Host: a'),
    ],
  ];
}

describe('a request that could mean two things', () => {
  test.each(ambiguousRequests())('has one meaning, or is refused: %s', async (_, status, bytes) => {
    // What it would mean without the second thing is in the response cache.
    await post({});
    const answer = await raw(bytes);
    expect(Number(answer.split(' ')[1])).toBe(status);
    if (status !== 200) expectRefused(answer);
    if (status === 415) expect(answer).toMatch(/^accept-encoding: identity\r$[\s\S]*Content-Encoding is \S/m);
  });

  test('for which urql asks by GET says which header helps', async () => {
    const accept =
      'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed';
    const url = `${gateway.url}/graphql?query=${encodeURIComponent('{ viewer { team } }')}`;
    const refused = await fetch(url, { headers: { accept, ...demoHeaders } });
    const { errors } = (await refused.json()) as { errors: { message: string }[] };
    expect([refused.status, errors[0]?.message]).toEqual([
      400,
      expect.stringContaining('"apollo-require-preflight: 1"'),
    ]);
    const answered = await fetch(url, { headers: { accept, ...demoHeaders, 'apollo-require-preflight': '1' } });
    expect(answered.status).toBe(200);
  });
});

describe('a request that is refused', () => {
  test.each(refusedRequests)(
    'has the headers of every answer, a code, and nothing of its address: %s',
    async (_, bytes) => {
      expectRefused(await raw(bytes));
    },
  );

  test.each([
    ['ERR_HTTP_REQUEST_TIMEOUT', 408],
    ['HPE_HEADER_OVERFLOW', 431],
    ['HPE_INVALID_METHOD', 400],
  ])('by Node with %s has them too', async (code, status) => {
    const [client, socket] = duplexPair();
    refuseUnreadable({ code }, socket as Socket);
    const answer = await text(client.end());
    expectRefused(answer);
    expect(answer).toContain(`HTTP/1.1 ${status} `);
  });

  test.each([
    ['PUT', '/graphql', 'GET, POST'],
    ['DELETE', '/graphql?sessionId=a-secret', 'GET, POST'],
    ['PATCH', '/graphql', 'GET, POST'],
    ['PROPFIND', '/graphql', 'GET, POST'],
    ['PUT', '/graphql/stream', 'GET, POST'],
    ['POST', '/healthz', 'GET'],
    ['PUT', '/nowhere', null],
    ...['/graphql*x', '/a*/b', '/*', '/:a(', '/:a([)'].map((path): [string, string, null] => ['DELETE', path, null]),
  ])('for its method says which the address accepts: %s %s', async (method, path, allowed) => {
    const response = await fetch(`${gateway.url}${path}`, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([allowed === null ? 404 : 405, allowed]);
    expect(await response.json()).toMatchObject({ errors: [{ message: expect.stringMatching(/address/) }] });
  });

  test('while the gateway closes has them too', async () => {
    const closing = await startGateway({ sandbox });
    const release = hold(sandbox, /events$/, 1);
    const before = sandbox.calls.count();
    const { hostname, port } = new URL(closing.url);
    const socket = connect(Number(port), hostname);
    const slow = `x-api-key: ${demoHeaders['x-api-key']}\r\nContent-Type: application/json\r\nContent-Length: ${document.length}`;
    socket.write(`POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\n${slow}\r\n\r\n${document}`);
    const answers = text(socket);
    await until(() => sandbox.calls.count() > before);
    const closed = closing.close();
    await new Promise(resolve => socket.write(request('GET /schema.graphql?sessionId=a-secret'), resolve));
    // The gateway, which is in this process, reads it.
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    release();
    await closed;
    expectRefused((await answers).slice((await answers).lastIndexOf('HTTP/1.1')));
  });
});

/** What no client may see: stacks, paths, addresses, credentials, and what the service says of itself. */
function expectMasked(text: string, ...more: string[]): void {
  for (const secret of [
    /\n\s*at /,
    /\\n\s*at /,
    /\.[jt]s\b/,
    /node_modules|node:internal/,
    /E(CONN|NOTFOUND|HOST|PIPE)[A-Z]*/,
    /127\.0\.0\.1|localhost|service\.test/,
    /undici|ioredis|fastify/i,
    ...more,
  ]) {
    expect(text).not.toMatch(secret);
  }
}

describe('an error', () => {
  const everything = `query ($sessionId: String = "x") {
    events(first: 1) { nodes { title } }
    observation(id: "o-1") { title }
    market(id: 1) { name esg topics { id } jobs { id } searchCriteria { count } companies { totalCount } }
    suggestMarkets(keyword: "a")
  }`.replace('($sessionId: String = "x") ', '');
  const leak = 'Error: secret-of-the-service at /srv/app/handler.js:12 http://10.1.2.3:8080/internal';
  const key = 'a-key-nobody-else-may-see';

  test.each<[string, () => { status?: number; body: unknown; headers?: Record<string, string> }]>([
    ['a fault with a stack', () => ({ status: 500, body: { message: leak, stack: leak, errorCode: leak } })],
    [
      'a page in its place',
      () => ({ status: 502, body: `<html>${leak}</html>`, headers: { 'content-type': 'text/html' } }),
    ],
    ['no JSON', () => ({ body: `{"data": [${leak}` })],
    ['another shape', () => ({ body: { data: leak, meta: { totalItems: leak } } })],
    ['a refusal of the key', () => ({ status: 401, body: { message: `${key} ${leak}`, errorCode: 'UNAUTHORIZED' } })],
    ['a refusal for no reason', () => ({ status: 403, body: leak })],
    ['not found', () => ({ status: 404, body: { message: leak } })],
    ['too many', () => ({ status: 429, body: { message: leak }, headers: { 'retry-after': '0' } })],
    ['a way to elsewhere', () => ({ status: 302, body: leak, headers: { location: 'http://10.1.2.3/internal' } })],
    [
      'a crash',
      () => {
        throw new Error(leak);
      },
    ],
  ])('shows nothing of the service where that answers with %s', async (_, answer) => {
    const { wire } = fakeWire(answer);
    const faulty = forTest(await startGateway({ wire, env: { EXPLAIN: 'false' } }));
    for (const query of [
      everything,
      'mutation { publishMarket(input: { marketId: 1 }) { jobs { id } } }',
      'mutation { signIn(input: { email: "a@b.example", password: "a-password" }) { viewer { team } } }',
      'mutation { createEmbedSession { session { idToken } } }',
    ]) {
      const { status, errors } = await faulty.query(query, {}, { 'x-api-key': key });
      expect(status).toBe(200);
      expect(errors?.length).toBeGreaterThan(0);
      expectMasked(
        JSON.stringify(errors),
        'secret-of-the-service',
        '10.1.2.3',
        '/srv/app',
        key,
        'a-password',
        wireOrigin,
      );
    }
  });

  test('shows no address of a service that does not answer', async () => {
    const gone = await startSandbox();
    const faulty = forTest(await startGateway({ sandbox: gone }));
    await gone.close();
    const { errors } = await faulty.query(everything);
    expect(errors?.length).toBeGreaterThan(0);
    expectMasked(JSON.stringify(errors));
  });

  test.each<[string, string, RequestInit]>([
    ['broken JSON', '', { method: 'POST', body: '{"query": "{ viewer' }],
    ['no JSON', '', { method: 'POST', body: '\u0000\ud800' }],
    ['nothing', '', { method: 'POST' }],
    ['null', '', { method: 'POST', body: 'null' }],
    ['a number', '', { method: 'POST', body: '1' }],
    ['a prototype', '', { method: 'POST', body: '{"__proto__": {"query": "{ viewer { team } }"}}' }],
    ['a query that is no text', '', { method: 'POST', body: '{"query": {"kind": "Document"}}' }],
    ['variables that are none', '', { method: 'POST', body: '{"query": "{ viewer { team } }", "variables": "x"}' }],
    [
      'an operation that is not there',
      '',
      { method: 'POST', body: '{"query": "query A { viewer { team } }", "operationName": "B"}' },
    ],
    ['a field that is not there', '', { method: 'POST', body: '{"query": "{ nothing }"}' }],
    ['a broken document', '', { method: 'POST', body: '{"query": "{ viewer"}' }],
    [
      'a value that does not fit',
      '',
      {
        method: 'POST',
        body: '{"query": "query ($f: Int!) { events(first: $f) { totalCount } }", "variables": {"f": "x"}}',
      },
    ],
    ['a method that it does not have', '', { method: 'DELETE' }],
    ['a path that is broken', '/%ff%c0/..%2f..%2fetc', {}],
    ['a query that is given twice', '?query={a}&query={b}', {}],
    ['variables that are broken', '?query={a}&variables={', {}],
    ['two credentials', '?sessionId=abc', { method: 'POST', body: document }],
    ['a body that is too large', '', { method: 'POST', body: `"${'a'.repeat(1_100_000)}"` }],
  ])('shows nothing of the gateway for %s', async (_, suffix, init) => {
    const response = await fetch(`${gateway.url}/graphql${suffix}`, {
      ...init,
      headers: { 'content-type': 'application/json', ...demoHeaders },
    });
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.status).toBeLessThan(500);
    expectMasked(await response.text(), 'demo-key');
  });

  test.each(['a b', '[::', '%', 'x:99999999', 'ex\tample', '{}'])(
    'is no fault of the gateway for the host "%s"',
    async host => {
      const answer = await raw(
        `POST /graphql HTTP/1.1\r\nHost: ${host}\r\nx-api-key: demo-key-subscribed\r\nContent-Type: application/json\r\nContent-Length: ${document.length}\r\nConnection: close\r\n\r\n${document}`,
      );
      expect(answer).toMatch(/^HTTP\/1.1 (200|400) /);
      expectMasked(answer.slice(answer.indexOf('\r\n\r\n')));
    },
  );
});

/** Sends bytes as they are, and gives back all that comes. */
function raw(text: string): Promise<string> {
  const { hostname, port } = new URL(gateway.url);
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.setEncoding('utf8');
    socket.on('data', chunk => {
      answer += chunk;
    });
    socket.once('end', () => resolve(answer));
    socket.once('error', reject);
  });
}

describe('a stage of the pipeline', () => {
  let app: FastifyInstance;
  let logged: Record<string, unknown>[];
  afterEach(() => app.close());

  /** The address of a server whose pipeline has this stage. */
  async function serve(stage: Stage): Promise<string> {
    logged = [];
    const log = pino({ level: 'error' }, { write: line => void logged.push(JSON.parse(line)) });
    const connections = createConnections(silentTelemetry);
    const proxyHeaders = createProxyHeaders(false);
    const requestTelemetry = createRequestTelemetry({
      log,
      telemetry: silentTelemetry,
      tracing: undefined,
      names: { labelOf: () => 'none', clientLabelOf: () => 'none' },
      teamOf: () => undefined,
      proxyHeaders,
      slowOperationMs: 0,
    });
    const stages = (fastify: Handler) => requestTelemetry.stage(stage(fastify));
    app = await createHttpApp({ log, connections, origins: [], stages });
    app.addHook('onClose', async () => connections.close());
    app.get('/', async () => 'served');
    return app.listen({ host: '127.0.0.1', port: 0 });
  }

  const fault = new Error('a fault of the stage');

  test.each<[string, Stage]>([
    [
      'throws',
      () => () => {
        throw fault;
      },
    ],
    ['rejects', () => () => Promise.reject(fault)],
    [
      'rejects after a while',
      () => async () => {
        await new Promise(setImmediate);
        throw fault;
      },
    ],
  ])('a request is answered with 500, and the error is logged, when a stage %s', async (_, stage) => {
    const url = await serve(stage);
    const response = await fetch(url, { headers: { 'x-request-id': 'failed-request' } });
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      errors: [{ message: 'Internal server error', extensions: { code: 'INTERNAL_SERVER_ERROR' } }],
    });
    expect(response.headers.get('x-request-id')).toBe('failed-request');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(logged).toMatchObject([{ msg: 'Unexpected', requestId: 'failed-request', err: { message: fault.message } }]);
  });

  test('the connection is closed when a stage fails after it has started a response', async () => {
    const url = await serve(() => async ({ response }) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('part');
      throw fault;
    });
    await expect(fetch(url).then(response => response.text())).rejects.toThrow();
    expect(logged).toHaveLength(1);
  });
});
