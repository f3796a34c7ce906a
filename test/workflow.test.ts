import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { Sandbox } from '../src/sandbox/server.js';
import { cleanups, forTest } from './support/cleanups.js';
import { addressesOn, signedIn, startGateway, startOverSandbox, type TestGateway } from './support/gateway.js';
import { startRedis } from './support/redis.js';
import { overSse } from './support/streams.js';
import { reply, startStubService } from './support/stub-service.js';
import { until } from './support/until.js';
import { fakeWire } from './support/wire.js';

const market = '4';

let sandbox: Sandbox;
let gateway: TestGateway;

beforeAll(async () => {
  const service = { discoveryMs: 600, publishMs: 400 };
  ({ sandbox, gateway } = await startOverSandbox({ service, env: { POLL_INTERVAL_MS: '200' } }));
});

afterAll(() => gateway.close());

beforeEach(() => sandbox.reset());

const criteria = `{
  userPrompt marketName marketType marketRole keywords { features user synonyms irrelevant } seedDomains projectKind
  locations { countryCode countryName }
}`;

const job = '{ id nodeId progress finished endTime }';
const jobsOf = `query ($id: ID!, $phase: JobPhase!) { market(id: $id) { jobs(phase: $phase) ${job} } }`;
const progressOf = `subscription ($id: ID!, $phase: JobPhase!) {
  jobProgress(marketId: $id, phase: $phase) { marketId market { id } finished jobs ${job} }
}`;

const start = `mutation ($input: StartDiscoveryInput!) {
  startDiscovery(input: $input) {
    __typename
    ... on RunningDiscovery { marketId market { id } jobs { id finished } }
  }
}`;

/** Waits for the jobs of a phase, and compares them with those that a query reads. @returns their progress over time. */
async function finished(phase: 'DISCOVERY' | 'PUBLISH', headers: Record<string, string>): Promise<number[]> {
  const variables = { id: market, phase };
  const { results, ended } = overSse(gateway.url, { query: progressOf, variables }, headers);
  expect(await ended).toBeUndefined();
  expect(results.at(-1).data.jobProgress).toMatchObject({ marketId: market, market: { id: market }, finished: true });
  const { data, errors } = await gateway.query(jobsOf, variables, headers);
  expect(errors).toBeUndefined();
  expect(data.market.jobs).toEqual(results.at(-1).data.jobProgress.jobs);
  return results.flatMap(result => result.data.jobProgress.jobs.map(({ progress }: { progress: number }) => progress));
}

const withKey = async () => ({ 'x-api-key': 'demo-key-subscribed' });

describe.each([
  ['a signed-in user', () => signedIn(gateway), 'metadata'],
  ['an API key', withKey, 'metadata'],
  ['an API key, where the service sends no metadata,', withKey, 'data'],
  ['an API key, where the service sends bare lists,', withKey, 'none'],
] as const)('%s', (_, credential, envelope) => {
  test('goes from a question to the CSV file of a published market', async () => {
    sandbox.vary({ envelope });
    const headers = await credential();
    const run = (document: string, input: object) => gateway.query(document, { input }, headers);

    const question = { searchInput: 'Who makes sealed bearings in Germany?' };
    const made = await run(
      `mutation ($input: CreateSearchCriteriaInput!) { createSearchCriteria(input: $input) { searchCriteria ${criteria} } }`,
      question,
    );
    const searchCriteria = { ...made.data.createSearchCriteria.searchCriteria, count: 30, performSearch: true };
    expect(searchCriteria.userPrompt).toBe(question.searchInput);

    const words = await run('query ($input: SuggestKeywordsInput!) { suggestKeywords(input: $input) { keywords } }', {
      searchCriteria,
    });
    expect(words.data.suggestKeywords.keywords.length).toBeGreaterThan(0);

    const started = await run(start, { marketId: market, searchCriteria });
    expect(started.errors).toBeUndefined();
    expect(started.data.startDiscovery).toMatchObject({
      __typename: 'DiscoveryStarted',
      marketId: market,
      market: { id: market },
    });
    const again = await run(start, { marketId: market, searchCriteria });
    expect(again.data.startDiscovery).toEqual({
      __typename: 'DiscoveryAlreadyRunning',
      marketId: market,
      market: { id: market },
      jobs: [{ id: started.data.startDiscovery.jobs[0].id, finished: false }],
    });

    const progress = await finished('DISCOVERY', headers);
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    expect(progress.at(-1)).toBe(100);
    const read = await gateway.query(
      'query ($id: ID!) { market(id: $id) { searchCriteria { userPrompt } searchCriteriaHistory { userPrompt } } }',
      { id: market },
      headers,
    );
    expect(read.data.market.searchCriteria.userPrompt).toBe(question.searchInput);

    const found = sandbox.data.markets.find(({ record }) => String(record.id) === market)?.companies ?? [];
    const [out = '', kept = '', also = ''] = found.map(({ domain }) => domain);
    const review =
      'mutation ($input: ReviewCompaniesInput!) { reviewCompanies(input: $input) { marketId market { id } } }';
    await run(review, { marketId: market, reviewStatus: 'INCLUDE', target: { all: true } });
    const reviewed = await run(review, { marketId: market, reviewStatus: 'EXCLUDE', target: { domains: [out] } });
    expect(reviewed.data.reviewCompanies).toEqual({ marketId: market, market: { id: market } });

    const published = await run(
      'mutation ($input: PublishMarketInput!) { publishMarket(input: $input) { marketId market { id } jobs { workflowName } } }',
      {
        marketId: market,
      },
    );
    expect(published.data.publishMarket).toMatchObject({ marketId: market, market: { id: market } });
    expect(published.data.publishMarket.jobs.map((job: { workflowName: string }) => job.workflowName).sort()).toEqual([
      'enrichment',
      'scrape',
      'web_traffic',
    ]);
    await finished('PUBLISH', headers);

    const { data, errors } = await gateway.query(
      `query ($id: ID!) { market(id: $id) {
         companyCount reviewStatus esg
         companies(first: 100) { totalCount nodes { domain esg } }
         excluded: company(domain: "${out}") { name }
       } }`,
      { id: market },
      headers,
    );
    expect(errors).toBeUndefined();
    const { companies } = data.market;
    expect(data.market).toMatchObject({
      reviewStatus: 'PUBLISHED',
      companyCount: companies.totalCount,
      excluded: null,
    });
    expect(companies.totalCount).toBeGreaterThan(2);
    expect(companies.nodes.every(({ domain, esg }: { domain: string; esg: object }) => esg && domain !== out)).toBe(
      true,
    );

    const csv = await run(
      'mutation ($input: ExportMarketCsvInput!) { exportMarketCsv(input: $input) { downloadLink selected } }',
      {
        marketId: market,
        companies: { domains: [kept.toUpperCase(), kept, also] },
      },
    );
    expect(csv.data.exportMarketCsv.selected).toBe(2);
    const file = await (await fetch(csv.data.exportMarketCsv.downloadLink)).text();
    const rows = file.trim().split(/\r\n/).slice(1);
    expect(rows.map(row => row.split(',')[0]).sort()).toEqual([kept, also].sort());
  });
});

