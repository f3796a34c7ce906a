// What `/metrics` says, in both formats.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect, jest, test } from '@jest/globals';
import { AcceptedScopes } from '../src/auth/accepted-scopes.js';
import type { Scope } from '../src/auth/credentials.js';
import { Reloadable } from '../src/config/values.js';
import { createMetrics } from '../src/observability/metrics.js';
import { metricsFor } from '../src/observability/open-metrics.js';
import { createOperationNames, newOperationInfo, type Span } from '../src/observability/operation-info.js';
import { createTelemetry } from '../src/observability/telemetry.js';
import type { Sandbox } from '../src/sandbox/server.js';
import { cleanups, forSuite, forTest } from './support/cleanups.js';
import { addressesOn, demoHeaders, startGateway, type TestGateway } from './support/gateway.js';
import { begun, hold } from './support/hold.js';
import { counted } from './support/metrics.js';
import { overSse, overWebsocket } from './support/streams.js';
import { startStubService } from './support/stub-service.js';
import { until } from './support/until.js';

const ignore = () => {};
const sandboxOf = ({ sandbox }: TestGateway) => sandbox as Sandbox;

const gateway = forSuite(await startGateway({ env: { EXPLAIN: 'true', RESPONSE_CACHE: 'true' } }));

test('what can happen is counted as 0 before it happens, so that a rate sees its first time', async () => {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const zero = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}\\{\\w+="(\\w+)"\\} 0$`, 'gm'))].map(([, label]) => label);
  expect({
    shed: zero('gateway_shed_total'),
    exports: zero('gateway_exports_total'),
    cached: zero('gateway_response_cache_hits_total'),
    malformed: zero('gateway_redis_malformed_total'),
    leases: zero('gateway_live_lease_changes_total'),
    listeners: zero('gateway_live_listeners'),
    refused: [...text.matchAll(/^gateway_requests_total.*operation="none",outcome="(\w+)"\} 0$/gm)].length,
    failed: [...text.matchAll(/^gateway_requests_total\{transport="http",operation="unnamed",outcome="(\w+)"\} 0$/gm)]
      .length,
  }).toEqual({
    shed: ['concurrency', 'requests_in_flight', 'connections', 'memory', 'share'],
    exports: ['DELIVERED', 'REJECTED', 'FAILED', 'UNKNOWN'],
    cached: ['memory', 'redis', 'flight'],
    malformed: ['record', 'response', 'message', 'state', 'generation', 'exports'],
    leases: ['taken', 'lost', 'released'],
    listeners: ['websocket', 'sse', 'multipart'],
    refused: 6,
    failed: 4,
  });
});

test('the metrics say that the gateway is ready, and which version it is', async () => {
  expect(await counted(gateway.url, 'gateway_ready')).toBe(1);
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(await counted(gateway.url, 'gateway_build_info', { version, node: process.version })).toBe(1);
});

test('say what the client has that has the most of it', async () => {
  const own = forTest(await startGateway());
  const of = (measure: string) => counted(own.url, 'gateway_top_client', { measure });
  expect(await Promise.all(['requestsInFlight', 'heldBytes', 'upstreamCalls'].map(of))).toEqual([0, 0, 0]);
  const other = { 'x-api-key': 'demo-key-markets-only' };
  // The service has accepted both.
  for (const headers of [demoHeaders, other]) await own.query('{ market(id: 1) { name } }', {}, headers);
  const release = hold(sandboxOf(own), /topics|companies/);
  const asked = [
    own.query('{ market(id: 1) { topics { id } } }', {}, demoHeaders),
    own.query('{ market(id: 2) { topics { id } } }', {}, demoHeaders),
    own.query('{ market(id: 3) { topics { id } } }', {}, other),
  ];
  await until(async () => (await of('requestsInFlight')) === 2);
  release();
  await Promise.all(asked);
  await until(async () => (await of('requestsInFlight')) === 0);
  expect(await of('upstreamCalls')).toBe(3);
});

test.each([
  ['takes long', 0, 2_200],
  ['comes from a cache', 60_000, 0],
])('a reply that %s says of no clock that it is wrong', async (_, ageMs, tookMs) => {
  const service = await startStubService((request, response) => {
    request.resume();
    const date = new Date(Date.now() - ageMs).toUTCString();
    if (ageMs > 0) response.setHeader('age', ageMs / 1_000);
    response.writeHead(200, { 'content-type': 'application/json', date });
    response.write('{"suggested":');
    setTimeout(() => response.end('[]}'), tookMs);
  });
  const own = await startGateway({ env: addressesOn(service.origin) });
  const { errors } = await own.query('{ suggestMarkets(keyword: "x") }');
  const seconds = await counted(own.url, 'gateway_clock_difference_seconds', { clock: 'service' });
  await Promise.all([own.close(), service.close()]);
  expect([errors, seconds]).toEqual([undefined, 0]);
});

test('credentials that the service accepted are counted by the outcome of their latest call, and others are not', async () => {
  const accepted = new AcceptedScopes();
  const scopes = ['a', 'b', 'c'] as Scope[];
  for (const scope of scopes) accepted.countCall(scope, false);
  for (const scope of ['a', 'made up'] as Scope[]) accepted.countCall(scope, true);
  expect(accepted.recent()).toEqual({ accepted: 2, refused: 1 });
  expect(accepted.has('made up' as Scope)).toBe(false);
  // A cached response says nothing about what the service accepts now.
  accepted.add('a' as Scope);
  accepted.countCall('b' as Scope, true);
  expect(accepted.recent()).toEqual({ accepted: 1, refused: 2 });
  accepted.countCall('a' as Scope, false);
  expect(accepted.recent()).toEqual({ accepted: 2, refused: 1 });
});

test('a credential that is idle does not hold back the alert for those that are refused since', () => {
  jest.useFakeTimers({ doNotFake: ['nextTick'] });
  cleanups.push(() => jest.useRealTimers());
  const accepted = new AcceptedScopes();
  for (const scope of ['idle', 'in use'] as Scope[]) accepted.countCall(scope, false);
  jest.advanceTimersByTime(50_000);
  accepted.countCall('in use' as Scope, true);
  expect(accepted.recent()).toEqual({ accepted: 0, refused: 1 });
});

test('reads are counted by endpoint family and source', async () => {
  const reads = (family: string, source: string) => counted(gateway.url, 'gateway_lookups_total', { family, source });
  // A response with `explain` is made again each time, from cached records.
  const explained = { ...demoHeaders, 'x-explain': '1' };
  await gateway.query('{ events(first: 3) { totalCount } }', {}, explained);
  expect([await reads('events', 'network'), await reads('events', 'memory')]).toEqual([1, 0]);
  await gateway.query('{ events(first: 3) { totalCount } }', {}, explained);
  expect([await reads('events', 'network'), await reads('events', 'memory')]).toEqual([1, 1]);
  expect(await reads('companies', 'network')).toBe(0);

  const release = hold(sandboxOf(gateway), /companies$/);
  const query = '{ market(id: 1) { companies(first: 1) { totalCount } } }';
  const all = [1, 2, 3].map(() => gateway.query(query, {}, explained));
  await begun(gateway.url, all.length);
  release();
  await Promise.all(all);
  expect([await reads('companies', 'network'), await reads('companies', 'flight')]).toEqual([1, 2]);
});

test('calls to the service are counted by family and status', async () => {
  const calls = (labels: Record<string, string>) => counted(gateway.url, 'gateway_upstream_call_seconds_count', labels);
  await gateway.query('{ observation(id: "nobody") { title } }');
  expect(await calls({ family: 'observations', outcome: 'answered', status: '404' })).toBe(1);
});

test('failures of an operation are counted as 0 once it has succeeded, so that a rate sees the first', async () => {
  const failed = async (operation: string) => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    return text.match(new RegExp(`^gateway_requests_total\\{.*"${operation}",outcome="UPSTREAM_TIMEOUT"\\} 0$`, 'm'));
  };
  expect(await failed('Sooner')).toBeNull();
  await gateway.query('query Sooner { events(first: 1) { totalCount } }');
  await until(async () => (await failed('Sooner')) !== null);
});

describe('operations are counted', () => {
  const answered = (labels: Record<string, string>, at = gateway) => counted(at.url, 'gateway_requests_total', labels);
  const send = (query: string, headers: Record<string, string> = demoHeaders) => gateway.query(query, {}, headers);

  test('by name and outcome, also if the response was cached', async () => {
    const query = 'query Newest { events(first: 5) { totalCount } }';
    for (let times = 0; times < 3; times += 1) await send(query);
    await until(async () => (await answered({ transport: 'http', operation: 'Newest', outcome: 'ok' })) === 3);
    expect(await counted(gateway.url, 'gateway_request_seconds_count', { operation: 'Newest' })).toBe(3);
    await send('{ viewer { authentication } }');
    await until(async () => (await answered({ operation: 'unnamed', outcome: 'ok' })) > 0);
  });

  test.each([
    ['UNAUTHENTICATED', 'other', 'query Refused { events { totalCount } }', { 'x-api-key': 'nobody' }],
    ['GRAPHQL_PARSE_FAILED', 'none', '{', demoHeaders],
    ['GRAPHQL_VALIDATION_FAILED', 'none', '{ nothing }', demoHeaders],
    ['BAD_USER_INPUT', 'none', '{ viewer { email } }', { ...demoHeaders, authorization: 'Bearer token' }],
    ['BAD_REQUEST', 'none', '', demoHeaders],
  ])('as %s of %s', async (outcome, operation, query, headers) => {
    const before = await answered({ transport: 'http', operation, outcome });
    await send(query, headers);
    await until(async () => (await answered({ transport: 'http', operation, outcome })) === before + 1);
  });

  test('as ABANDONED if the client disconnects before the response', async () => {
    await send('query Slow { events(first: 8) { totalCount } }');
    gateway.sandbox?.tell({ path: /events$/, hang: true, times: 1 });
    const leaving = new AbortController();
    const body = JSON.stringify({ query: 'query Slow { events(first: 7) { totalCount } }' });
    const headers = { ...demoHeaders, 'content-type': 'application/json' };
    const asked = fetch(`${gateway.url}/graphql`, { method: 'POST', body, headers, signal: leaving.signal });
    await until(() => (gateway.sandbox?.calls.count(/ageSize=7\b/) ?? 0) > 0);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await until(async () => (await answered({ operation: 'Slow', outcome: 'ABANDONED' })) === 1);
  });

  test('on the streaming transports, subscriptions without a duration', async () => {
    const query = 'query Streamed { viewer { authentication } }';
    await overWebsocket(gateway.url, { query }).ended;
    await overSse(gateway.url, { query }).ended;
    const progress = overWebsocket(gateway.url, {
      query: 'subscription Progress { jobProgress(marketId: 1) { finished } }',
    });
    await until(() => progress.results.length > 0);
    progress.stop();
    await overSse(gateway.url, { query: 'subscription Lost { jobProgress(marketId: 999) { finished } }' }).ended;
    await until(async () => (await answered({ transport: 'websocket', operation: 'Streamed', outcome: 'ok' })) === 1);
    await until(async () => (await answered({ transport: 'sse', operation: 'Streamed', outcome: 'ok' })) === 1);
    await until(async () => (await answered({ transport: 'websocket', operation: 'Progress', outcome: 'ok' })) === 1);
    await until(async () => (await answered({ transport: 'sse', operation: 'other', outcome: 'NOT_FOUND' })) === 1);
    expect(await counted(gateway.url, 'gateway_request_seconds_count', { operation: 'Progress' })).toBe(0);
    for (const [transport, listen] of [
      ['websocket', overWebsocket],
      ['sse', overSse],
    ] as const) {
      await listen(gateway.url, { query: '{ nothing }' }).ended;
      const refused = { transport, operation: 'none', outcome: 'GRAPHQL_VALIDATION_FAILED' };
      await until(async () => (await answered(refused)) === 1);
    }
  });

  test.each([
    ['a path in other letters', 'GET /graph%71l', ''],
    ['a whole address', 'GET http://gateway.example/graphql', ''],
    ['a path with a fragment', 'GET /graphql#', ''],
    ['an upgrade to something else', 'GET /graphql', 'Connection: upgrade\r\nUpgrade: h2c\r\n'],
  ])('however it is asked for: by %s', async (_, line, more) => {
    const before = await answered({ transport: 'http', operation: 'Other', outcome: 'ok' });
    const query = `?query=${encodeURIComponent('query Other { viewer { team } }')}`;
    const target = line.includes('#') ? line.replace('#', `${query}#`) : line + query;
    const head = `Host: gateway\r\nx-api-key: ${demoHeaders['x-api-key']}\r\napollo-require-preflight: 1\r\n${more}`;
    const { port } = new URL(gateway.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`${target} HTTP/1.1\r\n${head}\r\n`);
    const [response] = await once(socket, 'data');
    socket.destroy();
    expect(String(response)).toMatch(/^HTTP\/1.1 200 /);
    await until(async () => (await answered({ transport: 'http', operation: 'Other', outcome: 'ok' })) === before + 1);
  });

  test('with the error code if a stream is refused', async () => {
    const refused = overSse(
      gateway.url,
      { query: '{ __typename }' },
      { 'x-api-key': 'k', authorization: 'Bearer token' },
    );
    await refused.ended;
    await until(async () => (await answered({ transport: 'sse', operation: 'none', outcome: 'BAD_USER_INPUT' })) === 1);
  });

  test('only under the first hundred names that succeeded with an accepted credential', async () => {
    const crowded = forTest(await startGateway());
    const unknownKey = { 'x-api-key': 'nobody' };
    const names = async () => {
      const text = await (await fetch(`${crowded.url}/metrics`)).text();
      return new Set(
        [...text.matchAll(/^gateway_request.*operation="(?!none)(\w+)".* [1-9]/gm)].map(([, name]) => name),
      );
    };
    for (let number = 0; number < 120; number += 1) {
      await crowded.query(`query Anybody${number} { __typename }`, {}, unknownKey);
    }
    await until(async () => (await answered({ operation: 'other' }, crowded)) === 120);
    expect([...(await names())]).toEqual(['other']);

    for (let number = 0; number < 120; number += 1) {
      await crowded.query(`query Q${number} { events(first: 1) { totalCount } }`);
    }
    await until(async () => (await answered({ operation: 'other' }, crowded)) === 140);
    const expected = Array.from({ length: 100 }, (_, index) => `Q${index}`);
    expect([...(await names())].sort()).toEqual([...expected, 'other'].sort());
    expect(await counted(crowded.url, 'gateway_request_seconds_count', { operation: 'other' })).toBe(140);
    await crowded.query('query Q20 { __typename }', {}, unknownKey);
    await until(async () => (await answered({ operation: 'Q20' }, crowded)) === 2);
    expect((await names()).size).toBe(101);
  });

  test('only under the names of trusted documents if there are any', () => {
    const documents = new Map([['1', 'query Known { __typename } query Other { __typename }']]);
    const accepted = new AcceptedScopes();
    const { labelOf } = createOperationNames(new Reloadable(() => documents), accepted, ignore, ignore);
    const scope = 'a' as Scope;
    accepted.add(scope);
    const labels = ['Known', 'Other', 'Unknown', 'unnamed', undefined].map(name =>
      labelOf({ ...newOperationInfo(), name, outcome: 'ok', scope }),
    );
    expect(labels).toEqual(['Known', 'Other', 'other', 'unnamed', 'none']);
  });

  test('under the names of the trusted documents that were read again', () => {
    let text = 'query Kept { __typename } query Removed { __typename }';
    const documents = new Reloadable(() => new Map([['1', text]]));
    const forgotten: string[] = [];
    const { labelOf } = createOperationNames(documents, new AcceptedScopes(), name => forgotten.push(name), ignore);
    text = 'query Kept { __typename } query Added { __typename }';
    documents.reload();
    const labels = ['Kept', 'Removed', 'Added'].map(name => labelOf({ ...newOperationInfo(), name, outcome: 'ok' }));
    expect({ labels, forgotten }).toEqual({ labels: ['Kept', 'other', 'Added'], forgotten: ['Removed'] });
  });

  test('never under a label that is reserved for many operations', () => {
    const accepted = new AcceptedScopes();
    const { labelOf } = createOperationNames(new Reloadable(() => new Map()), accepted, ignore, ignore);
    const scope = 'a' as Scope;
    accepted.add(scope);
    const labels = ['none', 'other'].map(name => labelOf({ ...newOperationInfo(), name, outcome: 'ok', scope }));
    expect(labels).toEqual(['other', 'other']);
  });

  test('by client, over HTTP and on WebSockets', async () => {
    const clients = (client: string) => counted(gateway.url, 'gateway_client_requests_total', { client });
    const ofDesk = { ...demoHeaders, 'graphql-client-name': 'desk', 'graphql-client-version': '2' };
    await gateway.query('{ events(first: 3) { totalCount } }', {}, ofDesk);
    await overWebsocket(gateway.url, { query: '{ events(first: 4) { totalCount } }' }, { params: ofDesk }).ended;
    const ofApollo = { ...demoHeaders, 'apollographql-client-name': 'desk', 'apollographql-client-version': '2' };
    await gateway.query('{ events(first: 5) { totalCount } }', {}, ofApollo);
    await gateway.query('{ __typename }', {}, { 'x-api-key': 'nobody', 'apollographql-client-name': 'stranger' });
    await until(async () => (await clients('desk/2')) === 3);
    await until(async () => (await clients('other')) === 1);
    expect(await clients('stranger')).toBe(0);
  });

  test('under the first hundred clients that succeeded with an accepted credential, until one was not used for a day', () => {
    const forgotten: string[] = [];
    const accepted = new AcceptedScopes();
    const { clientLabelOf } = createOperationNames(new Reloadable(() => new Map()), accepted, ignore, client =>
      forgotten.push(client),
    );
    const scope = 'a' as Scope;
    accepted.add(scope);
    const label = (name: string, version: string | undefined, scope: Scope | undefined, outcome = 'ok') =>
      clientLabelOf({ ...newOperationInfo(undefined, undefined, { name, version }), scope, outcome });
    const stranger = 'b' as Scope;
    expect([stranger, undefined].map(each => label('console', '1.2', each))).toEqual(['other', 'other']);
    expect(label('console', '1.2', scope, 'NOT_FOUND')).toBe('other');
    expect([label('console', '1.2', scope), label('console', undefined, scope)]).toEqual(['console/1.2', 'console']);
    expect(label('console', '1.2', stranger, 'UNAUTHENTICATED')).toBe('console/1.2');
    expect(label('none', undefined, scope)).toBe('other');
    expect(clientLabelOf({ ...newOperationInfo(), scope, outcome: 'ok' })).toBe('none');
    const labels = Array.from({ length: 100 }, (_, number) => label('many', String(number), scope));
    expect(labels.filter(each => each === 'other')).toHaveLength(2);
    expect(forgotten).toEqual([]);
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 25 * 60 * 60_000);
    cleanups.push(() => clock.mockRestore());
    expect(label('console', undefined, scope)).toBe('console');
    expect(label('late', undefined, scope)).toBe('late');
    expect(forgotten).toHaveLength(99);
    expect(forgotten).not.toContain('console');
  });

  test('and nothing else is', async () => {
    const before = await answered({});
    await fetch(`${gateway.url}/graphql`, { headers: { accept: 'text/html' } });
    await fetch(`${gateway.url}/healthz`);
    await fetch(`${gateway.url}/nowhere`);
    expect(await answered({})).toBe(before);
  });
});

