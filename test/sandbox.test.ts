// The service that stands in for the real one in all other tests: only what their gateways do not ask of it.
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { clientOf } from './support/sandbox-client.js';
import { until } from './support/until.js';

const START = Date.parse('2026-03-10T12:00:00.000Z');
const EVENTS = '/v2/events-monitor/events';

let time = START;
let sandbox: Sandbox;
let client: ReturnType<typeof clientOf>;

beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date(time) });
  client = clientOf(sandbox);
});
afterAll(() => sandbox.close());
beforeEach(() => {
  time = START;
  sandbox.reset();
});

describe('over HTTP, not logged and not affected by rules,', () => {
  const control = (method: string, what: string, body?: unknown) => client.call(method, `/_sandbox/${what}`, body, {});

  test('rules are added and removed', async () => {
    expect((await control('POST', 'rules', { path: EVENTS, status: 500, times: 1 })).status).toBe(204);
    expect((await control('POST', 'rules', { pathPattern: '.*', status: 418 })).status).toBe(204);
    expect((await client.get(EVENTS)).status).toBe(500);
    expect((await client.get(EVENTS)).status).toBe(418);
    expect((await control('DELETE', 'rules')).status).toBe(204);
    expect((await client.get(EVENTS)).status).toBe(200);
  });

  test('events are published and updated', async () => {
    const published = await control('POST', 'events', { title: 'Told from elsewhere' });
    expect(published.status).toBe(201);
    expect(sandbox.data.events[0]).toEqual(published.body);
    time += 1_000;
    const touched = await control('POST', 'events', { _id: published.body._id });
    expect(touched.status).toBe(200);
    expect(touched.body).toEqual({ ...published.body, lastUpdated: new Date(time).toISOString() });
    expect((await control('POST', 'events')).status).toBe(201);
  });
});

describe('the world', () => {
  test('every sandbox has the same world and responses', async () => {
    const twin = await startSandbox({ now: () => new Date(START) });
    try {
      // `toEqual` takes seconds for a million numbers.
      for (const part of ['markets', 'events', 'observations'] as const) {
        expect([part, isDeepStrictEqual(twin.data[part], sandbox.data[part])]).toEqual([part, true]);
      }
      const session = async ({ origin, demo }: Sandbox) =>
        (await fetch(`${origin}/v2/auth/session`, { headers: { 'x-api-key': demo.keys[0]?.key ?? '' } })).json();
      expect(await session(twin)).toEqual(await session(sandbox));
    } finally {
      await twin.close();
    }
  });
});

describe('a sandbox', () => {
  let sandbox: Sandbox | undefined;
  afterEach(() => sandbox?.close());

  test('has news by itself, until it is reset', async () => {
    sandbox = await startSandbox({ newsEveryMs: 5 });
    const { events } = sandbox.data;
    const live = sandbox;
    await until(() => live.data.events.length >= events.length + 3);
    const before = live.data.events.length;
    live.reset();
    expect(live.data.events.length).toBeLessThan(before);
    await until(() => live.data.events.length > events.length);
  });
});