describe('each step', () => {
  let gateway: TestGateway;

  // One of its own for each test: after so many failures, a breaker would answer.
  beforeEach(async () => {
    gateway = await startGateway({ sandbox });
  });
  afterEach(() => gateway.close());

  const steps: [string, object, RegExp][] = [
    ['createSearchCriteria', { searchInput: 'x' }, /search-criteria$/],
    ['startDiscovery', { marketId: market, searchCriteria: {} }, /start$/],
    ['reviewCompanies', { marketId: market, reviewStatus: 'INCLUDE', target: { all: true } }, /reviews$/],
    ['publishMarket', { marketId: market }, /publish$/],
    ['exportMarketCsv', { marketId: '1', companies: { domains: ['a.example'] } }, /export-csv$/],
  ];
  const selections: Record<string, string> = {
    createSearchCriteria: '{ searchCriteria { userPrompt } }',
    startDiscovery: '{ __typename }',
    reviewCompanies: '{ marketId }',
    publishMarket: '{ marketId }',
    exportMarketCsv: '{ downloadLink }',
  };
  const documentOf = (name: string) =>
    `mutation ($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) ${selections[name]} }`;

  const answers: [number, string | undefined, string][] = [
    [400, 'QUERY_VALIDATION_FAILED', 'BAD_USER_INPUT'],
    [401, 'UNAUTHORISED', 'UNAUTHENTICATED'],
    [403, undefined, 'FORBIDDEN'],
    [404, undefined, 'NOT_FOUND'],
    [429, 'TOO_MANY_REQUESTS', 'RATE_LIMITED'],
    [500, 'INTERNAL_SERVER_ERROR', 'UPSTREAM_UNAVAILABLE'],
    [503, undefined, 'UPSTREAM_UNAVAILABLE'],
  ];

  test.each(steps)(
    '%s reports each refusal of the service with its code, after one call',
    async (name, input, path) => {
      for (const [status, errorCode, code] of answers) {
        sandbox.reset();
        sandbox.tell({ path, status, ...(errorCode !== undefined && { errorCode }) });
        const { data, errors } = await gateway.query(documentOf(name), { input });
        expect(data[name]).toBeNull();
        expect(errors?.[0].extensions).toMatchObject({ code, upstream: { status } });
        expect(errors?.[0].extensions.argument).toBe(code === 'BAD_USER_INPUT' ? 'input' : undefined);
        if (status >= 500) expect(errors?.[0].extensions.retryable).toBe(false);
        expect(sandbox.calls.count(path)).toBe(1);
      }
    },
  );

  test.each(steps)(
    '%s whose connection breaks is sent once, and its outcome said to be unknown',
    async (name, input, path) => {
      sandbox.tell({ path, breakConnection: 'before' });
      const { errors } = await gateway.query(documentOf(name), { input });
      expect(errors?.[0].message).toMatch(/outcome is unknown/);
      expect(errors?.[0].extensions).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', retryable: false });
      expect(sandbox.calls.count(path)).toBe(1);
    },
  );

  const domains = ['a.example'];
  const partial = { mode: 'partial', domains };
  const unusual = ['my_company.example.com', '1.2.3.4', 'shop.example.com:8080', 'münchen.example:8080'];
  test.each<[string, object, object]>([
    ['createSearchCriteria', { searchInput: 'x' }, { searchType: 'marketSearch' }],
    ['createSearchCriteria', { searchType: 'y', searchInput: 'x' }, { searchType: 'y' }],
    [
      'createSearchCriteria',
      { searchType: 'y', searchInput: 'a\n\u2028b' },
      { searchType: 'y', searchInput: 'a\n\u2028b' },
    ],
    ['startDiscovery', {}, { pipelineChoices: { skipDiscoveryReview: false } }],
    ['startDiscovery', { skipDiscoveryReview: true }, { pipelineChoices: { skipDiscoveryReview: true } }],
    [
      'reviewCompanies',
      { reviewStatus: 'INCLUDE', target: { all: true } },
      { reviewStatus: 'include', target: { mode: 'all' } },
    ],
    ['reviewCompanies', { reviewStatus: 'EXCLUDE', target: { domains } }, { reviewStatus: 'exclude', target: partial }],
    [
      'reviewCompanies',
      { reviewStatus: 'EXCLUDE', target: { domains: [' a.example ', 'a.example\n'] } },
      { reviewStatus: 'exclude', target: partial },
    ],
    [
      'reviewCompanies',
      { reviewStatus: 'INCLUDE', target: { domains: unusual } },
      { reviewStatus: 'include', target: { mode: 'partial', domains: unusual } },
    ],
  ])('%s sends what was chosen, and a default for the rest: %j', async (name, choice, sent) => {
    const service = fakeWire(({ path }) => ({
      body: path.endsWith('/start') ? { data: [] } : { searchCriteria: { userPrompt: 'x' } },
    }));
    const own = forTest(await startGateway({ wire: service.wire }));
    const common = name === 'createSearchCriteria' ? {} : { marketId: '1' };
    const criteria = name === 'startDiscovery' ? { searchCriteria: {} } : {};
    const { errors } = await own.query(documentOf(name), { input: { ...common, ...criteria, ...choice } });
    expect(errors).toBeUndefined();
    const input = name === 'createSearchCriteria' ? { searchInput: 'x' } : {};
    expect(service.calls.map(({ body }) => JSON.parse(body))).toEqual([{ ...criteria, ...input, ...sent }]);
  });

  const noWords = { features: [], user: [], synonyms: [], irrelevant: [], attributes: null };
  test.each<[string, unknown, { keywords: string[]; suggested: object | null } | null]>([
    ['a list', ['a', { keyword: 'b' }], { keywords: ['a', 'b'], suggested: null }],
    ['a list under data', { data: ['a'] }, { keywords: ['a'], suggested: null }],
    ['a list under any name', { suggestions: ['a'] }, { keywords: ['a'], suggested: null }],
    [
      'keywords of criteria',
      { keywords: { features: ['a'], user: [], synonyms: [{ keyword: 'b' }], irrelevant: ['c'] } },
      { keywords: ['a', 'b'], suggested: { ...noWords, features: ['a'], synonyms: ['b'], irrelevant: ['c'] } },
    ],
    [
      'categories without a wrapper',
      { irrelevant: ['c'], novel: ['d'] },
      { keywords: [], suggested: { ...noWords, irrelevant: ['c'], attributes: { novel: ['d'] } } },
    ],
    [
      'categories under any name',
      { data: { message: 'b', suggestedKeywords: { features: ['a'] } } },
      { keywords: ['a'], suggested: { ...noWords, features: ['a'] } },
    ],
    [
      'criteria',
      { searchCriteria: { userPrompt: 'x', keywords: { features: ['a'] }, seedDomains: ['d.example'] } },
      { keywords: ['a'], suggested: { ...noWords, features: ['a'] } },
    ],
    ['no list at all', { message: 'none' }, null],
  ])('suggested keywords are read from %s', async (_, body, expected) => {
    sandbox.tell({ path: /keywords$/, status: 200, body: JSON.stringify(body) });
    const suggest =
      'query ($input: SuggestKeywordsInput!) { suggestKeywords(input: $input) { keywords suggested { features user synonyms irrelevant attributes } } }';
    const { data, errors } = await gateway.query(suggest, { input: { searchCriteria: { userPrompt: 'x' } } });
    expect(data.suggestKeywords).toEqual(expected);
    expect(errors?.[0].extensions.code).toBe(expected === null ? 'UPSTREAM_INVALID_RESPONSE' : undefined);
  });

  test('suggested keywords are kept for the credential that asked for them, and for no other', async () => {
    const made = await gateway.query(
      `mutation { createSearchCriteria(input: { searchInput: "Who recycles batteries?" }) { searchCriteria ${criteria} } }`,
    );
    const { searchCriteria } = made.data.createSearchCriteria;
    const suggest = 'query ($input: SuggestKeywordsInput!) { suggestKeywords(input: $input) { keywords } }';
    const suggestions = () => sandbox.calls.count(/keywords$/);
    const before = suggestions();
    const words: unknown[] = [];
    for (const key of ['demo-key-subscribed', 'demo-key-subscribed', 'demo-key-markets-only']) {
      const { data, errors } = await gateway.query(suggest, { input: { searchCriteria } }, { 'x-api-key': key });
      words.push([data, errors]);
    }
    expect(words[0]).toEqual([
      { suggestKeywords: { keywords: expect.arrayContaining([expect.any(String)]) } },
      undefined,
    ]);
    expect(words.slice(1)).toEqual([words[0], words[0]]);
    expect(suggestions() - before).toBe(2);
  });

  test('a review shows the companies as they are after it, which it reads only if they are selected', async () => {
    const { companies = [] } = sandbox.data.markets.find(({ record }) => record.id === 3) ?? {};
    const [one = '', other = ''] = companies.map(({ domain }) => domain);
    const document = (payload: string) => `mutation ($status: ReviewDecision!, $target: ReviewTarget!) {
      reviewCompanies(input: { marketId: 3, reviewStatus: $status, target: $target }) { ${payload} } }`;
    const reads = () => sandbox.calls.count(/companies$/);
    const decide = async (status: string, target: object, payload: string) => {
      const before = reads();
      const { data, errors } = await gateway.query(document(payload), { status, target });
      expect(errors).toBeUndefined();
      return [data.reviewCompanies, reads() - before];
    };
    const selected = 'companies { domain reviewStatus market { id } }';
    const decided = (domain: string, reviewStatus: string) => ({ domain, reviewStatus, market: { id: '3' } });
    await gateway.query('{ market(id: 3) { companies { totalCount } } }');
    expect(await decide('EXCLUDE', { domains: [other, one] }, selected)).toEqual([
      { companies: [decided(one, 'EXCLUDE'), decided(other, 'EXCLUDE')] },
      1,
    ]);
    expect(await decide('INCLUDE', { all: true }, selected)).toEqual([
      { companies: companies.map(({ domain }) => decided(domain, 'INCLUDE')) },
      1,
    ]);
    expect(await decide('INCLUDE', { domains: [one] }, 'marketId')).toEqual([{ marketId: '3' }, 0]);
    // The service shows the companies of a market only once it is published.
    await gateway.close();
    const service = fakeWire(({ method }) => (method === 'PATCH' ? { body: {} } : { status: 404, body: {} }));
    gateway = await startGateway({ wire: service.wire });
    const { data, errors } = await gateway.query(document(`marketId ${selected}`), {
      status: 'INCLUDE',
      target: { all: true },
    });
    expect(data.reviewCompanies).toEqual({ marketId: '3', companies: null });
    expect(errors).toEqual([expect.objectContaining({ path: ['reviewCompanies', 'companies'] })]);
    expect(errors?.[0].extensions.code).toBe('NOT_FOUND');
  });

  const review = 'mutation ($input: ReviewCompaniesInput!) { reviewCompanies(input: $input) { marketId } }';
  const publish = 'mutation ($input: PublishMarketInput!) { publishMarket(input: $input) { marketId } }';
  const running = { jobId: 1, endTime: null };
  const ended = { jobId: 2, endTime: '2026-01-01T00:00:00Z' };
  const refusal: Record<string, unknown> = { success: false, errorCode: 'CONFLICT', message: 'secret' };
  test.each<[string, readonly object[], readonly object[], RegExp]>([
    [
      'without a discovery',
      [],
      [],
      /^The market cannot be published now: it has no discovery yet; .*`startDiscovery`$/,
    ],
    ['whose discovery runs', [running], [], /discovery is still running; `jobProgress`/],
    ['that is being published', [ended], [ended, running], /being published already; `jobProgress\(phase: PUBLISH\)`/],
    ['that was published', [ended], [ended], /was published already$/],
    ['without companies', [ended], [], /perhaps no company is included; .*`reviewCompanies`$/],
  ])('a market %s that the service refuses to publish says so', async (_, discovery, publication, message) => {
    await gateway.close();
    const jobs: Record<string, readonly object[]> = { discovery, markets: publication };
    const service = fakeWire(({ url: { pathname } }) => {
      const list = /\/v2\/(\w+)\/4\/jobs$/.exec(pathname)?.[1];
      return list === undefined ? { status: 409, body: refusal } : { body: { data: jobs[list] } };
    });
    gateway = await startGateway({ wire: service.wire });
    const { errors } = await gateway.query(publish, { input: { marketId: market } });
    expect(errors?.[0].message).toMatch(message);
    expect(errors?.[0].extensions).toEqual({
      code: 'CONFLICT',
      upstream: { status: 409, errorCode: 'CONFLICT' },
      retryable: false,
    });
    expect(service.calls.length).toBe(3);
  });

  test('a conflict is explained by the jobs after it, and not by those that the operation has read before', async () => {
    await gateway.close();
    const jobs: Record<string, readonly object[]> = { discovery: [ended], markets: [] };
    const service = fakeWire(({ url: { pathname } }) => {
      const list = /\/v2\/(\w+)\/4\/jobs$/.exec(pathname)?.[1];
      if (list !== undefined) return { body: { data: jobs[list] } };
      if (!pathname.endsWith('/publish')) return { body: {} };
      jobs.markets = [running];
      return { status: 409, body: refusal };
    });
    gateway = await startGateway({ wire: service.wire });
    const { data, errors } = await gateway.query(`mutation {
      reviewCompanies(input: { marketId: ${market}, reviewStatus: INCLUDE, target: { all: true } }) {
        market { jobs(phase: PUBLISH) { id } }
      }
      publishMarket(input: { marketId: ${market} }) { marketId }
    }`);
    expect(data.reviewCompanies.market.jobs).toEqual([]);
    expect(errors?.[0].message).toMatch(/being published already/);
  });

  test('a conflict says only that where the jobs cannot be read', async () => {
    await gateway.close();
    const service = fakeWire(({ url: { pathname } }) => ({
      status: pathname.endsWith('jobs') ? 404 : 409,
      body: refusal,
    }));
    gateway = await startGateway({ wire: service.wire });
    const target = { all: true };
    const { errors } = await gateway.query(review, { input: { marketId: market, reviewStatus: 'INCLUDE', target } });
    expect(errors?.[0]).toMatchObject({
      message: 'The current state does not allow this',
      extensions: { code: 'CONFLICT' },
    });
  });

  test('a review and a CSV export name the domains that the service does not know', async () => {
    const target = { domains: ['Unknown.example', 'other.example'] };
    const refused = await gateway.query(review, { input: { marketId: '3', reviewStatus: 'INCLUDE', target } });
    expect(refused.errors?.[0]).toMatchObject({
      message: 'The service rejected the request as invalid: Unknown.example',
      extensions: { code: 'BAD_USER_INPUT', argument: 'input.target.domains' },
    });
    const companies = { domains: ['nowhere.example'] };
    const csv = 'mutation ($input: ExportMarketCsvInput!) { exportMarketCsv(input: $input) { downloadLink } }';
    const { errors } = await gateway.query(csv, { input: { marketId: '1', companies } });
    expect(errors?.[0]).toMatchObject({
      message: 'The service rejected the request as invalid: nowhere.example',
      extensions: { code: 'BAD_USER_INPUT', argument: 'input.companies' },
    });
  });
});

