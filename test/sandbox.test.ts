// The service that stands in for the real one in all other tests: only what their gateways do not ask of it.
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type MarketEvent, type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { clientOf } from './support/sandbox-client.js';
import { until } from './support/until.js';

const START = Date.parse('2026-03-10T12:00:00.000Z');
const DISCOVERY = 20_000;
const PUBLISH = 10_000;
const EVENTS = '/v2/events-monitor/events';

let time = START;
let sandbox: Sandbox;
let client: ReturnType<typeof clientOf>;

beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date(time), discoveryMs: DISCOVERY, publishMs: PUBLISH });
  client = clientOf(sandbox);
});
afterAll(() => sandbox.close());
beforeEach(() => {
  time = START;
  sandbox.reset();
});

const failure = (errorCode: string) => ({ success: false, errorCode, message: expect.any(String) });

describe('the event list', () => {
  const list = async (query = '') => (await client.get(`/v2/events-monitor/events${query}`)).body;
  const isHit = ({ taxonomicMatches }: MarketEvent, least = 2) =>
    taxonomicMatches.impactedEntities.some(({ impact }) => impact.likelihood >= least && impact.severity >= least);

  test('returns by default ten events since yesterday with high scores, newest first', async () => {
    const { meta, data } = await list();
    const expected = sandbox.data.events.filter(event => event.lastUpdated >= '2026-03-09T00:00' && isHit(event));
    expect(expected.length).toBeGreaterThanOrEqual(60);
    expect(data).toEqual(expected.slice(0, 10));
    expect(meta).toEqual({
      totalItems: expected.length,
      totalPages: Math.ceil(expected.length / 10),
      currentPage: 1,
      pageSize: 10,
      unfilteredTotalItems: sandbox.data.events.length,
      unfilteredTotalPages: Math.ceil(sandbox.data.events.length / 10),
    });
    const order = sandbox.data.events.map(event => event.lastUpdated);
    expect(order).toEqual([...order].sort().reverse());
  });

  test('refuses what is no number, no score and no date, and what comes twice', async () => {
    const wrong =
      'pageSize=0 pageSize=101 pageSize=ten pageSize=1.5 page=0 page=-1 minLikelihood=4 maxLikelihood=-1 minSeverity=1.5 maxSeverity=high from=yesterday to=2026-02-30 page=1&page=2';
    for (const query of wrong.split(' ')) {
      const { status, body } = await client.get(`/v2/events-monitor/events?${query}`);
      expect([query, status, body]).toEqual([query, 400, failure('QUERY_VALIDATION_FAILED')]);
      expect(body.message).toContain(query.split('=')[0]);
    }
  });

  test('reads a date-only bound as the first or last millisecond of that day', async () => {
    for (const [_id, lastUpdated] of [
      ['before', '2026-02-01T23:59:59.999Z'],
      ['first', '2026-02-02T00:00:00.000Z'],
      ['last', '2026-02-03T23:59:59.999Z'],
      ['after', '2026-02-04T00:00:00.000Z'],
    ] as const)
      sandbox.publishEvent({ _id, lastUpdated });
    const ids = async (query: string) => (await list(query)).data.map((event: MarketEvent) => event._id);
    expect(await ids('?from=2026-02-02&to=2026-02-03')).toEqual(['last', 'first']);
    expect(await ids('?from=2026-02-02T00:00:00.001Z&to=2026-02-04T01:00:00%2B01:00')).toEqual(['after', 'last']);
    expect(await ids('?from=2026-02-01T00:00:00&to=2026-02-02T00:00')).toEqual(['first', 'before']);
  });

  test('matches if one entity is within all four score bounds', async () => {
    const impacted = (likelihood: number, severity: number) => ({
      name: 'Cement',
      entityType: 'category',
      mappedFrom: 'cement',
      impact: { likelihood, severity, rationale: '' },
    });
    const search = 'search=scoretest';
    const title = 'Scoretest';
    sandbox.publishEvent({
      _id: 'split',
      title,
      taxonomicMatches: { impactedEntities: [impacted(3, 0), impacted(0, 3)] },
    });
    sandbox.publishEvent({ _id: 'mild', title, taxonomicMatches: { impactedEntities: [impacted(1, 1)] } });
    sandbox.publishEvent({ _id: 'grave', title, taxonomicMatches: { impactedEntities: [impacted(2, 3)] } });
    const ids = async (query: string) =>
      (await list(`?${search}&${query}`)).data.map((event: MarketEvent) => event._id);
    expect(await ids('')).toEqual(['grave']);
    expect(await ids('minLikelihood=1&minSeverity=1')).toEqual(['grave', 'mild']);
    expect(await ids('minLikelihood=0&minSeverity=3')).toEqual(['grave', 'split']);
    expect(await ids('minSeverity=0&maxSeverity=0')).toEqual(['split']);
    expect(await ids('minLikelihood=0&maxLikelihood=1&minSeverity=0&maxSeverity=1')).toEqual(['mild']);
    expect(await ids('minLikelihood=null&minSeverity=')).toEqual(['grave', 'mild', 'split']);
    expect(await ids('minLikelihood=3&maxLikelihood=1')).toEqual([]);
  });
});

describe('authentication', () => {
  const events = '/v2/events-monitor/events?pageSize=1';
  test('is required with one of the credentials that are known', async () => {
    const unknown = [{}, { 'x-api-key': 'wrong' }, { authorization: 'Bearer wrong' }, { cookie: 'svc_session=wrong' }];
    for (const headers of unknown) {
      const { status, body } = await client.call('GET', events, undefined, headers);
      expect([status, body]).toEqual([401, failure('UNAUTHORISED')]);
    }
  });

  test('with the session of a key works as bearer token and as session id for an hour', async () => {
    const { status, body } = await client.get('/v2/auth/session');
    expect(status).toBe(200);
    expect(body).toEqual({
      idToken: expect.any(String),
      accessToken: expect.any(String),
      refreshToken: expect.any(String),
      expiresIn: 3600,
      checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const attempts = async () =>
      Promise.all([
        client.get(events, { authorization: `Bearer ${body.accessToken}` }),
        client.get(events, { authorization: `Bearer ${body.idToken}` }),
        client.get(`${events}&sessionId=${body.accessToken}`, {}),
        client.get(`${events}&sessionId=${body.idToken}`, {}),
        client.get(events, { authorization: `Bearer ${body.refreshToken}` }),
      ]).then(answers => answers.map(answer => answer.status));
    expect(await attempts()).toEqual([200, 200, 200, 401, 401]);
    time += 3599_000;
    expect(await attempts()).toEqual([200, 200, 200, 401, 401]);
    time += 1000;
    expect(await attempts()).toEqual([401, 401, 401, 401, 401]);
  });
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
