import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Topic } from '../src/data/polling/topic.js';
import type { Identity } from '../src/http/authentication.js';
import type { RequestState } from '../src/http/request-state.js';
import { MemoryBudget } from '../src/lib/memory-budget.js';
import type { Executor, Operation } from '../src/subscriptions/executor.js';
import { createSharedExecution, type Listener } from '../src/subscriptions/shared-execution.js';
import { type SubscriptionBounds, Subscriptions } from '../src/subscriptions/subscriptions.js';
import { WebSocketConnection } from '../src/subscriptions/websocket-connection.js';
import { collectGarbage } from './support/collect-garbage.js';
import {
  ask,
  demoHeaders,
  postJson,
  signedIn,
  startGateway,
  startOverSandbox,
  type TestGateway,
} from './support/gateway.js';
import { hold } from './support/hold.js';
import { counted } from './support/metrics.js';
import { get, post, rawConnection, toWebSocket } from './support/raw-http.js';
import { type Heard, overSse, overWebsocket, rawSocket, startDiscovery } from './support/streams.js';
import { until, untilLater } from './support/until.js';

const market = '4';
const discoveryMs = 2_000;
/** What the service takes for the present; undefined: the time is as it is. */
let time: number | undefined;
const progress = {
  query: `subscription Progress($id: ID!) {
    jobProgress(marketId: $id) { marketId phase finished observedAt overallProgress estimatedEndAt jobs { id workflowName progress completion status finished } }
  }`,
  variables: { id: market },
};
const updates = { query: 'subscription { eventUpdates { kind cursor gap event { id title lastUpdated } } }' };

const open: Heard[] = [];
const transports = { 'a WebSocket': overWebsocket, 'Server-Sent Events': overSse };

const { sandbox, gateway } = await startOverSandbox({
  service: { discoveryMs, now: () => new Date(time ?? Date.now()) },
  env: { POLL_INTERVAL_MS: '200', CORS_ORIGINS: 'https://app.example' },
});

afterAll(() => gateway.close());
afterEach(async () => {
  for (const { stop } of open.splice(0)) stop();
  await until(async () => (await counted(gateway.url, 'gateway_live_pollers')) === 0);
  sandbox.reset();
});

const kept = <T extends Heard>(heard: T): T => {
  open.push(heard);
  return heard;
};

/** Whether the events have been polled twice in the same way: the first poll may need several calls to find the newest update. */
function isPolledAgain(): boolean {
  const [last, other] = sandbox.calls.list(/events-monitor\/events/).reverse();
  return last !== undefined && last.path === other?.path;
}