describe('jobs that the service lists some time after it has started them', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const yesterdays = { jobId: 1, endTime: '2026-01-01T00:00:00Z' };
  const phases = [
    ['DISCOVERY', 'startDiscovery(input: { marketId: 4, searchCriteria: {} }) { __typename }', [7]],
    ['PUBLISH', 'publishMarket(input: { marketId: 4 }) { marketId }', [7, 8, 9]],
  ] as const;

  /** Starts jobs through one gateway, and follows them through another one. @param listed those that the service lists by now. */
  async function follow(
    [phase, mutation, ids]: (typeof phases)[number],
    listed: { jobs: readonly object[] },
    gateways: { readonly writer: TestGateway; readonly reader: TestGateway },
  ) {
    cleanups.push(gateways.writer.close);
    if (gateways.reader !== gateways.writer) cleanups.push(gateways.reader.close);
    const { errors } = await gateways.writer.query(`mutation { ${mutation} }`);
    expect(errors).toBeUndefined();
    const query = `subscription { jobProgress(marketId: 4, phase: ${phase}) { finished unlisted overallProgress jobs { id } } }`;
    const heard = overSse(gateways.reader.url, { query });
    cleanups.push(heard.stop);
    await until(() => heard.results.length > 0);
    const texts = ids.map(String);
    const overallProgress = 1 / (1 + ids.length);
    const [first] = heard.results;
    expect(first.data.jobProgress).toEqual({ finished: false, unlisted: texts, overallProgress, jobs: [{ id: '1' }] });
    listed.jobs = [yesterdays, ...ids.slice(1).map(jobId => ({ ...yesterdays, jobId }))];
    if (ids.length > 1) await until(() => heard.results.length > 1);
    expect(heard.results.at(-1).data.jobProgress).toMatchObject({ finished: false, unlisted: ['7'] });
    return heard;
  }

  function serviceOf() {
    const listed = { jobs: [yesterdays] as readonly object[] };
    const { wire } = fakeWire(({ path, method }) => {
      if (method === 'GET') return { body: { data: listed.jobs } };
      return { body: { data: (path.endsWith('/start') ? [7] : [7, 8, 9]).map(jobId => ({ jobId })) } };
    });
    return { listed, wire };
  }

  const env = { POLL_INTERVAL_MS: '100' };

  test.each(phases)('are named by the last state where a minute was not enough (%s)', async (...row) => {
    const { listed, wire } = serviceOf();
    const own = await startGateway({ wire, env });
    const heard = await follow(row, listed, { writer: own, reader: own });
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 60_000);
    expect(await heard.ended).toBeUndefined();
    expect(heard.results.at(-1).data.jobProgress).toMatchObject({
      finished: true,
      unlisted: ['7'],
      overallProgress: 1,
    });
  });

  test.each(phases)('are waited for although the service did not name them (%s)', async (...[phase, mutation]) => {
    let jobs: readonly object[] = [yesterdays];
    const { wire } = fakeWire(({ method }) => ({ body: { data: method === 'GET' ? jobs : [] } }));
    const own = forTest(await startGateway({ wire, env }));
    expect((await own.query(`mutation { ${mutation} }`)).errors).toBeUndefined();
    const query = `subscription { jobProgress(marketId: 4, phase: ${phase}) { finished jobs { id } } }`;
    const heard = overSse(own.url, { query });
    cleanups.push(heard.stop);
    await until(() => heard.results.length > 0);
    expect(heard.results[0].data.jobProgress).toEqual({ finished: false, jobs: [{ id: '1' }] });
    jobs = [yesterdays, { ...yesterdays, jobId: 7 }];
    await until(() => heard.results.length > 1);
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 60_000);
    expect(await heard.ended).toBeUndefined();
    expect(heard.results.at(-1).data.jobProgress).toEqual({ finished: true, jobs: [{ id: '1' }, { id: '7' }] });
  });

  test.each(phases)('are waited for by the whole fleet (%s)', async (...row) => {
    const redis = forTest(await startRedis());
    const { listed, wire } = serviceOf();
    const shared = { wire, redisUrl: redis.url, env: { ...env, SESSION_SECRET: 's'.repeat(32) } };
    const [writer, reader] = await Promise.all([startGateway(shared), startGateway(shared)]);
    const heard = await follow(row, listed, { writer, reader });
    listed.jobs = [yesterdays, ...row[2].map(jobId => ({ ...yesterdays, jobId }))];
    expect(await heard.ended).toBeUndefined();
    expect(heard.results.at(-1).data.jobProgress).toMatchObject({ finished: true, unlisted: [] });
  });
});

