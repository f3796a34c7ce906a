import dns from 'node:dns';
import { createServer } from 'node:http';
import { pipeline } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { type Dispatcher, errors } from 'undici';
import { AcceptedScopes } from '../src/auth/accepted-scopes.js';
import type { Credential, Scope } from '../src/auth/credentials.js';
import { Secret } from '../src/config/values.js';
import { errorOfReply } from '../src/data/upstream/call-errors.js';
import { ByteBudget, Exchange, type ReplyLimits } from '../src/data/upstream/exchange.js';
import { parseReply, replyText } from '../src/data/upstream/reply.js';
import type { Reply, UpstreamRequest } from '../src/data/upstream/request.js';
import { createUpstream } from '../src/data/upstream/upstream.js';
import { companiesEndpoint } from '../src/domains/companies/client.js';
import { Abandoned, type GatewayError } from '../src/errors.js';
import { Bulkhead } from '../src/lib/run.js';
import { ResponseMetadata } from '../src/observability/response-metadata.js';
import type { Telemetry } from '../src/observability/telemetry.js';
import { collectGarbage } from './support/collect-garbage.js';
import { expectCpuTime } from './support/cpu-time.js';
import { silentTelemetry } from './support/silent-telemetry.js';
import { type Handler, reply, startStubService } from './support/stub-service.js';
import { until } from './support/until.js';

/** Leaves a reply as it is. */
const unread = (given: Reply) => given;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  jest.useRealTimers();
  jest.restoreAllMocks();
  clockAheadMs = 0;
  await Promise.allSettled(cleanups.splice(0).map(cleanup => cleanup()));
});

const key = 'key-that-nobody-may-see';
const apiKey: Credential = { kind: 'apiKey', secret: new Secret(key) };
const scopeOf = (name: string) => name as Scope;
const ok: Handler = (_, response) => reply(response, 200, { data: [] });
const silence: Handler = () => {};

interface Settings {
  timeoutMs?: number;
  connections?: number;
  connectionMaxAgeMs?: number;
  wire?: Dispatcher;
  api?: string;
}

/** An upstream at this address, and everything it says about its calls. */
function upstreamAt(
  base: string | undefined,
  { timeoutMs = 10_000, connections = 8, connectionMaxAgeMs = 60_000, wire, api }: Settings = {},
) {
  const outcomes: string[] = [];
  const updates: string[] = [];
  const telemetry: Telemetry = {
    ...silentTelemetry,
    upstreamCalls({ family, outcome, status }, milliseconds) {
      outcomes.push(`${outcome} ${status}`);
      updates.push(`${family} ${milliseconds.length}`);
    },
  };
  const upstream = createUpstream(
    { base, api, dev: undefined, timeoutMs, connections, connectionMaxAgeMs },
    telemetry,
    new AcceptedScopes(),
    wire,
  );
  cleanups.push(() => upstream.close());
  const metadata = new ResponseMetadata();
  return {
    upstream,
    metadata,
    outcomes,
    updates,
    read: (path = '/thing', part: Partial<UpstreamRequest> = {}, signal?: AbortSignal) =>
      upstream.send(
        { family: 'things', address: 'base', method: 'GET', path, safe: true, ...part },
        { credential: apiKey, scope: scopeOf('one'), metadata },
        unread,
        signal,
      ),
    readAs: (name: string, path = '/thing', part: Partial<UpstreamRequest> = {}) =>
      upstream.send(
        { family: 'things', address: 'base', method: 'GET', path, safe: true, ...part },
        { credential: apiKey, scope: scopeOf(name), metadata: new ResponseMetadata() },
        unread,
      ),
    write: (path = '/thing', signal?: AbortSignal) =>
      upstream.send(
        { family: 'things', address: 'base', method: 'POST', path, body: { a: 1 }, safe: false },
        { credential: apiKey, scope: scopeOf('one'), metadata },
        unread,
        signal,
      ),
  };
}

async function serviceThat(handle: Handler, settings: Settings = {}) {
  const service = await startStubService(handle);
  cleanups.push(() => service.close());
  return { service, ...upstreamAt(service.origin, settings) };
}

/** A service with one connection. It answers one call, its first or that of this path, on `release`, and all others at once. */
async function serviceThatHolds(path?: string) {
  let release = () => {};
  const handle: Handler = ({ url }, response, count) => {
    const answer = () => reply(response, 200);
    if (path === undefined ? count === 1 : url === path) release = answer;
    else answer();
  };
  return { ...(await serviceThat(handle, { connections: 1 })), release: () => release() };
}

/** What the call failed with; a call that succeeds fails the test. */
async function failureOf(call: Promise<unknown>): Promise<GatewayError> {
  const outcome = await call.then(
    () => 'an answer',
    error => error,
  );
  if (outcome === 'an answer') throw new Error('The call succeeded');
  return outcome;
}

const extensionsOf = async (call: Promise<unknown>) => (await failureOf(call)).extensions;

const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

/** What undici gives to the handler of a request. */
const controller = { abort: () => {} } as unknown as Dispatcher.DispatchController;

/** Lets the test advance deadlines and pauses, and leaves the network alone. */
function fakeTimers(): void {
  jest.useFakeTimers({
    doNotFake: ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'],
  });
}

/** Advances the timers far beyond any retry, and gives a wrong second call the time to arrive. */
async function waitForRetries(): Promise<void> {
  jest.advanceTimersByTime(10_000);
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
}

const realNow = performance.now.bind(performance);
let clockAheadMs = 0;
/** Moves the clock that the circuit breakers and the connections use. */
function moveClock(milliseconds: number): void {
  clockAheadMs += milliseconds;
  jest.spyOn(performance, 'now').mockImplementation(() => realNow() + clockAheadMs);
}

