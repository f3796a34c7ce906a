import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { beforeEach, expect, test } from '@jest/globals';
import * as stable from '@opentelemetry/semantic-conventions';
import * as incubating from '@opentelemetry/semantic-conventions/incubating';
import { Redis } from 'ioredis';
import { forSuite } from '../support/cleanups.js';
import { type CollectedSpan, startCollector } from '../support/collector.js';
import { ask, postJson } from '../support/gateway.js';
import { buildProgram } from '../support/program.js';
import { startRedis } from '../support/redis.js';
import { overWebsocket } from '../support/streams.js';
import { noEvents, reply, startStubService } from '../support/stub-service.js';
import { until } from '../support/until.js';

const sent: IncomingHttpHeaders[] = [];
const named = (name: string) => spans.find(span => span.name === name);

const service = forSuite(
  await startStubService(({ headers }, response) => {
    sent.push(headers);
    reply(response, 200, noEvents);
  }),
);
const collector = forSuite(await startCollector());
const spans = collector.spans;
const program = await buildProgram();
const running = forSuite(
  await program.start({
    UPSTREAM_BASE_URL: service.origin,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    LOG_LEVEL: 'info',
  }),
);

beforeEach(() => {
  sent.length = 0;
  spans.length = 0;
});

/** The lines of the log that belong to a span. */
const linesOf = (span: CollectedSpan | undefined) =>
  running
    .stderr()
    .split('\n')
    .filter(line => span !== undefined && line.includes(`"span_id":"${span.spanId}"`))
    .map(line => JSON.parse(line));

const key = 'key-that-nobody-may-see';
const query = 'query Newest($first: Int) { events(first: $first) { totalCount } }';
let size = 0;
const askFor = (first: number, headers: Record<string, string> = {}) =>
  ask(`${running.url}/graphql?sessionId=${key}`, query, { first }, headers);

test('a request, its operation and its upstream call are spans of the trace of the client, by the semantic conventions', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
  const from = { 'graphql-client-name': 'console', 'graphql-client-version': '1.2.3', 'user-agent': 'tests/1' };
  const { headers } = await askFor(++size, { traceparent, baggage: 'user=ada', ...from });
  await until(() => spans.length === 3);
  const [request, operation, call] = ['POST /graphql', 'query', 'GET events'].map(named);
  const { hostname, port } = new URL(running.url);
  expect(request).toMatchObject({ kind: 'server', traceId, parentSpanId: 'b7ad6b7169203331', isFault: false });
  expect(request?.attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': '/graphql',
    'http.response.status_code': 200,
    'url.path': '/graphql',
    'url.scheme': 'http',
    'server.address': hostname,
    'server.port': Number(port),
    'client.address': '127.0.0.1',
    'network.protocol.version': '1.1',
    'user_agent.original': 'tests/1',
  });
  expect(operation).toMatchObject({ kind: 'server', traceId, parentSpanId: request?.spanId, isFault: false });
  expect(operation?.attributes).toEqual({
    'graphql.operation.type': 'query',
    'graphql.operation.name': 'Newest',
    'gateway.request_id': headers.get('x-request-id'),
    'gateway.client.name': 'console',
    'gateway.client.version': '1.2.3',
  });
  expect(call).toMatchObject({ kind: 'client', traceId, parentSpanId: operation?.spanId, isFault: false });
  expect(call?.attributes).toEqual({
    'http.request.method': 'GET',
    'http.response.status_code': 200,
    'url.full': `${service.origin}${new URL(service.calls.at(-1)?.split(' ')[1] ?? '', service.origin).pathname}`,
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(service.origin).port),
    'network.protocol.version': '1.1',
  });
  expect(sent).toMatchObject([{ traceparent: `00-${traceId}-${call?.spanId}-01` }]);
  expect(sent[0]).not.toHaveProperty('baggage');
  expect(collector.resource()).toMatchObject({
    'service.name': 'market-intelligence-gateway',
    'service.version': JSON.parse(readFileSync('package.json', 'utf8')).version,
    'service.instance.id': expect.stringMatching(/^[\da-f-]{36}$/),
  });
  await until(() => linesOf(operation).length > 0);
  expect(linesOf(operation)).toMatchObject([
    { operation: 'Newest', client: 'console', clientVersion: '1.2.3', trace_id: traceId },
  ]);
});