describe('search criteria that were read', () => {
  const all = `{
    userPrompt marketName marketType marketRole keywords { features user synonyms irrelevant attributes } seedDomains projectKind
    locations { countryCode countryName attributes } count performSearch attributes
  }`;
  const create = `mutation { createSearchCriteria(input: { searchInput: "Who makes sealed bearings in Germany?" }) { searchCriteria ${all} } }`;

  test('start a discovery unchanged, even without the count that new criteria lack', async () => {
    const { data } = await gateway.query(create);
    const searchCriteria = data.createSearchCriteria.searchCriteria;
    expect(searchCriteria).toMatchObject({ count: null, performSearch: null, attributes: null });
    const words = await gateway.query(
      'query ($input: SuggestKeywordsInput!) { suggestKeywords(input: $input) { keywords } }',
      {
        input: { searchCriteria },
      },
    );
    expect(words.errors).toBeUndefined();
    const { data: started, errors } = await gateway.query(start, { input: { marketId: market, searchCriteria } });
    expect([started.startDiscovery?.__typename, errors]).toEqual(['DiscoveryStarted', undefined]);

    const again = await gateway.query(`query { market(id: 1) { searchCriteria ${all} searchCriteriaHistory ${all} } }`);
    expect(again.errors).toBeUndefined();
    const { searchCriteria: last, searchCriteriaHistory } = again.data.market;
    for (const earlier of [last, ...searchCriteriaHistory]) {
      const { errors } = await gateway.query(
        'query ($input: SuggestKeywordsInput!) { suggestKeywords(input: $input) { keywords } }',
        { input: { searchCriteria: earlier } },
      );
      expect(errors).toBeUndefined();
    }
  });

  test('are sent back unchanged, with missing and additional members', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constant('\ufffd'),
      fc.constant(''),
      fc.constant('x'.repeat(2_000)),
    );
    const orNothing = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
    const words = fc.array(text, { maxLength: 3 });
    // A request body with a member of this name is refused (test/web-safety.test.ts).
    const deep = fc.constant(JSON.parse(`${'[{"a":'.repeat(10)}1${'}]'.repeat(10)}`));
    const value = fc
      .oneof(fc.jsonValue({ maxDepth: 2 }), deep)
      .filter(json => !JSON.stringify(json).includes('"__proto__":'));
    // Members that the specification does not name.
    const more = fc.dictionary(fc.constantFrom('novel', 'another member', '', 'Features'), value, { maxKeys: 2 });
    const withMore = (known: fc.Arbitrary<object>) =>
      fc.tuple(more, known).map(([others, its]) => ({ ...others, ...its }));
    const criteria = withMore(
      fc.record({
        userPrompt: orNothing(text),
        marketName: orNothing(text),
        marketType: orNothing(text),
        marketRole: orNothing(text),
        keywords: orNothing(withMore(fc.record({ features: words, user: words, synonyms: words, irrelevant: words }))),
        seedDomains: fc.array(fc.oneof(fc.domain(), text), { maxLength: 3 }),
        projectKind: orNothing(text),
        locations: fc.array(
          withMore(fc.record({ countryCode: fc.constantFrom('DE', 'fr'), countryName: orNothing(text) })),
          { maxLength: 3 },
        ),
        count: orNothing(fc.integer({ min: 1, max: 10_000 })),
        performSearch: orNothing(fc.boolean()),
      }),
    );
    let made: object = {};
    const service = fakeWire(({ url }) => ({
      body: url.pathname.endsWith('/start') ? { data: [] } : { searchCriteria: made },
    }));
    const own = forTest(await startGateway({ wire: service.wire }));
    await fc.assert(
      fc.asyncProperty(criteria, async generated => {
        made = JSON.parse(JSON.stringify(generated));
        const { data } = await own.query(create);
        const input = { marketId: '1', searchCriteria: data.createSearchCriteria.searchCriteria };
        const { errors } = await own.query(start, { input });
        expect(errors).toBeUndefined();
        const sent = JSON.parse(service.calls.at(-1)?.body ?? '{}').searchCriteria;
        expect(sent).toEqual(made);
      }),
      { numRuns: 100 },
    );
  });

  test('that the service rejects cause an error that names the member and contains no other text of the service', async () => {
    const refused = async (searchCriteria: object) => {
      const { errors } = await gateway.query(start, { input: { marketId: market, searchCriteria } });
      return errors?.[0];
    };
    const { data } = await gateway.query(create);
    const { keywords: _, ...rest } = data.createSearchCriteria.searchCriteria;
    const error = await refused(rest);
    expect(error.extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument: 'input.searchCriteria.keywords' });
    expect(error.message).toMatch(/searchCriteria\.keywords$/);

    const bare = await refused({ userPrompt: 'Who?' });
    expect(bare.message).toMatch(
      /: searchCriteria\.marketName, .*\.marketType, .*\.marketRole, .*\.keywords, .*\.seedDomains, .*\.projectKind, .*\.locations$/,
    );

    const message = 'At http://10.0.0.1/start with key abc: count and marketName must be given';
    const body = JSON.stringify({ success: false, errorCode: 'QUERY_VALIDATION_FAILED', message });
    sandbox.tell({ path: /start$/, status: 400, body });
    const several = await refused(rest);
    expect(several.extensions.argument).toBe('input.searchCriteria.marketName');
    expect(several.message).toMatch(/searchCriteria\.marketName, searchCriteria\.count$/);
    expect(JSON.stringify(several)).not.toMatch(/10\.0|abc|must be/);
  });
});