describe.each(Object.entries(transports))('Over %s', (_, listen) => {
  test('jobProgress tells the state at once, each change, and completes when every job has ended', async () => {
    const begunAt = Date.now();
    time = begunAt;
    await startDiscovery(sandbox.origin, market);
    const { results, ended } = kept(listen(gateway.url, progress));
    for (const share of [0, 0.3, 0.6]) {
      time = begunAt + share * discoveryMs;
      await until(() => results.at(-1)?.data.jobProgress.jobs[0].progress >= share * 100);
    }
    time = begunAt + discoveryMs;
    expect(await ended).toBeUndefined();
    time = undefined;
    const states = results.map(({ data }) => data.jobProgress);
    expect(states.length).toBeGreaterThanOrEqual(4);
    expect(states[0]).toMatchObject({ marketId: market, phase: 'DISCOVERY', finished: false });
    expect(states.at(-1)).toMatchObject({ finished: true, jobs: [{ progress: 100, completion: 1, finished: true }] });
    const shares = states.map(({ jobs }) => jobs[0].progress);
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    const times = states.map(({ observedAt }) => Date.parse(observedAt));
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times.at(-1)).toBeGreaterThanOrEqual(begunAt);
    expect(times.at(-1)).toBeLessThanOrEqual(Date.now());
    expect(states[0].estimatedEndAt).toBeNull();
    expect(states.at(-1)).toMatchObject({ overallProgress: 1, estimatedEndAt: null });
    const estimates = states.slice(1, -1).filter(({ jobs: [job] }) => job.progress > shares[0] + 20);
    expect(estimates.length).toBeGreaterThan(0);
    for (const { overallProgress, observedAt, estimatedEndAt, jobs } of estimates) {
      expect([overallProgress, jobs[0].completion]).toEqual(Array(2).fill(jobs[0].progress / 100));
      expect(Date.parse(estimatedEndAt)).toBeGreaterThanOrEqual(Date.parse(observedAt));
    }
  });

  test('jobProgress tells a state once, also where the service lists one job twice', async () => {
    const job = {
      jobId: 'twice',
      workflowName: 'W',
      status: 'running',
      startTime: '2026-03-10T10:00:00Z',
      endTime: null,
    };
    const jobs = [50, 20].map(jobProgress => ({ ...job, jobProgress }));
    sandbox.tell({ path: /jobs$/, status: 200, body: JSON.stringify(jobs) });
    sandbox.calls.clear();
    const { results } = kept(listen(gateway.url, { ...progress, variables: { id: '3' } }));
    await until(() => sandbox.calls.count(/jobs$/) > 3);
    expect(results.map(({ data }) => data.jobProgress.jobs.length)).toEqual([2]);
  });

  test('eventUpdates tells each new or changed event once, the oldest update first', async () => {
    const { results } = kept(listen(gateway.url, updates));
    await until(isPolledAgain);
    const start = { kind: null, event: null, gap: false, cursor: expect.any(String) };
    expect(results).toEqual([{ data: { eventUpdates: start } }]);
    const { _id: changed } = sandbox.publishEvent({ title: 'First' });
    await until(() => results.length === 2);
    await untilLater();
    sandbox.touchEvent(changed, { title: 'Second' });
    await untilLater();
    sandbox.publishEvent({ title: 'Third' });
    await until(() => results.length >= 4);
    sandbox.publishEvent({ title: 'Last' });
    await until(() => results.at(-1).data.eventUpdates.event.title === 'Last');
    const sent = results.slice(1).map(({ data }) => data.eventUpdates);
    expect(sent.map(({ kind, event, gap }) => [kind, event.title, gap])).toEqual([
      ['NEW', 'First', false],
      ['UPDATED', 'Second', false],
      ['NEW', 'Third', false],
      ['NEW', 'Last', false],
    ]);
    expect(sent[1].event.id).toBe(changed);
  });

  test('a refusal of the service ends the subscription with its error', async () => {
    const { results, ended } = kept(listen(gateway.url, { ...progress, variables: { id: '999' } }));
    const error = await ended;
    const [found] = error?.[0] !== undefined ? error : results[0].errors;
    expect(found).toMatchObject({ extensions: { code: 'NOT_FOUND', upstream: { status: 404 }, retryable: false } });
  });

  test('a revoked key ends its streams', async () => {
    const { results, ended } = kept(listen(gateway.url, { ...progress, variables: { id: '5' } }));
    await until(() => results.length === 1);
    sandbox.revoke(demoHeaders['x-api-key']);
    const error = await ended;
    const [found] = error?.[0] !== undefined ? error : results.at(-1).errors;
    expect(found).toMatchObject({ extensions: { code: 'UNAUTHENTICATED' } });
  });

  test('bad input and bad documents are errors with a code, and no call', async () => {
    for (const [payload, extensions] of [
      [
        { ...progress, variables: { id: '../1' } },
        { code: 'BAD_USER_INPUT', argument: 'marketId' },
      ],
      [
        { ...progress, variables: {} },
        { code: 'BAD_USER_INPUT', argument: 'marketId' },
      ],
      [{ query: 'subscription { nothing }' }, { code: 'GRAPHQL_VALIDATION_FAILED' }],
      [{ query: 'subscription {' }, { code: 'GRAPHQL_PARSE_FAILED' }],
      [
        { query: 'subscription { eventUpdates(filter: { from: "2026-01-01" }) { cursor } }' },
        { code: 'BAD_USER_INPUT', argument: 'filter.from' },
      ],
      [
        { query: 'query ($id: ID!) { market(id: $id) { name } }', variables: {} },
        { code: 'BAD_USER_INPUT', argument: 'id' },
      ],
      [
        {
          query:
            '{ market(id: 1) { companies(first: 100) { nodes { events(first: 100) { nodes { references { observation { id } } } } } } } }',
        },
        { code: 'QUERY_TOO_COMPLEX', measure: 'upstream calls', value: expect.any(Number), limit: 2_000 },
      ],
    ] as const) {
      const { results, ended } = kept(listen(gateway.url, payload));
      const error = await ended;
      const [found] = error?.[0] !== undefined ? error : results[0].errors;
      expect(found.extensions).toEqual(extensions);
    }
    expect(sandbox.calls.count()).toBe(0);
  });

  test('queries and mutations are answered as over HTTP', async () => {
    const query =
      'query Q($id: ID!) { market(id: $id) { name } viewer { authentication } missing: observation(id: "x") { id } }';
    const { results, ended } = kept(listen(gateway.url, { query, variables: { id: '1' } }));
    expect(await ended).toBeUndefined();
    const overHttp = await ask(`${gateway.url}/graphql`, query, { id: '1' });
    expect(results).toMatchObject([{ data: overHttp.data, errors: [{ path: ['missing'] }] }]);
    expect(results[0].errors[0].extensions).toEqual(overHttp.errors?.[0].extensions);

    const mutation =
      'mutation { createSearchCriteria(input: { searchInput: "Steel in Germany" }) { searchCriteria { locations { countryCode } } } }';
    const second = kept(listen(gateway.url, { query: mutation }));
    expect(await second.ended).toBeUndefined();
    expect(second.results[0].data.createSearchCriteria.searchCriteria.locations).toEqual([{ countryCode: 'DE' }]);
  });

  test('one poll serves all listeners, and a late one gets the last state without a call', async () => {
    const first = kept(listen(gateway.url, { ...progress, variables: { id: '5' } }));
    await until(() => first.results.length === 1);
    const [before, since] = [sandbox.calls.count(/discovery\/5\/jobs/), performance.now()];
    const late = Array.from({ length: 10 }, () => kept(listen(gateway.url, { ...progress, variables: { id: '5' } })));
    await until(() => late.every(({ results }) => results.length === 1));
    expect(sandbox.calls.count(/discovery\/5\/jobs/)).toBeLessThanOrEqual(
      before + 1 + (performance.now() - since) / 200,
    );
    expect(await counted(gateway.url, 'gateway_live_pollers')).toBe(1);
    expect(await counted(gateway.url, 'gateway_live_listeners')).toBe(11);
  });

  test('no credential opens nothing where there is no demo key', async () => {
    const { ended } = kept(
      listen === overWebsocket
        ? overWebsocket(gateway.url, progress, { params: {} })
        : overSse(gateway.url, progress, {}),
    );
    const error = await ended;
    if (listen === overWebsocket)
      expect(error).toMatchObject({ code: 4401, reason: expect.stringMatching(/^UNAUTHENTICATED: .*sign in/) });
    else expect(error).toMatchObject({ response: { status: 401 } });
  });
});

test('a credential counts as a header, in the query, or in the first message, and two kinds are one too many', async () => {
  const key = demoHeaders['x-api-key'];
  const session = await gateway.query('mutation { createEmbedSession { session { accessToken } } }');
  const { accessToken } = session.data.createEmbedSession.session;
  const query = { query: '{ viewer { authentication } }' };
  const method = async (options: Parameters<typeof overWebsocket>[2]) => {
    const { results, ended } = kept(overWebsocket(gateway.url, query, options));
    return (await ended) ?? results[0].data.viewer.authentication;
  };
  expect(await method({ params: {}, headers: { 'x-api-key': key } })).toBe('API_KEY');
  expect(await method({ params: { 'X-API-Key': key } })).toBe('API_KEY');
  expect(await method({ params: { Authorization: `Bearer ${accessToken}` } })).toBe('BEARER');
  expect(await method({ params: {}, path: `/graphql?sessionId=${accessToken}` })).toBe('SESSION_ID');
  expect(await method({ params: { sessionId: accessToken } })).toBe('SESSION_ID');
  expect(await method({ params: { sessionId: accessToken }, headers: { 'x-api-key': key } })).toMatchObject({
    code: 4400,
  });
  expect(await method({ params: { 'x-api-key': 7 } })).toEqual(
    expect.objectContaining({ code: 4400, reason: 'BAD_USER_INPUT: x-api-key: must be a string' }),
  );
});

