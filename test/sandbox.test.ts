// The service that stands in for the real one in all other tests: only what their gateways do not ask of it.
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { EventStore } from '../src/sandbox/event-store.js';
import { createNews } from '../src/sandbox/news.js';
import { type MarketEvent, type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { createWorld, type World } from '../src/sandbox/world/world.js';
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

  test('covers by default yesterday and today', async () => {
    for (const [_id, lastUpdated] of [
      ['too old', '2026-03-08T23:59:59.999Z'],
      ['oldest', '2026-03-09T00:00:00.000Z'],
      ['newest', '2026-03-10T23:59:59.999Z'],
      ['too new', '2026-03-11T00:00:00.000Z'],
    ] as const)
      sandbox.publishEvent({ _id, lastUpdated });
    const { meta } = await list();
    const all = [...(await list('?pageSize=100')).data, ...(await list('?pageSize=100&page=2')).data];
    const ids = all.map((event: MarketEvent) => event._id);
    expect(ids).toHaveLength(meta.totalItems);
    expect(ids[0]).toBe('newest');
    expect(ids.at(-1)).toBe('oldest');
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
  test.each([
    ['GET', '/v2/events-monitor/events'],
    ['GET', '/v2/events-monitor/observation/x'],
    ['GET', '/v2/auth/session'],
    ['POST', '/v2/discovery/search-criteria'],
    ['POST', '/v2/discovery/search-criteria/keywords'],
    ['POST', '/v2/discovery/5/start'],
    ['GET', '/v2/discovery/5/jobs'],
    ['PATCH', '/v2/discovery/5/companies/reviews'],
    ['GET', '/v2/discovery/5/search-criteria'],
    ['GET', '/v2/discovery/5/search-criteria/history'],
    ['POST', '/v2/discovery/5/publish'],
    ['GET', '/v2/markets/1/jobs'],
    ['GET', '/v2/markets/1/companies'],
    ['GET', '/v2/markets/1/esg'],
    ['POST', '/api/markets/1/topics'],
    ['POST', '/api/markets/suggest'],
    ['POST', '/api/markets/1/export-csv'],
    ['GET', '/stage/dev/markets/1'],
  ])('is required for %s %s', async (method, path) => {
    for (const headers of [
      {},
      { 'x-api-key': 'wrong' },
      { authorization: 'Bearer wrong' },
      { cookie: 'svc_session=wrong' },
    ]) {
      const { status, body } = await client.call(method, path, undefined, headers);
      expect(status).toBe(401);
      expect(body).toEqual(failure('UNAUTHORISED'));
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

describe('the news', () => {
  let time = START;
  let world: World;
  beforeAll(() => {
    world = createWorld(START);
  });
  const create = () => {
    const now = () => time;
    const events = new EventStore(world, now);
    return { events, publishNext: createNews(events, now) };
  };

  test('do not grow: after a hundred new events the oldest is forgotten, with its observations', () => {
    const { events, publishNext } = create();
    const before = events.all.length;
    const first = { id: '', observation: '' };
    for (let step = 0; step < 700; step++) {
      time += 1_000;
      publishNext();
      const [newest] = events.all;
      if (step === 0) Object.assign(first, { id: newest?._id, observation: newest?.references[0]?._id });
    }
    expect(events.all).toHaveLength(before + 100);
    expect(events.all.map(({ _id }) => _id)).not.toContain(first.id);
    expect(() => events.observationText(first.observation)).toThrow('does not exist');
    for (const { _id } of world.events.slice(-20)) expect(events.all.map(event => event._id)).toContain(_id);
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
