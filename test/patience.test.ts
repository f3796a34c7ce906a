import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { demoHeaders, startGateway, type TestGateway } from './support/gateway.js';
import { until } from './support/until.js';

let sandbox: Sandbox;
let gateway: TestGateway;

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

beforeEach(async () => {
  sandbox.reset();
  gateway = await startGateway({ sandbox, env: { UPSTREAM_TIMEOUT_MS: '600', UPSTREAM_CONNECTIONS: '2' } });
});
afterEach(() => gateway.close());

const events = '/v2/events-monitor/events';

/** Asks, and hangs up when the signal says so. */
const ask = (query: string, signal?: AbortSignal) =>
  fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...demoHeaders },
    body: JSON.stringify({ query }),
    ...(signal && { signal }),
  }).then(response => response.json());

const countOf = (first: number) => `events(first: ${first}) { totalCount }`;

const abandonedCalls = async (): Promise<number> => {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const counts = [...text.matchAll(/^gateway_upstream_call_seconds_count\{.*outcome="abandoned".*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
};

describe('a client that disconnects', () => {
  test('aborts an upstream call that only it waits for', async () => {
    sandbox.tell({ path: events, hang: true });
    const client = new AbortController();
    const asked = ask(`{ ${countOf(1)} }`, client.signal);
    await until(() => sandbox.calls.count(events) === 1);
    client.abort();
    await expect(asked).rejects.toThrow();
    await until(async () => (await abandonedCalls()) === 1);
  });

  test('does not abort a call that others wait for', async () => {
    sandbox.tell({ path: events, delayMs: 400 });
    const client = new AbortController();
    const left = ask(`{ ${countOf(2)} }`, client.signal);
    await until(() => sandbox.calls.count(events) === 1);
    // Its market is asked for in the moment in which it begins to wait for the events.
    const stays = ask(`{ ${countOf(2)} market(id: 1) { name } }`);
    await until(() => sandbox.calls.count(/markets\/1$/) === 1);
    client.abort();
    await expect(left).rejects.toThrow();
    expect(await stays).toEqual({
      data: { events: { totalCount: expect.any(Number) }, market: { name: expect.any(String) } },
    });
    expect(sandbox.calls.count(events)).toBe(1);
  });
});

test('returns UPSTREAM_TIMEOUT after the time of one call, for queued requests too', async () => {
  sandbox.tell({ path: events, hang: true });
  const startedAt = performance.now();
  const answers = await Promise.all([3, 4, 5].map(first => ask(`{ ${countOf(first)} }`)));
  expect(performance.now() - startedAt).toBeLessThan(3_000);
  for (const { errors } of answers as { errors: { extensions: object }[] }[]) {
    expect(errors[0]?.extensions).toMatchObject({ code: 'UPSTREAM_TIMEOUT', retryable: true });
  }
});