describe('A session cookie', () => {
  let cookie: string;
  beforeAll(async () => {
    ({ cookie } = await signedIn(gateway));
  });

  test.each([
    ['its own origin', () => ({ origin: gateway.url }), true],
    ['an allowed origin', () => ({ origin: 'https://app.example' }), true],
    ['no page', () => ({}), true],
    ['another origin', () => ({ origin: 'https://evil.example' }), false],
    ['another port', () => ({ origin: 'http://127.0.0.1:1' }), false],
    ['an opaque origin', () => ({ origin: 'null' }), false],
  ] as const)('opens streams for %s', async (_, headersOf, opens) => {
    const headers = { cookie, ...headersOf() };
    const query = { query: '{ viewer { authentication } }' };
    const socket = kept(overWebsocket(gateway.url, query, { params: {}, headers }));
    const error = await socket.ended;
    const stream = kept(overSse(gateway.url, query, headers));
    const sseError = await stream.ended;
    if (opens) {
      expect(socket.results[0].data.viewer.authentication).toBe('COOKIE');
      expect(stream.results[0].data.viewer.authentication).toBe('COOKIE');
    } else {
      expect(error).toMatchObject({ code: 4403, reason: expect.stringMatching(/^FORBIDDEN: Pages of this origin/) });
      expect(sseError).toMatchObject({ response: { status: 403 } });
    }
  });

  test('is outranked by an explicit credential', async () => {
    const headers = { cookie, origin: 'https://app.example' };
    const { results, ended } = kept(
      overWebsocket(gateway.url, { query: '{ viewer { authentication } }' }, { headers }),
    );
    expect(await ended).toBeUndefined();
    expect(results[0].data.viewer.authentication).toBe('API_KEY');
  });
});

