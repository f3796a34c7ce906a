import type { IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ask } from './support/gateway.js';
import { buildProgram, type Program, type Running } from './support/program.js';
import { overWebsocket } from './support/streams.js';
import { reply, type StubService, startStubService } from './support/stub-service.js';
import { until } from './support/until.js';

let service: StubService;
let program: Program;
let running: Running;
const sent: IncomingHttpHeaders[] = [];

beforeAll(async () => {
  service = await startStubService(({ headers }, response) => {
    sent.push(headers);
    reply(response, 200, { meta: { totalItems: 0, unfilteredTotalItems: 0 }, data: [] });
  });
  program = await buildProgram();
  running = await program.start({ UPSTREAM_BASE_URL: service.origin, LOG_LEVEL: 'info' });
});
afterAll(async () => {
  await running?.stop();
  await service.close();
});
beforeEach(() => {
  sent.length = 0;
});

const key = 'key-that-nobody-may-see';
const query = 'query Newest($first: Int) { events(first: $first) { totalCount } }';
let size = 0;
/** Asks what nobody has asked yet. */
const askAnew = (headers: Record<string, string> = {}) =>
  ask(`${running.url}/graphql`, query, { first: ++size }, { 'x-api-key': key, ...headers });

const lines = () =>
  running
    .stderr()
    .split('\n')
    .filter(line => line.endsWith('}'))
    .map(line => JSON.parse(line));
/** The lines about a request, once there is one. */
async function linesOf(requestId: string | null) {
  await until(() => lines().some(line => line.requestId === requestId));
  return lines().filter(line => line.requestId === requestId);
}

test('a request has one id: to its client, to the service, and in its one line of the log', async () => {
  const { headers } = await askAnew();
  const id = headers.get('x-request-id');
  expect(id).toMatch(/^[\da-f-]{36}$/);
  expect(sent.map(each => each['x-request-id'])).toEqual([id]);
  expect(await linesOf(id)).toEqual([
    expect.objectContaining({
      level: 30,
      method: 'POST',
      path: '/graphql',
      status: 200,
      operation: 'Newest',
      outcome: 'ok',
      milliseconds: expect.any(Number),
    }),
  ]);
});

test('a client may choose it', async () => {
  const { headers } = await askAnew({ 'x-request-id': 'of-my-own:1' });
  expect(headers.get('x-request-id')).toBe('of-my-own:1');
  expect(sent.map(each => each['x-request-id'])).toEqual(['of-my-own:1']);
  expect(await linesOf('of-my-own:1')).toHaveLength(1);
});

test.each(['', 'two words', '"quoted"', '<tag>', 'x'.repeat(129)])('but not as %j', async id => {
  const { headers } = await askAnew({ 'x-request-id': id });
  expect(headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
});

test('what is answered with a kept answer has an id and a line of its own', async () => {
  await askAnew({ 'x-request-id': 'first' });
  size -= 1;
  const { headers } = await askAnew({ 'x-request-id': 'second' });
  expect(headers.get('x-request-id')).toBe('second');
  expect(sent).toHaveLength(1);
  expect(await linesOf('second')).toMatchObject([{ operation: 'Newest', outcome: 'ok', status: 200 }]);
});

test('so has what is refused, or is no operation', async () => {
  const headers = { 'x-request-id': 'refused', 'content-type': 'application/json' };
  await fetch(`${running.url}/graphql`, { method: 'POST', headers, body: '{' });
  expect(await linesOf('refused')).toMatchObject([{ path: '/graphql', status: 400, outcome: 'BAD_REQUEST' }]);
  await fetch(`${running.url}/healthz`, { headers: { 'x-request-id': 'health' } });
  expect(await linesOf('health')).toMatchObject([{ method: 'GET', path: '/healthz', status: 200, outcome: 'ok' }]);
});

test('an operation on a WebSocket has an id of its own', async () => {
  await overWebsocket(running.url, { query, variables: { first: ++size } }, { params: { 'x-api-key': key } }).ended;
  const [id] = sent.map(each => each['x-request-id']);
  expect(await linesOf(String(id))).toMatchObject([{ door: 'websocket', operation: 'Newest', outcome: 'ok' }]);
});

test('no credential is logged', async () => {
  await ask(`${running.url}/graphql?sessionId=${key}`, query, {}, { 'x-request-id': 'by-session' });
  await fetch(`${running.url}/nowhere?sessionId=${key}`, { headers: { 'x-request-id': 'nowhere' } });
  await Promise.all([linesOf('by-session'), linesOf('nowhere')]);
  expect(running.stderr()).not.toContain(key);
});
