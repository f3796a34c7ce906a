import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { forSuite, forTest } from './support/cleanups.js';
import { startGateway } from './support/gateway.js';
import { takeLog } from './support/log.js';
import { overWebsocket } from './support/streams.js';
import { noEvents, reply, startStubService } from './support/stub-service.js';
import { until } from './support/until.js';

const log = takeLog();
const service = forSuite(
  await startStubService(async ({ url = '' }, response) => {
    if (!url.includes('companies')) return reply(response, 200, noEvents);
    // So that it is the slowest call.
    await service.arrived(2);
    await pause(60);
    reply(response, 200, []);
  }),
);
const env = (SLOW_OPERATION_MS: string) => ({
  LOG_LEVEL: 'warn',
  UPSTREAM_BASE_URL: service.origin,
  UPSTREAM_API_URL: service.origin,
  EVENTS_SEARCH_PARAM: 'search',
  SLOW_OPERATION_MS,
});
const gateway = forSuite(await startGateway({ env: env('1'), seams: { log } }));

const document =
  'query Both($text: String) { events(filter: { search: $text }) { totalCount } market(id: 1) { companies { totalCount } } }';
const headers = { 'x-api-key': 'key', 'graphql-client-name': 'console' };
const member = `sha256:${createHash('sha256').update('key').digest('hex').slice(0, 8)}`;
const slow = () => log.lines.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'Slow operation');

test('a slow operation is one line with its calls, and without its variables', async () => {
  await gateway.query(document, { text: 'not to be logged' }, headers);
  await until(() => slow().length > 0);
  expect(slow()).toEqual([
    expect.objectContaining({
      level: 'warn',
      type: 'query',
      operation: 'Both',
      client: 'console',
      member,
      document: createHash('sha256').update(document).digest('hex'),
      milliseconds: expect.any(Number),
      upstreamCalls: 2,
      slowestCall: { family: 'companies', status: 200, milliseconds: expect.any(Number) },
      outcome: 'ok',
    }),
  ]);
  expect(log.lines.join()).not.toContain('not to be logged');
});

test('also a mutation, which is called one', async () => {
  const before = slow().length;
  await gateway.query('mutation Publish { publishMarket(input: { marketId: 1 }) { marketId } }', {}, headers);
  await until(() => slow().length > before);
  expect(slow().at(-1)).toMatchObject({ operation: 'Publish', type: 'mutation', member, upstreamCalls: 1 });
});

test('also on a WebSocket', async () => {
  const before = slow().length;
  const query = 'query Socket { events { totalCount } }';
  const { ended } = overWebsocket(gateway.url, { query }, { params: { 'x-api-key': 'key' } });
  await ended;
  await until(() => slow().length > before);
  expect(slow().at(-1)).toMatchObject({ operation: 'Socket', type: 'query', member, upstreamCalls: 1 });
});

test('the upload of its body does not count', async () => {
  const before = slow().length;
  const body = JSON.stringify({ query: 'query Uploaded { events(first: 7) { totalCount } }' });
  const sent = request(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'content-length': body.length },
  });
  sent.write(body.slice(0, 10));
  await pause(1_000);
  const sentAt = performance.now();
  sent.end(body.slice(10));
  const [response] = await once(sent, 'response');
  response.resume();
  await until(() => slow().length > before);
  expect(slow().at(-1)).toMatchObject({ operation: 'Uploaded' });
  expect(slow().at(-1)?.milliseconds).toBeLessThan(performance.now() - sentAt);
});

test('many slow operations make a bounded number of lines, and the last says so', async () => {
  const own = takeLog();
  const other = forTest(await startGateway({ env: env('1'), seams: { log: own } }));
  const query = 'mutation Publish { publishMarket(input: { marketId: 1 }) { marketId } }';
  for (let sent = 0; sent < 1_000; sent += 20)
    await Promise.all(Array.from({ length: 20 }, () => other.query(query, {}, headers)));
  const lines = () => own.lines.map(line => JSON.parse(line)).filter(({ msg }) => /slow operation/i.test(msg));
  await until(() => lines().length === 102);
  expect(lines().map(({ msg }) => msg)).toEqual([
    ...Array(100).fill('Slow operation'),
    'Lines of slow operations: more than 100 in a minute; the others have no line',
    'Lines of slow operations: back to normal',
  ]);
  expect(lines().at(-1).times).toBe(900);
});

test('with 0, no operation is slow', async () => {
  const own = takeLog();
  const other = await startGateway({ env: env('0'), seams: { log: own } });
  await other.query(document, {}, headers);
  await other.close();
  expect(own.lines).toEqual([]);
});