describe('The protocol', () => {
  const subscribe = (id: string, payload: object = { ...progress, variables: { id: '5' } }) => ({
    id,
    type: 'subscribe',
    payload,
  });

  test.each([
    ['no JSON', 4400, ['{']],
    ['an unknown message', 4400, [{ type: 'hello' }]],
    ['a message without a type', 4400, [{ id: 'a' }]],
    ['a message of the server', 4400, [{ type: 'connection_ack' }]],
    ['no object', 4400, ['[]']],
    ['a payload that is no object', 4400, [{ type: 'connection_init', payload: 'iamstring' }]],
    ['a ping whose payload is no object', 4400, [{ type: 'ping', payload: 1 }]],
    ['a subscription without an id', 4400, [{ type: 'subscribe', payload: { query: '{ __typename }' } }]],
    ['a subscription with an empty id', 4400, [subscribe('')]],
    ['a subscription without a payload', 4400, [{ id: 'a', type: 'subscribe' }]],
    ['a subscription whose query is no text', 4400, [subscribe('a', { query: 1 })]],
    ['a completion without an id', 4400, [{ type: 'complete' }]],
    ['a subscription before the acknowledgement', 4401, [subscribe('a')]],
    [
      'a subscription while the introduction is pending',
      4401,
      [{ type: 'connection_init', payload: demoHeaders }, subscribe('a')],
    ],
    ['two introductions', 4429, [{ type: 'connection_init', payload: demoHeaders }, { type: 'connection_init' }]],
  ] as const)('%s closes with %i', async (_, code, messages) => {
    const raw = rawSocket(gateway.url);
    await raw.opened();
    for (const message of messages) raw.send(message);
    expect(await raw.closed).toMatchObject({ code });
  });

  test('the same id twice closes with 4409, and is free again after its end', async () => {
    const raw = rawSocket(gateway.url);
    await raw.introduce();
    raw.send(subscribe('a', { query: '{ __typename }' }));
    await until(() => raw.messages.some(({ type, id }) => type === 'complete' && id === 'a'));
    raw.send(subscribe('a'));
    await until(() => raw.messages.at(-1)?.payload?.data?.jobProgress);
    raw.send({ id: 'a', type: 'complete' });
    raw.send(subscribe('a'));
    await until(() => raw.messages.filter(({ payload }) => payload?.data?.jobProgress).length === 2);
    raw.send(subscribe('a'));
    expect(await raw.closed).toEqual({ code: 4409, reason: 'Subscriber for a already exists' });
  });

  test('a ping is answered with its payload, and ids that are unknown are ignored', async () => {
    const raw = rawSocket(gateway.url);
    await raw.opened();
    raw.send({ type: 'ping', payload: { at: 1 } });
    raw.send({ type: 'ping' });
    await until(() => raw.messages.length === 2);
    expect(raw.messages).toEqual([{ type: 'pong', payload: { at: 1 } }, { type: 'pong' }]);
    await raw.introduce();
    raw.send({ id: 'unknown', type: 'complete' });
    raw.send(subscribe('a', { query: '{ __typename }' }));
    await until(() => raw.messages.some(({ type }) => type === 'complete'));
    raw.socket.close();
  });

  test('nothing that one sends hurts another', async () => {
    const good = rawSocket(gateway.url);
    await good.introduce();
    const deep = rawSocket(gateway.url);
    await deep.opened();
    deep.send(`{"type":"ping","payload":{"a":${'['.repeat(19_000)}${']'.repeat(19_000)}}}`);
    expect(await deep.closed).toMatchObject({ code: 4400 });
    const wide = rawSocket(gateway.url);
    await wide.introduce();
    for (const _ of [1, 2]) wide.send(subscribe('漢'.repeat(60)));
    expect(await wide.closed).toMatchObject({ code: 4409, reason: expect.stringMatching(/^Subscriber for 漢/) });
    const long = rawSocket(gateway.url);
    await long.introduce();
    long.send(subscribe('a'.repeat(257)));
    expect(await long.closed).toMatchObject({ code: 4400 });
    good.send(subscribe('a', { query: '{ __typename }' }));
    await until(() => good.messages.some(({ type }) => type === 'complete'));
    good.socket.close();
  });

  test('who takes nothing is not listened to, and is answered when it does', async () => {
    const raw = rawSocket(gateway.url);
    await raw.introduce();
    raw.socket.pause();
    const ping = JSON.stringify({ type: 'ping', payload: { a: Array(100).fill('x'.repeat(1_500)) } });
    const pings = 300;
    let taken = 0;
    const sendNext = () =>
      raw.socket.send(ping, () => {
        taken += 1;
        if (taken < pings) sendNext();
      });
    sendNext();
    // The gateway reads nothing more if it answers other requests and takes no ping meanwhile.
    await until(async () => {
      const before = taken;
      for (let request = 0; request < 20; request += 1) await counted(gateway.url, 'gateway_live_listeners');
      return taken === before;
    });
    expect(taken).toBeLessThan(pings / 2);
    raw.socket.resume();
    await until(() => raw.messages.filter(({ type }) => type === 'pong').length === pings);
    raw.socket.close();
  });

  test('many messages are handled in several turns of the event loop, in order and with one write in each, and others have their turn in between', async () => {
    const [flood, other] = [rawSocket(gateway.url), rawSocket(gateway.url)];
    await flood.opened();
    await other.opened();
    const { _socket: raw } = flood.socket as unknown as { _socket: Socket };
    let chunks = 0;
    raw.on('data', () => {
      chunks += 1;
    });
    let answeredBefore: number | undefined;
    other.socket.on('message', () => {
      answeredBefore = flood.messages.length;
    });
    // Each piece of work seems to take more than its share of a turn.
    let now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => {
      now += 20;
      return now;
    });
    const pings = Array.from({ length: 900 }, (_, at) => ({ type: 'ping', payload: { at } }));
    raw.cork();
    for (const ping of pings) flood.send(ping);
    raw.uncork();
    other.send({ type: 'ping' });
    await until(() => flood.messages.length === pings.length && answeredBefore !== undefined);
    clock.mockRestore();
    expect(flood.messages).toEqual(pings.map(({ payload }) => ({ type: 'pong', payload })));
    expect(answeredBefore).toBeLessThan(pings.length / 2);
    expect(chunks).toBeGreaterThan(5);
    expect(chunks).toBeLessThan(50);
    for (const { socket } of [flood, other]) socket.close();
  });

  test.each([
    ['pings', { type: 'ping' }],
    ['pongs', { type: 'pong' }],
    ['completions of what does not run', { type: 'complete', id: 'unknown' }],
  ])('more %s than a client needs close with 4429, where no operations make up for them', async (_, message) => {
    // The count begins again with a heartbeat.
    const beatless = await startGateway({ sandbox, seams: { streams: { heartbeatMs: 600_000 } } });
    const raw = rawSocket(beatless.url);
    await raw.introduce();
    for (let sent = 0; sent < 1_000; sent += 1) raw.send(message);
    for (const id of ['a', 'b']) {
      raw.send(subscribe(id, { query: '{ __typename }' }));
      await until(() => raw.messages.some(({ type, id: ended }) => type === 'complete' && ended === id));
      raw.send({ type: 'complete', id });
    }
    raw.send(message);
    expect(await raw.closed).toEqual({
      code: 4429,
      reason: 'RATE_LIMITED: Too many messages that are no operations',
    });
    await beatless.close();
  });

  test.each([
    ['another sub-protocol', 'graphql-ws'],
    ['several others', ['graphql-ws', 'soap']],
    ['none', []],
  ])('%s closes with 4406', async (_, protocol) => {
    const raw = rawSocket(gateway.url, { protocol });
    expect(await raw.closed).toMatchObject({
      code: 4406,
      reason: expect.stringMatching(/^Subprotocol not acceptable/),
    });
    expect(raw.messages).toEqual([]);
  });

  test('the sub-protocol is chosen among others', async () => {
    const raw = rawSocket(gateway.url, { protocol: ['soap', 'graphql-transport-ws'] });
    await raw.introduce();
    expect(raw.socket.protocol).toBe('graphql-transport-ws');
    raw.send({ type: 'pong' });
    raw.send({ type: 'pong', payload: { at: 1 } });
    raw.send(subscribe('a', { query: '{ __typename }' }));
    await until(() => raw.messages.some(({ type }) => type === 'complete'));
    // A pong has no answer, and a message has the members of the protocol in the order in which everybody writes them.
    expect(raw.messages.map(message => JSON.stringify(message))).toEqual([
      '{"type":"connection_ack"}',
      '{"id":"a","type":"next","payload":{"data":{"__typename":"Query"}}}',
      '{"id":"a","type":"complete"}',
    ]);
    raw.socket.close();
  });

  test('a subscription that the client completes is not completed by the gateway', async () => {
    const raw = rawSocket(gateway.url);
    await raw.introduce();
    raw.send(subscribe('a'));
    await until(() => raw.messages.some(({ type }) => type === 'next'));
    raw.send({ id: 'a', type: 'complete' });
    raw.send(subscribe('b', { query: '{ __typename }' }));
    await until(() => raw.messages.some(({ type }) => type === 'complete'));
    expect(raw.messages.filter(({ type }) => type === 'complete')).toEqual([{ id: 'b', type: 'complete' }]);
    raw.socket.close();
  });

  test('an operation that is completed while it runs is not answered any more', async () => {
    const release = hold(sandbox, '/stage/dev/markets/2');
    const raw = rawSocket(gateway.url);
    await raw.introduce();
    raw.send(subscribe('a', { query: '{ market(id: 2) { name } }' }));
    raw.send({ id: 'a', type: 'complete' });
    raw.send(subscribe('b', { query: '{ market(id: 2) { name } }' }));
    raw.send(subscribe('read', { query: '{ __typename }' }));
    await until(() => raw.messages.some(({ id }) => id === 'read'));
    release();
    await until(() => raw.messages.some(({ id }) => id === 'b'));
    // The result of `a`, which asks for the same as `b`, would come before the response to this operation.
    raw.send(subscribe('c', { query: '{ __typename }' }));
    await until(() => raw.messages.some(({ id }) => id === 'c'));
    expect(raw.messages.some(({ id }) => id === 'a')).toBe(false);
    raw.socket.close();
  });

  test('an id is free as soon as its operation is completed, even while that one still runs', async () => {
    const release = hold(sandbox, '/stage/dev/markets/3');
    const raw = rawSocket(gateway.url);
    await raw.introduce();
    raw.send(subscribe('a', { query: '{ market(id: 3) { name } }' }));
    raw.send({ id: 'a', type: 'complete' });
    raw.send(subscribe('a', { query: '{ viewer { authentication } }' }));
    // Its result comes no earlier than the result of the first `a` would, which asks for the same.
    raw.send(subscribe('b', { query: '{ market(id: 3) { name } }' }));
    await until(() => raw.messages.some(({ id, type }) => id === 'a' && type === 'complete'));
    release();
    await until(() => raw.messages.some(({ id, type }) => id === 'b' && type === 'complete'));
    expect(raw.messages.filter(({ id }) => id === 'a')).toEqual([
      { id: 'a', type: 'next', payload: { data: { viewer: { authentication: 'API_KEY' } } } },
      { id: 'a', type: 'complete' },
    ]);
    raw.socket.close();
  });

  test('a document that cannot run has one error message, and its id is free again', async () => {
    const raw = rawSocket(gateway.url);
    await raw.introduce();
    for (const round of [1, 2]) {
      raw.send(subscribe('a', { query: '{ nothing }' }));
      await until(() => raw.messages.filter(({ type }) => type === 'error').length === round);
    }
    raw.send(subscribe('b', { query: '{ __typename }' }));
    await until(() => raw.messages.some(({ type }) => type === 'complete'));
    expect(raw.messages.filter(({ id }) => id === 'a').map(({ type }) => type)).toEqual(['error', 'error']);
    raw.socket.close();
  });
});