describe('connections', () => {
  test('are kept alive and never more than the bound', async () => {
    const { service, read } = await serviceThat((_, response) => setTimeout(() => reply(response, 200), 20), {
      connections: 3,
    });
    await Promise.all(times(30, () => read()));
    expect(service.connections).toBe(3);
    expect(service.maxConcurrent).toBe(3);
    await Promise.all(times(3, () => read()));
    expect(service.connections).toBe(3);
    expect(service.calls).toHaveLength(33);
  });

  test('are shared by two addresses of the same origin', async () => {
    const service = await startStubService((_, response) => setTimeout(() => reply(response, 200), 20));
    cleanups.push(() => service.close());
    const { read } = upstreamAt(`${service.origin}/a`, { api: `${service.origin}/b/`, connections: 2 });
    await Promise.all([...times(4, () => read('/x')), ...times(4, () => read('/y', { address: 'api' }))]);
    expect(service.connections).toBe(2);
    expect(new Set(service.calls)).toEqual(new Set(['GET /a/x', 'GET /b/y']));
  });

  test('are renewed when they have reached their age, while running calls end on the old ones', async () => {
    const open: (() => void)[] = [];
    const closed = new Set<unknown>();
    const { service, read, upstream } = await serviceThat(({ url, socket }, response) => {
      socket.once('close', () => closed.add(socket));
      if (url === '/long') open.push(() => reply(response, 200));
      else reply(response, 200);
    });
    const running = read('/long');
    await service.arrived(1);
    await Promise.all(times(3, () => read()));
    const old = service.connections;
    moveClock(50_000);
    await read();
    expect([service.connections, closed.size]).toEqual([old, 0]);
    moveClock(10_000);
    await read();
    expect(service.connections).toBe(old + 1);
    // The idle ones at once, and the busy one after its call.
    await until(() => closed.size === old - 1);
    open[0]?.();
    expect((await running).status).toBe(200);
    await until(() => closed.size === old);

    const last = read('/long');
    await until(() => open.length === 2);
    moveClock(60_000);
    await read();
    const closing = upstream.close();
    open[1]?.();
    expect((await last).status).toBe(200);
    await closing;
  });

  test('are all renewed even if none of them is free, and no call waits for ever', async () => {
    const { service, read } = await serviceThat((_, response) => setImmediate(() => reply(response, 200)), {
      connections: 2,
    });
    await Promise.all(times(2, () => read()));
    moveClock(60_000);
    expect((await read()).status).toBe(200);
    expect(service.connections).toBe(3);
    const calls = Promise.all(times(40, () => read()));
    moveClock(60_000);
    await calls;
    expect(service.connections).toBeGreaterThanOrEqual(5);
  });

  test('follow a name that moves while its old address still answers', async () => {
    const old = await startStubService(ok);
    cleanups.push(() => old.close());
    let address = '127.0.0.1';
    const { lookup: realLookup } = dns;
    const lookup = (name: string, ...rest: unknown[]) =>
      (realLookup as (...all: unknown[]) => unknown)(name === 'service.test' ? address : name, ...rest);
    jest.spyOn(dns, 'lookup').mockImplementation(lookup as typeof dns.lookup);
    const port = Number(new URL(old.origin).port);
    const moved = createServer((_, response) => response.end('{"at":"the new address"}'));
    cleanups.push(() => moved.close());
    await new Promise<void>(resolve => moved.listen(port, '127.0.0.2', resolve));
    const { read } = upstreamAt(`http://service.test:${port}`, { connections: 1 });
    const answer = async () => JSON.parse((await read()).body.toString());
    expect(await answer()).toEqual({ data: [] });
    address = '127.0.0.2';
    expect(await answer()).toEqual({ data: [] });
    moveClock(60_000);
    expect(await answer()).toEqual({ at: 'the new address' });
  });

  test.each<[string, (done: (error: Error | null, ...found: unknown[]) => void) => void]>([
    ['their name leads to a host that refuses connections', done => done(null, [{ address: '127.0.0.3', family: 4 }])],
    ['no name server answers', done => done(Object.assign(new Error('getaddrinfo'), { code: 'EAI_AGAIN' }))],
    ['their name is gone', done => done(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' }))],
    ['the name server is silent', () => {}],
  ])('are kept at their age while %s, and replaced as soon as others can be opened', async (_, answer) => {
    const service = await startStubService(ok);
    cleanups.push(() => service.close());
    let isWell = true;
    const lookup = (_name: string, _options: unknown, done: (error: Error | null, ...found: unknown[]) => void) => {
      if (isWell) done(null, [{ address: '127.0.0.1', family: 4 }]);
      else answer(done);
    };
    jest.spyOn(dns, 'lookup').mockImplementation(lookup as never);
    const { read } = upstreamAt(service.origin.replace('127.0.0.1', 'service.test'), { connections: 2 });
    await Promise.all(times(2, () => read()));
    isWell = false;
    for (let age = 0; age < 3; age += 1) {
      moveClock(60_000);
      const statuses = (await Promise.all(times(3, () => read()))).map(({ status }) => status);
      expect(statuses).toEqual([200, 200, 200]);
    }
    const before = service.connections;
    isWell = true;
    moveClock(60_000);
    expect((await read()).status).toBe(200);
    if (answer.length > 0) expect(service.connections).toBe(before + 1);
  });
});

describe('the bulkhead', () => {
  const perConnection = 32;

  test('refuses a call at once if the queue is full', async () => {
    const { service, read } = await serviceThat(silence, { connections: 1 });
    const running = read('/running');
    await service.arrived(1);
    const queued = times(perConnection, () => read('/queued'));
    expect(await extensionsOf(read('/too-much'))).toEqual({
      code: 'UPSTREAM_UNAVAILABLE',
      upstream: { status: null, errorCode: null },
      retryable: true,
    });
    expect(service.calls).toEqual(['GET /running']);
    await service.close();
    await Promise.allSettled([running, ...queued]);
  });

  test('lets all calls through in the order of arrival', async () => {
    const { service, read, release } = await serviceThatHolds();
    const all = times(1 + perConnection, index => read(`/${index}`));
    await service.arrived(1);
    release();
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual(times(33, () => 200));
    expect(service.calls).toEqual(times(33, index => `GET /${index}`));
  });

  test('lets clients take turns, in which all that the service has not accepted yet are one client', async () => {
    const { service, readAs, release } = await serviceThatHolds('/running');
    for (const name of ['one', 'two']) await readAs(name, '/accepted');
    const running = readAs('one', '/running');
    await service.arrived(3);
    const queued = ['one 1', 'one 2', 'made-up 1', 'other-made-up 1', 'two 1'].map(text => {
      const [name = '', number] = text.split(' ');
      return readAs(name, `/${name}-${number}`);
    });
    release();
    await Promise.all([running, ...queued]);
    expect(service.calls.slice(3)).toEqual(
      ['one-1', 'made-up-1', 'two-1', 'one-2', 'other-made-up-1'].map(path => `GET /${path}`),
    );
  });

  test('keeps places for another client when one has filled the queue, and answers it in its turn', async () => {
    const { service, readAs, release } = await serviceThatHolds('/running');
    for (const name of ['a', 'b']) await readAs(name, '/accepted');
    const running = readAs('a', '/running');
    await service.arrived(3);
    const queued = times(perConnection, index => readAs('a', `/a-${index}`));
    expect(await extensionsOf(readAs('a', '/too-much'))).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
    const other = times(perConnection / 4, index => readAs('b', `/b-${index}`));
    expect(await extensionsOf(readAs('b', '/too-much'))).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
    release();
    await Promise.all([running, ...queued, ...other]);
    expect(service.calls.slice(3, 7)).toEqual(['a-0', 'b-0', 'a-1', 'b-1'].map(path => `GET /${path}`));
  });

  test('gives a client up to half of the slots in a row', async () => {
    const bulkhead = new Bulkhead(4, 100);
    const started: string[] = [];
    const enter = (client: string, number: number) =>
      bulkhead.enter({ client, start: () => void started.push(`${client}${number}`) });
    for (const client of ['a', 'b', 'c']) for (const number of [1, 2, 3, 4, 5]) enter(client, number);
    for (let left = 0; left < 15; left += 1) bulkhead.leave();
    await sleep(0);
    expect(started).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1', 'c2', 'b3', 'b4', 'c3', 'c4', 'b5', 'c5']);
  });

  test('does not send what the service would refuse, as it has refused the credential to the same response', async () => {
    const { service, read } = await serviceThat(({ url }, response) => reply(response, url === '/other' ? 200 : 401), {
      connections: 1,
    });
    const refused = times(5, index => extensionsOf(read(`/${index}`)));
    const other = read('/other', { family: 'others' });
    expect((await Promise.all(refused)).map(({ code }) => code)).toEqual(times(5, () => 'UNAUTHENTICATED'));
    expect((await other).status).toBe(200);
    expect(service.calls).toEqual(['GET /0', 'GET /other']);
  });

  test('gives the place of an aborted call in the queue to another call', async () => {
    const { service, read, release } = await serviceThatHolds();
    const running = read('/running');
    await service.arrived(1);
    const queued = times(perConnection - 1, () => read('/queued'));
    const leaving = new AbortController();
    const left = read('/left', {}, leaving.signal);
    leaving.abort();
    expect(await failureOf(left)).toBeInstanceOf(Abandoned);
    queued.push(read('/instead'));
    release();
    await Promise.all([running, ...queued]);
    expect(service.calls).toHaveLength(33);
    expect(service.calls).toContain('GET /instead');
    expect(service.calls).not.toContain('GET /left');
  });
});

describe('the deadline', () => {
  test('bounds a call, including the time in the queue', async () => {
    fakeTimers();
    const { service, read, outcomes } = await serviceThat(silence, { connections: 1, timeoutMs: 500 });
    const calls = [extensionsOf(read('/first')), extensionsOf(read('/second'))];
    await service.arrived(1);
    jest.advanceTimersByTime(500);
    for (const extensions of await Promise.all(calls))
      expect(extensions).toMatchObject({ code: 'UPSTREAM_TIMEOUT', retryable: true });
    expect(outcomes).toContain('timeout null');
  });

  test('bounds a body that never ends', async () => {
    const { service, read } = await serviceThat((_, response) => response.writeHead(200).write('{"data":['), {
      timeoutMs: 300,
    });
    expect(await extensionsOf(read())).toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    expect(service.calls).toHaveLength(1);
  });

  test('bounds both attempts together', async () => {
    fakeTimers();
    const { service, read, outcomes } = await serviceThat(
      (_, response, count) => {
        if (count === 1) reply(response, 503);
      },
      { timeoutMs: 600 },
    );
    const call = extensionsOf(read());
    await until(() => outcomes.length === 1);
    jest.advanceTimersByTime(120);
    await service.arrived(2);
    jest.advanceTimersByTime(479);
    expect(outcomes).toEqual(['answered 503']);
    jest.advanceTimersByTime(1);
    expect(await call).toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    expect(outcomes).toEqual(['answered 503', 'timeout null']);
  });
});

describe('an abort', () => {
  test('closes the connection of the call and frees its slot', async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const { service, read, outcomes } = await serviceThat(
      (_, response, count) => {
        if (count > 1) return reply(response, 200);
        closed = new Promise(resolve => response.once('close', resolve));
      },
      { connections: 1 },
    );
    const leaving = new AbortController();
    const call = read('/thing', {}, leaving.signal);
    await service.arrived(1);
    leaving.abort();
    expect(await failureOf(call)).toBeInstanceOf(Abandoned);
    await closed;
    expect((await read()).status).toBe(200);
    expect(service.calls).toHaveLength(2);
    expect(outcomes).toEqual(['abandoned null', 'answered 200']);
  });

  test('before the call prevents it from being sent', async () => {
    const { service, read } = await serviceThat(ok);
    const gone = new AbortController();
    gone.abort();
    expect(await failureOf(read('/thing', {}, gone.signal))).toBeInstanceOf(Abandoned);
    expect(service.calls).toEqual([]);
  });

  test('in the pause before the retry ends the call', async () => {
    fakeTimers();
    const { service, read, outcomes } = await serviceThat((_, response) => reply(response, 503));
    const leaving = new AbortController();
    const call = failureOf(read('/thing', {}, leaving.signal));
    await until(() => outcomes.length === 1);
    leaving.abort();
    expect(await call).toBeInstanceOf(Abandoned);
    await waitForRetries();
    expect(service.calls).toHaveLength(1);
  });
});

const breakConnection: Handler = request => request.socket.destroy();
const answerWith =
  (status: number): Handler =>
  (_, response) =>
    reply(response, status);

describe('a read', () => {
  test.each<[string, Handler]>([
    ['a broken connection', breakConnection],
    [
      'a body cut off',
      (_, response) => response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy()),
    ],
    ['502', answerWith(502)],
    ['503', answerWith(503)],
    ['504', answerWith(504)],
  ])('is retried once after %s', async (_, fault) => {
    const { service, read, metadata } = await serviceThat((request, response, count) =>
      (count === 1 ? fault : ok)(request, response, count),
    );
    expect((await read()).status).toBe(200);
    expect(service.calls).toHaveLength(2);
    expect(metadata.upstreamCalls).toHaveLength(2);

    service.handle = fault;
    await failureOf(read());
    expect(service.calls).toHaveLength(4);
  });

  test.each([400, 401, 403, 404, 409, 429, 500, 501, 302])('is not retried after %d', async status => {
    const { service, read } = await serviceThat(answerWith(status));
    await failureOf(read());
    expect(service.calls).toHaveLength(1);
  });

  test('is not retried after a timeout', async () => {
    fakeTimers();
    const { service, read } = await serviceThat(silence, { timeoutMs: 200 });
    const call = extensionsOf(read());
    await service.arrived(1);
    jest.advanceTimersByTime(200);
    expect(await call).toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    await waitForRetries();
    expect(service.calls).toHaveLength(1);
  });

  test('is retried only within the budget: ten retries at first, then one for ten calls', async () => {
    const { service, read } = await serviceThat(answerWith(503), { connections: 64 });
    await Promise.all(times(60, index => failureOf(read('/thing', { family: `family ${index}` }))));
    const retries = service.calls.length - 60;
    expect(retries).toBeGreaterThanOrEqual(10);
    expect(retries).toBeLessThanOrEqual(16);
  });
});

