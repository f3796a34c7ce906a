import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { clientOf } from './support/sandbox-client.js';

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

describe('the call log', () => {
  test('contains each call with its query, status, time and kind of credential', async () => {
    const { body } = await client.get('/v2/auth/session');
    const { headers } = await client.post(
      '/v2/auth/sign-in',
      { email: 'ada@team.example', password: 'sandbox-ada' },
      {},
    );
    time += 5_000;
    await client.get(`${EVENTS}?page=0`, { authorization: `Bearer ${body.idToken}` });
    await client.get(`${EVENTS}?sessionId=${body.accessToken}`, {});
    await client.get('/nothing', { cookie: headers.getSetCookie()[0]?.split(';')[0] ?? '' });
    const at = new Date(START).toISOString();
    const later = new Date(START + 5_000).toISOString();
    expect(sandbox.calls.list()).toEqual([
      { method: 'GET', path: '/v2/auth/session', status: 200, at, credential: 'apiKey' },
      { method: 'POST', path: '/v2/auth/sign-in', status: 200, at, credential: 'none' },
      { method: 'GET', path: `${EVENTS}?page=0`, status: 400, at: later, credential: 'bearer' },
      {
        method: 'GET',
        path: `${EVENTS}?sessionId=${body.accessToken}`,
        status: 200,
        at: later,
        credential: 'sessionId',
      },
      { method: 'GET', path: '/nothing', status: 404, at: later, credential: 'cookie' },
    ]);
  });

  test('counts all calls, those on a path, or those that match a pattern', async () => {
    for (const path of [EVENTS, `${EVENTS}?page=2`, '/v2/markets/1/jobs']) await client.get(path);
    expect(sandbox.calls.count()).toBe(3);
    expect(sandbox.calls.count(EVENTS)).toBe(2);
    expect(sandbox.calls.count(/page=2/g)).toBe(1);
    expect(sandbox.calls.count('/v2')).toBe(0);
    sandbox.calls.clear();
    expect(sandbox.calls.list()).toEqual([]);
  });
});

describe('a rule', () => {
  test('sets status and error code for its path and method only', async () => {
    sandbox.tell({
      method: 'get',
      path: EVENTS,
      status: 503,
      errorCode: 'OVERLOADED',
      headers: { 'retry-after': '7' },
    });
    const { status, body, headers } = await client.get(`${EVENTS}?page=1`);
    expect(status).toBe(503);
    expect(body).toEqual({ success: false, errorCode: 'OVERLOADED', message: expect.any(String) });
    expect(headers.get('retry-after')).toBe('7');
    expect((await client.post(EVENTS)).status).toBe(404);
    expect((await client.get('/v2/markets/1/jobs')).status).toBe(200);
  });

  test('derives the code from the status and the status from the code', async () => {
    sandbox.tell({ path: /^\/v2\/markets\/1/, status: 409 });
    sandbox.tell({ path: /^\/v2\/markets\/2/, errorCode: 'FORBIDDEN' });
    sandbox.tell({ path: /^\/v2\/markets\/3/, status: 502 });
    expect((await client.get('/v2/markets/1/jobs')).body.errorCode).toBe('CONFLICT');
    expect((await client.get('/v2/markets/2/jobs')).status).toBe(403);
    expect((await client.get('/v2/markets/3/jobs')).body.errorCode).toBe('INTERNAL_SERVER_ERROR');
  });

  test('applies the given number of times, in the order of the rules, until it is removed', async () => {
    sandbox.tell({ path: EVENTS, times: 2, status: 500 });
    const takeBack = sandbox.tell({ path: EVENTS, status: 429 });
    const statuses = async (count: number) => {
      const found = [];
      for (let i = 0; i < count; i++) found.push((await client.get(EVENTS)).status);
      return found;
    };
    expect(await statuses(4)).toEqual([500, 500, 429, 429]);
    takeBack();
    expect(await statuses(1)).toEqual([200]);
    sandbox.tell({ path: EVENTS, status: 500 });
    sandbox.forget();
    expect(await statuses(1)).toEqual([200]);
  });

  test('delays the real response', async () => {
    sandbox.tell({ path: '/v2/markets/1/jobs', delayMs: 400 });
    const begun = performance.now();
    const slow = client.get('/v2/markets/1/jobs').then(({ status }) => ({ status, took: performance.now() - begun }));
    expect((await client.get('/v2/markets/2/jobs')).status).toBe(200);
    const { status, took } = await slow;
    expect(status).toBe(200);
    expect(took).toBeGreaterThanOrEqual(390);
  });

  test('adds headers to the real response', async () => {
    sandbox.tell({ path: EVENTS, headers: { 'cache-control': 'no-store' } });
    const { headers, body } = await client.get(EVENTS);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body.data).toHaveLength(10);
  });

  test('sends a body unchanged', async () => {
    sandbox.tell({ path: EVENTS, body: '{"meta":' });
    const answer = await fetch(sandbox.origin + EVENTS);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await answer.text()).toBe('{"meta":');
    sandbox.forget();
    sandbox.tell({ path: EVENTS, status: 502, body: '<h1>Bad gateway</h1>', headers: { 'content-type': 'text/html' } });
    expect(await client.get(EVENTS)).toMatchObject({ status: 502, body: '<h1>Bad gateway</h1>' });
  });

  test('sends a success without a body if it has none', async () => {
    sandbox.tell({ path: EVENTS, status: 204 });
    expect((await fetch(sandbox.origin + EVENTS)).status).toBe(204);
  });

  test('breaks the connection before the response', async () => {
    sandbox.tell({ path: EVENTS, breakConnection: 'before' });
    await expect(fetch(sandbox.origin + EVENTS)).rejects.toThrow();
    expect(sandbox.calls.list()).toMatchObject([{ status: null }]);
  });

  test('breaks the connection after the headers', async () => {
    sandbox.tell({ path: EVENTS, breakConnection: 'after-headers' });
    const answer = await fetch(sandbox.origin + EVENTS);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
  });

  test('breaks the connection in the middle of the body', async () => {
    sandbox.tell({ path: EVENTS, breakConnection: 'mid-body', body: '0123456789' });
    const answer = await fetch(sandbox.origin + EVENTS);
    const reader = answer.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('01234');
    await expect(reader?.read()).rejects.toThrow();
  });

  test('hangs until the client gives up, and does not keep the sandbox from closing', async () => {
    const own = await startSandbox();
    own.tell({ path: EVENTS, hang: true });
    await expect(fetch(own.origin + EVENTS, { signal: AbortSignal.timeout(200) })).rejects.toThrow(/timeout/);
    const cut = expect(fetch(own.origin + EVENTS)).rejects.toThrow();
    while (own.calls.count() < 2) await new Promise(setImmediate);
    await own.close();
    await cut;
  });
});