describe('invalid input is refused before any call', () => {
  type Mutation = readonly [document: string, input: object];
  const mutation = (name: string, selection: string, input: object): Mutation => [
    `mutation ($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { ${selection} } }`,
    input,
  ];
  const starting = (searchCriteria: object, marketId = '1') =>
    mutation('startDiscovery', '__typename', { marketId, searchCriteria });
  const exporting = (companies: object) => mutation('exportMarketCsv', 'downloadLink', { marketId: '1', companies });
  const reviewing = (target: object) =>
    mutation('reviewCompanies', 'marketId', { marketId: '1', reviewStatus: 'INCLUDE', target });
  const asking = (searchInput: string) =>
    mutation('createSearchCriteria', 'searchCriteria { userPrompt }', { searchInput });
  const signingIn = (password: string) => mutation('signIn', '__typename', { email: 'ada@team.example', password });
  const place = { countryCode: 'DE', attributes: { countryName: 'x' } };

  test.each<[Mutation, string]>([
    [starting({}, 'x'), 'input.marketId'],
    [starting({ count: 0 }), 'input.searchCriteria.count'],
    [starting({ locations: [{ countryCode: 'DEU' }] }), 'input.searchCriteria.locations.0.countryCode'],
    [starting({ seedDomains: ['example.com', 'x'.repeat(10_001)] }), 'input.searchCriteria.seedDomains.1'],
    [starting({ attributes: { count: 'many' } }), 'input.searchCriteria.attributes'],
    [starting({ keywords: { attributes: { user: ['a'] } } }), 'input.searchCriteria.keywords.attributes'],
    [starting({ locations: [place] }), 'input.searchCriteria.locations.0.attributes'],
    [exporting({ domains: [] }), 'input.companies.domains'],
    [exporting({ domains: ['-.com'] }), 'input.companies.domains.0'],
    [exporting({ domains: ['acme'] }), 'input.companies.domains.0'],
    [exporting({ domains: ['https://a.example/about'] }), 'input.companies.domains.0'],
    [exporting({ domains: ['a.example', 'b .example'] }), 'input.companies.domains.1'],
    [exporting({ domains: [`${'a'.repeat(250)}.com`] }), 'input.companies.domains.0'],
    [exporting({ domains: Array(10_001).fill('a.example') }), 'input.companies.domains'],
    [exporting({}), 'input.companies'],
    [exporting({ all: true }), 'input.companies.all'],
    [exporting({ matching: null }), 'input.companies.matching'],
    [exporting({ visible: { last: 0 } }), 'input.companies.visible.last'],
    [exporting({ matching: { search: ' ' } }), 'input.companies.matching.search'],
    [reviewing({ all: false }), 'input.target.all'],
    [reviewing({ domains: ['münchen.example/about', 'münchen.example'] }), 'input.target.domains.0'],
    [reviewing({ all: true, domains: ['a.example'] }), 'input.target'],
    [asking(' '), 'input.searchInput'],
    [asking('a\ud800'), 'input.searchInput'],
    [asking('x'.repeat(10_001)), 'input.searchInput'],
    [signingIn('a\udc00b'), 'input.password'],
    [signingIn('\ufffd'), 'input.password'],
  ])('case %#', async ([document, input], argument) => {
    const { errors } = await gateway.query(document, { input });
    expect(errors?.[0].extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument });
    expect(sandbox.calls.list()).toEqual([]);
  });
});