describe('a service that says when to try again', () => {
  const later = (status: number, after: string): Handler => {
    return (_, response) => void response.writeHead(status, { 'retry-after': after }).end();
  };

  test.each([
    [429, '7', 7],
    [429, new Date(Date.now() + 3_600_000_000).toUTCString(), 86_400],
    [503, '120', 120],
    [503, new Date(0).toUTCString(), 0],
    [503, 'Thu Jan  1 00:00:00 1970', 0],
    [503, 'soon', undefined],
    [503, '2.5', 3],
    [503, '-1', undefined],
    [429, '+5', undefined],
  ])('passes the time on, after %d with %s', async (status, after, retryAfterSeconds) => {
    const { write } = await serviceThat(later(status, after));
    expect((await extensionsOf(write())).retryAfterSeconds).toBe(retryAfterSeconds);
  });

  test.each([
    [-3_600, 0],
    [3_600, 0],
    [3_600, 40],
  ])('and whose clock is %d s ahead is waited for by its own, with a date that is %d s old', async (ahead, age) => {
    const now = Date.now() + ahead * 1_000;
    const headers = {
      date: new Date(now - age * 1_000).toUTCString(),
      ...(age > 0 && { age: `${age}` }),
      'retry-after': new Date(now + 5_000).toUTCString(),
    };
    const { write } = await serviceThat((_, response) => void response.writeHead(503, headers).end());
    expect((await extensionsOf(write())).retryAfterSeconds).toBe(5);
  });

  test('is not asked again before that time, and not at all if the deadline comes first', async () => {
    fakeTimers();
    const { service, read, outcomes } = await serviceThat(later(503, '2'));
    const call = read();
    await until(() => outcomes.length === 1);
    jest.advanceTimersByTime(1_999);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(service.calls).toHaveLength(1);
    service.handle = ok;
    jest.advanceTimersByTime(200);
    expect((await call).status).toBe(200);
    service.handle = later(503, '10');
    expect(await extensionsOf(read())).toMatchObject({ retryAfterSeconds: 10, retryable: true });
    expect(service.calls).toHaveLength(3);
  });
});