describe('An operation that is too large', () => {
  test.each<[string, object, string]>([
    ['a document', { query: `{ viewer { team } } # ${'x'.repeat(100_000)}` }, 'text'],
    ['a document of 900 KB', { query: `{ viewer { team } } # ${'x'.repeat(900_000)}` }, 'text'],
    ['a variable', { query: '{ viewer { team } }', variables: { text: 'é'.repeat(60_000) } }, 'text'],
    ['a list', { query: '{ viewer { team } }', variables: { list: Array(30_000).fill(1) } }, 'items'],
    ['an object', { query: '{ viewer { team } }', variables: { ...Array(3_000).fill(1) } }, 'members'],
  ])('is refused alone: %s', async (_, payload, measure) => {
    const raw = rawSocket(gateway.url);
    await raw.introduce();
    raw.send({ id: 'listens', type: 'subscribe', payload: { ...progress, variables: { id: '5' } } });
    await until(() => raw.messages.some(({ id }) => id === 'listens'));
    raw.send({ id: 'large', type: 'subscribe', payload });
    // Some clients write the id last.
    raw.send({ type: 'subscribe', payload: { id: 'inner', type: 'complete', ...payload }, id: 'last' });
    for (const id of ['large', 'last']) {
      await until(() => raw.messages.some(message => message.id === id));
      const { type, payload: errors } = raw.messages.find(message => message.id === id) ?? {};
      expect(type).toBe('error');
      expect(errors).toEqual([
        expect.objectContaining({ extensions: expect.objectContaining({ code: 'QUERY_TOO_COMPLEX', measure }) }),
      ]);
    }
    raw.send({ id: 'next', type: 'subscribe', payload: { query: '{ viewer { authentication } }' } });
    await until(() => raw.messages.some(({ id, type }) => id === 'next' && type === 'next'));
    expect(raw.messages.filter(({ id, type }) => id === 'listens' && type !== 'next')).toEqual([]);
    expect(raw.socket.readyState).toBe(raw.socket.OPEN);
    raw.socket.terminate();
  });

  test('closes the connection if it is no operation', async () => {
    const raw = rawSocket(gateway.url);
    await raw.introduce();
    raw.send({ type: 'ping', payload: { text: 'x'.repeat(100_001) } });
    expect((await raw.closed).code).toBe(4400);
  });
});

describe('Documents that are not known', () => {
  type Transport = (headers: Record<string, string>) => Promise<(selection: string) => Promise<unknown>>;
  const overHttp =
    (path: string, accept: string, operation: string): Transport =>
    async headers =>
    async selection => {
      const response = await postJson(
        gateway.url + path,
        { query: `${operation} ${selection}` },
        { ...headers, accept },
      );
      expect(response.status).toBe(200);
      // A multipart response begins when the document has been read.
      await (operation === 'query' ? response.text() : response.body?.cancel());
    };
  const transports: Record<string, Transport> = {
    HTTP: overHttp('/graphql', 'application/json', 'query'),
    'Server-Sent Events': overHttp('/graphql/stream', 'text/event-stream', 'query'),
    'a multipart response': overHttp('/graphql', 'multipart/mixed;subscriptionSpec=1.0', 'subscription'),
    'a WebSocket': async headers => {
      const raw = rawSocket(gateway.url);
      await raw.introduce(headers);
      raw.socket.setMaxListeners(0);
      open.push({ results: [], ended: raw.closed, stop: () => raw.socket.terminate() });
      return selection =>
        new Promise<void>(resolve => {
          raw.socket.on('message', data => {
            const { type, id } = JSON.parse(String(data));
            if (id === selection && type === 'complete') resolve();
          });
          raw.send({ id: selection, type: 'subscribe', payload: { query: `query ${selection}` } });
        });
    },
  };

  const clients = ['of one client', 'of many clients with made-up keys'];
  const cases = clients.flatMap(kind =>
    Object.entries(transports).map(([name, sends]) => [kind, name, sends] as const),
  );
  test.each(cases)('%s do not keep another from its turn: %s', async (kind, name, transport) => {
    expect((await gateway.query('{ events(first: 1) { nodes { id } } }')).errors).toBeUndefined();
    const other = await transport(demoHeaders);
    const floods: Awaited<ReturnType<Transport>>[] = [];
    for (let index = 0; index < 12; index += 1) {
      floods.push(await transport({ 'x-api-key': kind === clients[0] ? 'demo-key-markets-only' : `made-up-${index}` }));
    }
    const selectionOf = (alias: string) =>
      name.startsWith('a multipart')
        ? `{ ${alias}: eventUpdates { cursor } } # ${kind}`
        : `{ ${alias}: __typename } # ${name} ${kind}`;
    // Each piece of work seems to take more than its share of a turn.
    let now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => {
      now += 20;
      return now;
    });
    let answered = 0;
    const flooded = floods.map(async (flood, index) => {
      await flood(selectionOf(`a${index}`));
      answered += 1;
    });
    await other(selectionOf('b'));
    const before = answered;
    await Promise.all(flooded);
    clock.mockRestore();
    expect(before).toBeLessThan(9);
  });
});