test('a span has the name of its operation as an attribute, so that many operations have few names of spans', async () => {
  for (let number = 0; number < 110; number += 1) {
    await ask(`${running.url}/graphql`, `query Name${number} { __typename }`, {}, { 'x-api-key': 'anybody' });
  }
  await until(() => spans.length === 220);
  expect(new Set(spans.map(({ name }) => name))).toEqual(new Set(['POST /graphql', 'query']));
  expect(spans.map(({ attributes }) => attributes['graphql.operation.name'])).toContain('Name109');
});

test('a cached response is a request and an operation without a call', async () => {
  await askFor(++size);
  await until(() => spans.length === 3);
  const [{ traceId = '' } = {}] = spans.splice(0);
  await askFor(size);
  await until(() => spans.length === 2);
  expect(named('query')?.attributes).toMatchObject({ 'graphql.operation.name': 'Newest' });
  expect(spans.map(span => span.traceId)).not.toContain(traceId);
});

test('a mistake of the client has the type of its error, and is not a fault', async () => {
  await ask(`${running.url}/graphql`, '{', {}, {});
  await until(() => spans.length === 2);
  expect(named('POST /graphql')).toMatchObject({ isFault: false, attributes: { 'http.response.status_code': 400 } });
  expect(named('POST /graphql')?.attributes).not.toHaveProperty('error.type');
  expect(named('GraphQL Operation')).toMatchObject({
    isFault: false,
    attributes: { 'error.type': 'GRAPHQL_PARSE_FAILED' },
  });
});

test('a failure of the service is a fault of each of its calls and of the operation', async () => {
  const { handle } = service;
  service.handle = (_, response) => reply(response, 503);
  try {
    await askFor(++size);
  } finally {
    service.handle = handle;
  }
  await until(() => spans.length === 4);
  expect(named('query')).toMatchObject({ isFault: true, attributes: { 'error.type': 'UPSTREAM_UNAVAILABLE' } });
  const calls = spans.filter(({ kind }) => kind === 'client');
  expect(calls.map(({ isFault, attributes }) => [isFault, attributes['error.type']])).toEqual([
    [true, '503'],
    [true, '503'],
  ]);
  expect(calls.map(({ attributes }) => attributes['http.request.resend_count'])).toEqual([undefined, 1]);
});

test('what a client sends is in no span if it could be an e-mail address', async () => {
  const ada = 'ada@example.com';
  const headers = { 'graphql-client-name': ada, 'graphql-client-version': ada, 'user-agent': ada };
  await askFor(++size, headers);
  await until(() => spans.length === 3);
  expect(collector.text()).not.toContain(ada);
});