test('a read is retried however many calls of other scopes have failed', async () => {
  const { service, readAs } = await serviceThat(answerWith(503), { connections: 64 });
  for (const name of ['a', 'b']) {
    await Promise.all(times(15, index => failureOf(readAs(name, '/failing', { family: `family ${index}` }))));
  }
  const before = service.calls.length;
  service.handle = (_, response, count) => reply(response, count === before + 1 ? 503 : 200);
  expect((await readAs('c')).status).toBe(200);
});

describe('a write', () => {
  test.each<[string, Handler, string, number | null]>([
    ['a broken connection', breakConnection, 'UPSTREAM_UNAVAILABLE', null],
    ['502', answerWith(502), 'UPSTREAM_UNAVAILABLE', 502],
    ['503', answerWith(503), 'UPSTREAM_UNAVAILABLE', 503],
    ['504', answerWith(504), 'UPSTREAM_TIMEOUT', 504],
    ['500', answerWith(500), 'UPSTREAM_UNAVAILABLE', 500],
    ['silence', silence, 'UPSTREAM_TIMEOUT', null],
  ])('is never retried after %s, and the error is not retryable', async (_, fault, code, status) => {
    fakeTimers();
    const { service, write } = await serviceThat(fault, { timeoutMs: 300 });
    const call = extensionsOf(write());
    await service.arrived(1);
    if (fault === silence) jest.advanceTimersByTime(300);
    expect(await call).toEqual({ code, upstream: { status, errorCode: null }, retryable: false });
    await waitForRetries();
    expect(service.calls).toHaveLength(1);
  });

  test('that found no connection may be repeated', async () => {
    const { service, write } = await serviceThat(ok);
    await service.close();
    const failure = await failureOf(write());
    expect(failure.extensions).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', retryable: true });
    expect(failure.message).not.toMatch(/unknown/);
  });

  test('that is aborted in the queue is never sent', async () => {
    const { service, read, write } = await serviceThat(silence, { connections: 1, timeoutMs: 300 });
    const first = failureOf(read('/first'));
    await service.arrived(1);
    const leaving = new AbortController();
    const queued = write('/queued', leaving.signal);
    leaving.abort();
    expect(await failureOf(queued)).toBeInstanceOf(Abandoned);
    await first;
    expect(service.calls).toEqual(['GET /first']);
  });

  test('that timed out before the connection was open is not sent afterwards', async () => {
    const handlers: Dispatcher.DispatchHandler[] = [];
    const wire = {
      dispatch: (_: unknown, handler: Dispatcher.DispatchHandler) => handlers.push(handler) > 0,
      close: async () => {},
    } as unknown as Dispatcher;
    const { write } = upstreamAt('http://service.test', { wire, timeoutMs: 200 });
    expect(await extensionsOf(write())).toMatchObject({ code: 'UPSTREAM_TIMEOUT', retryable: true });
    // With `abort`, undici would destroy the connection, on which nothing was sent.
    expect(() => handlers[0]?.onRequestStart?.(controller, {})).toThrow('before it began');
  });
});

describe('the circuit breaker', () => {
  const enough = 20;

  async function tripped(fault: Handler = answerWith(500)) {
    const all = await serviceThat(fault, { connections: 64 });
    await Promise.all(times(enough, () => failureOf(all.readAs('one'))));
    expect(all.service.calls).toHaveLength(enough);
    return all;
  }

  test('opens for a family that keeps failing, and for no other', async () => {
    const { service, read, upstream } = await tripped();
    expect(upstream.openBreakers()).toEqual({ things: 1 });
    service.handle = ok;
    expect(await extensionsOf(read())).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', retryable: true });
    expect(service.calls).toHaveLength(enough);
    expect((await read('/other', { family: 'others' })).status).toBe(200);
    moveClock(6_000);
    expect(upstream.openBreakers()).toEqual({ things: 0, others: 0 });
  });

  test('makes one trial call after its open time, refuses other calls meanwhile, and closes when the trial succeeds', async () => {
    const { service, read } = await tripped();
    let release = () => {};
    service.handle = (_, response) => {
      release = () => reply(response, 200);
    };
    moveClock(6_000);
    const trial = read('/trial');
    await service.arrived(enough + 1);
    expect(await extensionsOf(read('/meanwhile'))).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
    service.handle = ok;
    release();
    expect((await trial).status).toBe(200);
    expect((await Promise.all(times(5, () => read('/after')))).map(({ status }) => status)).toEqual(
      times(5, () => 200),
    );
    expect(service.calls).not.toContain('GET /meanwhile');
  });

  test('lets all calls through once its failures are too old to count', async () => {
    const { service, read } = await tripped();
    service.handle = ok;
    moveClock(16_000);
    const all = await Promise.all(times(5, () => read('/after')));
    expect(all.map(({ status }) => status)).toEqual(times(5, () => 200));
  });

  test('opens again when the trial fails', async () => {
    const { service, read } = await tripped();
    moveClock(6_000);
    await failureOf(read('/trial'));
    service.handle = ok;
    await failureOf(read('/after'));
    expect(service.calls.slice(enough)).toEqual(['GET /trial']);
  });

  test('counts anew when the service refuses the trial', async () => {
    const { service, read } = await tripped();
    moveClock(5_100);
    for (const status of [404, 500]) {
      service.handle = answerWith(status);
      await failureOf(read());
    }
    service.handle = ok;
    expect((await read()).status).toBe(200);
  });

  test('opens for no calls without a credential', async () => {
    const { service, upstream, metadata } = await serviceThat(answerWith(500), { connections: 64 });
    const signIn = { family: 'session', address: 'base', method: 'POST', path: '/sign-in', safe: false } as const;
    const send = () => upstream.send(signIn, { metadata }, unread);
    await Promise.all(times(enough, () => failureOf(send())));
    service.handle = ok;
    expect((await send()).status).toBe(200);
  });

  test('makes another trial call if the caller of the first has gone', async () => {
    const { service, read } = await tripped();
    service.handle = () => {};
    moveClock(6_000);
    const leaving = new AbortController();
    const trial = read('/trial', {}, leaving.signal);
    await service.arrived(enough + 1);
    leaving.abort();
    expect(await failureOf(trial)).toBeInstanceOf(Abandoned);
    service.handle = answerWith(500);
    await Promise.all(['/second', '/third'].map(path => failureOf(read(path))));
    expect(service.calls.slice(enough)).toEqual(['GET /trial', 'GET /second']);
  });

  test('refuses thousands of waiting calls at once when it opens', async () => {
    const { service, read } = await serviceThat(answerWith(500), { connections: 128 });
    const failures = await Promise.all(times(128 * 33, () => failureOf(read())));
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['UPSTREAM_UNAVAILABLE']));
    expect(service.calls.length).toBeLessThan(300);
  });

  test.each([400, 401, 403, 404, 409, 413, 414, 429, 431])('does not count %d as a failure', async status => {
    const { service, readAs } = await tripped(answerWith(status));
    service.handle = ok;
    expect((await readAs('one')).status).toBe(200);
  });

  test('opens only for one scope if the calls of that scope alone fail', async () => {
    const { service, readAs } = await serviceThat(
      (request, response) => reply(response, request.url === '/bad' ? 500 : 200),
      { connections: 64 },
    );
    await Promise.all(times(enough * 5, () => failureOf(readAs('hostile', '/bad'))));
    expect(await extensionsOf(readAs('hostile', '/good'))).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
    const before = service.calls.length;
    for (const name of ['a', 'b', 'c']) expect((await readAs(name, '/good')).status).toBe(200);
    expect(service.calls).toHaveLength(before + 3);
  });

  test('opens for no scope whose own calls did not fail, whatever other scopes do', async () => {
    const { service, readAs } = await serviceThat(answerWith(500), { connections: 64 });
    for (const name of ['a', 'b', 'c']) {
      await Promise.all(times(enough, index => failureOf(readAs(name, `/${index}`))));
    }
    service.handle = ok;
    expect((await readAs('d')).status).toBe(200);
    moveClock(6_000);
    for (const name of ['a', 'b', 'c']) expect((await readAs(name)).status).toBe(200);
  });

  test('ignores changes of the system clock', async () => {
    const { service, read } = await tripped();
    service.handle = ok;
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
    expect(await extensionsOf(read())).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
    jest.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000);
    moveClock(6_000);
    expect((await read()).status).toBe(200);
  });

  test.each([
    ['aborted', 64, enough],
    ['that the bulkhead refused', 1, 1],
  ])('does not count calls %s', async (_, connections, arrived) => {
    const { service, read } = await serviceThat(silence, { connections });
    const leaving = times(33 + enough, () => new AbortController());
    const calls = leaving.map(each => failureOf(read('/thing', {}, each.signal)));
    await service.arrived(arrived);
    for (const each of leaving) each.abort();
    await Promise.all(calls);
    service.handle = ok;
    expect((await read()).status).toBe(200);
  });
});

