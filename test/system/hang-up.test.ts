import { once } from 'node:events';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../src/sandbox/server.js';
import { forSuite } from '../support/cleanups.js';
import { addressesOn, demoHeaders, signedIn } from '../support/gateway.js';
import { modern, toolCall } from '../support/mcp.js';
import { counted } from '../support/metrics.js';
import { buildProgram } from '../support/program.js';
import { get, post, toWebSocket } from '../support/raw-http.js';
import { sharedRedisUrl } from '../support/redis.js';
import { until } from '../support/until.js';

const sandbox = forSuite(await startSandbox());
// A process of its own: its event loop must not wait for that of the clients.
const gateway = await (await buildProgram()).start({
  ...addressesOn(sandbox.origin),
  REDIS_URL: sharedRedisUrl(),
  ADMIN_PORT: '0',
  SESSION_SECRET: 'a secret of the test with 32 characters',
  MCP_OPERATIONS: resolve('operations'),
  TRUST_PROXY: '10.0.0.0/8',
});
const admin =
  /^Probes and metrics: (.*)\/metrics$/m.exec(gateway.stdout())?.[1]?.replace('localhost', '127.0.0.1') ?? '';

afterAll(() => gateway.kill());

/** Sends a request on many connections, each of which is reset zero to three milliseconds later. */
async function hangUpEarly(request: string, connections = 150): Promise<void> {
  for (let connection = 0; connection < connections; connection += 1) {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(request);
    await sleep(connection % 4);
    socket.resetAndDestroy();
  }
}

/**
 * Sends a request on connections that are reset before the gateway reads it: it stands still meanwhile. It has accepted half of the connections before, and
 * accepts the others when they are reset already.
 */
async function hangUpUnread(request: string, connections = 20): Promise<void> {
  const open = async () => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  const sockets = await Promise.all(Array.from({ length: connections }, open));
  // By then it has accepted all of them.
  await fetch(`${gateway.url}/healthz`);
  gateway.signal('SIGSTOP');
  sockets.push(...(await Promise.all(Array.from({ length: connections }, open))));
  for (const socket of sockets) socket.write(request);
  await sleep(10);
  for (const socket of sockets) socket.resetAndDestroy();
  gateway.signal('SIGCONT');
}

/** The bytes of a POST of JSON with the demo key. */
function send(path: string, body: unknown, ...headers: string[]): string {
  const text = JSON.stringify(body);
  const key = `x-api-key: ${demoHeaders['x-api-key']}`;
  const fixed = ['content-type: application/json', `content-length: ${Buffer.byteLength(text)}`, key];
  return `${[`POST ${path} HTTP/1.1`, `host: ${new URL(gateway.url).host}`, ...fixed, ...headers].join('\r\n')}\r\n\r\n${text}`;
}

