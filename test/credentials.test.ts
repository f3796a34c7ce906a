import { once } from 'node:events';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { request } from 'undici';
import { WebSocket } from 'ws';
import { forSuite, forTest } from './support/cleanups.js';
import { ask, demoHeaders, signedIn, startGateway } from './support/gateway.js';
import { eventPage, fakeWire } from './support/wire.js';

const service = fakeWire(({ url }) => {
  if (url.pathname.endsWith('/sign-in')) {
    return { body: { name: 'Ada' }, headers: { 'set-cookie': 'svc=abc123; Path=/; HttpOnly' } };
  }
  return url.pathname.endsWith('/events') ? eventPage([]) : { body: { suggested: [] } };
});
const gateway = forSuite(await startGateway({ wire: service.wire }));
const { cookie } = await signedIn(gateway);

beforeEach(() => {
  service.calls.length = 0;
});

let question = 0;

/** Asks for one read by GET and one by POST; gives back how the gateway took the caller, and how each read went upstream. */
async function upstreamOf(headers: Record<string, string>, search = '') {
  question += 1;
  const { data, errors, extensions } = await ask(
    `${gateway.url}/graphql${search}`,
    `{ viewer { authentication email } events(filter: { search: "q${question}" }) { totalCount } suggestMarkets(keyword: "q${question}") }`,
    {},
    { ...headers, 'x-explain': '1' },
  );
  expect(errors).toBeUndefined();
  // What is told of the calls has no credential.
  expect(JSON.stringify(extensions)).not.toMatch(/sessionId|key-1|token-1|abc123/);
  const calls = service.calls
    .map(({ method, path, headers: sent }) => {
      const { accept: _, 'accept-encoding': __, 'content-type': ___, 'x-request-id': ____, ...credentials } = sent;
      return { method, search: path.split('?')[1] ?? '', credentials };
    })
    .sort((a, b) => (a.method < b.method ? -1 : 1));
  return { viewer: data.viewer, calls };
}

const eventsSearch = () => `pageSize=10&page=1&search=q${question}`;

describe('a credential is sent upstream unchanged', () => {
  test('an API key in its header', async () => {
    const { viewer, calls } = await upstreamOf({ 'x-api-key': 'key-1' });
    expect(viewer.authentication).toBe('API_KEY');
    expect(calls).toEqual([
      { method: 'GET', search: eventsSearch(), credentials: { 'x-api-key': 'key-1' } },
      { method: 'POST', search: '', credentials: { 'x-api-key': 'key-1' } },
    ]);
  });

  test.each(['Bearer token-1', 'bearer token-1', 'BEARER   token-1'])(
    'a bearer token (%s) in its header',
    async given => {
      const { viewer, calls } = await upstreamOf({ authorization: given });
      expect(viewer.authentication).toBe('BEARER');
      expect(calls).toEqual([
        { method: 'GET', search: eventsSearch(), credentials: { authorization: 'Bearer token-1' } },
        { method: 'POST', search: '', credentials: { authorization: 'Bearer token-1' } },
      ]);
    },
  );

  test('a session id as an encoded query parameter, after the others', async () => {
    const { viewer, calls } = await upstreamOf({}, `?sessionId=${encodeURIComponent('a+b/c=&page=9')}`);
    expect(viewer.authentication).toBe('SESSION_ID');
    expect(calls).toEqual([
      { method: 'GET', search: `${eventsSearch()}&sessionId=a%2Bb%2Fc%3D%26page%3D9`, credentials: {} },
      { method: 'POST', search: 'sessionId=a%2Bb%2Fc%3D%26page%3D9', credentials: {} },
    ]);
  });

  test("the cookie of the service by its own name, from the gateway's cookie", async () => {
    const { viewer, calls } = await upstreamOf({ cookie: `other=1; ${cookie}; svc=planted` });
    expect(viewer).toEqual({ authentication: 'COOKIE', email: 'ada@team.example' });
    expect(calls).toEqual([
      { method: 'GET', search: eventsSearch(), credentials: { cookie: 'svc=abc123' } },
      { method: 'POST', search: '', credentials: { cookie: 'svc=abc123' } },
    ]);
  });
});

describe('an explicit credential outranks the cookie', () => {
  test.each<[string, Record<string, string>, string, string, Record<string, string>]>([
    ['an API key', { 'x-api-key': 'key-1' }, '', 'API_KEY', { 'x-api-key': 'key-1' }],
    ['a bearer token', { authorization: 'Bearer t-1' }, '', 'BEARER', { authorization: 'Bearer t-1' }],
    ['a session id', {}, '?sessionId=s-1', 'SESSION_ID', {}],
  ])('%s', async (_, headers, search, authentication, credentials) => {
    const { viewer, calls } = await upstreamOf({ ...headers, cookie }, search);
    expect(viewer).toEqual({ authentication, email: null });
    expect(calls.map(call => call.credentials)).toEqual([credentials, credentials]);
  });

  test.each([
    ['x-api-key', '', 'x-api-key: a\r\nx-api-key: a'],
    ['authorization', '', 'authorization: Bearer a\r\nauthorization: Bearer a'],
    ['sessionId', '?sessionId=a&sessionId=a', ''],
    ['sessionId', '?sessionId=a&a=b&session%49d=b', ''],
  ])('but %s twice is refused', async (argument, search, lines) => {
    const headers = lines
      .split('\r\n')
      .filter(Boolean)
      .flatMap(line => line.split(': '));
    const { body, statusCode } = await request(`${gateway.url}/graphql${search}`, {
      method: 'POST',
      headers: ['content-type', 'application/json', ...headers],
      body: JSON.stringify({ query: '{ viewer { email } }' }),
    });
    const { errors } = (await body.json()) as { errors: { message: string; extensions: object }[] };
    expect([statusCode, errors[0]?.extensions]).toEqual([400, { code: 'BAD_USER_INPUT', argument }]);
    expect(errors[0]?.message).toContain('must be sent once');
  });

  test('but two explicit credentials are refused, with or without the cookie', async () => {
    const headers = { 'x-api-key': 'key-1', authorization: 'Bearer t-1', cookie };
    const { status, errors } = await ask(`${gateway.url}/graphql`, '{ viewer { email } }', {}, headers);
    expect(status).toBe(400);
    expect(errors?.[0].extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'authorization' });
  });
});