describe('a refusal', () => {
  const body = (errorCode: unknown) => ({ success: false, errorCode, message: `No: http://10.0.0.1/?key=${key}` });
  const html = `<html><body>Bad gateway at http://10.0.0.1/ for ${key}</body></html>`;
  const many = (members: number) => Object.fromEntries(Array.from({ length: members }, (_, index) => [`m${index}`, 0]));
  const huge = { ...body('NOT_FOUND'), filling: 'x'.repeat(70_000) };

  test.each<[status: number, answer: unknown, code: string, errorCode: string | null, retryable: boolean]>([
    [400, body('QUERY_VALIDATION_FAILED'), 'BAD_USER_INPUT', 'QUERY_VALIDATION_FAILED', false],
    [401, body('UNAUTHORISED'), 'UNAUTHENTICATED', 'UNAUTHORISED', false],
    [403, body('FORBIDDEN'), 'FORBIDDEN', 'FORBIDDEN', false],
    [404, body('NOT_FOUND'), 'NOT_FOUND', 'NOT_FOUND', false],
    [500, body('INTERNAL_SERVER_ERROR'), 'UPSTREAM_UNAVAILABLE', 'INTERNAL_SERVER_ERROR', true],
    // The code outranks the status.
    [400, body('UNAUTHORISED'), 'UNAUTHENTICATED', 'UNAUTHORISED', false],
    [500, body('NOT_FOUND'), 'NOT_FOUND', 'NOT_FOUND', false],
    [418, body('FORBIDDEN'), 'FORBIDDEN', 'FORBIDDEN', false],
    [404, body('INTERNAL_SERVER_ERROR'), 'UPSTREAM_UNAVAILABLE', 'INTERNAL_SERVER_ERROR', true],
    // An unknown code is told, and the status decides.
    [409, body('DISCOVERY_RUNNING'), 'CONFLICT', 'DISCOVERY_RUNNING', false],
    // Whatever the body, the status decides.
    [400, '', 'BAD_USER_INPUT', null, false],
    [422, '', 'BAD_USER_INPUT', null, false],
    [401, html, 'UNAUTHENTICATED', null, false],
    [403, 'null', 'FORBIDDEN', null, false],
    [404, '[]', 'NOT_FOUND', null, false],
    [410, '"gone"', 'NOT_FOUND', null, false],
    [409, '{', 'CONFLICT', null, false],
    [431, '', 'BAD_USER_INPUT', null, false],
    [429, '7', 'RATE_LIMITED', null, true],
    [408, html, 'UPSTREAM_TIMEOUT', null, true],
    [504, html, 'UPSTREAM_TIMEOUT', null, true],
    [500, html, 'UPSTREAM_UNAVAILABLE', null, true],
    [502, html, 'UPSTREAM_UNAVAILABLE', null, true],
    [503, '', 'UPSTREAM_UNAVAILABLE', null, true],
    [599, '', 'UPSTREAM_UNAVAILABLE', null, true],
    [301, '', 'UPSTREAM_INVALID_RESPONSE', null, false],
    [302, html, 'UPSTREAM_INVALID_RESPONSE', null, false],
    [304, '', 'UPSTREAM_INVALID_RESPONSE', null, false],
    [418, html, 'UPSTREAM_INVALID_RESPONSE', null, false],
    // A code that is no code is not passed on.
    [404, body(7), 'NOT_FOUND', null, false],
    [404, body(`see http://10.0.0.1/?key=${key}`), 'NOT_FOUND', null, false],
    [403, huge, 'FORBIDDEN', null, false],
    [403, { ...body('NOT_FOUND'), filling: many(996) }, 'NOT_FOUND', 'NOT_FOUND', false],
    [403, { ...body('NOT_FOUND'), filling: many(997) }, 'FORBIDDEN', null, false],
    [403, Buffer.from([0xff, 0xfe, 0x00]), 'FORBIDDEN', null, false],
  ])('of status %d, case %#', async (status, answer, code, errorCode, retryable) => {
    const { service, read } = await serviceThat((_, response) => reply(response, status, answer));
    const failure = await failureOf(read());
    expect(failure.extensions).toEqual({ code, upstream: { status, errorCode }, retryable });
    const seen = inspect(failure, { depth: 9 }).replace(failure.stack ?? '', failure.message);
    for (const hidden of [key, '10.0.0.1', '127.0.0.1', service.origin, 'gateway at'])
      expect(seen).not.toContain(hidden);
  });

  test.each([
    'example.com',
    'example.com.',
    '"example.com".',
    'example.com, or',
    'other.example. Is it EXAMPLE.COM?',
    'https://see.example/ (example.com)',
  ])('names the listed values that its message has as words: %s', text => {
    const request = {
      safe: true,
      argument: 'input',
      listed: { argument: 'input.list', values: ['example.com', 'le'] },
    };
    const refused = { status: 400, headers: {}, body: Buffer.from(JSON.stringify({ message: `No ${text}` })) };
    const isNamed = !text.includes('?');
    expect(errorOfReply(refused as unknown as Reply, request).message).toBe(
      `The service rejected the request as invalid${isNamed ? ': example.com' : ''}`,
    );
  });

  test('is read in a time that does not depend on the characters of its message', () => {
    const request = { safe: true, argument: 'input', listed: { argument: 'input.list', values: ['example.com'] } };
    const withMessageOf = (character: string) => {
      const body = Buffer.from(JSON.stringify({ message: character.repeat(60_000) }));
      return () => void errorOfReply({ status: 400, headers: {}, body } as unknown as Reply, request);
    };
    // A time that grows with the square of a run of dots is more than a thousand times as long.
    expectCpuTime(withMessageOf('.'), 40, withMessageOf('a'));
  });

  test('is what a redirect becomes, which is not followed', async () => {
    const elsewhere = await startStubService(ok);
    cleanups.push(() => elsewhere.close());
    const { read } = await serviceThat((_, response) =>
      response.writeHead(307, { location: `${elsewhere.origin}/` }).end(),
    );
    expect(await extensionsOf(read())).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE' });
    expect(elsewhere.calls).toEqual([]);
  });

  test.each([
    ['base', 'UPSTREAM_BASE_URL'],
    ['api', 'UPSTREAM_API_URL'],
    ['dev', 'UPSTREAM_DEV_URL'],
  ] as const)('for the missing address %s names the variable to set', async (address, variable) => {
    const failure = await failureOf(upstreamAt(undefined).read('/thing', { address }));
    expect(failure.extensions).toEqual({ code: 'NOT_CONFIGURED' });
    expect(failure.message).toContain(variable);
  });
});