test('a write keeps nobody from the cache whose credential the service does not accept for the market', async () => {
  const redis = forTest(await startRedis());
  const client = new Redis(redis.url);
  cleanups.push(() => client.disconnect());
  let refuse = () => {};
  let status: number | null = null;
  const service = forTest(
    await startStubService((request, response) => {
      if (request.method === 'GET')
        return reply(response, 200, { data: { id: request.url?.split('/').at(-1), name: 'Paints' } });
      refuse = () => (status === null ? response.destroy() : reply(response, status, { success: false }));
    }),
  );
  const withRedis = forTest(await startGateway({ redisUrl: redis.url, env: addressesOn(service.origin) }));
  const read = (key: string, id = 7) => withRedis.query(`{ market(id: ${id}) { name } }`, {}, { 'x-api-key': key });
  const calls = () => service.calls.filter(call => call === 'GET /stage/dev/markets/7').length;
  async function callsOfReads() {
    const before = calls();
    for (let turn = 0; turn < 3; turn += 1) expect((await read('reader')).data.market.name).toBe('Paints');
    return calls() - before;
  }
  for (const key of ['reader', 'member', 'other'])
    expect((await read(key, key === 'other' ? 8 : 7)).errors).toBeUndefined();
  const publish = 'mutation { publishMarket(input: { marketId: 7 }) { marketId } }';
  // The first refusal of an accepted credential is news. A service may hide with 404 what it has no permission for.
  for (const [key, refusal, readsBefore, readsAfter] of [
    ['made-up', 401, 0, 0],
    // The effect of these is unknown, and that of a connection that breaks.
    ['made-up', 500, 0, 0],
    ['made-up', 503, 0, 0],
    ['made-up', 302, 0, 0],
    ['made-up', 200, 0, 0],
    ['made-up', null, 0, 0],
    // It was accepted for another market.
    ['other', 403, 0, 0],
    ['other', 500, 0, 0],
    ['other', 503, 0, 0],
    ['other', null, 0, 0],
    ['member', 403, 3, 0],
    ['member', 403, 0, 0],
    ['member', 404, 0, 0],
    ['member', 400, 0, 0],
    ['member', 429, 0, 0],
    ['member', 503, 0, 3],
    ['member', 403, 0, 0],
  ] as const) {
    // As if a minute had passed since the one before.
    await client.flushall();
    await read('reader');
    status = refusal;
    const before = service.calls.length;
    const refused = withRedis.query(publish, {}, { 'x-api-key': key });
    await service.arrived(before + 1);
    expect(await callsOfReads()).toBe(readsBefore);
    refuse();
    expect((await refused).errors?.[0].extensions.upstream.status).toBe(status === 200 ? null : status);
    expect(await callsOfReads()).toBe(readsAfter);
  }
});