test('a batch of reads is one span of Redis, and an export has a span for each attempt without its path', async () => {
  const redis = await startRedis();
  const store = new Redis(redis.url);
  const endpoint = await startStubService((_, response, count) => reply(response, count === 1 ? 500 : 200));
  const fleet = await program.start({
    UPSTREAM_BASE_URL: service.origin,
    UPSTREAM_DEV_URL: service.origin,
    EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true',
    REDIS_URL: redis.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  });
  try {
    const send = (text: string) => ask(`${fleet.url}/graphql`, text, {}, { 'x-api-key': key });
    // A gateway that starts waits for Redis for a second only.
    await until(async () => {
      await send('{ viewer { team } }');
      return (await store.dbsize()) > 0;
    });
    await send('query Two { a: events(first: 1) { totalCount } b: events(first: 2) { totalCount } }');
    await send(`mutation Register { registerExportEndpoint(input: {
      name: "target", url: "${endpoint.origin}/secret-path?token=secret-query", description: "D" }) { endpoint { name } } }`);
    await send('mutation Send { testExportEndpoint(input: { endpoint: "target" }) { __typename } }');
  } finally {
    await fleet.stop();
    store.disconnect();
    await Promise.all([redis.stop(), endpoint.close()]);
  }
  const operation = (name: string) => spans.find(({ attributes }) => attributes['graphql.operation.name'] === name);
  const below = (name: string) => spans.filter(({ parentSpanId }) => parentSpanId === operation(name)?.spanId);
  expect(
    below('Two')
      .map(({ name }) => name)
      .sort(),
  ).toEqual(['GET events', 'GET events', 'MGET', 'PIPELINE SET']);
  expect(named('MGET')).toMatchObject({
    kind: 'client',
    isFault: false,
    attributes: {
      'db.system.name': 'redis',
      'db.operation.name': 'MGET',
      'gateway.redis.keys': 2,
      'server.address': '127.0.0.1',
      'server.port': redis.port,
    },
  });
  const attempt = {
    'http.request.method': 'POST',
    'url.full': `${endpoint.origin}/REDACTED`,
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(endpoint.origin).port),
  };
  expect(below('Send').map(({ name, attributes }) => [name, attributes])).toEqual([
    ['POST export', { ...attempt, 'http.response.status_code': 500, 'error.type': '500' }],
    ['POST export', { ...attempt, 'http.response.status_code': 200, 'http.request.resend_count': 1 }],
  ]);
  expect(collector.text()).not.toMatch(/secret-(path|query)/);
});

test('an operation on a WebSocket begins a trace of its own, with the client that the first message names', async () => {
  const payload = { query, variables: { first: ++size } };
  const params = { 'x-api-key': key, 'graphql-client-name': 'desk' };
  await overWebsocket(running.url, payload, { params }).ended;
  await until(() => spans.length === 2);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(named('query')).toMatchObject({ parentSpanId: undefined, attributes: { 'gateway.client.name': 'desk' } });
  await until(() => linesOf(named('query')).length > 0);
  expect(linesOf(named('query'))).toMatchObject([{ client: 'desk' }]);
});

test('a subscription is one span, and its polls have traces of their own', async () => {
  const { stop } = overWebsocket(
    running.url,
    { query: 'subscription Updates { eventUpdates { event { id } } }' },
    { params: { 'x-api-key': key } },
  );
  await until(() => spans.length > 0);
  expect(spans).toMatchObject([{ name: 'GET events', kind: 'client' }]);
  stop();
  await until(() => spans.length === 2);
  expect(spans[1]).toMatchObject({ name: 'subscription', kind: 'server' });
  expect(spans.map(({ parentSpanId }) => parentSpanId)).toEqual([undefined, undefined]);
  expect(spans[1]?.traceId).not.toBe(spans[0]?.traceId);
});

test('a document that is named by its hash, and the trace of the latest request of a bucket in OpenMetrics', async () => {
  const text = 'query Named { viewer { team } events { totalCount } }';
  const sha256Hash = createHash('sha256').update(text).digest('hex');
  const extensions = { persistedQuery: { version: 1, sha256Hash } };
  const body = JSON.stringify({ query: text, extensions });
  await postJson(`${running.url}/graphql?sessionId=${key}`, body, {});
  await until(() => spans.length === 3);
  const [operation, call] = ['query', 'GET events'].map(named);
  expect(operation?.attributes).toMatchObject({ 'graphql.document.id': sha256Hash, 'graphql.operation.type': 'query' });
  const headers = { accept: 'application/openmetrics-text;version=1.0.0' };
  const metrics = await (await fetch(`${running.url}/metrics`, { headers })).text();
  for (const [histogram, span] of [
    ['gateway_request_seconds_bucket{le="[^"]+",operation="Named"}', operation],
    ['gateway_upstream_call_seconds_bucket{.*family="events".*}', call],
  ] as const) {
    const exemplar = `{trace_id="${span?.traceId}",span_id="${span?.spanId}"}`;
    expect(metrics).toMatch(new RegExp(`^${histogram} \\d+ # ${exemplar} `, 'm'));
  }
});

