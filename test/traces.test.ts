import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ask } from './support/gateway.js';
import { buildProgram, type Program, type Running } from './support/program.js';
import { overWebsocket } from './support/streams.js';
import { reply, type StubService, startStubService } from './support/stub-service.js';
import { until } from './support/until.js';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

const kinds = { server: 2, client: 3 };
let service: StubService;
let collector: StubService;
let program: Program;
let running: Running;
const sent: IncomingHttpHeaders[] = [];
const spans: Span[] = [];
const collected: string[] = [];

beforeAll(async () => {
  service = await startStubService(({ headers }, response) => {
    sent.push(headers);
    reply(response, 200, {
      meta: { totalItems: 0, totalPages: 0, currentPage: 1, pageSize: 10, unfilteredTotalItems: 0 },
      data: [],
    });
  });
  collector = await startStubService(async (request, response) => {
    const body = await text(request);
    collected.push(body);
    const { resourceSpans } = JSON.parse(body);
    for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
    reply(response, 200, {});
  });
  program = await buildProgram();
  running = await program.start({
    UPSTREAM_BASE_URL: service.origin,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  });
});
afterAll(async () => {
  await running?.stop();
  await Promise.all([service.close(), collector.close()]);
});
beforeEach(() => {
  sent.length = 0;
  spans.length = 0;
});

const key = 'key-that-nobody-may-see';
const query = 'query Newest($first: Int) { events(first: $first) { totalCount } }';
let size = 0;
const askFor = (first: number, headers: Record<string, string> = {}) =>
  ask(`${running.url}/graphql?sessionId=${key}`, query, { first }, headers);

test('an operation and its upstream call are spans of the trace of the client', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
  const { headers } = await askFor(++size, { traceparent, baggage: 'user=ada' });
  await until(() => spans.length === 2);
  const [operation, call] = [kinds.server, kinds.client].map(kind => spans.find(span => span.kind === kind));
  expect(operation).toMatchObject({ name: 'Newest', traceId, parentSpanId: 'b7ad6b7169203331' });
  expect(call).toMatchObject({ name: 'GET events', traceId, parentSpanId: operation?.spanId });
  expect(sent).toMatchObject([{ traceparent: `00-${traceId}-${call?.spanId}-01` }]);
  expect(sent[0]).not.toHaveProperty('baggage');
  const id = headers.get('x-request-id');
  expect(operation?.attributes).toContainEqual({ key: 'gateway.request_id', value: { stringValue: id } });
});

test('a span has the name of its operation, even after many other names', async () => {
  for (let number = 0; number < 110; number += 1) {
    await ask(`${running.url}/graphql`, `query Name${number} { __typename }`, {}, { 'x-api-key': 'anybody' });
  }
  await until(() => spans.length === 110);
  expect(spans.map(({ name }) => name)).toContain('Name109');
});

test('a cached response is a span without a call', async () => {
  await askFor(++size);
  await until(() => spans.length === 2);
  await askFor(size);
  await until(() => spans.length === 3);
  expect(spans[2]).toMatchObject({ name: 'Newest', kind: kinds.server });
  expect(spans[2]?.traceId).not.toBe(spans[0]?.traceId);
});

test('an operation that fails says why', async () => {
  await ask(`${running.url}/graphql`, '{', {}, {});
  await until(() => spans.length === 1);
  expect(spans[0]?.attributes).toContainEqual({
    key: 'error.type',
    value: { stringValue: 'GRAPHQL_PARSE_FAILED' },
  });
});

test('an operation on a WebSocket begins a trace of its own', async () => {
  const payload = { query, variables: { first: ++size } };
  await overWebsocket(running.url, payload, { params: { 'x-api-key': key } }).ended;
  await until(() => spans.length === 2);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
});

test('a subscription is one span, and its polls have traces of their own', async () => {
  const { stop } = overWebsocket(
    running.url,
    { query: 'subscription Updates { eventUpdates { event { id } } }' },
    { params: { 'x-api-key': key } },
  );
  await until(() => spans.length > 0);
  expect(spans).toMatchObject([{ name: 'GET events', kind: kinds.client }]);
  stop();
  await until(() => spans.length === 2);
  expect(spans[1]).toMatchObject({ name: 'Updates', kind: kinds.server });
  expect(spans.map(({ parentSpanId = '' }) => parentSpanId)).toEqual(['', '']);
  expect(spans[1]?.traceId).not.toBe(spans[0]?.traceId);
});

test('no credential is in a trace, and a request without an operation has no span', async () => {
  await fetch(`${running.url}/healthz`);
  await askFor(++size);
  await until(() => spans.length === 2);
  expect(collected.join()).toContain('market-intelligence-gateway');
  expect(collected.join()).not.toContain(key);
});

/** Prints, when the program ends, how many modules of OpenTelemetry it had loaded. */
const countsModules = `
  import { createRequire } from 'node:module';
  const { cache } = createRequire(import.meta.url.startsWith('file:') ? import.meta.url : 'file:///');
  process.on('exit', () => console.log('modules:', Object.keys(cache).filter(name => name.includes('@opentelemetry/sdk')).length));
`;

test.each([
  ['without a collector nothing is traced, and OpenTelemetry is not even loaded', false],
  ['with one it is', true],
])('%s', async (_, traced) => {
  const started = await program.start({
    UPSTREAM_BASE_URL: service.origin,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(countsModules)}`,
    ...(traced && { OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }),
  });
  await ask(`${started.url}/graphql`, query, { first: ++size }, { 'x-api-key': key });
  const { stdout } = await started.stop();
  expect(sent.map(headers => headers.traceparent !== undefined)).toEqual([traced]);
  expect(/modules: 0$/m.test(stdout)).toBe(!traced);
});
