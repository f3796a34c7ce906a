import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { EventStore } from '../src/sandbox/event-store.js';
import { createNews } from '../src/sandbox/news.js';
import { type Company, type MarketEvent, type Sandbox, startSandbox } from '../src/sandbox/server.js';
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

const keyNamed = (name: string) => ({ 'x-api-key': sandbox.demo.keys.find(key => key.name === name)?.key ?? '' });
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

  test('orders events with the same time by id', async () => {
    for (const _id of ['c', 'a', 'b']) sandbox.publishEvent({ _id });
    const { data } = await list('?pageSize=3');
    expect(data.map((event: MarketEvent) => event._id)).toEqual(['a', 'b', 'c']);
  });

  test('has pages without gaps, and is empty past the end', async () => {
    const first = await list('?pageSize=7&page=1');
    const second = await list('?pageSize=7&page=2');
    const both = await list('?pageSize=14');
    expect([...first.data, ...second.data]).toEqual(both.data);
    const past = await list('?pageSize=100&page=50');
    expect(past.data).toEqual([]);
    expect(past.meta).toMatchObject({ currentPage: 50, totalItems: first.meta.totalItems });
  });

  test.each([
    'pageSize=0',
    'pageSize=101',
    'pageSize=ten',
    'pageSize=1.5',
    'page=0',
    'page=-1',
    'minLikelihood=4',
    'maxLikelihood=-1',
    'minSeverity=1.5',
    'maxSeverity=high',
    'from=yesterday',
    'to=2026-02-30',
    'page=1&page=2',
  ])('refuses %s', async query => {
    const { status, body } = await client.get(`/v2/events-monitor/events?${query}`);
    expect(status).toBe(400);
    expect(body).toEqual(failure('QUERY_VALIDATION_FAILED'));
    expect(body.message).toContain(query.split('=')[0]);
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

  test('matches name and scores independently, possibly in different entities', async () => {
    const entity = (name: string, score: number) => ({
      name,
      entityType: 'company',
      mappedFrom: name,
      impact: { likelihood: score, severity: score, rationale: '' },
    });
    sandbox.publishEvent({
      _id: 'mixed',
      taxonomicMatches: { impactedEntities: [entity('Hard Hit', 3), entity('Barely Hit', 0)] },
    });
    expect((await list('?impactedEntity=Barely%20Hit')).data).toMatchObject([{ _id: 'mixed' }]);
  });
});

describe('an observation', () => {
  test('is read by its id, with its vector', async () => {
    const observation = sandbox.data.observations[17];
    const { status, body } = await client.get(`/v2/events-monitor/observation/${observation?._id}`);
    expect(status).toBe(200);
    expect(body).toEqual(observation);
    expect(body.textEmbedding).toHaveLength(1536);
  });

  test('that does not exist returns NOT_FOUND', async () => {
    const { status, body } = await client.get('/v2/events-monitor/observation/ffffffffffffffffffffffff');
    expect(status).toBe(404);
    expect(body).toEqual(failure('NOT_FOUND'));
  });
});