describe('Limits', () => {
  let strict: TestGateway;
  afterEach(() => strict.close());
  /** Starts a gateway with these bounds. */
  const startStrict = async (streams: Partial<SubscriptionBounds>) => {
    strict = await startGateway({ sandbox, env: { POLL_INTERVAL_MS: '200' }, seams: { streams } });
  };
  const listening = (id: string) => ({ id, type: 'subscribe', payload: { ...progress, variables: { id: '5' } } });

  test('too many operations on one connection close it with 4429', async () => {
    await startStrict({ operations: 3 });
    const raw = rawSocket(strict.url);
    await raw.introduce();
    for (const id of ['a', 'b', 'c', 'd']) raw.send(listening(id));
    expect(await raw.closed).toMatchObject({ code: 4429 });
    await until(async () => (await counted(strict.url, 'gateway_live_listeners')) === 0);
  });

  test('a client that hangs up before its stream begins leaves nothing that counts', async () => {
    await startStrict({});
    const { read } = Subscriptions.prototype;
    const reading = jest.spyOn(Subscriptions.prototype, 'read');
    reading.mockImplementationOnce(async function (this: Subscriptions, client, ...operation) {
      const { response } = client as RequestState;
      response.destroy();
      await once(response, 'close');
      return read.call(this, client, ...operation);
    });
    const accept = 'multipart/mixed;subscriptionSpec="1.0"';
    const unfinished = { ...progress, variables: { id: '5' } };
    await expect(postJson(`${strict.url}/graphql`, unfinished, { ...demoHeaders, accept })).rejects.toThrow();
    reading.mockRestore();
    await until(async () => (await counted(strict.url, 'gateway_held_bytes')) === 0);
    expect(await counted(strict.url, 'gateway_live_listeners')).toBe(0);
  });

  test('who does not introduce itself is closed with 4408', async () => {
    await startStrict({ initMs: 300 });
    expect(await rawSocket(strict.url).closed).toEqual({ code: 4408, reason: 'Connection initialisation timeout' });
  });

  test('a half-open socket is dropped, and a living one stays', async () => {
    await startStrict({ heartbeatMs: 1_000 });
    const dead = rawSocket(strict.url);
    const living = rawSocket(strict.url);
    await dead.introduce();
    await living.introduce({ 'x-api-key': 'demo-key-markets-only' });
    dead.send(listening('a'));
    living.send(listening('a'));
    await until(async () => (await counted(strict.url, 'gateway_live_listeners')) === 2);
    // It reads nothing any more, so that no ping is answered.
    dead.socket.pause();
    await until(async () => (await counted(strict.url, 'gateway_live_listeners')) === 1);
    expect(living.socket.readyState).toBe(living.socket.OPEN);
    dead.socket.terminate();
    living.socket.close();
  });

  test('a client that sends on after it has closed, and has no room, keeps no other from its heartbeat', async () => {
    const memory = { total: 10_000_000, perOwner: 64 * 1024, perResponse: 1_000_000 };
    const streams = { heartbeatMs: 300, initMs: 600_000 };
    const full = await startGateway({ sandbox, seams: { memory, streams } });
    const pings = new Map<string, number>();
    const listen = async (name: string) => {
      const raw = rawSocket(full.url);
      raw.socket.on('ping', () => pings.set(name, (pings.get(name) ?? 0) + 1));
      await raw.opened();
      return raw.socket;
    };
    const connected = async () => {
      const raw = rawConnection(full.url, get('/graphql', toWebSocket('graphql-transport-ws')));
      await until(() => raw.received().includes('\r\n\r\n'));
      return raw;
    };
    const earlier = await listen('earlier');
    const closing = await connected();
    const holder = await connected();
    const later = await listen('later');
    // A part of a message of 100,000 bytes, which is never complete.
    holder.socket.write(Buffer.concat([Buffer.from('81ff00000000000186a000000000', 'hex'), Buffer.alloc(60_000)]));
    const closeFrame = Buffer.from('88820000000003e8', 'hex');
    closing.socket.write(closeFrame);
    await until(() => closing.received().includes('\x88\x02'));
    closing.socket.write(Buffer.alloc(60_000));
    await untilLater();
    pings.clear();
    await until(() => (pings.get('earlier') ?? 0) >= 2);
    expect(pings.get('later')).toBeGreaterThanOrEqual(1);
    for (const socket of [earlier, later]) socket.terminate();
    for (const { socket } of [closing, holder]) socket.destroy();
    await full.close();
  });

  test('a connection that has ended is forgotten', async () => {
    await startStrict({});
    const seen: WeakRef<WebSocketConnection>[] = [];
    const { prototype } = WebSocketConnection;
    const { receive } = prototype;
    prototype.receive = function (bytes) {
      seen.push(new WeakRef(this));
      receive.call(this, bytes);
    };
    const raws = Array.from({ length: 10 }, () => rawSocket(strict.url));
    await Promise.all(raws.map(raw => raw.introduce()));
    prototype.receive = receive;
    for (const { socket, closed } of raws.slice(1)) {
      socket.close();
      await closed;
    }
    const left = () => {
      collectGarbage();
      return seen.filter(each => each.deref() !== undefined).length;
    };
    await until(left, count => count < raws.length / 2);
    raws[0]?.socket.terminate();
  });

  test('nothing more is executed for a client that does not take its answers', async () => {
    await startStrict({ executions: 1 });
    const raw = rawSocket(strict.url);
    await raw.introduce();
    const large = `{ ${Array.from({ length: 6 }, (_, index) => `p${index}: events(first: 100) { nodes { vectorIndex { embeddings } } }`).join(' ')} }`;
    raw.socket.pause();
    raw.send({ id: 'large', type: 'subscribe', payload: { query: large } });
    raw.send({ id: 'next', type: 'subscribe', payload: { query: '{ market(id: 3) { name } }' } });
    await until(async () => (await counted(strict.url, 'gateway_held_bytes')) > 1_000_000);
    expect((await strict.query('{ market(id: 2) { name } }')).errors).toBeUndefined();
    expect(sandbox.calls.count(/markets\/3/)).toBe(0);
    raw.socket.resume();
    await until(() => raw.messages.some(({ id, type }) => id === 'next' && type === 'complete'));
    expect(sandbox.calls.count(/markets\/3/)).toBe(1);
    raw.socket.close();
  });

  test('a client stays that pauses for some heartbeats while it reads a large response', async () => {
    const heartbeatMs = 400;
    const patient = await startGateway({ sandbox, seams: { streams: { heartbeatMs } } });
    const reader = rawSocket(patient.url);
    await reader.introduce();
    // Without a copy in memory: the message is as large as the response.
    reader.socket.removeAllListeners('message');
    let received = 0;
    reader.socket.on('message', data => {
      received = Math.max(received, (data as Buffer).length);
    });
    const page = 'events(first: 100) { nodes { vectorIndex { embeddings } } }';
    const query = `{ ${Array.from({ length: 6 }, (_, index) => `p${index}: ${page}`).join(' ')} }`;
    const { _socket: raw } = reader.socket as unknown as { _socket: Socket };
    raw.once('data', () => reader.socket.pause());
    reader.send({ id: 'large', type: 'subscribe', payload: { query } });
    await until(() => reader.socket.isPaused);
    const isOver = AbortSignal.timeout(4 * heartbeatMs);
    await until(() => isOver.aborted);
    reader.socket.resume();
    await until(() => received > 1_000_000);
    reader.socket.terminate();
    await patient.close();
  });

  test('a connection on which nothing runs is closed after a while, one on which an operation runs now and then is not', async () => {
    await startStrict({ heartbeatMs: 250, idleMs: 2_000 });
    const busy = rawSocket(strict.url);
    await busy.introduce();
    let operations = 0;
    busy.socket.on('ping', () => {
      operations += 1;
      busy.send({ id: String(operations), type: 'subscribe', payload: { query: '{ viewer { team } }' } });
    });
    const idle = rawSocket(strict.url);
    await idle.introduce({ 'x-api-key': 'demo-key-markets-only' });
    expect(await idle.closed).toEqual({ code: 1000, reason: 'Idle' });
    expect(busy.socket.readyState).toBe(busy.socket.OPEN);
    expect(operations).toBeGreaterThan(1);
    busy.socket.close();
  });
});

