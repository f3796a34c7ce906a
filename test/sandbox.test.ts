import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { EventStore } from '../src/sandbox/event-store.js';
import { createNews } from '../src/sandbox/news.js';
import { type Company, type MarketEvent, type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { createWorld, type World } from '../src/sandbox/world/world.js';
import { startGateway } from './support/gateway.js';
import { hold } from './support/hold.js';
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
  const everything = 'from=2026-01-01&minLikelihood=0&minSeverity=0&pageSize=100';
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

  test('combines names in one filter with OR and filters with AND, and compares names exactly', async () => {
    const all = sandbox.data.events;
    const alerts = (event: MarketEvent) => event.taxonomicMatches.alertTypes.map(alert => alert.name);
    const either = await list(`?${everything}&alertType=Cyber%20Incident,Product%20Recall`);
    expect(either.meta.totalItems).toBe(
      all.filter(event => alerts(event).some(name => ['Cyber Incident', 'Product Recall'].includes(name))).length,
    );
    const both = await list(`?${everything}&alertType=Product%20Recall&affectedDatapoint=Lead%20Time,Nothing`);
    expect(both.meta.totalItems).toBeGreaterThan(0);
    for (const event of both.data) {
      expect(alerts(event)).toContain('Product Recall');
      expect(event.taxonomicMatches.affectedDatapoints).toContainEqual(expect.objectContaining({ name: 'Lead Time' }));
    }
    expect((await list(`?${everything}&alertType=product%20recall`)).meta.totalItems).toBe(0);
    expect((await list(`?${everything}&alertType=Product`)).meta.totalItems).toBe(0);
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

  test('searches for all words in title, summary and keywords', async () => {
    sandbox.publishEvent({
      _id: 'found',
      title: 'Zinc smelter idles',
      summary: 'Power was too dear.',
      eventSearchKeywords: [{ keyword: 'Curtailed output', propertySource: 'inferred' }],
    });
    const ids = async (words: string) =>
      (await list(`?search=${encodeURIComponent(words)}`)).data.map((event: MarketEvent) => event._id);
    expect(await ids('SMELTER dear curtailed')).toEqual(['found']);
    expect(await ids('smelter cheap')).toEqual([]);
    expect((await list('?search=')).meta).toEqual((await list()).meta);
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

  test('with a key without the subscription is refused only by the events monitor', async () => {
    const headers = keyNamed('markets only');
    for (const path of [events, '/v2/events-monitor/observation/x']) {
      const { status, body } = await client.get(path, headers);
      expect(status).toBe(403);
      expect(body).toEqual(failure('FORBIDDEN'));
    }
    expect((await client.get('/stage/dev/markets/1', headers)).status).toBe(200);
  });

  test('with a key without permission on a market is refused by all of its endpoints', async () => {
    const headers = keyNamed('no markets');
    for (const [method, path] of [
      ['GET', '/v2/markets/1/companies'],
      ['GET', '/v2/markets/1/esg'],
      ['GET', '/v2/markets/1/jobs'],
      ['GET', '/v2/discovery/1/jobs'],
      ['POST', '/v2/discovery/1/publish'],
      ['POST', '/api/markets/1/topics'],
      ['GET', '/stage/dev/markets/1'],
    ] as const) {
      const { status, body } = await client.call(method, path, undefined, headers);
      expect(status).toBe(403);
      expect(body).toEqual(failure('FORBIDDEN'));
    }
    expect((await client.get('/v2/markets/99/companies', headers)).status).toBe(404);
    expect((await client.get(events, headers)).status).toBe(200);
    expect((await client.post('/api/markets/suggest', { keyword: '' }, headers)).body).toEqual({ suggested: [] });
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

  test('gives the same error for a wrong e-mail address and a wrong password', async () => {
    const [user] = sandbox.demo.users;
    const wrongPassword = await signIn(user?.email ?? '', 'wrong');
    const wrongEmail = await signIn('nobody@team.example', user?.password ?? '');
    expect(wrongPassword.status).toBe(401);
    expect(wrongPassword.body).toEqual(failure('UNAUTHORISED'));
    expect(wrongEmail.body).toEqual(wrongPassword.body);
    expect(wrongEmail.headers.getSetCookie()).toEqual([]);
    expect((await client.post('/v2/auth/sign-in', { email: 'x' }, {})).status).toBe(400);
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

  test('have synonyms of known words only', async () => {
    const { searchCriteria } = (await derive('constructor of packaging')).body;
    expect(searchCriteria.keywords.features).toEqual(['constructor', 'packaging']);
    expect(searchCriteria.keywords.synonyms).toEqual(['wrapping', 'containers']);
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

  test('get suggestions for keywords that they do not have yet', async () => {
    const { searchCriteria } = (await derive('packaging suppliers in Italy')).body;
    const { status, body } = await client.post(sandbox.keywordSuggestionPath, { searchCriteria });
    expect(status).toBe(200);
    expect(body.data).toEqual(expect.arrayContaining(['certified packaging', 'packaging Italy']));
    expect(searchCriteria.keywords.synonyms.filter((word: string) => body.data.includes(word))).toEqual([]);
    expect((await client.post(sandbox.keywordSuggestionPath, { searchCriteria: {} })).status).toBe(400);
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

  test('starts without count and performSearch, which new criteria do not have', async () => {
    const { count: _, performSearch: __, ...fresh } = CRITERIA;
    expect((await start(5, false, fresh)).status).toBe(200);
    time += DISCOVERY;
    expect((await record(5)).company_count).toBeGreaterThan(0);
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

  test('finds the requested number of companies, and sets the market to reviewing', async () => {
    expect(await record(5)).toMatchObject({ review_status: 'draft', company_count: 0 });
    await start();
    time += DISCOVERY - 1;
    expect(await record(5)).toMatchObject({ review_status: 'draft', company_count: 0 });
    time += 1;
    expect(await record(5)).toMatchObject({ review_status: 'reviewing', company_count: 20 });
  });

  test('stores its criteria, and the earlier ones as history', async () => {
    const criteria = () => client.get('/v2/discovery/5/search-criteria');
    const history = async () => (await client.get('/v2/discovery/5/search-criteria/history')).body;
    expect((await criteria()).body).toEqual(failure('NOT_FOUND'));
    expect(await history()).toEqual({ metadata: { marketId: 5 }, data: [] });
    for (const count of [1, 2, 3]) {
      await start(5, false, { ...CRITERIA, count });
      time += DISCOVERY;
    }
    expect((await criteria()).body).toEqual({ metadata: { marketId: 5 }, data: { ...CRITERIA, count: 3 } });
    expect((await history()).data.map((past: { count: number }) => past.count)).toEqual([2, 1]);
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

  test('is refused before the discovery is complete, and for companies that were not discovered', async () => {
    expect((await review(5, 'include', { mode: 'all' })).status).toBe(409);
    await start();
    expect((await review(5, 'include', { mode: 'all' })).body).toEqual(failure('CONFLICT'));
    time += DISCOVERY;
    expect((await review(5, 'include', { mode: 'partial', domains: [pool()[20]] })).status).toBe(400);
    expect((await review(5, 'include', { mode: 'partial', domains: [] })).status).toBe(400);
    expect((await review(5, 'include', { mode: 'partial' })).status).toBe(400);
    expect((await review(5, 'include', { mode: 'some' })).status).toBe(400);
    expect((await review(5, 'maybe', { mode: 'all' })).status).toBe(400);
    expect((await review(99, 'include', { mode: 'all' })).status).toBe(404);
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

  test('is refused before discovery, before a review, while it runs and for an unknown market', async () => {
    expect((await publish()).body).toEqual(failure('CONFLICT'));
    await start();
    expect((await publish()).status).toBe(409);
    time += DISCOVERY;
    expect((await publish()).status).toBe(409);
    await review(5, 'include', { mode: 'all' });
    expect((await publish()).status).toBe(200);
    expect((await publish()).status).toBe(409);
    expect((await publish(99)).status).toBe(404);
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

describe('a market', () => {
  test('has a record with the fields of the specification', async () => {
    expect(await record(1)).toEqual({
      id: 1,
      name: expect.any(String),
      subtitle: expect.any(String),
      description: expect.any(String),
      date_created: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      company_count: 1200,
      header_image_url: expect.stringMatching(/^https:/),
      review_status: 'published',
    });
    for (const id of ['99', 'one', '01']) {
      const { status, body } = await client.get(`/stage/dev/markets/${id}`);
      expect(status).toBe(404);
      expect(body).toEqual(failure('NOT_FOUND'));
    }
  });

  test('returns all of its companies with the fields of the export', async () => {
    const served = await companies(1);
    expect(served).toHaveLength(1200);
    expect(served).toEqual(sandbox.data.markets[0]?.companies);
    expect(new Set(served.map(company => company.domain)).size).toBe(1200);
  });

  test('returns one ESG record for each company', async () => {
    const { status, body } = await client.get('/v2/markets/3/esg');
    expect(status).toBe(200);
    expect(body.metadata).toEqual({ marketId: 3 });
    expect(body.data.map((esg: { domain: string }) => esg.domain)).toEqual(
      (await companies(3)).map(company => company.domain),
    );
    expect(body.data[0]).toMatchObject({
      environment: expect.any(Number),
      social: expect.any(Number),
      governance: expect.any(Number),
      overall: expect.any(Number),
    });
  });

  test('that is not published has no companies, ESG data, topics or export', async () => {
    for (const id of [4, 5]) {
      const answers = await Promise.all([
        client.get(`/v2/markets/${id}/companies`),
        client.get(`/v2/markets/${id}/esg`),
        client.post(`/api/markets/${id}/topics`, {}),
        client.post(`/api/markets/${id}/export-csv`, { domainList: ['x.example.com'] }),
      ]);
      for (const { status, body } of answers) {
        expect(status).toBe(404);
        expect(body).toEqual(failure('NOT_FOUND'));
      }
    }
  });

  test('has topics on two levels, sorted by label on request', async () => {
    const topics = async (body?: unknown) => (await client.post('/api/markets/1/topics', body)).body.data;
    const plain = await topics();
    expect(plain).toEqual(sandbox.data.markets[0]?.topics);
    expect(await topics({})).toEqual(plain);
    const sorted = await topics({ sorts: { label: 'asc' } });
    const labels = (list: { label: string }[]) => list.map(({ label }) => label);
    expect(labels(plain)).not.toEqual(labels(sorted));
    expect(labels(sorted)).toEqual(labels(plain).sort());
    for (const { groups } of sorted) expect(labels(groups)).toEqual(labels(groups).sort());
    expect((await client.post('/api/markets/1/topics', { sorts: { label: 'desc' } })).status).toBe(400);
    expect((await client.post('/api/markets/99/topics', {})).status).toBe(404);
  });

  test('is suggested for any part of its name, with matches at the start first', async () => {
    const suggest = async (keyword: string) => (await client.post('/api/markets/suggest', { keyword })).body.suggested;
    expect(await suggest('ind')).toEqual([
      'Industrial Cleaning Services Benelux',
      'Industrial Components Suppliers Europe',
    ]);
    expect((await suggest('co')).slice(0, 3)).toEqual([
      'Cold Chain Logistics DACH',
      'Contract Electronics Manufacturers',
      'Industrial Components Suppliers Europe',
    ]);
    expect(await suggest('nothing like it')).toEqual([]);
    expect((await client.post('/api/markets/suggest', {})).status).toBe(400);
  });
});

describe('the CSV export', () => {
  const exported = (domainList: unknown) => client.post('/api/markets/1/export-csv', { domainList });

  test('links to a file with a line for each requested domain', async () => {
    const pool = sandbox.data.markets[0]?.companies ?? [];
    const awkward = [
      pool.find(company => company.name.includes(',')),
      pool.find(company => company.description.includes('"')),
      pool.find(company => company.contactEmail === null),
    ].filter(company => company !== undefined);
    expect(awkward).toHaveLength(3);
    const { status, body } = await exported(awkward.map(company => company.domain));
    expect(status).toBe(200);
    expect(body.downloadLink).toMatch(new RegExp(`^${sandbox.origin}/files/[0-9a-f]{32}\\.csv$`));
    const file = await fetch(body.downloadLink);
    expect(file.headers.get('content-type')).toMatch(/^text\/csv/);
    expect(file.headers.get('content-disposition')).toMatch(/^attachment; filename="[0-9a-f]{32}\.csv"$/);
    const [header, ...rows] = parseCsv(await file.text());
    expect(header?.slice(0, 3)).toEqual(['domain', 'name', 'description']);
    expect(rows).toEqual(
      awkward.map(company => [
        company.domain,
        company.name,
        company.description,
        String(company.overallMomentum),
        company.contactNumber ?? '',
        company.contactEmail ?? '',
        String(company.actualRevenue),
        company.naics.map(({ code }) => code).join(';'),
        company.operatesIn.join(';'),
        company.dunsNumbers.join(';'),
        String(company.score),
      ]),
    );
  });

  test('refuses unknown domains and an empty list, and returns NOT_FOUND for other files', async () => {
    const known = sandbox.data.markets[0]?.companies[0]?.domain;
    for (const domainList of [[known, 'unknown.example.com'], [], 'x', undefined]) {
      const { status, body } = await exported(domainList);
      expect(status).toBe(400);
      expect(body).toEqual(failure('QUERY_VALIDATION_FAILED'));
    }
    expect((await client.get('/files/other.csv')).body).toEqual(failure('NOT_FOUND'));
  });
});

test('an unknown path returns NOT_FOUND', async () => {
  const { status, body } = await client.get('/v2/nothing');
  expect(status).toBe(404);
  expect(body).toEqual(failure('NOT_FOUND'));
});

test('no response has caching headers', async () => {
  expect((await client.get('/v2/events-monitor/events')).headers.has('cache-control')).toBe(false);
});

/** RFC 4180: quoted cells may hold commas, doubled quotes and line breaks; every line ends in CRLF. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    row.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

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
    expect((await client.get('/v2/markets/1/jobs')).status).toBe(200);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(390);
  });

  test('sends the real response when it may', async () => {
    const release = hold(sandbox, '/v2/markets/1/jobs');
    let isAnswered = false;
    const held = client.get('/v2/markets/1/jobs').finally(() => {
      isAnswered = true;
    });
    expect((await client.get('/v2/markets/2/jobs')).status).toBe(200);
    expect(isAnswered).toBe(false);
    release();
    expect((await held).status).toBe(200);
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
    const leaving = new AbortController();
    const left = expect(fetch(own.origin + EVENTS, { signal: leaving.signal })).rejects.toThrow(/abort/);
    await until(() => own.calls.count() === 1);
    leaving.abort();
    await left;
    const cut = expect(fetch(own.origin + EVENTS)).rejects.toThrow();
    await until(() => own.calls.count() === 2);
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

describe('the world', () => {
  let events: readonly MarketEvent[];
  beforeEach(() => {
    ({ events } = sandbox.data);
  });

  const cosine = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
  const hits = ({ taxonomicMatches }: MarketEvent) =>
    taxonomicMatches.impactedEntities.filter(({ impact }) => impact.likelihood >= 2 && impact.severity >= 2);

  test('there are many observations, at most ten days old, with vectors of length one', () => {
    const { observations } = sandbox.data;
    expect(observations.length).toBeGreaterThanOrEqual(600);
    expect(new Set(observations.map(observation => observation._id)).size).toBe(observations.length);
    for (const { textEmbedding, publishedAt, addedAt, content } of observations) {
      expect(textEmbedding).toHaveLength(1536);
      expect(cosine(textEmbedding, textEmbedding)).toBeCloseTo(1, 4);
      expect(Date.parse(publishedAt)).toBeGreaterThanOrEqual(START - 10 * 86_400_000);
      expect(addedAt >= publishedAt && Date.parse(addedAt) <= START).toBe(true);
      expect(content.join('')).not.toMatch(/[{}]|undefined/);
    }
    expect(observations.filter(observation => observation.url === undefined).length).toBeGreaterThan(20);
    expect(observations.filter(observation => observation.clusterLabel === undefined).length).toBeGreaterThan(0);
  });

  test('each event consists of the similar observations of one cluster', () => {
    expect(events.length).toBeGreaterThanOrEqual(120);
    const byId = new Map(sandbox.data.observations.map(observation => [observation._id, observation]));
    const labels = new Set<number>();
    for (const event of events) {
      const members = event.references.map(({ _id }) => byId.get(_id)).filter(member => member !== undefined);
      expect(members).toHaveLength(event.references.length);
      const [label, ...others] = new Set(members.map(member => member.clusterLabel?.label));
      expect(others).toEqual([]);
      labels.add(label ?? -1);
      expect(event.lastUpdated).toBe(
        members
          .map(member => member.addedAt)
          .sort()
          .at(-1),
      );
      expect(event.timestamps.published).toBe(members.map(member => member.publishedAt).sort()[0]);
      expect(event.references).toEqual(
        members.map(({ _id, title, url }) => (url === undefined ? { _id, title } : { _id, title, url })),
      );
      for (const member of members) {
        expect(cosine(member.textEmbedding, event.vectorIndex.embeddings ?? [])).toBeGreaterThan(0.4);
      }
    }
    expect(labels.size).toBe(events.length);
    const [first, second] = events;
    expect(cosine(first?.vectorIndex.embeddings ?? [], second?.vectorIndex.embeddings ?? [])).toBeLessThan(0.4);
  });

  test('each event finds its story, source, place and price unit in the data', () => {
    for (const { vectorIndex, ...event } of events) {
      expect(vectorIndex.anchorText).toMatch(/\w/);
      expect(JSON.stringify(event)).not.toMatch(/undefined|""|"price"|\{\w+\}/);
      expect(event.relevantEntities).toHaveLength(6);
    }
  });

  test('events have every direction and operator, none of them, and some have low scores only', () => {
    const datapoints = events.flatMap(event => event.taxonomicMatches.affectedDatapoints);
    expect(new Set(datapoints.map(({ direction }) => direction))).toEqual(
      new Set(['up', 'down', 'fluctuate', 'unknown', null]),
    );
    expect(new Set(datapoints.map(({ quantity }) => quantity?.operator))).toEqual(
      new Set(['>', '<', '>=', '<=', '=', '~', 'range', undefined]),
    );
    for (const { quantity } of datapoints) {
      if (!quantity) continue;
      expect(quantity.values).toHaveLength(quantity.operator === 'range' ? 2 : 1);
      expect([...quantity.values].sort((a, b) => a - b)).toEqual(quantity.values);
    }
    expect(events.filter(event => hits(event).length === 0).length).toBeGreaterThan(10);
    expect(events.some(event => event.references.some(({ url }) => url === undefined))).toBe(true);
  });

  test('by default, a few companies of the first market have many events and most have none', () => {
    const recent = events.filter(event => event.lastUpdated >= '2026-03-09');
    const counts = new Map<string, number>();
    for (const { name } of recent.flatMap(hits)) counts.set(name, (counts.get(name) ?? 0) + 1);
    const companies = sandbox.data.markets[0]?.companies ?? [];
    const perCompany = companies.map(company => counts.get(company.name) ?? 0);
    expect(perCompany.filter(count => count > 20).length).toBeGreaterThanOrEqual(3);
    expect(perCompany.filter(count => count === 1).length).toBeGreaterThan(20);
    expect(perCompany.filter(count => count === 0).length).toBeGreaterThan(900);
  });

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

  test('are new events, each of which then gets further observations', () => {
    const { events, publishNext } = create();
    const before = new Set(events.all.map(({ _id }) => _id));
    const steps = Array.from({ length: 40 }, () => {
      time += 20_000;
      publishNext();
      const [newest] = events.all;
      expect(newest?.lastUpdated).toBe(new Date(time).toISOString());
      return { id: newest?._id ?? '', observations: newest?.references.map(({ _id }) => _id) ?? [] };
    });
    expect(steps.filter(({ id }) => before.has(id))).toEqual([]);
    for (const [index, { id, observations }] of steps.entries()) {
      const isNew = id !== steps[index - 1]?.id;
      expect(observations).toHaveLength(isNew ? 1 : (steps[index - 1]?.observations.length ?? 0) + 1);
      for (const observation of observations) {
        expect(JSON.parse(events.observationText(observation))).toMatchObject({
          _id: observation,
          content: expect.any(Array),
        });
      }
    }
    const ids = new Set(steps.map(({ id }) => id));
    expect(ids.size).toBeGreaterThan(5);
    expect(ids.size).toBeLessThan(20);
    expect(events.all).toHaveLength(before.size + ids.size);
    const found = events.all
      .filter(({ _id }) => ids.has(_id))
      .flatMap(({ taxonomicMatches }) => taxonomicMatches.impactedEntities);
    expect(found.filter(({ impact }) => impact.likelihood >= 2 && impact.severity >= 2).length).toBeGreaterThan(5);
  });

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

  test('has as many companies in its first market as it is told, which the gateway reads', async () => {
    sandbox = await startSandbox({ companies: 5_000 });
    expect(sandbox.data.markets.map(({ companies }) => companies.length)).toEqual([5_000, 64, 41, 48, 36, 57]);
    const gateway = await startGateway({ sandbox });
    try {
      const { data, errors } = await gateway.query(
        '{ market(id: 1) { companyCount companies(last: 100, orderBy: { field: SCORE, direction: DESC }) { totalCount nodes { score } } } }',
      );
      expect(errors).toBeUndefined();
      expect(data.market).toMatchObject({ companyCount: 5_000, companies: { totalCount: 5_000 } });
      expect(data.market.companies.nodes).toHaveLength(100);
    } finally {
      await gateway.close();
    }
  });
});