describe('authentication', () => {
  const events = '/v2/events-monitor/events?pageSize=1';
  const signIn = (email: string, password: string) => client.post('/v2/auth/sign-in', { email, password }, {});

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

  test('with a session has the rights of its key, and cannot create another session', async () => {
    const { body } = await client.get('/v2/auth/session', keyNamed('markets only'));
    const headers = { authorization: `Bearer ${body.accessToken}` };
    expect((await client.get(events, headers)).status).toBe(403);
    expect((await client.get('/v2/auth/session', headers)).status).toBe(401);
  });

  test('by e-mail and password sets two cookies that identify a subscribed user', async () => {
    const [user] = sandbox.demo.users;
    const { status, body, headers } = await signIn(user?.email ?? '', user?.password ?? '');
    expect(status).toBe(200);
    expect(body).toEqual({ name: user?.name, email: user?.email });
    const [session, region, ...more] = headers.getSetCookie();
    expect(session).toMatch(/^svc_session=[0-9a-f]+; Max-Age=3600; Path=\/; HttpOnly/);
    expect(region).toMatch(/^svc_region=eu; Max-Age=3600; Path=\//);
    expect(more).toEqual([]);
    const cookie = [session, region].map(line => line?.split(';')[0]).join('; ');
    expect((await client.get(events, { cookie })).status).toBe(200);
    expect((await client.get('/v2/markets/1/jobs', { cookie })).status).toBe(200);
    expect((await client.get('/v2/auth/session', { cookie })).status).toBe(401);
    time += 3600_000;
    expect((await client.get(events, { cookie })).status).toBe(401);
  });

  test('ends for a revoked key and every session created with it', async () => {
    const { body } = await client.get('/v2/auth/session');
    const { body: other } = await client.get('/v2/auth/session');
    sandbox.revoke(other.accessToken);
    expect((await client.get(`${events}&sessionId=${other.accessToken}`, {})).status).toBe(401);
    expect((await client.get(`${events}&sessionId=${body.accessToken}`, {})).status).toBe(200);
    sandbox.revoke(sandbox.demo.keys[0]?.key ?? '');
    expect((await client.get(events)).status).toBe(401);
    expect((await client.get(`${events}&sessionId=${body.accessToken}`, {})).status).toBe(401);
    sandbox.reset();
    expect((await client.get(events)).status).toBe(200);
  });
});

describe('search criteria', () => {
  const derive = (searchInput: string) =>
    client.post('/v2/discovery/search-criteria', { searchType: 'marketSearch', searchInput });

  test('are derived from a question', async () => {
    const question =
      'Which logistics providers in Germany and Poland offer cooling for pharma wholesalers, like arctic.example.com?';
    const { status, body } = await derive(question);
    expect(status).toBe(200);
    expect(body).toEqual({
      searchCriteria: {
        userPrompt: question,
        marketName: 'Logistics Providers Cooling Pharma',
        marketType: 'service',
        marketRole: 'serviceProvider',
        keywords: {
          features: ['logistics', 'providers', 'cooling', 'pharma', 'wholesalers', 'like'],
          user: ['pharma wholesalers'],
          synonyms: ['freight forwarding', 'transport', 'service companies', 'contractors'],
          irrelevant: ['job advertisement', 'training course'],
        },
        seedDomains: ['arctic.example.com'],
        projectKind: 'first_pass',
        locations: [
          { countryCode: 'DE', countryName: 'Germany' },
          { countryCode: 'PL', countryName: 'Poland' },
        ],
      },
    });
  });

  test('require a known search type and a question', async () => {
    for (const body of [
      { searchType: 'other', searchInput: 'x' },
      { searchType: 'marketSearch', searchInput: ' ' },
      { searchType: 'marketSearch' },
      '{"searchType"',
    ]) {
      const answer = await client.post('/v2/discovery/search-criteria', body);
      expect(answer.status).toBe(400);
      expect(answer.body).toEqual(failure('QUERY_VALIDATION_FAILED'));
    }
  });
});

const CRITERIA = {
  userPrompt: 'Who packs without plastics?',
  marketName: 'Packaging',
  marketType: 'service',
  marketRole: 'serviceProvider',
  keywords: { features: ['fibre'], user: [], synonyms: [], irrelevant: [] },
  seedDomains: [],
  projectKind: 'first_pass',
  locations: [{ countryCode: 'DE', countryName: 'Germany' }],
  count: 20,
  performSearch: true,
};

const start = (market = 5, skipDiscoveryReview = false, searchCriteria: object = CRITERIA) =>
  client.post(`/v2/discovery/${market}/start`, { searchCriteria, pipelineChoices: { skipDiscoveryReview } });
const review = (market: number, reviewStatus: string, target: object) =>
  client.call('PATCH', `/v2/discovery/${market}/companies/reviews`, { reviewStatus, target });
const record = async (market: number) => (await client.get(`/stage/dev/markets/${market}`)).body;
const companies = async (market: number): Promise<Company[]> =>
  (await client.get(`/v2/markets/${market}/companies`)).body.data;

describe('a discovery', () => {
  test('runs as one job with linear progress until it ends', async () => {
    const jobs = async () => (await client.get('/v2/discovery/5/jobs')).body;
    expect(await jobs()).toEqual({ metadata: { marketId: 5 }, data: [] });
    const { status, body } = await start();
    expect(status).toBe(200);
    const job = { jobId: expect.any(Number), workflowName: 'first_pass', startTime: new Date(START).toISOString() };
    expect(body).toEqual({ metadata: { marketId: 5 }, data: [job] });
    const { jobId } = body.data[0];
    for (const [after, jobProgress] of [
      [0, 0],
      [5_000, 25],
      [19_999, 99],
    ] as const) {
      time = START + after;
      expect((await jobs()).data).toEqual([{ ...job, jobId, jobProgress, status: 'running', endTime: null }]);
    }
    time = START + DISCOVERY;
    const endTime = new Date(START + DISCOVERY).toISOString();
    expect((await jobs()).data).toEqual([{ ...job, jobId, jobProgress: 100, status: 'completed', endTime }]);
  });

  test('cannot be started while one runs, but can be afterwards', async () => {
    await start();
    const { status, body } = await start();
    expect(status).toBe(409);
    expect(body).toEqual(failure('CONFLICT'));
    expect((await start(6)).status).toBe(200);
    time += DISCOVERY;
    expect((await start()).status).toBe(200);
  });

  test('requires a known market and complete criteria', async () => {
    expect((await start(99)).body).toEqual(failure('NOT_FOUND'));
    for (const wrong of [
      { count: 0 },
      { count: 1.5 },
      { performSearch: 'yes' },
      { userPrompt: undefined },
      { keywords: {} },
      { locations: [{}] },
    ]) {
      const { status, body } = await start(5, false, { ...CRITERIA, ...wrong });
      expect(status).toBe(400);
      expect(body.message).toContain(Object.keys(wrong)[0]);
    }
    expect((await client.post('/v2/discovery/5/start', { searchCriteria: CRITERIA })).status).toBe(400);
    expect((await client.get('/v2/discovery/5/jobs')).body.data).toEqual([]);
  });
});

describe('a review', () => {
  const pool = () => sandbox.data.markets[4]?.companies.map(company => company.domain) ?? [];

  test('decides which companies are served after publishing', async () => {
    await start();
    time += DISCOVERY;
    const [a = '', b = '', c = ''] = pool();
    const all = await review(5, 'include', { mode: 'all' });
    expect(all.status).toBe(200);
    expect(all.body.data).toHaveLength(20);
    const partial = await review(5, 'exclude', { mode: 'partial', domains: [a, b] });
    expect(partial.body).toEqual({
      metadata: { marketId: 5 },
      data: [
        { domain: a, reviewStatus: 'exclude' },
        { domain: b, reviewStatus: 'exclude' },
      ],
    });
    await client.post('/v2/discovery/5/publish');
    time += PUBLISH;
    const served = await companies(5);
    expect(served.map(company => company.domain)).toEqual(pool().slice(2, 20));
    expect(served[0]).toMatchObject({ domain: c, reviewStatus: 'include' });
    expect(await record(5)).toMatchObject({ review_status: 'published', company_count: 18 });
  });
});

describe('publishing', () => {
  const publish = (market = 5) => client.post(`/v2/discovery/${market}/publish`);

  test('runs three jobs at different speeds, and the market can be read when all have ended', async () => {
    await start(5, true);
    time += DISCOVERY;
    expect(await record(5)).toMatchObject({ review_status: 'draft' });
    const { status, body } = await publish();
    expect(status).toBe(200);
    expect(body.metadata).toEqual({ marketId: 5 });
    expect(body.data.map((job: { workflowName: string }) => job.workflowName)).toEqual([
      'enrichment',
      'scrape',
      'web_traffic',
    ]);
    const begun = time;
    const progress = async () =>
      (await client.get('/v2/markets/5/jobs')).body.data.map((job: { jobProgress: number; endTime: string | null }) => [
        job.jobProgress,
        job.endTime === null,
      ]);
    time = begun + PUBLISH * 0.3;
    expect(await progress()).toEqual([
      [40, true],
      [60, true],
      [30, true],
    ]);
    time = begun + PUBLISH - 1;
    expect(await progress()).toEqual([
      [100, false],
      [100, false],
      [99, true],
    ]);
    expect((await client.get('/v2/markets/5/companies')).status).toBe(404);
    time = begun + PUBLISH;
    expect(await record(5)).toMatchObject({ review_status: 'published', company_count: 20 });
    expect(await companies(5)).toHaveLength(20);
  });

  test('again replaces the companies only when it has finished', async () => {
    const excluded = sandbox.data.markets[1]?.companies[0]?.domain ?? '';
    await review(2, 'exclude', { mode: 'partial', domains: [excluded] });
    expect((await publish(2)).status).toBe(200);
    expect(await companies(2)).toHaveLength(64);
    time += PUBLISH;
    expect(await companies(2)).toHaveLength(63);
    expect((await client.get('/v2/markets/2/esg')).body.data).toHaveLength(63);
  });
});

test('an unknown path returns NOT_FOUND', async () => {
  const { status, body } = await client.get('/v2/nothing');
  expect(status).toBe(404);
  expect(body).toEqual(failure('NOT_FOUND'));
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

describe('the world', () => {
  test('six markets cover the three review states', () => {
    const { markets } = sandbox.data;
    expect(markets.map(({ record }) => record.review_status)).toEqual([
      'published',
      'published',
      'published',
      'reviewing',
      'draft',
      'draft',
    ]);
    expect(markets[0]?.companies).toHaveLength(1200);
    for (const { companies } of markets.slice(1)) {
      expect(companies.length).toBeGreaterThanOrEqual(20);
      expect(companies.length).toBeLessThanOrEqual(80);
    }
    const all = markets.flatMap(({ companies }) => companies);
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    expect(all.filter(({ name }) => name.includes(',')).length).toBeGreaterThan(5);
    for (const { naics, headquarters } of all) {
      expect(naics.filter(({ name }) => name === '')).toEqual([]);
      expect(headquarters.countryCode).toMatch(/^[A-Z]{2}$/);
    }
  });

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