const accept = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';

const spanOf = (id: string, isSampled = true): Span => ({
  logged: { trace_id: `trace-${id}`, span_id: `span-${id}` },
  isSampled,
  headers: () => ({}),
  begin: () => spanOf(id),
  end() {},
});

describe('metrics as OpenMetrics', () => {
  test('have exemplars, an end, and families of counters without a suffix, unlike those for Prometheus', () => {
    const ofB = '# HELP b_total No counter.\n# TYPE b_total gauge\nb_total 2\n';
    const text = `# HELP a Help.\n# TYPE a counter\na_total{x="b"} 1 # {trace_id="1",span_id="2"} 0.5 1.5\n${ofB}`;
    expect(metricsFor(accept, text)).toEqual({
      type: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
      body: `${text}# EOF\n`,
    });
    const body = `# HELP a_total Help.\n# TYPE a_total counter\na_total{x="b"} 1\n${ofB}`;
    for (const other of [undefined, '*/*', 'text/plain'])
      expect(metricsFor(other, text)).toEqual({ type: 'text/plain; version=0.0.4; charset=utf-8', body });
  });

  test('have the latest trace of each bucket of both histograms, until its operation is forgotten', async () => {
    const metrics = createMetrics();
    const telemetry = createTelemetry(metrics, { warn: () => {}, works: () => {} });
    telemetry.request('http', 'One', 'ok', 20, spanOf('old'));
    telemetry.request('http', 'One', 'ok', 21, spanOf('new'));
    telemetry.request('http', 'One', 'ok', 60_000, spanOf('slow'));
    telemetry.request('http', 'One', 'ok', 300, spanOf('unsampled', false));
    telemetry.request('http', 'One', 'ok', 300);
    telemetry.upstreamCalls({ family: 'events', outcome: 'timeout', status: null, span: spanOf('call') }, [5]);
    const exemplars = async () => {
      const lines = metricsFor(accept, await metrics.read()).body.split('\n');
      return lines.filter(line => line.includes(' # ')).map(line => line.replace(/ \d+\.?\d*$/, ''));
    };
    expect(await exemplars()).toEqual([
      'gateway_request_seconds_bucket{le="0.025",operation="One"} 2 # {trace_id="trace-new",span_id="span-new"} 0.021',
      'gateway_request_seconds_bucket{le="+Inf",operation="One"} 5 # {trace_id="trace-slow",span_id="span-slow"} 60',
      'gateway_upstream_call_seconds_bucket{le="0.01",family="events",outcome="timeout",status="none"} 1 # {trace_id="trace-call",span_id="span-call"} 0.005',
    ]);
    expect(metricsFor('*/*', await metrics.read()).body).not.toContain(' # ');
    telemetry.forgetOperation('One');
    expect(await exemplars()).toHaveLength(1);
  });

  test('come from a gateway that is asked for them', async () => {
    const get = (headers: Record<string, string>) => fetch(`${gateway.url}/metrics`, { headers });
    const open = await get({ accept });
    expect(open.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(await open.text()).toMatch(/\ngateway_ready 1\n[\s\S]*# EOF\n$/);
    const classic = await get({});
    expect(classic.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await classic.text()).not.toContain('# EOF');
  });
});