/** The reply that a wire brings within limits. */
const replyOf = (wire: Dispatcher, limits: ReplyLimits) =>
  new Promise<Reply>((onReply, onBroken) => {
    const exchange: Exchange = new Exchange(limits, {
      onBroken,
      onReply(reply) {
        exchange.release();
        onReply(reply);
      },
    });
    wire.dispatch({ method: 'GET', path: '/' }, exchange);
  });

describe('a body', () => {
  const tooLarge = {
    code: 'UPSTREAM_INVALID_RESPONSE',
    upstream: { status: null, errorCode: null },
    retryable: false,
  };
  const megabyte = Buffer.alloc(1024 * 1024, ' ');

  test.each([
    ['of all companies of a market', companiesEndpoint, 32],
    ['of an endpoint without bounds of its own', { bounds: undefined }, 4],
  ])('%s is aborted above its bound, without a retry', async (_, { bounds }, megabytes) => {
    let most = megabytes;
    const { service, read } = await serviceThat((_, response) => {
      response.writeHead(200);
      let sent = 0;
      const more = () => {
        while (sent < most && !response.destroyed) {
          sent += 1;
          if (!response.write(megabyte)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    expect((await read('/thing', { bounds })).status).toBe(200);
    most += 8;
    expect(await extensionsOf(read('/thing', { bounds }))).toEqual(tooLarge);
    expect(service.calls).toHaveLength(2);
  });

  test('that announces too large a length is aborted before it arrives', async () => {
    const { read } = await serviceThat((_, response) => {
      response.writeHead(200, { 'content-length': 5 * megabyte.length });
      response.flushHeaders();
    });
    expect(await extensionsOf(read())).toEqual(tooLarge);
  });

  test('in very many small chunks takes little more memory than its bytes', async () => {
    collectGarbage();
    const before = process.memoryUsage().arrayBuffers;
    const sent = times(2_000, index => (index % 500 === 499 ? 'long'.repeat(2_000) : `${index},`));
    const wire = {
      dispatch(_: unknown, handler: Dispatcher.DispatchHandler) {
        handler.onRequestStart?.(controller, {});
        handler.onResponseStart?.(controller, 200, {});
        for (const text of sent) {
          // Each comes in a buffer of its own, as the network brings it.
          const brought = Buffer.allocUnsafeSlow(64 * 1024);
          handler.onResponseData?.(controller, brought.subarray(0, brought.write(text)));
        }
        handler.onResponseEnd?.(controller, {});
        return true;
      },
    } as unknown as Dispatcher;
    const limits = { bodyBytes: 1_000_000, budget: new ByteBudget(1_000_000) };
    const { body } = await replyOf(wire, limits);
    const grown = () => process.memoryUsage().arrayBuffers - before;
    // V8 frees the memory of collected buffers in a thread of its own.
    await until(() => {
      collectGarbage();
      return grown() < 16 * megabyte.length;
    }).catch(() => {});
    expect(grown()).toBeLessThan(16 * megabyte.length);
    expect(body.toString()).toBe(sent.join(''));
  });

  test('that exceeds the budget of all bodies is aborted, and ended bodies free their part of the budget', async () => {
    const parts: (() => void)[] = [];
    const wire = {
      dispatch(_: unknown, handler: Dispatcher.DispatchHandler) {
        handler.onRequestStart?.(controller, {});
        handler.onResponseStart?.(controller, 200, {});
        handler.onResponseData?.(controller, Buffer.alloc(6));
        parts.push(() => handler.onResponseEnd?.(controller, {}));
        return true;
      },
    } as unknown as Dispatcher;
    const limits = { bodyBytes: 10, budget: new ByteBudget(10) };
    const send = () => replyOf(wire, limits);
    const first = send();
    await expect(send()).rejects.toMatchObject({ cause: { name: 'BulkheadFull' } });
    parts[0]?.();
    expect((await first).status).toBe(200);
    const third = send();
    parts[2]?.();
    expect((await third).status).toBe(200);
  });

  test('of another client still has room when those of one take the whole budget', async () => {
    const parts: (() => void)[] = [];
    const wire = {
      dispatch(_: unknown, handler: Dispatcher.DispatchHandler) {
        handler.onRequestStart?.(controller, {});
        handler.onResponseStart?.(controller, 200, {});
        handler.onResponseData?.(controller, Buffer.alloc(10));
        parts.push(() => handler.onResponseEnd?.(controller, {}));
        return true;
      },
    } as unknown as Dispatcher;
    const budget = new ByteBudget(100);
    const sendAs = (client: string) => replyOf(wire, { bodyBytes: 10, budget, client });
    const tooMuch = { cause: { name: 'BulkheadFull' } };
    const ofOne = times(10, () => sendAs('one'));
    await expect(sendAs('one')).rejects.toMatchObject(tooMuch);
    const ofOther = times(2, () => sendAs('other'));
    await expect(sendAs('other')).rejects.toMatchObject(tooMuch);
    for (const end of parts) end();
    expect((await Promise.all([...ofOne, ...ofOther])).map(({ status }) => status)).toEqual(times(12, () => 200));
    expect(budget.held).toBe(0);
  });
});

describe('an encoded body', () => {
  const asked = { family: 'events', address: 'base', method: 'GET', path: '/thing', safe: true } as const;
  const request = { ...asked, vectors: { member: 'embeddings', wanted: false } };
  // Longer than a body whose vectors are not cut.
  const value = { name: 'Zoë', embeddings: [1, 2], more: 'x'.repeat(1_024) };
  const text = JSON.stringify(value);
  const type = (charset: string) => ({ 'content-type': `application/json; charset=${charset}` });

  /** A service whose replies have these headers and this body, and how its replies are read. */
  async function serviceThatSends(status: number, headers: Record<string, string>, body: Uint8Array | string) {
    const seen: (string | undefined)[] = [];
    const { upstream, ...all } = await serviceThat((request, response) => {
      seen.push(request.headers['accept-encoding']);
      response.writeHead(status, headers).end(body);
    });
    const auth = { credential: apiKey, scope: scopeOf('one'), metadata: new ResponseMetadata() };
    return {
      ...all,
      seen,
      send: <T>(read: (reply: Reply) => T, signal?: AbortSignal) => upstream.send(request, auth, read, signal),
      parsed: () => upstream.send(request, auth, reply => parseReply(replyText(reply, request))),
    };
  }

  test.each<[string, Record<string, string>, Uint8Array | string]>([
    ['gzip', { 'content-encoding': 'gzip' }, gzipSync(text)],
    ['gzip by its old name, in another case', { 'content-encoding': 'X-GZip' }, gzipSync(text)],
    ['Brotli', { 'content-encoding': 'br' }, brotliCompressSync(text)],
    ['no encoding, by name', { 'content-encoding': 'identity' }, text],
    ['no encoding, by an empty name', { 'content-encoding': '' }, text],
    ['gzip and no other', { 'content-encoding': 'gzip, identity' }, gzipSync(text)],
    ['gzip behind nothing', { 'content-encoding': ' , Identity,gzip' }, gzipSync(text)],
    ['UTF-8 by name', type('"UTF-8"'), text],
    ['UTF-8 with a byte order mark', {}, `\ufeff${text}`],
    ['UTF-8 with a byte order mark, in gzip', { 'content-encoding': 'gzip' }, gzipSync(`\ufeff${text}`)],
    ['ASCII by name', type('us-ascii'), text.replace('ë', '\\u00eb')],
  ])('is read: %s', async (_, headers, body) => {
    const { parsed, seen } = await serviceThatSends(200, headers, body);
    expect(await parsed()).toEqual({ ...value, embeddings: null });
    expect(seen).toEqual(['gzip, br']);
  });

  test('may be empty', async () => {
    const { parsed } = await serviceThatSends(200, { 'content-encoding': 'gzip' }, '');
    expect(await parsed()).toBeUndefined();
  });

  test.each<[string, Record<string, string>, Uint8Array | string, RegExp]>([
    ['an unknown encoding', { 'content-encoding': 'zstd' }, text, /content encoding zstd is not supported/],
    ['two encodings', { 'content-encoding': 'gzip, br' }, text, /gzip,br/],
    ['a name that does not exist', { 'content-encoding': `<b>${'x'.repeat(99)}` }, text, /encoding \?b\?x{37} is/],
    ['no gzip', { 'content-encoding': 'gzip' }, text, /encoding is gzip, but/],
    ['half of it', { 'content-encoding': 'br' }, brotliCompressSync(text).subarray(0, 9), /encoding is br, but/],
    ['Latin-1', type('ISO-8859-1'), Buffer.from(text, 'latin1'), /charset ISO-8859-1 is not supported/],
    ['UTF-16 in gzip', { ...type('utf-16'), 'content-encoding': 'gzip' }, gzipSync(text), /charset utf-16 is not/],
    ['a charset whose name begins like UTF-8', type('"utf-8x"'), text, /charset utf-8x is not supported/],
  ])('that is %s is refused by name, and not asked for again', async (_, headers, body, message) => {
    const { parsed, service, send } = await serviceThatSends(200, headers, body);
    const failure = await failureOf(parsed());
    expect(failure.message).toMatch(message);
    expect(failure.extensions).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', retryable: false });
    expect(service.calls).toHaveLength(1);
    // For a write that needs nothing of its body.
    expect(await send(({ status }) => status)).toBe(200);
  });

  test.each([
    [{ 'content-encoding': 'gzip' }, (json: string) => gzipSync(json), 'UNAUTHORISED', 'UNAUTHENTICATED'],
    [{}, (json: string) => `\ufeff${json}`, 'UNAUTHORISED', 'UNAUTHENTICATED'],
    [{ 'content-encoding': 'zstd' }, (json: string) => json, null, 'BAD_USER_INPUT'],
  ])('of a refusal is read where it can be, case %#', async (headers, encode, errorCode, code) => {
    const body = encode(JSON.stringify({ errorCode: 'UNAUTHORISED' }));
    const { parsed } = await serviceThatSends(400, headers, body);
    expect(await extensionsOf(parsed())).toMatchObject({ code, upstream: { status: 400, errorCode } });
  });

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])(
    'in %s is refused as soon as it has grown too large, and gives its part of the budget back',
    async (name, encode) => {
      const bomb = encode(Buffer.alloc(8 * 1024 * 1024));
      const wire = {
        dispatch(_: unknown, handler: Dispatcher.DispatchHandler) {
          handler.onRequestStart?.(controller, {});
          handler.onResponseStart?.(controller, 200, { 'content-encoding': name });
          handler.onResponseData?.(controller, bomb);
          handler.onResponseEnd?.(controller, {});
          return true;
        },
      } as unknown as Dispatcher;
      const budget = new ByteBudget(1_200_000);
      const tooLarge = replyOf(wire, { bodyBytes: 1_000_000, budget });
      await expect(tooLarge).rejects.toMatchObject({ cause: { code: 'UPSTREAM_INVALID_RESPONSE' } });
      expect(budget.held).toBe(0);
      // What is decoded counts for the budget of all bodies, too.
      const tooMuch = replyOf(wire, { bodyBytes: 1_100_000, budget: new ByteBudget(1_000_000) });
      await expect(tooMuch).rejects.toMatchObject({ cause: { name: 'BulkheadFull' } });
    },
  );

  test('is no longer decoded when the caller has gone', async () => {
    const ended: unknown[] = [];
    const budget = new ByteBudget(100_000_000);
    const exchange = new Exchange(
      { bodyBytes: 100_000_000, budget },
      { onReply: reply => ended.push(reply), onBroken: ({ cause }) => ended.push(cause) },
    );
    exchange.onRequestStart(controller);
    exchange.onResponseStart(controller, 200, { 'content-encoding': 'gzip' });
    exchange.onResponseData(controller, gzipSync(Buffer.alloc(1_000_000)));
    exchange.onResponseEnd();
    const gone = new Abandoned('The caller has gone');
    exchange.abort(gone);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(ended).toEqual([gone]);
    expect(budget.held).toBe(0);
  });
});

describe('replies that take long to read', () => {
  const slowly = (reply: Reply) => {
    const until = performance.now() + 15;
    while (performance.now() < until);
    return reply.status;
  };
  const get = { family: 'f', address: 'base', method: 'GET', path: '/thing', safe: true } as const;
  /** An upstream whose wire answers all calls so far at once, in one turn of the event loop. */
  function upstreamThatAnswersAtOnce(connections: number) {
    const waiting: (() => void)[] = [];
    const wire = {
      dispatch(_: unknown, handler: Dispatcher.DispatchHandler) {
        handler.onRequestStart?.(controller, {});
        waiting.push(() => {
          handler.onResponseStart?.(controller, 200, {});
          handler.onResponseEnd?.(controller, {});
        });
        return true;
      },
      close: async () => {},
    } as unknown as Dispatcher;
    const answer = () => waiting.splice(0).forEach(end => void end());
    const { upstream, metadata } = upstreamAt('http://127.0.0.1:9', { wire, connections });
    const send = (
      name: string,
      read: (reply: Reply) => unknown,
      signal?: AbortSignal,
      request: UpstreamRequest = get,
    ) => upstream.send(request, { credential: apiKey, scope: scopeOf(name), metadata }, read, signal);
    return { send, waiting, answer };
  }

  test('are read one in each turn of the event loop, and hold their slots until then', async () => {
    const { send, waiting, answer } = upstreamThatAnswersAtOnce(4);
    let count = 0;
    const calls = times(8, async () => {
      await send('one', slowly);
      count += 1;
    });
    await nextTurn();
    expect(waiting).toHaveLength(4);
    answer();
    const seen: number[][] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      await nextTurn();
      seen.push([count, waiting.length]);
    }
    // The first is read as it comes. Each that is read lets another call begin.
    expect(seen).toEqual([
      [2, 2],
      [3, 3],
      [4, 4],
    ]);
    answer();
    await Promise.all(calls);
  });

  test('of one client do not hold up those of another, nor the outcome of a write', async () => {
    const { send, answer } = upstreamThatAnswersAtOnce(8);
    // All that the service has not accepted yet share one turn.
    const accepted = ['heavy', 'quiet'].map(name => send(name, () => undefined));
    await nextTurn();
    answer();
    await Promise.all(accepted);
    const order: string[] = [];
    const ask = async (name: string, request?: UpstreamRequest) => {
      await send(name, slowly, undefined, request);
      order.push(name);
    };
    const calls = [
      ...times(4, () => ask('heavy')),
      ask('quiet'),
      ask('writer', { ...get, method: 'POST', safe: false }),
    ];
    await nextTurn();
    answer();
    await Promise.all(calls);
    expect(order).toEqual(['heavy', 'writer', 'heavy', 'quiet', 'heavy', 'heavy']);
  });

  test('end early and give their slots back when their caller has gone, and are not read', async () => {
    const { send, waiting, answer } = upstreamThatAnswersAtOnce(3);
    const abort = new AbortController();
    const calls = times(3, () => send('one', slowly, abort.signal));
    const next = send('one', slowly);
    await nextTurn();
    answer();
    abort.abort();
    const results = await Promise.allSettled(calls);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await failureOf(calls[2] as Promise<unknown>)).toBeInstanceOf(Abandoned);
    expect(waiting).toHaveLength(1);
    answer();
    expect(await next).toBe(200);
  });

  test('that cannot be read fail their calls, and give their slots back', async () => {
    const { send, answer } = upstreamThatAnswersAtOnce(2);
    const fails = () => {
      throw new Error('It is not what the specification promises');
    };
    const calls = Promise.allSettled([send('one', slowly), ...times(2, () => send('one', fails))]);
    await nextTurn();
    answer();
    await nextTurn();
    answer();
    expect((await calls).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  });
});

describe('a batch', () => {
  /** Sends a batch of reads, each with its part, and collects how each call ends by its index. */
  function batchOf({ upstream, metadata }: ReturnType<typeof upstreamAt>, ...parts: Partial<UpstreamRequest>[]) {
    const ended = new Map<number, unknown>();
    const batch = upstream.sendBatch({
      requests: parts.map((part, index) => {
        return { family: 'things', address: 'base', method: 'GET', path: `/${index}`, safe: true, ...part };
      }),
      auth: { credential: apiKey, scope: scopeOf('one'), metadata },
      read: (index, { status }) => `${index}: ${status}`,
      receiver: {
        resolve: (index, value) => ended.set(index, value),
        reject: (index, error) => ended.set(index, (error as GatewayError).code ?? error.name),
      },
    });
    return { batch, ended };
  }

  test('tells how each call ended by its index, and fails alone what has no address', async () => {
    const at = await serviceThat(({ url }, response) => reply(response, url === '/2' ? 403 : 200));
    const { ended } = batchOf(at, {}, { address: 'api' }, {}, { family: 'others' });
    expect([...ended]).toEqual([[1, 'NOT_CONFIGURED']]);
    await until(() => ended.size === 4);
    expect(Object.fromEntries(ended)).toEqual({ 0: '0: 200', 1: 'NOT_CONFIGURED', 2: 'FORBIDDEN', 3: '3: 200' });
  });

  test('has one deadline, and one of its calls may end early', async () => {
    fakeTimers();
    const at = await serviceThat(silence, { timeoutMs: 500, connections: 2 });
    const before = jest.getTimerCount();
    const { batch, ended } = batchOf(at, {}, {}, {}, {});
    expect(jest.getTimerCount()).toBe(before + 1);
    await at.service.arrived(2);
    batch.abort(2, new Abandoned('No one waits for it'));
    expect([...ended]).toEqual([[2, 'Abandoned']]);
    jest.advanceTimersByTime(500);
    expect([...ended.values()]).toEqual(['Abandoned', ...times(3, () => 'UPSTREAM_TIMEOUT')]);
    expect(at.service.calls).toHaveLength(2);
  });
});

test.each([
  [10, 'answered'],
  [11, 'aborted'],
])('a reply after %d informational replies is %s', async (announcements, outcome) => {
  const { service, read } = await serviceThat((_, response) => {
    for (let index = 0; index < announcements; index += 1) response.writeProcessing();
    reply(response, 200);
  });
  const expected = outcome === 'answered' ? 'an answer' : 'UPSTREAM_INVALID_RESPONSE';
  expect(
    await read().then(
      () => 'an answer',
      error => error.code,
    ),
  ).toBe(expected);
  expect(service.calls).toHaveLength(1);
});

test.each(['headers', 'trailers'])('endless %s of short lines end with the first line that is too many', async kind => {
  let overflows = 0;
  Object.defineProperty(errors.HeadersOverflowError.prototype, 'code', {
    configurable: true,
    get: () => 'UND_ERR_HEADERS_OVERFLOW',
    set: code => {
      if (code === 'UND_ERR_HEADERS_OVERFLOW') overflows += 1;
    },
  });
  const start =
    kind === 'headers' ? '' : 'content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n';
  function* bytes() {
    yield `HTTP/1.1 200 OK\r\n${start}`;
    for (;;) yield 'a:\r\n'.repeat(100_000);
  }
  const { service, read } = await serviceThat((_, { socket }) => socket && pipeline(bytes(), socket, () => {}));
  cleanups.push(() => Reflect.deleteProperty(errors.HeadersOverflowError.prototype, 'code'));
  expect(await extensionsOf(read())).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', retryable: false });
  expect(overflows).toBe(1);
  expect(service.calls).toHaveLength(1);
});