test('no credential is in a trace, and a request to no transport has no span', async () => {
  await fetch(`${running.url}/healthz`);
  await askFor(++size);
  await until(() => spans.length === 3);
  expect(collector.text()).not.toContain(key);
});

test.each([
  ['a client', '0', '01', {}, false],
  ['a client', '1', '00', {}, true],
  ['a proxy', '0', '01', { TRUST_PROXY: '127.0.0.1' }, true],
  ['a proxy', '1', '00', { TRUST_PROXY: '127.0.0.1' }, false],
  ['a client, by an id of its choice', '0.000001', '01', { OTEL_TRACES_SAMPLER: 'traceidratio' }, false],
  ['another address than the proxy', '0', '01', { TRUST_PROXY: '10.0.0.1' }, false],
])('the word of %s, at a ratio of %s and flags of %s', async (_, ratio, flags, env, isExported) => {
  const started = await program.start({
    UPSTREAM_BASE_URL: service.origin,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: ratio,
    ...env,
  });
  // By this id, a ratio keeps each trace.
  const traceId = '00000000000000000000000000000001';
  const headers = { 'x-api-key': key, traceparent: `00-${traceId}-b7ad6b7169203331-${flags}` };
  await ask(`${started.url}/graphql`, query, { first: ++size }, headers);
  await started.stop();
  expect(spans.map(span => span.traceId)).toEqual(isExported ? [traceId, traceId, traceId] : []);
  expect(sent[0]?.traceparent).toMatch(new RegExp(`^00-${traceId}-\\w{16}-0${isExported ? 1 : 0}$`));
});

test('every attribute is one of the semantic conventions or begins with gateway', () => {
  // They have no name yet for the hash of a document.
  const conventions = new Set<unknown>([...Object.values({ ...stable, ...incubating }), 'graphql.document.id']);
  const names = new Set([...collector.text().matchAll(/"key":"([^"]+)"/g)].map(([, name]) => name));
  expect(names.size).toBeGreaterThan(15);
  const others = [...names].filter(name => !conventions.has(name) && !name?.startsWith('gateway.'));
  expect(others).toEqual([]);
});

/** Prints, when the program ends, how many modules of OpenTelemetry it had loaded. */
const countsModules = `
  import { createRequire } from 'node:module';
  const { cache } = createRequire(import.meta.url.startsWith('file:') ? import.meta.url : 'file:///');
  process.on('exit', () => console.log('modules:', Object.keys(cache).filter(name => name.includes('@opentelemetry/sdk')).length));
`;

test.each<[string, boolean, Record<string, string>]>([
  ['without a collector nothing is traced, and OpenTelemetry is not even loaded', false, {}],
  ['OTEL_EXPORTER_OTLP_ENDPOINT turns tracing on', true, { OTEL_EXPORTER_OTLP_ENDPOINT: 'ORIGIN' }],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT does, too', true, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'ORIGIN/own/path' }],
  ['OTEL_SDK_DISABLED turns it off', false, { OTEL_EXPORTER_OTLP_ENDPOINT: 'ORIGIN', OTEL_SDK_DISABLED: 'true' }],
])('%s', async (_, traced, variables) => {
  const values = Object.entries(variables).map(([name, value]) => [name, value.replace('ORIGIN', collector.origin)]);
  const started = await program.start({
    UPSTREAM_BASE_URL: service.origin,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(countsModules)}`,
    ...(traced && { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }),
    ...Object.fromEntries(values),
  });
  await ask(`${started.url}/graphql`, query, { first: ++size }, { 'x-api-key': key });
  const { stdout } = await started.stop();
  expect(sent.map(headers => headers.traceparent !== undefined)).toEqual([traced]);
  expect(/modules: 0$/m.test(stdout)).toBe(!traced);
  expect(spans.length).toBe(traced ? 3 : 0);
  if ('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' in variables) expect(collector.paths).toContain('/own/path');
});
