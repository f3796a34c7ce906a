import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { GraphQLObjectType } from 'graphql';
import { type ConcurrencyLimit, createConcurrencyLimit } from '../src/http/limits/concurrency-limit.js';
import { MemoryBudget } from '../src/lib/memory-budget.js';
import { runYielding, takeTurn } from '../src/lib/run.js';
import { startSandbox } from '../src/sandbox/server.js';
import { createSchema } from '../src/schema.js';
import { cleanups, forSuite, forTest } from './support/cleanups.js';
import { demoHeaders, postJson, startGateway, type TestGateway } from './support/gateway.js';
import { startWithHeld } from './support/held-service.js';
import { hold } from './support/hold.js';
import { counted } from './support/metrics.js';
import { get, rawConnection } from './support/raw-http.js';
import { overWebsocket, rawSocket } from './support/streams.js';
import { block, countTurns } from './support/turns.js';
import { until } from './support/until.js';

const sandbox = forSuite(await startSandbox());

const slow = '{ market(id: 1) { topics { id } } }';
const quick = '{ viewer { authentication } }';
const otherClient = { 'x-api-key': 'demo-key-markets-only' };

/** A key has a share of its own once the service has answered under it. */
const acceptDemoKey = (gateway: TestGateway) => gateway.query('{ events(first: 1) { totalCount } }');

const statusOf = async (url: string) => (await fetch(url)).status;