/** The status of a GET that a page of the same origin sends: browsers send no `Origin` with it. */
async function statusOfGet(url: string, headers: Record<string, string>): Promise<number> {
  const { statusCode, body } = await request(`${url}/graphql?query={events{totalCount}}`, {
    headers: { 'apollo-require-preflight': '1', 'sec-fetch-site': 'same-origin', ...headers },
  });
  await body.dump();
  return statusCode;
}

describe('a request without a credential', () => {
  const everything = '{ viewer { authentication } events { totalCount } market(id: 1) { name } }';

  test('is unauthenticated if a service is configured', async () => {
    const { data, errors } = await gateway.query(everything, {}, {});
    expect(data).toEqual({ viewer: null, events: null, market: { name: null } });
    expect(errors?.map(({ path, extensions }) => `${path} ${extensions.code}`).sort()).toEqual([
      'events UNAUTHENTICATED',
      'market,name UNAUTHENTICATED',
    ]);
    expect(service.calls).toEqual([]);

    const ended = await gateway.query('{ viewer { email } }', {}, { cookie: 'mig_session=forged' });
    expect(ended.data).toEqual({ viewer: null });
    expect(ended.errors?.map(({ extensions }) => extensions.code)).toEqual(['UNAUTHENTICATED']);
  });

  test('uses the demo key only with the embedded sandbox', async () => {
    const embedded = forTest(await startGateway());
    const { data, errors } = await embedded.query(everything, {}, {});
    expect(errors).toBeUndefined();
    expect(data.viewer.authentication).toBe('API_KEY');
    expect(data.events.totalCount).toBeGreaterThan(0);
    expect(embedded.sandbox?.calls.list().map(({ credential }) => credential)).toEqual(['apiKey', 'apiKey']);

    const wrong = await embedded.query(everything, {}, { 'x-api-key': 'no-such-key' });
    expect(wrong.data).toMatchObject({ events: null, market: { name: null } });
    expect(wrong.errors?.map(({ extensions }) => extensions.code)).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED']);

    const forged = await embedded.query(everything, {}, { cookie: 'mig_session=forged' });
    expect(forged.data).toEqual({ viewer: null, events: null, market: { name: null } });

    const empty = await embedded.query(everything, {}, { 'x-api-key': '' });
    expect(empty.status).toBe(400);
  });

  test.each([{}, demoHeaders])('is nothing for a page whose name resolves to 127.0.0.1 (DNS rebinding)', async key => {
    const embedded = forTest(await startGateway());
    const accept = 'application/json, text/event-stream';
    const headers = { host: 'evil.example', 'content-type': 'application/json', accept, ...key };
    const origin = 'http://evil.example';
    const send = async (path: string, body: object) => {
      const options = { method: 'POST', headers: { ...headers, origin }, body: JSON.stringify(body) } as const;
      return (await request(`${embedded.url}${path}`, options)).body.text();
    };
    expect(await send('/graphql', { query: '{ events { totalCount } }' })).toContain('FORBIDDEN');
    const subscription = { query: 'subscription { eventUpdates { event { id } } }' };
    expect(await send('/graphql/stream', subscription)).toContain('FORBIDDEN');
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect(await send('/mcp', list)).toContain('FORBIDDEN');
    // Browsers send no origin with it.
    const { body } = await request(`${embedded.url}/graphql?query={events{totalCount}}`, {
      headers: { host: headers.host, 'apollo-require-preflight': '1' },
    });
    expect(await body.text()).toContain('UNAUTHENTICATED');
    expect(await statusOfGet(embedded.url, { host: headers.host, ...key })).toBe(403);

    const socket = new WebSocket(`${embedded.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', {
      headers: { host: headers.host, origin },
    });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'connection_init', payload: key }));
    expect((await once(socket, 'close'))[0]).toBe(4403);
    expect(embedded.sandbox?.calls.list()).toEqual([]);
  });

  test('a page of the gateway itself may send a GET from an address, and from a name that is listed', async () => {
    const embedded = forTest(await startGateway({ env: { CORS_ORIGINS: 'https://demo.example' } }));
    for (const host of ['localhost:4000', '192.0.2.1:4000', 'demo.example'])
      expect(await statusOfGet(embedded.url, { host, ...demoHeaders })).toBe(200);
  });
});