test('after a write with an unknown effect nothing is cached for a minute, also where only another gateway knows its credential', async () => {
  const redis = forTest(await startRedis());
  const client = new Redis(redis.url);
  cleanups.push(() => client.disconnect());
  let whileWriting: () => Promise<unknown> = async () => {};
  const service = forTest(
    await startStubService((request, response) => {
      if (request.method === 'GET') reply(response, 200, { data: { id: 7, name: 'Paints' } });
      else void whileWriting().then(() => response.destroy());
    }),
  );
  const env = { SESSION_SECRET: randomUUID(), ...addressesOn(service.origin) };
  const start = async () => forTest(await startGateway({ redisUrl: redis.url, env }));
  const [known, other] = [await start(), await start()];
  const ask = (at: TestGateway, key: string, query: string) => at.query(query, {}, { 'x-api-key': key });
  const read = (key: string) => ask(known, key, '{ market(id: 7) { name } }');
  const acceptedForMarket = () => client.keys('mig:accepted:*:*:7');
  /** How many of three reads call the service after a write of another credential through the other gateway, which has broken. */
  async function callsAfterWriteOf(key: string) {
    await read('reader');
    const writing = ask(other, key, 'mutation { publishMarket(input: { marketId: 7 }) { marketId } }');
    expect((await writing).errors?.[0].extensions.retryable).toBe(false);
    const before = service.calls.length;
    for (let turn = 0; turn < 3; turn += 1) expect((await read('reader')).data.market.name).toBe('Paints');
    return service.calls.length - before;
  }
  expect(await callsAfterWriteOf('member')).toBe(0);
  await read('member');
  await until(async () => (await acceptedForMarket()).length === 2);
  expect(await callsAfterWriteOf('member')).toBe(3);

  // As if a minute had passed. A credential may be known to the other gateway only when the write has begun.
  await client.del(await client.keys('mig:generation:*'));
  whileWriting = async () => {
    await read('new');
    await until(async () => (await acceptedForMarket()).length === 3);
  };
  expect(await callsAfterWriteOf('new')).toBe(3);
  whileWriting = async () => {};

  // As if a minute had passed. Where Redis cannot say who is known, anyone may be.
  await client.del(await client.keys('mig:generation:*'));
  expect(await callsAfterWriteOf('made-up')).toBe(0);
  await client.call('ACL', 'SETUSER', 'default', '-exists');
  expect(await callsAfterWriteOf('made-up-too')).toBe(3);
  expect(await acceptedForMarket()).toHaveLength(3);
});