describe('events', () => {
  const newest = async () => (await client.get(`${EVENTS}?pageSize=1`)).body.data[0];

  test('appear at once when they are published, with generated values for missing fields', async () => {
    time += 60_000;
    const event = sandbox.publishEvent({ title: 'Lock at Terneuzen blocked' });
    expect(event).toMatchObject({
      _id: expect.stringMatching(/^[0-9a-f]{24}$/),
      title: 'Lock at Terneuzen blocked',
      lastUpdated: new Date(START + 60_000).toISOString(),
    });
    expect(event.vectorIndex.embeddings).toHaveLength(1536);
    expect(await newest()).toEqual(event);
    expect(sandbox.data.events[0]).toEqual(event);
  });

  test('move to the front when they are updated', async () => {
    const old = sandbox.data.events.find(event => event.lastUpdated < '2026-03-08');
    time += 60_000;
    const touched = sandbox.touchEvent(old?._id ?? '', { title: 'Now worse' });
    expect(touched).toEqual({ ...old, title: 'Now worse', lastUpdated: new Date(time).toISOString() });
    expect(sandbox.data.events[0]).toEqual(touched);
    expect(() => sandbox.touchEvent('nothing')).toThrow('Event nothing does not exist');
  });
});

test('a reset restores the initial state', async () => {
  const before = (await client.get(EVENTS)).body;
  const { body: session } = await client.get('/v2/auth/session');
  sandbox.publishEvent();
  sandbox.tell({ path: EVENTS, status: 500 });
  sandbox.revoke(sandbox.demo.keys[0]?.key ?? '');
  await client.get(EVENTS);
  sandbox.reset();
  expect(sandbox.calls.count()).toBe(0);
  expect((await client.get(EVENTS)).body).toEqual(before);
  expect((await client.get(`${EVENTS}?sessionId=${session.accessToken}`, {})).status).toBe(401);
});

describe('over HTTP, not logged and not affected by rules,', () => {
  const control = (method: string, what: string, body?: unknown) => client.call(method, `/_sandbox/${what}`, body, {});

  test('calls are listed and cleared', async () => {
    await client.get(EVENTS);
    expect((await control('GET', 'calls')).body).toEqual(sandbox.calls.list());
    expect((await control('DELETE', 'calls')).status).toBe(204);
    expect((await control('GET', 'calls')).body).toEqual([]);
  });

  test('rules are added and removed', async () => {
    expect((await control('POST', 'rules', { path: EVENTS, status: 500, times: 1 })).status).toBe(204);
    expect((await control('POST', 'rules', { pathPattern: '.*', status: 418 })).status).toBe(204);
    expect((await client.get(EVENTS)).status).toBe(500);
    expect((await client.get(EVENTS)).status).toBe(418);
    expect((await control('DELETE', 'rules')).status).toBe(204);
    expect((await client.get(EVENTS)).status).toBe(200);
  });

  test('an invalid rule is refused', async () => {
    for (const rule of [
      { status: 500 },
      { path: '/', pathPattern: '/' },
      { path: '/', state: 500 },
      { path: '/', times: 0 },
    ]) {
      expect((await control('POST', 'rules', rule)).status).toBe(400);
    }
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

test('a variant sends what belongs to a market in another envelope, until it is reset', async () => {
  const jobs = async () => (await client.get('/v2/discovery/4/jobs')).body;
  const { metadata, data } = await jobs();
  expect({ metadata, data }).toEqual({ metadata: { marketId: 4 }, data: [expect.any(Object)] });
  sandbox.vary({ envelope: 'data' });
  expect(await jobs()).toEqual({ data });
  sandbox.vary({ envelope: 'none' });
  expect(await jobs()).toEqual(data);
  sandbox.reset();
  expect(await jobs()).toEqual({ metadata, data });
});