describe('a client that has gone is no failure of the gateway', () => {
  const query = '{ events(first: 1) { totalCount } }';
  const inParts = (document: string) => document.replace('{', '{ market(id: 1) { id ... @defer { name } }');
  const subscription = 'subscription { eventUpdates { cursor } }';
  const signIn = {
    query: 'mutation ($input: SignInInput!) { signIn(input: $input) { __typename } }',
    variables: { input: { email: 'nobody@example.com', password: 'wrong' } },
  };
  const key = `x-api-key: ${demoHeaders['x-api-key']}`;
  const events = 'accept: text/event-stream';
  const parts = 'accept: multipart/mixed;subscriptionSpec=1.0, application/json';
  const deferred = 'accept: multipart/mixed; incrementalSpec=v0.2, application/json';
  const agent = 'accept: application/json, text/event-stream';
  const progress = { _meta: { progressToken: 1 } };
  /** A call of a tool in revision 2026-07-28. */
  const newCall = (variables: object, more?: object) => {
    const { body, headers } = modern(toolCall('searchEvents', variables, more));
    return send('/mcp', body, agent, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`));
  };
  const onStream = (document: string) => get(`/graphql/stream?query=${encodeURIComponent(document)}`, [key, events]);

  test.each<[string, () => string]>([
    ['a query', () => send('/graphql', { query })],
    ['a query that is never cached', () => send('/graphql', { query }, 'x-explain: 1')],
    ['a query in parts', () => send('/graphql', { query: inParts(query) }, deferred)],
    ['a query by GET', () => get(`/graphql?query=${encodeURIComponent(query)}`, [key, 'apollo-require-preflight: 1'])],
    ['signIn', () => send('/graphql', signIn)],
    ['a query over SSE, by POST', () => send('/graphql/stream', { query }, events)],
    ['a query over SSE, by GET', () => onStream(query)],
    ['a subscription over SSE', () => onStream(subscription)],
    ['a subscription in parts', () => send('/graphql', { query: subscription }, parts)],
    ['signIn over SSE', () => send('/graphql/stream', signIn, events)],
    ['a tool', () => send('/mcp', toolCall('searchEvents'), agent)],
    ['a tool with progress', () => send('/mcp', toolCall('searchEvents', {}, progress), agent)],
    ['a tool in revision 2026-07-28', () => newCall({})],
    ['a WebSocket', () => get('/graphql', toWebSocket('graphql-transport-ws'))],
  ])('%s', async (_, request) => {
    const failuresBefore = await counted(admin, 'gateway_requests_total', { outcome: 'INTERNAL_SERVER_ERROR' });
    const before = gateway.stderr().length;
    await hangUpUnread(request());
    await hangUpEarly(request(), 40);
    // All earlier requests have been answered by then, and the metrics are a second old at most.
    const response = await fetch(`${gateway.url}/healthz`);
    expect(response.status).toBe(200);
    await until(async () => (await counted(admin, 'gateway_requests_in_flight')) === 0);
    await sleep(1_500);
    expect(await counted(admin, 'gateway_requests_total', { outcome: 'INTERNAL_SERVER_ERROR' })).toBe(failuresBefore);
    // The last line is enough to see what failed.
    const failures =
      gateway
        .stderr()
        .slice(before)
        .match(/"level":"(?:error|fatal)".{0,300}/g) ?? [];
    expect(failures.slice(-1)).toEqual([]);
  });

  test.each<[string, string, (query: string) => string]>([
    ['a query', 'http', document => send('/graphql', { query: document })],
    ['a query in parts', 'http', document => send('/graphql', { query: inParts(document) }, deferred)],
    ['a query over SSE, by POST', 'sse', document => send('/graphql/stream', { query: document }, events)],
    ['a query over SSE, by GET', 'sse', onStream],
    ['a tool', 'mcp', () => send('/mcp', toolCall('searchEvents', { first: 7 }), agent)],
    ['a tool with progress', 'mcp', () => send('/mcp', toolCall('searchEvents', { first: 8 }, progress), agent)],
    ['a tool in revision 2026-07-28', 'mcp', () => newCall({ first: 9 })],
    ['a tool with progress in revision 2026-07-28', 'mcp', () => newCall({ first: 6 }, progress)],
  ])('also while it waits for the service: %s', async (name, transport, request) => {
    const abandoned = () => counted(admin, 'gateway_requests_total', { transport, outcome: 'ABANDONED' });
    const before = await abandoned();
    const calls = sandbox.calls.count();
    sandbox.tell({ path: /events$/, delayMs: 30_000, times: 1 });
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.on('error', () => {});
    // A search of its own (a tool reads 10 events if it is not told), so that no cache has it.
    socket.write(request(`{ events(first: 1, filter: { alertTypes: ["${name.replace(',', '')}"] }) { totalCount } }`));
    await until(() => sandbox.calls.count() > calls);
    socket.resetAndDestroy();
    await until(async () => (await abandoned()) === before + 1);
    expect(gateway.stderr()).not.toMatch(/"level":"(?:error|fatal)"/);
  });
});

test('a request that equals one whose client has hung up is answered', async () => {
  await hangUpEarly(post('{ nothing }'));
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  socket.write(post('{ nothing }'));
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
  socket.destroy();
});

test('a WebSocket whose client has hung up while its session was opened takes no memory', async () => {
  const { cookie } = await signedIn(gateway);
  const request = get('/graphql', [`cookie: ${cookie}`, ...toWebSocket('graphql-transport-ws')]);
  await hangUpEarly(request.replace('host: gateway', `host: ${new URL(gateway.url).host}`));
  // The metrics are a second old at most.
  await sleep(1_500);
  await until(async () => (await counted(admin, 'gateway_held_bytes')) === 0);
});

test('a subscription whose client has hung up ends', async () => {
  const path = `/graphql/stream?query=${encodeURIComponent('subscription { eventUpdates { cursor } }')}`;
  const { cookie } = await signedIn(gateway);
  const request = get(path, [`cookie: ${cookie}`, 'accept: text/event-stream']);
  await hangUpEarly(request.replace('host: gateway', `host: ${new URL(gateway.url).host}`));
  // The metrics are a second old at most.
  await sleep(1_500);
  await until(async () => (await counted(admin, 'gateway_live_listeners')) === 0);
  await until(async () => (await counted(admin, 'gateway_live_pollers')) === 0);
});