describe('with as many requests in flight as there may be', () => {
  let held: Awaited<ReturnType<typeof startWithHeld>>;
  let gateway: TestGateway;
  let abort: AbortController;
  let hanging: Promise<unknown>[];

  const running = () => counted(gateway.url, 'gateway_operations_running');
  const isReady = async () => (await statusOf(`${gateway.url}/readyz`)) === 200;
  /** Two different queries that wait for the service. */
  const hang = async (headers: Record<string, string>, ...names: string[]) => {
    const before = await running();
    hanging.push(
      ...names.map(name =>
        postJson(`${gateway.url}/graphql`, { query: `query ${name} ${slow}` }, headers, abort.signal).catch(
          () => undefined,
        ),
      ),
    );
    await until(async () => (await running()) === before + names.length);
  };

  beforeEach(async () => {
    held = await startWithHeld(/topics/, { MAX_REQUESTS_IN_FLIGHT: '2' });
    ({ gateway } = held);
    await gateway.query('{ market(id: 1) { name } }', {}, otherClient);
    abort = new AbortController();
    hanging = [];
    await hang(demoHeaders, 'a', 'b');
  });
  afterEach(async () => {
    abort.abort();
    await Promise.all(hanging);
    await held.close();
  });

  test('the next request is refused at once, with a time to retry', async () => {
    // The others still wait for the service.
    const { status, headers, errors, data } = await gateway.query(quick);
    expect({ status, data }).toEqual({ status: 503, data: undefined });
    expect(headers.get('retry-after')).toBe('1');
    expect(errors).toEqual([
      {
        message: 'This client has too many requests at once; try again in a moment',
        extensions: { code: 'RATE_LIMITED', retryAfterSeconds: 1, retryable: true },
      },
    ]);
    expect(await counted(gateway.url, 'gateway_shed_total', { reason: 'share' })).toBe(1);
    await overWebsocket(gateway.url, { query: quick }).ended;
    const refused = (transport: string) =>
      counted(gateway.url, 'gateway_requests_total', { transport, outcome: 'OVER_SHARE' });
    await until(async () => (await refused('http')) === 1 && (await refused('websocket')) === 1);
    expect(await counted(gateway.url, 'gateway_requests_total', { outcome: 'OVERLOADED' })).toBe(0);
    // It would hide that others wait.
    expect(await counted(gateway.url, 'gateway_request_seconds_count')).toBe(1);
    const page = await fetch(`${gateway.url}/graphql`, { headers: { accept: 'text/html' } });
    expect(page.status).toBe(503);
  });

  test('another client, with less than its share of them, is answered over HTTP and on a WebSocket', async () => {
    expect((await gateway.query(quick, {}, otherClient)).status).toBe(200);
    const given = { headers: otherClient, params: otherClient };
    const { results, ended } = overWebsocket(gateway.url, { query: quick }, given);
    await ended;
    expect(results).toEqual([{ data: { viewer: { authentication: 'API_KEY' } } }]);
    expect((await gateway.query(quick)).status).toBe(503);
  });

  test('the gateway reports that it is alive, ready for others until it would refuse them, and serves metrics', async () => {
    expect(await isReady()).toBe(true);
    await hang(otherClient, 'c');
    expect(await counted(gateway.url, 'gateway_ready')).toBe(0);
    expect(await statusOf(`${gateway.url}/healthz`)).toBe(200);
    expect(await statusOf(`${gateway.url}/metrics`)).toBe(200);
    const ready = await fetch(`${gateway.url}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toEqual({ status: 'overloaded' });
  });

  test('it accepts new requests once the others are answered', async () => {
    held.open();
    await Promise.all(hanging);
    expect((await gateway.query(quick)).status).toBe(200);
  });

  test('it accepts new requests once the clients of the others have hung up', async () => {
    abort.abort();
    await until(async () => (await gateway.query(quick)).status === 200);
  });
});

test('a GET is in flight although its body, which is never read, has not arrived', async () => {
  const held = await startWithHeld(/topics/, { MAX_REQUESTS_IN_FLIGHT: '2' });
  const { url } = held.gateway;
  const headers = [`x-api-key: ${demoHeaders['x-api-key']}`, 'apollo-require-preflight: 1', 'content-length: 5'];
  const bytes = get(`/graphql?query=${encodeURIComponent(slow)}`, headers);
  const raws = [1, 2].map(() => rawConnection(url, bytes));
  try {
    await until(async () => (await counted(url, 'gateway_requests_in_flight')) === 2);
  } finally {
    for (const { socket } of raws) socket.destroy();
    await held.close();
  }
});

test('a GET that accepts a page counts as an operation where there is no page', async () => {
  const held = forTest(await startWithHeld(/topics/, { INTROSPECTION: 'false' }));
  const { url } = held.gateway;
  const headers = [`x-api-key: ${demoHeaders['x-api-key']}`, 'apollo-require-preflight: 1', 'accept: text/html, */*'];
  const { socket } = rawConnection(url, get(`/graphql?query=${encodeURIComponent(slow)}`, headers));
  cleanups.push(() => socket.destroy());
  await until(() => held.held() > 0);
  expect(await counted(url, 'gateway_operations_running')).toBe(1);
});

describe('the limit of operations at once', () => {
  let delay: number;
  let limit: ConcurrencyLimit;

  beforeEach(() => {
    jest.useFakeTimers();
    delay = 0;
    limit = createConcurrencyLimit(
      { eventLoopDelayMs: 20, requestsInFlight: 5_000 },
      { delayMs: () => delay, close: () => {} },
    );
  });
  afterEach(() => {
    limit.close();
    jest.useRealTimers();
  });

  /** Begins operations until one is refused, or `most` run. */
  const begin = (client: string, most = Number.POSITIVE_INFINITY) => {
    const ends: (() => void)[] = [];
    while (ends.length < most) {
      const end = limit.begin(client);
      if (end === undefined) break;
      ends.push(end);
    }
    return ends;
  };
  const afterSamples = (samples: number, sampleDelay: number) => {
    delay = sampleDelay;
    jest.advanceTimersByTime(samples * 100);
    return Math.round(limit.limit);
  };

  test('still accepts operations of other clients, up to a quarter of the limit, when it has shrunk below what one client runs', () => {
    expect(begin('a')).toHaveLength(256);
    expect(afterSamples(4, 1_000)).toBe(16);
    expect(begin('a')).toHaveLength(0);
    expect(begin('b', 3)).toHaveLength(3);
    expect(begin('c')).toHaveLength(1);
    expect(begin('d')).toHaveLength(0);
  });

  test('shrinks while work waits too long for the processor, at most by half in a sample, and never below 8', () => {
    expect(begin('a')).toHaveLength(256);
    expect(afterSamples(1, 25)).toBe(205);
    expect(afterSamples(1, 1_000)).toBe(102);
    expect(afterSamples(20, 1_000)).toBe(8);
  });

  test('shrinks from what runs, and not from what might', () => {
    begin('a', 40);
    expect(afterSamples(1, 1_000)).toBe(20);
  });

  test('does not shrink where little runs: another process may have the processor', () => {
    begin('a', 8);
    expect(afterSamples(10, 5_000)).toBe(256);
  });

  test('returns to its beginning, and grows beyond it only while all of it is used', () => {
    const ends = begin('a');
    afterSamples(20, 1_000);
    for (const end of ends) end();
    expect(afterSamples(100, 0)).toBeGreaterThanOrEqual(256);
    const least = limit.limit;
    expect(afterSamples(100, 0)).toBe(Math.round(least));
    begin('a');
    expect(afterSamples(1, 0)).toBeGreaterThan(least);
  });

  test('a slow service does not lower it: it grows up to its bound while the processor has time', () => {
    for (let sample = 0; sample < 100; sample += 1) {
      begin('a');
      afterSamples(1, 0);
    }
    expect(limit.limit).toBe(5_000);
  });

  test('a client below its share is accepted beside one that uses all of it, and many such clients are bounded', () => {
    begin('heavy');
    expect(limit.begin('heavy')).toBeUndefined();
    expect(begin('quiet', 10)).toHaveLength(10);
    expect(begin('quiet')).toHaveLength(54);
    expect(limit.begin('heavy')).toBeUndefined();
    for (let client = 0; client < 1_000; client += 1) limit.begin(`client ${client}`);
    expect(limit.running).toBe(320);
  });

  test('what is refused is the doing of a client that runs most, or far more than others', () => {
    // As a flood begins: the service has accepted its credential in the middle.
    begin('its network', 156);
    begin('heavy');
    begin('quiet', 10);
    const clients = ['its network', 'heavy', 'quiet', 'none'];
    expect(clients.map(limit.isOverShare)).toEqual([true, true, false, false]);
    for (let client = 0; client < 54; client += 1) limit.begin(`client ${client}`);
    expect(limit.begin('client 0')).toBeUndefined();
    expect(limit.isOverShare('client 0')).toBe(false);
  });

  test('what ends at once still counts until the turn of the event loop is over', () => {
    for (let operation = 0; operation < 256; operation += 1) limit.begin('a')?.();
    expect(limit.begin('a')).toBeUndefined();
    jest.advanceTimersByTime(0);
    expect(limit.begin('a')).toBeDefined();
  });
});

test('the limit shrinks while work is put off to later turns without a pause, though each turn is short', async () => {
  const limit = createConcurrencyLimit({ eventLoopDelayMs: 20, requestsInFlight: 5_000 });
  let isOver = false;
  const work = async (client: string) => {
    while (!isOver) {
      await runYielding(client, () => {
        for (const until = performance.now() + 5; performance.now() < until; );
      });
    }
  };
  const working = ['a', 'b', 'c', 'd', 'e', 'f'].map(work);
  try {
    for (let operation = 0; operation < 100; operation += 1) limit.begin('a');
    await until(() => limit.limit <= 20);
  } finally {
    isOver = true;
    limit.close();
    await Promise.all(working);
  }
});

test('a process is overloaded while its heap stays full', () => {
  jest.useFakeTimers();
  cleanups.push(() => jest.useRealTimers());
  let heap = 0;
  const budget = new MemoryBudget(undefined, undefined, () => heap);
  const afterSample = (share: number) => {
    heap = share;
    jest.advanceTimersByTime(500);
    return budget.isNearlyFull;
  };
  expect([afterSample(0.93), afterSample(0.93), afterSample(0.5)]).toEqual([false, true, false]);
  expect([afterSample(0.93), afterSample(0.5), afterSample(0.93)]).toEqual([false, false, false]);
});

test('a client that has all operations that may run gets 503, another client is answered, and the rest comes later', async () => {
  const held = forTest(await startWithHeld(/topics/, { MCP_OPERATIONS: 'operations' }));
  const { gateway } = held;
  await acceptDemoKey(gateway);
  const ask = (name: string) => gateway.query(`query ${name} ${slow}`);
  const asked = Array.from({ length: 400 }, (_, index) => ask(`q${index}`));
  const first = await Promise.race(asked);
  expect({ status: first.status, code: first.errors?.[0].extensions.code }).toEqual({
    status: 503,
    code: 'RATE_LIMITED',
  });
  expect(first.headers.get('retry-after')).toBe('1');
  const listTools = (headers: object) =>
    postJson(`${gateway.url}/mcp`, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { ...headers });
  let message: Response | undefined;
  await until(async () => {
    // What may run grows while all of it is used: more come in than it grows by.
    asked.push(...Array.from({ length: 50 }, (_, index) => ask(`q${asked.length + index}`)));
    message = await listTools(demoHeaders);
    return message.status === 503;
  });
  expect(JSON.parse((await message?.text()) ?? '').error.data.code).toBe('RATE_LIMITED');
  expect((await listTools(otherClient)).status).toBe(200);
  const other = await gateway.query(quick, {}, otherClient);
  expect(other.status).toBe(200);
  expect(await statusOf(`${gateway.url}/graphql/assets/missing.js`)).toBe(404);
  held.open();
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  const refused = statuses.filter(status => status === 503).length + 1;
  expect(await counted(gateway.url, 'gateway_shed_total', { reason: 'share' })).toBe(refused);
  await until(
    async () => (await counted(gateway.url, 'gateway_requests_total', { outcome: 'OVER_SHARE' })) === refused,
  );
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect(statuses.filter(status => status === 200).length).toBeGreaterThanOrEqual(256);
  expect((await ask('again')).status).toBe(200);
});

test('made-up keys of one address have one share together, and an accepted key is answered beside them', async () => {
  sandbox.reset();
  for (let told = 0; told < 400; told += 1) sandbox.tell({ path: /topics/, delayMs: 60_000 });
  const gateway = forTest(await startGateway({ sandbox }));
  const abort = new AbortController();
  const asked: Promise<Response>[] = [];
  cleanups.push(() => Promise.allSettled(asked));
  cleanups.push(() => abort.abort());
  await acceptDemoKey(gateway);
  for (let index = 0; index < 400; index += 1) {
    const body = JSON.stringify({ query: `query q${index} ${slow}` });
    const headers = { 'content-type': 'application/json', 'x-api-key': `made-up-${index}` };
    asked.push(fetch(`${gateway.url}/graphql`, { method: 'POST', headers, body, signal: abort.signal }));
  }
  expect((await Promise.race(asked)).status).toBe(503);
  for (const name of ['a', 'b', 'c']) {
    expect((await gateway.query(`query ${name} ${quick}`)).status).toBe(200);
  }
});

test('the limit follows the event loop of the process, and is in the metrics', async () => {
  sandbox.reset();
  sandbox.tell({ path: /topics/, delayMs: 60_000 });
  const gateway = forTest(await startGateway({ sandbox, env: { MAX_EVENT_LOOP_DELAY_MS: '' } }));
  const abort = new AbortController();
  const hanging = Array.from({ length: 100 }, (_, index) =>
    postJson(`${gateway.url}/graphql`, { query: `query q${index} ${slow}` }, demoHeaders, abort.signal).catch(
      () => undefined,
    ),
  );
  const busy = setInterval(() => {
    const end = performance.now() + 100;
    while (performance.now() < end);
  }, 1);
  const limit = async () => {
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    return Number(/^gateway_operations_limit (\S+)/m.exec(metrics)?.[1]);
  };
  cleanups.push(() => Promise.all(hanging));
  cleanups.push(() => abort.abort());
  cleanups.push(() => clearInterval(busy));
  await until(async () => (await limit()) < 100);
  clearInterval(busy);
  await until(async () => (await limit()) >= 256);
});

test('an operation counts once its body has arrived, until its client hangs up', async () => {
  sandbox.reset();
  sandbox.tell({ path: /topics/, delayMs: 60_000 });
  const gateway = forTest(await startGateway({ sandbox }));
  const body = JSON.stringify({ query: slow });
  const head = `POST /graphql HTTP/1.1\r\nhost: any\r\ncontent-type: application/json\r\nx-api-key: demo-key-subscribed\r\ncontent-length: ${body.length}\r\n`;
  const running = async () => {
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    return Number(/^gateway_operations_running (\S+)/m.exec(metrics)?.[1]);
  };
  for (const more of ['', 'x-explain: 1\r\n']) {
    for (const sent of [body.slice(0, 5), body]) {
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
      await new Promise(resolve => socket.write(`${head}${more}\r\n${sent}`, resolve));
      if (sent === body) await until(async () => (await running()) > 0);
      else {
        // The gateway has read it before the second of these.
        for (let round = 0; round < 2; round += 1) expect(await running()).toBe(0);
      }
      socket.destroy();
      await until(async () => (await running()) === 0);
    }
  }
});

describe('work that goes on in promises', () => {
  const begun: string[] = [];
  const turns: number[] = [];
  let counting: ReturnType<typeof countTurns>;
  beforeEach(() => {
    begun.length = 0;
    turns.length = 0;
    counting = countTurns();
  });
  afterEach(() => counting.stop());

  const work = async (client: string, name: string, isLong = true) => {
    await takeTurn(client);
    await new Promise(resolve => process.nextTick(resolve));
    if (isLong) block();
    begun.push(name);
    turns.push(counting.count());
  };

  test('begins in a turn of its own where it is long, and clients take turns', async () => {
    const names = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'];
    await Promise.all(names.map(name => work(name.slice(0, 1), name)));
    expect(begun).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'a4']);
    for (const [index, turn] of turns.slice(2).entries()) expect(turn).toBeGreaterThan(turns[index] ?? 0);
  });

  test('waits for no other turn where it is short', async () => {
    await Promise.all(Array.from({ length: 100 }, (_, index) => work('a', `${index}`, false)));
    expect(new Set(turns).size).toBeLessThan(100);
  });
});

describe('values of many subscriptions that wait for one call', () => {
  const watched = 30;
  const fieldOf = (type: string, field: string) => {
    const found = (createSchema().getType(type) as GraphQLObjectType).getFields()[field];
    if (found === undefined) throw new Error(`${type} has no ${field}`);
    return found;
  };
  const companies = fieldOf('Market', 'companies');
  const totalCount = fieldOf('CompanyConnection', 'totalCount');
  const { resolve } = companies;
  const query = `subscription ($first: Int!) {
    jobProgress(marketId: 1) { market { companies(first: $first) { totalCount nodes { domain } } } }
  }`;
  let asked: number;
  let turns: number[];
  let counting: ReturnType<typeof countTurns>;
  let gateway: TestGateway;
  let socket: ReturnType<typeof rawSocket>;
  let release: () => void;

  beforeEach(async () => {
    asked = 0;
    turns = [];
    counting = countTurns();
    companies.resolve = (...given) => {
      asked += 1;
      return resolve?.(...given);
    };
    totalCount.resolve = () => {
      block();
      turns.push(counting.count());
      return 0;
    };
    sandbox.reset();
    release = hold(sandbox, /companies/);
    gateway = await startGateway({ sandbox });
    socket = rawSocket(gateway.url);
    await socket.introduce();
    for (let first = 1; first <= watched; first += 1) {
      socket.send({ id: `${first}`, type: 'subscribe', payload: { query, variables: { first } } });
    }
    await until(() => asked === watched);
    // What waits for no call is not held up.
    const { results, stop } = overWebsocket(gateway.url, {
      query: 'subscription { jobProgress(marketId: 1) { phase } }',
    });
    await until(() => results.length === 1);
    stop();
  });
  afterEach(async () => {
    Object.assign(companies, { resolve });
    Object.assign(totalCount, { resolve: undefined });
    counting.stop();
    socket.socket.terminate();
    await gateway.close();
  });

  test('are executed in turns of the event loop of their own, and none is lost', async () => {
    release();
    await until(() => turns.length === watched);
    const atOnce = turns.map(turn => turns.filter(other => other === turn).length);
    expect(Math.max(...atOnce)).toBeLessThanOrEqual(2);
    await until(() => socket.messages.filter(({ type }) => type === 'next').length === watched);
    for (const { payload } of socket.messages.filter(({ type }) => type === 'next')) {
      expect(payload.errors).toBeUndefined();
    }
  });

  test('are not executed once their clients have gone', async () => {
    release();
    await until(() => turns.length > 0);
    socket.socket.terminate();
    await until(async () => (await counted(gateway.url, 'gateway_live_pollers')) === 0);
    for (let turn = 0; turn < watched; turn += 1) await nextTurn();
    expect(turns.length).toBeLessThan(watched);
  });
});
