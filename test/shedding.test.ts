import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createLoadShedding, type LoadShedding, type Probes } from '../src/http/limits/load-shedding.js';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { demoHeaders, startGateway, type TestGateway } from './support/gateway.js';
import { until } from './support/until.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

const slow = '{ market(id: 1) { topics { id } } }';
const quick = '{ viewer { authentication } }';

const statusOf = async (url: string) => (await fetch(url)).status;

describe('with as many requests in flight as there may be', () => {
  let gateway: TestGateway;
  let abort: AbortController;
  let hanging: Promise<unknown>[];

  const isReady = async () => (await statusOf(`${gateway.url}/readyz`)) === 200;
  /** Two different queries that wait for the service. */
  const hang = () => {
    abort = new AbortController();
    hanging = ['a', 'b'].map(name =>
      fetch(`${gateway.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...demoHeaders },
        body: JSON.stringify({ query: `query ${name} ${slow}` }),
        signal: abort.signal,
      }).catch(() => undefined),
    );
  };

  beforeEach(async () => {
    sandbox.reset();
    sandbox.tell({ path: /topics/, delayMs: 2_500 });
    gateway = await startGateway({ sandbox, env: { MAX_REQUESTS_IN_FLIGHT: '2' } });
    hang();
    await until(async () => !(await isReady()));
  });
  afterEach(async () => {
    abort.abort();
    await Promise.all(hanging);
    await gateway.close();
  });

  test('the next request is refused at once, with a time to retry', async () => {
    const startedAt = performance.now();
    const { status, headers, errors, data } = await gateway.query(quick);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect({ status, data }).toEqual({ status: 503, data: undefined });
    expect(headers.get('retry-after')).toBe('1');
    expect(errors).toEqual([
      {
        message: 'The gateway is overloaded; try again in a moment',
        extensions: { code: 'RATE_LIMITED', retryable: true },
      },
    ]);
    const page = await fetch(`${gateway.url}/graphql`, { headers: { accept: 'text/html' } });
    expect(page.status).toBe(503);
  });

  test('the gateway reports that it is alive but not ready, and serves metrics', async () => {
    expect(await statusOf(`${gateway.url}/healthz`)).toBe(200);
    expect(await statusOf(`${gateway.url}/metrics`)).toBe(200);
    const ready = await fetch(`${gateway.url}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toEqual({ status: 'overloaded' });
  });

  test('it accepts new requests once the others are answered', async () => {
    await Promise.all(hanging);
    await until(isReady);
    expect((await gateway.query(quick)).status).toBe(200);
  });

  test('it accepts new requests once the clients of the others have hung up', async () => {
    abort.abort();
    await until(isReady);
    expect((await gateway.query(quick)).status).toBe(200);
  });
});

describe('a process', () => {
  let readings: { delay: number; heap: number };
  let loadShedding: LoadShedding;

  beforeEach(() => {
    jest.useFakeTimers();
    readings = { delay: 0, heap: 0 };
    const probes: Probes = { eventLoopDelayMs: () => readings.delay, heapShare: () => readings.heap, close: () => {} };
    loadShedding = createLoadShedding({ requestsInFlight: 10, eventLoopDelayMs: 100 }, probes);
  });
  afterEach(() => {
    loadShedding.close();
    jest.useRealTimers();
  });

  const over = (milliseconds: number, delay: number, heap: number) => {
    readings = { delay, heap };
    jest.advanceTimersByTime(milliseconds);
    return loadShedding.reason();
  };

  test('counts a response once, however often it says that it has closed', () => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    loadShedding.enter(response);
    expect(loadShedding.inFlight).toBe(1);
    response.emit('close');
    response.emit('close');
    expect(loadShedding.inFlight).toBe(0);
  });

  test('is overloaded while its event loop stays slow', () => {
    expect(over(500, 101, 0)).toBeUndefined();
    expect(over(500, 101, 0)).toBe('event loop');
    expect(over(500, 100, 0)).toBeUndefined();
  });

  test('is not overloaded by one long task', () => {
    expect(over(500, 5_000, 0)).toBeUndefined();
    expect(over(500, 0, 0)).toBeUndefined();
    expect(over(500, 5_000, 0)).toBeUndefined();
  });

  test('is overloaded while its heap stays full', () => {
    expect(over(500, 0, 0.93)).toBeUndefined();
    expect(over(500, 0, 0.93)).toBe('heap');
    expect(over(500, 0, 0.5)).toBeUndefined();
  });
});

test('a gateway with default limits turns requests away while tasks of 200 ms come in a row, and its liveness stays quick', async () => {
  const gateway = await startGateway({ sandbox, env: { MAX_EVENT_LOOP_DELAY_MS: '' } });
  // Twice in each sample, so that its mean stays low.
  const busy = setInterval(() => {
    const end = performance.now() + 200;
    while (performance.now() < end);
  }, 450);
  try {
    await until(async () => (await gateway.query(quick)).status === 503, 10_000);
    await until(async () => {
      const startedAt = performance.now();
      expect(await statusOf(`${gateway.url}/healthz`)).toBe(200);
      return performance.now() - startedAt < 1_000;
    });
    clearInterval(busy);
    await until(async () => (await gateway.query(quick)).status === 200);
  } finally {
    clearInterval(busy);
    await gateway.close();
  }
});

test('a gateway whose event loop is kept busy turns requests away, and recovers', async () => {
  // More than other processes on a busy machine delay it.
  const gateway = await startGateway({ sandbox, env: { MAX_EVENT_LOOP_DELAY_MS: '200' } });
  const busy = setInterval(() => {
    const end = performance.now() + 300;
    while (performance.now() < end);
  }, 1);
  try {
    await until(async () => (await gateway.query(quick)).status === 503);
    clearInterval(busy);
    await until(async () => (await gateway.query(quick)).status === 200);
  } finally {
    clearInterval(busy);
    await gateway.close();
  }
});