describe('A gateway that ends', () => {
  let ending: TestGateway;
  beforeEach(async () => {
    ending = await startGateway({ sandbox });
  });
  afterEach(() => ending.close());
  const review = `mutation {
    reviewCompanies(input: { marketId: 4, reviewStatus: INCLUDE, target: { all: true } }) { marketId }
  }`;

  const refusesRequests = () =>
    fetch(`${ending.url}/readyz`).then(
      ({ ok }) => !ok,
      () => true,
    );

  test('answers what it has begun on a WebSocket, and begins nothing more there', async () => {
    const release = hold(sandbox, /reviews$/);
    const raw = rawSocket(ending.url);
    await raw.introduce();
    raw.send({ id: 'write', type: 'subscribe', payload: { query: review } });
    raw.send({ id: 'watch', type: 'subscribe', payload: progress });
    await until(() => sandbox.calls.count(/reviews$/) === 1 && raw.messages.some(({ id }) => id === 'watch'));
    const closing = ending.close();
    await until(refusesRequests);
    await new Promise(resolve =>
      raw.socket.send('{"id":"late","type":"subscribe","payload":{"query":"{ __typename }"}}', resolve),
    );
    // The gateway, which is in this process, reads it.
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    release();
    expect(await raw.closed).toEqual({ code: 1001, reason: 'Going away' });
    expect(raw.messages.filter(({ id }) => id === 'write')).toEqual([
      { id: 'write', type: 'next', payload: { data: { reviewCompanies: { marketId: '4' } } } },
      { id: 'write', type: 'complete' },
    ]);
    expect(raw.messages.some(({ id }) => id === 'late')).toBe(false);
    await closing;
  });

  test('answers what it has begun over Server-Sent Events', async () => {
    const release = hold(sandbox, /reviews$/);
    const { results, ended } = overSse(ending.url, { query: review });
    await until(() => sandbox.calls.count(/reviews$/) === 1);
    const closing = ending.close();
    await until(refusesRequests);
    release();
    expect(await ended).toBeUndefined();
    expect(results).toEqual([{ data: { reviewCompanies: { marketId: '4' } } }]);
    await closing;
  });
});

test('a gateway that ends lets a stream go that opens only then', async () => {
  const ending = await startGateway({ sandbox });
  const accept = ['accept: text/event-stream'];
  const bytes = post('subscription { eventUpdates { cursor } }', accept).replace('/graphql', '/graphql/stream');
  const late = rawConnection(ending.url, bytes.slice(0, -1));
  const other = overWebsocket(ending.url, updates);
  await until(() => other.results.length === 1);
  const closing = ending.close();
  await other.ended;
  late.socket.write(bytes.slice(-1));
  await late.ended;
  late.socket.end();
  expect(late.statuses()).toEqual([200]);
  expect(late.received()).not.toContain('event: complete');
  await closing;
});

test('a mutation is not taken over GET, and a stream must be asked for', async () => {
  const query = encodeURIComponent('mutation { signOut { __typename } }');
  const headers = { ...demoHeaders, accept: 'text/event-stream' };
  const answer = await fetch(`${gateway.url}/graphql/stream?query=${query}`, { headers });
  expect(await answer.text()).toContain('"code":"BAD_USER_INPUT"');
  const plain = await fetch(`${gateway.url}/graphql/stream?query=${encodeURIComponent('{ __typename }')}`, {
    headers: { ...demoHeaders, accept: 'application/json' },
  });
  expect(plain.status).toBe(406);
  await plain.text();
});

test('a listener that joins while its first value cannot be made ends with that error, and the next one gets the value', async () => {
  const topic = new Topic<{ readonly state: string }>({ onEmpty() {}, refresh: async () => {} });
  topic.publish({ state: 'first' });
  let fault: Error | undefined;
  let fail = () => {};
  const executor = {
    feed: async (_: unknown, __: unknown, signal: AbortSignal) => topic.subscribe(signal),
    async event(_: unknown, { state }: { readonly state: string }) {
      if (state === 'slow') await new Promise((_, reject) => (fail = () => reject(new Error('Too late'))));
      if (fault !== undefined) throw fault;
      return { data: { state } };
    },
    failure: (error: Error) => ({ errors: error.message, outcome: 'OVERLOADED' }),
  } as unknown as Executor;
  const heard: string[] = [];
  const listenerOf = (name: string): Listener => ({
    isOver: false,
    onStop: undefined,
    next: ({ parts }) => heard.push(`${name} ${parts.join('')}`),
    end: failure => heard.push(`${name} ends: ${failure?.errors}`),
    room: async () => {},
  });
  const deps = { executor, budget: new MemoryBudget() };
  const execution = createSharedExecution({} as Operation, { scope: 'someone' } as Identity, deps, () => {});
  const join = (name: string) => execution.join(listenerOf(name));
  join('one');
  await until(() => heard.length === 1);
  // As a poll does that finds nothing new.
  topic.newest = { state: 'newest' };
  fault = new Error('Too busy');
  for (const name of ['two', 'three']) join(name);
  await until(() => heard.length === 3);
  fault = undefined;
  join('four');
  await until(() => heard.length === 4);
  topic.publish({ state: 'last' });
  await until(() => heard.length === 6);
  // What a listener joins with fails after a newer value has overtaken it.
  topic.newest = { state: 'slow' };
  join('five');
  topic.publish({ state: 'overtakes' });
  await until(() => heard.length === 9);
  fail();
  topic.publish({ state: 'end' });
  await until(() => heard.length === 12);
  expect(heard).toEqual([
    'one {"data":{"state":"first"}}',
    'two ends: Too busy',
    'three ends: Too busy',
    'four {"data":{"state":"newest"}}',
    'one {"data":{"state":"last"}}',
    'four {"data":{"state":"last"}}',
    ...['one', 'four', 'five'].map(name => `${name} {"data":{"state":"overtakes"}}`),
    ...['one', 'four', 'five'].map(name => `${name} {"data":{"state":"end"}}`),
  ]);
});

test('each event is answered with loaders of its own', async () => {
  const query = 'subscription { eventUpdates { event { title references { observation { title } } } } }';
  const { results } = kept(overWebsocket(gateway.url, { query }));
  await until(isPolledAgain);
  const observation = sandbox.data.observations[0];
  const references = [{ _id: observation?._id ?? '', title: 'Reference' }];
  const stop = sandbox.tell({ path: /observation/, status: 503, errorCode: 'INTERNAL_SERVER_ERROR' });
  sandbox.publishEvent({ references });
  await until(() => results.length === 2);
  expect(results[1].errors[0]).toMatchObject({
    path: ['eventUpdates', 'event', 'references', 0, 'observation'],
    extensions: { code: 'UPSTREAM_UNAVAILABLE' },
  });
  stop();
  sandbox.publishEvent({ references });
  await until(() => results.length === 3);
  expect(results[2].data.eventUpdates.event.references[0].observation.title).toBe(observation?.title);
});

test('where the service fails, listeners are told the age of what they have, and what is new when it is well', async () => {
  const { results } = kept(overWebsocket(gateway.url, { ...progress, variables: { id: '5' } }));
  await until(() => results.length === 1);
  const stop = sandbox.tell({ path: '/v2/discovery/5/jobs', status: 500, errorCode: 'INTERNAL_SERVER_ERROR' });
  await until(() => results.length === 2);
  const [first, second] = results.map(({ data }) => data.jobProgress);
  expect(second).toEqual(first);
  expect(Date.now() - Date.parse(second.observedAt)).toBeGreaterThanOrEqual(590);
  stop();
  await until(() => results.length === 3);
  expect(results[2].data.jobProgress.observedAt > first.observedAt).toBe(true);
});

test('a query has no older jobs than a subscription whose first state is the last', async () => {
  const begunAt = Date.now() - discoveryMs;
  time = begunAt;
  await startDiscovery(sandbox.origin, market);
  const read = async () => (await gateway.query(`{ market(id: ${market}) { jobs { finished } } }`)).data.market.jobs;
  expect(await read()).toEqual([{ finished: false }]);
  time = begunAt + discoveryMs;
  await kept(overSse(gateway.url, progress)).ended;
  expect(await read()).toEqual([{ finished: true }]);
  time = undefined;
});

test('the poll asks the service, whatever is kept', async () => {
  await gateway.query('{ market(id: 3) { jobs { id } } }');
  const before = sandbox.calls.count('/v2/discovery/3/jobs');
  const { results } = kept(overWebsocket(gateway.url, { ...progress, variables: { id: '3' } }));
  await until(() => results.length === 1);
  expect(sandbox.calls.count('/v2/discovery/3/jobs')).toBe(before + 1);
});

test.each(['text/event-stream', 'application/json', 'multipart/mixed', 'image/png', undefined])(
  'a subscription sent to /graphql that accepts %s learns where subscriptions are served',
  async accept => {
    const query = 'subscription { eventUpdates { cursor } }';
    const answer = await postJson(`${gateway.url}/graphql`, { query }, { ...demoHeaders, ...(accept && { accept }) });
    const { errors } = JSON.parse(await answer.text());
    expect([answer.status, errors[0].extensions.code]).toEqual([400, 'BAD_REQUEST']);
    expect(errors[0].message).toMatch(/WebSocket.*multipart.*\/graphql,.*Server-Sent Events at \/graphql\/stream$/);
  },
);
