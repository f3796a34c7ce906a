import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isUnreadable, parseLenient, utcTime } from '../src/data/parsing.js';
import { csvExport, esgData, esgOf } from '../src/domains/companies/model.js';
import { isUsualObservation, observation, eventPage as pageModel } from '../src/domains/events/model.js';
import { marketRecord } from '../src/domains/markets/model.js';
import { type BoundedJson, boundedJson } from '../src/lib/json.js';
import { instantOf, readTime } from '../src/lib/time.js';
import { forSuite, forTest } from './support/cleanups.js';
import { expectCpuTime } from './support/cpu-time.js';
import { startGateway, type TestGateway } from './support/gateway.js';
import { counted } from './support/metrics.js';
import { overSse } from './support/streams.js';
import { until } from './support/until.js';
import { eventMeta, eventPage, fakeWire, pageOf, type WireCall, type WireReply } from './support/wire.js';

/** What the service answers. */
let answer: (call: WireCall) => WireReply = () => ({ body: '' });
const service = fakeWire(call => answer(call));

/** One for all tests, and one that executes with graphql-js. */
const gateways: Readonly<Record<string, TestGateway>> = {
  plan: forSuite(await startGateway({ wire: service.wire })),
  'graphql-js': forSuite(await startGateway({ wire: service.wire, env: { GRAPHQL_EXECUTOR: 'graphql-js' } })),
};

/** That of the test, which sends the test's own key: nothing is cached for it. */
let gateway: TestGateway;
let lastKey = 0;

/** Lets the service answer everything alike, or as the function says. */
function over(reply: WireReply | typeof answer, executor = 'plan'): void {
  answer = typeof reply === 'function' ? reply : () => reply;
  service.calls.length = 0;
  lastKey += 1;
  const own = { 'x-api-key': `key-${lastKey}` };
  const shared = gateways[executor] as TestGateway;
  gateway = { ...shared, query: (text, variables, headers) => shared.query(text, variables, { ...own, ...headers }) };
}

const codesOf = (errors: { extensions: { code: string } }[] | undefined) =>
  errors?.map(({ extensions: { code } }) => code);

/** What `/metrics` counts as drift: the field's name to the number. */
async function driftCounted(before: Record<string, number> = {}): Promise<Record<string, number>> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const lines = text.matchAll(/^gateway_upstream_drift_total\{field="([^"]*)"\} (\d+)$/gm);
  const counts = [...lines].map(([, field = '', count]) => [field, Number(count) - (before[field] ?? 0)] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

const good = { _id: 'e-1', title: 'Good', lastUpdated: '2026-01-31T08:30:00.000Z' };
const query = '{ events { totalCount nodes { id title } } }';

test('a text that is not UTF-8 is served with what stands for it, and counted', async () => {
  over(call => {
    const page = { meta: eventMeta(call.url, 1), data: [{ ...good, title: 'Zoë' }] };
    return { body: Buffer.from(JSON.stringify(page), 'latin1') };
  });
  const before = await driftCounted();
  const { data, errors } = await gateway.query('{ events { nodes { title } } }');
  expect({ nodes: data.events?.nodes, errors }).toEqual({ nodes: [{ title: 'Zo\ufffd' }] });
  expect(await driftCounted(before)).toMatchObject({ 'events: a text that is not UTF-8': 1 });
});

describe('one bad record', () => {
  test.each<[string, unknown, string | null, string[]]>([
    ['without an identifier', { title: 'Bad' }, null, ['_id']],
    ['with a number for one', { _id: 7, title: 'Bad' }, '7', ['_id']],
    ['that is null', null, null, ['']],
    ['that is text', 'event', null, ['']],
    ['that is a list', [good], null, ['']],
  ])('%s is left out with an error that names it, and the page is served', async (_, bad, id, fields) => {
    over(eventPage([good, bad as object, { ...good, _id: 'e-3' }]));
    const before = await driftCounted();
    const first = await gateway.query(query);
    expect(first.data.events).toEqual({
      totalCount: 3,
      nodes: [
        { id: 'e-1', title: 'Good' },
        { id: 'e-3', title: 'Good' },
      ],
    });
    expect(first.errors).toHaveLength(1);
    const upstream = { status: null, errorCode: null };
    const common = { code: 'UPSTREAM_INVALID_RESPONSE', upstream, retryable: false };
    const named = { ...common, record: 'Event', id, index: 1, fields };
    expect(first.errors?.[0]).toMatchObject({ path: ['events', 'nodes'], extensions: named });
    expect(first.errors?.[0].message).toContain(id === null ? 'One Event (index 1)' : `Event ${id}`);
    expect(await driftCounted(before)).toEqual({ [fields[0] === '' ? 'Event' : 'Event._id']: 1 });

    const kept = await gateway.query(query);
    expect({ data: kept.data, errors: kept.errors }).toEqual({ data: first.data, errors: first.errors });
    expect(service.calls).toHaveLength(1);
    expect(Object.values(await driftCounted(before))).toEqual([1]);
  });

  test('keeps its place in the list, so that no page repeats or skips another', async () => {
    const list = Array.from({ length: 12 }, (_, index) =>
      index > 3 && index < 10 ? { title: 'Bad' } : { _id: `e-${index}` },
    );
    over(call => pageOf(call, list));
    const seen: string[] = [];
    let after: string | null = null;
    for (let page = 0; page < 10; page += 1) {
      const { data } = await gateway.query(
        'query ($after: String) { events(first: 5, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }',
        { after },
      );
      seen.push(...data.events.nodes.map(({ id }: { id: string }) => id));
      after = data.events.pageInfo.endCursor;
      if (!data.events.pageInfo.hasNextPage) break;
    }
    expect(seen).toEqual(list.flatMap(event => event._id ?? []));
  });

  test.each<[string, unknown, string, unknown, string]>([
    ['companies', [{ domain: 'a.example' }, { name: 'x' }], 'companies { nodes { domain } }', ['a.example'], 'Company'],
    ['topics', [{ topicId: 1, label: 'A', groups: [] }, { topicId: 2 }], 'topics { label }', ['A'], 'Topic'],
    ['jobs', [{ jobId: 1 }, { workflowName: 'x' }], 'jobs { id }', ['1'], 'Job'],
    ['criteria', [{ userPrompt: 'A' }, 'B'], 'searchCriteriaHistory { userPrompt }', ['A'], 'SearchCriteria'],
  ])('in a list of %s costs nothing but itself', async (_, list, field, expected, record) => {
    over({ body: { metadata: { marketId: 1 }, data: list } });
    for (const source of ['network', 'memory']) {
      const { data, errors, extensions } = await gateway.query(
        `{ market(id: 1) { it: ${field} } }`,
        {},
        { 'x-explain': '1' },
      );
      const items = data.market.it.nodes ?? data.market.it;
      expect(items.flatMap((item: object) => Object.values(item))).toEqual(expected);
      expect(errors).toHaveLength(1);
      expect(errors?.[0].extensions).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', record, index: 1 });
      expect(errors?.[0].path).toEqual(['market', 'it', ...(data.market.it.nodes ? ['nodes'] : [])]);
      expect(extensions.explain).toMatchObject([{ source }]);
    }
  });
});

describe.each(['plan', 'graphql-js'])('what cannot be read, with the executor %s,', executor => {
  const companies = [
    { domain: 'a.example', name: 'B', score: 1 },
    { domain: 7, name: 'Bad' },
    { domain: 'b.example', name: 'A', dunsNumbers: [null, '1'], naics: [{ code: '33' }, {}], operatesIn: ['de', 3] },
    null,
  ];
  const topics = [{ topicId: 1, label: 'A', groups: [{ topicId: 2 }, { topicId: 3, label: 'C' }] }, { topicId: 4 }];
  const events = [
    { ...good, references: [{ _id: 'o-1' }], taxonomicMatches: { impactedEntities: [{ name: 'N' }, { name: 5 }] } },
    { title: 'Bad' },
  ];
  const bodies: Readonly<Record<string, WireReply>> = {
    companies: { body: { data: companies } },
    topics: { body: { data: topics } },
    jobs: { body: { data: [{ jobId: 1, endTime: null }, { workflowName: 'x' }] } },
    history: { body: { data: [{ userPrompt: 'A', seedDomains: ['a.example', null], keywords: { user: [1] } }, 'B'] } },
    suggest: { body: { suggested: ['a', 7] } },
    events: eventPage(events),
    'o-1': { body: { _id: 'o-1', content: ['a', 1] } },
    'export-csv': { body: { downloadLink: 'https://files.example/1.csv' } },
    publish: { body: { data: [{ jobId: 1 }, {}] } },
  };
  beforeEach(() => {
    over(({ path }) => bodies[/([^/?]+)(?:\?.*)?$/.exec(path)?.[1] ?? ''] ?? { status: 404, body: {} }, executor);
  });

  const csv = (choice: string) =>
    `mutation { exportMarketCsv(input: { marketId: 1, companies: ${choice} }) { selected downloadLink } }`;
  test.each([
    '{ market(id: 1) { companies(first: 1) { totalCount pageInfo { hasNextPage } } } }',
    '{ market(id: 1) { companies(first: 1, filter: { search: "b.example" }) { nodes { domain name } } } }',
    '{ market(id: 1) { companyFacets { operatesIn { value count } naics { code } } } }',
    '{ market(id: 1) { company(domain: "b.example") { name domain } } }',
    '{ events { totalCount updatesCursor pageInfo { endCursor } } }',
    '{ eventStatistics { total counted impactedEntities { value } } }',
    '{ observation(id: "o-1") { id } }',
    'mutation { publishMarket(input: { marketId: 1 }) { marketId } }',
    csv('{ matching: {} }'),
    csv('{ visible: { first: 2 } }'),
  ])('has no error where nobody selected it: %s', async document => {
    const { data, errors } = await gateway.query(document);
    expect(errors).toBeUndefined();
    expect(JSON.stringify(data)).not.toMatch(/null|leftOut/);
  });

  test.each<[string, [path: string, record: string, id: string | null, index: number][]]>([
    ['market(id: 1) { companies(first: 1) { nodes { name } } }', [['market.companies.nodes', 'Company', '7', 1]]],
    [
      'market(id: 1) { companies(first: 1, filter: { operatesIn: [] }) { nodes { name } } }',
      [['market.companies.nodes', 'Company', '7', 1]],
    ],
    ['market(id: 1) { companies(first: 1, orderBy: { field: NAME, direction: ASC }) { nodes { name } } }', []],
    [
      'market(id: 1) { companies(first: 9, orderBy: { field: NAME, direction: ASC }) { edges { node { name } } } }',
      [
        ['market.companies.edges', 'Company', '7', 2],
        ['market.companies.edges', 'Company', null, 3],
      ],
    ],
    [
      'market(id: 1) { companies(last: 1) { edges { node { dunsNumbers naics { code } operatesIn } } } }',
      [
        ['market.companies.edges', 'Company', null, 3],
        ['market.companies.edges.0.node.dunsNumbers', 'Company.dunsNumbers', null, 0],
        ['market.companies.edges.0.node.naics', 'Company.naics', null, 1],
        ['market.companies.edges.0.node.operatesIn', 'Company.operatesIn', null, 1],
      ],
    ],
    [
      'market(id: 1) { company(domain: "b.example") { own: dunsNumbers } }',
      [['market.company.own', 'Company.dunsNumbers', null, 0]],
    ],
    [
      'market(id: 1) { topics { groups { id } } }',
      [
        ['market.topics', 'Topic', '4', 1],
        ['market.topics.0.groups', 'Topic.groups', '2', 0],
      ],
    ],
    ['market(id: 1) { jobs { id } }', [['market.jobs', 'Job', null, 1]]],
    [
      'market(id: 1) { searchCriteriaHistory { seedDomains keywords { user } } }',
      [
        ['market.searchCriteriaHistory', 'SearchCriteria', null, 1],
        ['market.searchCriteriaHistory.0.seedDomains', 'SearchCriteria.seedDomains', null, 1],
        ['market.searchCriteriaHistory.0.keywords.user', 'SearchCriteria.keywords.user', null, 0],
      ],
    ],
    ['suggestMarkets(keyword: "a")', [['suggestMarkets', 'suggested', null, 1]]],
    [
      'events(first: 2) { nodes { references { id } impactedEntities { name } } }',
      [
        ['events.nodes', 'Event', null, 1],
        ['events.nodes.0.references', 'Event.references', 'o-1', 0],
        ['events.nodes.0.impactedEntities', 'Event.impactedEntities', null, 1],
      ],
    ],
    ['observation(id: "o-1") { content }', [['observation.content', 'Observation.content', null, 1]]],
  ])('is an error of the field that has it: %s', async (selection, expected) => {
    const { data, errors = [] } = await gateway.query(`{ ${selection} }`);
    const found = errors.map(({ path, extensions: { record, id, index } }) => [path.join('.'), record, id, index]);
    expect(found.sort()).toEqual([...expected].sort());
    expect(JSON.stringify(data)).not.toMatch(/null|leftOut/);
  });

  test('makes a response uncacheable only where it is an error', async () => {
    const cacheable = async (selection: string) => {
      const query = `{ market(id: 1) { companies(first: 1) { ${selection} } } }`;
      return (await gateway.query(query)).headers.get('cache-control');
    };
    expect([await cacheable('totalCount'), await cacheable('nodes { name }')]).toEqual([
      'private, no-cache',
      'no-store',
    ]);
  });

  test('is reported by a subscription to those who selected it', async () => {
    const heardBy = async (selection: string) => {
      const heard = overSse(gateway.url, { query: `subscription { jobProgress(marketId: 1) { ${selection} } }` });
      await until(() => heard.results.length > 0);
      heard.stop();
      return heard.results[0].errors?.map(({ path }: { path: string[] }) => path.join('.'));
    };
    expect(await heardBy('finished overallProgress')).toBeUndefined();
    expect(await heardBy('jobs { id }')).toEqual(['jobProgress.jobs']);
  });
});

describe('one bad field', () => {
  const event = (field: object) => ({ ...good, ...field });
  const matches = (name: string, member: object) => event({ taxonomicMatches: { [name]: [{ name: 'N', ...member }] } });
  const entities = 'impactedEntities { name entityType impact { likelihood severity } }';
  const datapoints = 'affectedDatapoints { name subject direction quantity { operator values unit } }';

  /** What is read of a datapoint that has nothing but its name. */
  const bare = { name: 'N', subject: null, direction: null, quantity: null };
  const vector = (embeddings: unknown[]) => event({ vectorIndex: { anchorText: 'A', embeddings } });
  const noVector = { vectorIndex: { anchorText: 'A', embeddings: null } };
  test.each<[string, object, string, unknown, string]>([
    ['title of a wrong type', event({ title: 7 }), 'title', { title: null }, 'title'],
    [
      'times in a list',
      event({ timestamps: [] }),
      'timestamps { published }',
      { timestamps: { published: null } },
      'timestamps',
    ],
    ...[
      ['an unknown direction', { direction: 'sideways' }, bare, 'affectedDatapoints.direction'] as const,
      ['an enum in upper case', { direction: 'UP' }, bare, 'affectedDatapoints.direction'] as const,
      [
        'an unknown operator',
        { quantity: { operator: '≈', values: [1], unit: '%' } },
        { ...bare, quantity: { operator: null, values: [1], unit: '%' } },
        'quantity.operator',
      ] as const,
      ['no unit', { quantity: { operator: '=', values: [1] } }, bare, 'affectedDatapoints.quantity'] as const,
    ].map(([what, given, read, field]): [string, object, string, unknown, string] => [
      what,
      matches('affectedDatapoints', given),
      datapoints,
      { affectedDatapoints: [read] },
      field,
    ]),
    [
      'an unknown kind of entity',
      event({ relevantEntities: [{ name: 'N', entityType: 'planet' }] }),
      'relevantEntities { name entityType }',
      { relevantEntities: [{ name: 'N', entityType: null }] },
      'relevantEntities.entityType',
    ],
    [
      'a vector of words',
      vector(['one', 'two']),
      'vectorIndex { anchorText embeddings }',
      noVector,
      'vectorIndex.embeddings',
    ],
    [
      'a vector with a hole',
      vector([1, null]),
      'vectorIndex { anchorText embeddings }',
      noVector,
      'vectorIndex.embeddings',
    ],
  ])('(%s) is null, and its record is served without an error', async (_, bad, selection, expected, field) => {
    over(eventPage([bad]));
    const before = await driftCounted();
    for (const ask of ['cold', 'warm']) {
      const { data, errors } = await gateway.query(`{ events { nodes { ${selection} } } }`);
      expect([ask, errors, data.events.nodes]).toEqual([ask, undefined, [expected]]);
    }
    expect(service.calls).toHaveLength(1);
    expect(await driftCounted(before)).toEqual({ [`Event.${field}`]: 1 });
  });

  test.each<[string, object, string, (string | number)[], string]>([
    ['a time', event({ lastUpdated: 'soon' }), 'lastUpdated', ['lastUpdated'], 'Event.lastUpdated'],
    ['a time that is a number', event({ lastUpdated: 5 }), 'lastUpdated', ['lastUpdated'], 'Event.lastUpdated'],
    [
      'a time of its occurrence',
      event({ timestamps: { published: '2026-02-30' } }),
      'timestamps { published }',
      ['timestamps', 'published'],
      'Event.timestamps.published',
    ],
    ...[['a score of 4', 'likelihood', 4] as const, ['a score that is text', 'severity', 'high'] as const].flatMap(
      ([what, score, value]): [string, object, string, (string | number)[], string][] => {
        const bad = matches('impactedEntities', { impact: { likelihood: 1, severity: 2, [score]: value } });
        const field = `Event.impactedEntities.impact.${score}`;
        const path = ['impactedEntities', 0, 'impact', score];
        return [
          [what, bad, `impactedEntities { impact { ${score} } }`, path, field],
          [`${what}, which may be the highest,`, bad, score, [score], field],
        ];
      },
    ),
  ])('(%s) that cannot be read is null with an error at its path', async (_, bad, selection, path, field) => {
    over(eventPage([good, bad]));
    const before = await driftCounted();
    for (const ask of ['cold', 'warm']) {
      const { data, errors } = await gateway.query(`{ events { totalCount nodes { id ${selection} } } }`);
      expect([ask, data.events.totalCount, data.events.nodes.length]).toEqual([ask, 2, 2]);
      expect(errors).toHaveLength(1);
      expect(errors?.[0]).toMatchObject({
        path: ['events', 'nodes', 1, ...path],
        extensions: { code: 'UPSTREAM_INVALID_RESPONSE', retryable: false },
      });
    }
    expect(service.calls).toHaveLength(1);
    expect(await driftCounted(before)).toEqual({ [field]: 1 });
  });

  test('that is required of an element costs that element alone, with an error', async () => {
    const references = [{ _id: 'o-1', title: 'A' }, { _id: 'o-2' }, { title: 'C' }];
    const taxonomicMatches = { alertTypes: [{ method: 'llm' }], impactedEntities: {} };
    over(eventPage([{ ...good, references, taxonomicMatches, eventSearchKeywords: 'steel' }]));
    const { data, errors } = await gateway.query(
      '{ events { nodes { id references { id title } alertTypes { name } eventSearchKeywords { keyword } impactedEntities { name } } } }',
    );
    const lists = {
      references: [{ id: 'o-1', title: 'A' }],
      alertTypes: [],
      eventSearchKeywords: [],
      impactedEntities: [],
    };
    expect(data.events.nodes).toEqual([{ id: 'e-1', ...lists }]);
    expect(errors?.map(({ extensions: { record, id, fields } }) => ({ record, id, fields }))).toEqual([
      { record: 'Event.references', id: 'o-2', fields: ['title'] },
      { record: 'Event.references', id: null, fields: ['_id'] },
      { record: 'Event.alertTypes', id: null, fields: ['name'] },
      // What is no list.
      { record: 'Event.eventSearchKeywords', id: null, fields: [''] },
      { record: 'Event.impactedEntities', id: null, fields: [''] },
    ]);
  });

  test('that is missing and may be is no drift', async () => {
    over(eventPage([{ _id: 'e-1' }]));
    const before = await driftCounted();
    const { data, errors } = await gateway.query(
      `{ events { unfilteredTotalCount nodes { title summary lastUpdated timestamps { published } references { id }
        vectorIndex { anchorText } ${entities} ${datapoints} } } }`,
    );
    expect(errors).toBeUndefined();
    expect(data.events.unfilteredTotalCount).toBeNull();
    expect(data.events.nodes).toEqual([
      {
        title: null,
        summary: null,
        lastUpdated: null,
        timestamps: { published: null },
        references: [],
        vectorIndex: null,
        impactedEntities: [],
        affectedDatapoints: [],
      },
    ]);
    expect(await driftCounted(before)).toEqual({});
  });

  test('of a market, a company, an observation or a job is null too', async () => {
    const bodies: Record<string, unknown> = {
      '/stage/dev/markets/1': { id: 1, name: 5, review_status: 'archived', company_count: -1, date_created: 'x' },
      '/v2/markets/1/companies': {
        data: [{ domain: 'a.example', name: [], reviewStatus: 'later', overallMomentum: '1', operatesIn: ['DE', 7] }],
      },
      '/v2/events-monitor/observation/o-1': {
        _id: 'o-1',
        content: 'text',
        weight: { a: 'b' },
        publishedAt: 5,
        clusterLabel: 3,
      },
      '/v2/discovery/1/jobs': {
        data: [
          { jobId: 9, jobProgress: 'half', endTime: 'later', status: 4 },
          { jobId: 10, jobProgress: 50, endTime: '' },
        ],
      },
    };
    over(({ url }) => ({ body: bodies[url.pathname] }));
    const before = await driftCounted();
    const { data, errors } = await gateway.query(`{
      market(id: 1) {
        name reviewStatus companyCount dateCreated
        companies { nodes { domain name reviewStatus overallMomentum operatesIn } }
        jobs { id progress completion status endTime finished }
      }
      observation(id: "o-1") { id content weight publishedAt clusterLabel { label } }
    }`);
    expect(data).toEqual({
      market: {
        name: null,
        reviewStatus: null,
        companyCount: null,
        dateCreated: null,
        companies: {
          nodes: [{ domain: 'a.example', name: null, reviewStatus: null, overallMomentum: null, operatesIn: ['de'] }],
        },
        jobs: [
          { id: '9', progress: null, completion: 1, status: null, endTime: null, finished: true },
          { id: '10', progress: 50, completion: 0.5, status: null, endTime: null, finished: false },
        ],
      },
      observation: { id: 'o-1', content: [], weight: null, publishedAt: null, clusterLabel: null },
    });
    const paths = errors?.map(({ path, extensions: { record } }) => record ?? path.join('.'));
    expect(paths?.sort()).toEqual([
      'Company.operatesIn',
      'Observation.content',
      'market.companies.nodes.0.overallMomentum',
      'market.companyCount',
      'market.dateCreated',
      'market.jobs.0.endTime',
      'market.jobs.0.progress',
      'observation.publishedAt',
      'observation.weight',
    ]);
    const counted = await driftCounted(before);
    for (const field of [
      'Market.name',
      'Market.review_status',
      'Company.name',
      'Company.reviewStatus',
      'Observation.weight',
      'Job.endTime',
    ]) {
      expect(counted[field]).toBe(1);
    }
  });
});

describe('half a surrogate pair', () => {
  test('takes little time however often it is written, and among however many backslashes', () => {
    const bounds = { text: 2_000_000, number: 10, items: 10, members: 10, levels: 10 };
    const parsing = (unit: string) => {
      const json = Buffer.from(`"\\ud800${unit.repeat(160_000)}"`);
      return () => void JSON.parse(boundedJson(json, bounds) as BoundedJson);
    };
    for (const unit of ['\\ud800', '\\\\'.repeat(3), '\\\\ud800', '\\\\\\ud800']) {
      // It is about 6. With a call or a text for each, it was up to 40.
      expectCpuTime(parsing(unit), 12, parsing('\\u0041'));
    }
  });

  test.each([
    ['\\ud83d', '\ufffd'],
    ['\\uDE00', '\ufffd'],
    ['\\ud83d\\ude00', '😀'],
    ['\\uD83D\\uD83D\\uDE00', '\ufffd😀'],
    ['\\\\ud83d', '\\ud83d'],
    ['\\\\\\ud83d!', '\\\ufffd!'],
    ['\\\\ud83d\\ude00', '\\ud83d\ufffd'],
    ['\\\\\\ud83d\\ude00', '\\😀'],
    ['\\udc00\\ud800', '\ufffd\ufffd'],
    ['\\u00e9 \\ud7ff \\ue000', 'é \ud7ff \ue000'],
  ])('(%s) of the service reaches clients as %j', async (written, expected) => {
    over({ body: `{"name":"Fire ${written}","companies":[{"domain":"a.example","${written}":"${written}"}]}` });
    const { data, errors } = await gateway.query('{ market(id: 1) { name companies { nodes { attributes } } } }');
    expect(errors).toBeUndefined();
    expect(data.market).toEqual({
      name: `Fire ${expected}`,
      companies: { nodes: [{ attributes: { [expected]: expected } }] },
    });
  });

  test.each([
    ['POST', (body: string) => fetch(`${gateway.url}/graphql`, { method: 'POST', headers: json, body })],
    [
      'GET',
      (body: string) => {
        const { query } = JSON.parse(body);
        const [, variables = ''] = /"variables":(.*)\}$/.exec(body) ?? [];
        return fetch(`${gateway.url}/graphql?${new URLSearchParams({ query, variables })}`, { headers: json });
      },
    ],
    [
      'SSE',
      (body: string) =>
        fetch(`${gateway.url}/graphql/stream`, {
          method: 'POST',
          headers: { ...json, accept: 'text/event-stream' },
          body,
        }),
    ],
  ])('of a client (%s) is not in an error that repeats its name', async (_, send) => {
    over(eventPage([good]));
    const query = 'query ($filter: EventFilter) { events(filter: $filter) { totalCount } }';
    const response = await send(`{"query":${JSON.stringify(query)},"variables":{"filter":{"a\\ud83d":1}}}`);
    const text = await response.text();
    expect(text).toContain('BAD_USER_INPUT');
    expect(text).not.toMatch(/\\u[dD][89a-fA-F]/);
    expect(service.calls).toEqual([]);
  });

  const json = { 'content-type': 'application/json', 'x-api-key': 'k', 'apollo-require-preflight': '1' };
});

/** Writes with their arguments, and a body that confirms each. `reviewCompanies` and `signIn` are not in it: theirs are not specified. */
const criteriaInput = 'searchCriteria: { marketName: "M" }';
const metadataOf = ({ path }: WireCall) => ({ marketId: Number(/\/(\d+)\//.exec(path)?.[1]) });
const jobs = (call: WireCall) => ({
  metadata: metadataOf(call),
  data: [{ jobId: 7, workflowName: 'enrichment', startTime: good.lastUpdated }],
});
const session = { idToken: 'i', accessToken: 'a', refreshToken: 'r', expiresIn: 3600, checksum: 'c' };
const writes: Record<string, readonly [mutation: string, confirmation: unknown]> = {
  createSearchCriteria: [
    'createSearchCriteria(input: { searchInput: "x" }) { __typename }',
    { searchCriteria: { userPrompt: 'x' } },
  ],
  startDiscovery: [`startDiscovery(input: { marketId: 1, ${criteriaInput} }) { __typename }`, jobs],
  publishMarket: ['publishMarket(input: { marketId: 1 }) { marketId }', jobs],
  exportMarketCsv: [
    'exportMarketCsv(input: { marketId: 1, companies: { domains: ["a.example"] } }) { selected }',
    { downloadLink: 'https://files.example/1.csv' },
  ],
  createEmbedSession: ['createEmbedSession { __typename }', session],
};
const review = 'reviewCompanies(input: { marketId: 1, reviewStatus: INCLUDE, target: { all: true } }) { marketId }';
const page = '<!doctype html><title>Sign in</title>';
const html = { 'content-type': 'text/html; charset=utf-8' };

/** What is no success of any write, whatever its status says. */
const neverSuccess: readonly (readonly [string, WireReply])[] = [
  ['a page for signing in', { headers: html, body: page }],
  ['a page that is said to be JSON', { body: page }],
  ['a redirect to such a page', { status: 302, headers: { location: 'https://login.example' }, body: '' }],
  ['a refusal', { body: { success: false, errorCode: 'FORBIDDEN', message: 'No' } }],
  ['a refusal without a code', { body: { success: false } }],
  ['the code of an error', { body: { errorCode: 'INTERNAL_SERVER_ERROR', message: 'Failed' } }],
  ['an error of another server', { body: { error: 'Unauthorized' } }],
  ['a list of errors', { body: { errors: ['Unauthorized'] } }],
  ['errors by their fields', { body: { errors: { domains: ['is invalid'] } } }],
  ['a function that failed', { body: { errorMessage: 'Task timed out', errorType: 'Runtime.Error' } }],
  ['a refusal that is wrapped', { body: { data: { success: false } } }],
  ['a refusal as text', { body: { success: 'false' } }],
  ['a refusal as text in capitals', { body: { success: 'False' } }],
  ['a refusal in a member in capitals', { body: { Success: false } }],
  ['a refusal in its message', { body: { message: 'Unauthorized' } }],
  ['a failure as its result', { body: { result: 'error', message: 'No' } }],
  ['a rejection', { body: { status: 'rejected' } }],
  ['an error of JSend', { body: { status: 'error', message: 'No' } }],
  ['an error in capitals', { body: { status: 'ERROR', message: 'No' } }],
  ['an error of JSend in capitals, with a list', { body: { status: 'ERROR', message: 'No', data: [] } }],
  ['a failure in another word', { body: { status: 'failed' } }],
  ['a failure with the name of its error', { body: { status: 'failed', name: 'UnauthorizedError', message: 'No' } }],
  ['a failure in capitals', { body: { data: { status: 'FAILURE', reason: 'No' } } }],
  ['a refusal in its status', { body: { status: 'UNAUTHORISED', message: 'No' } }],
  ['a refusal in its code', { body: { code: 'NOT_FOUND', message: 'No' } }],
  ['a refusal in its error', { body: { error: { code: 'FORBIDDEN', message: 'No' } } }],
  ['a refusal in the other spelling', { body: { status: 'UNAUTHORIZED' } }],
  ['a refusal in small letters, in its code', { body: { code: 'not_found' } }],
  ['a status of its own', { body: { statusCode: 500, title: 'No' } }],
  ['a problem (RFC 9457)', { body: { type: 'about:blank', title: 'No', status: 503, detail: 'No' } }],
  ['a fault of a gateway', { body: { fault: { faultstring: 'No' } } }],
  ['text', { headers: { 'content-type': 'text/plain' }, body: 'OK' }],
  ['cut short', { body: '{"data":[{"jobId":1' }],
  ['a number', { body: '7' }],
  ['too large', { body: `{"data":["${'x'.repeat(5 * 1024 * 1024)}"]}` }],
  ['too deep', { body: '['.repeat(100) + ']'.repeat(100) }],
  ['a part of something', { status: 206, body: jobs }],
  ['a body of several statuses', { status: 207, body: jobs }],
];

/** What is no success of a write whose body is specified. */
const notDocumented: readonly (readonly [string, WireReply])[] = [
  ['empty', { status: 201, body: '' }],
  ['no content', { status: 204, body: '' }],
  ['null', { body: 'null' }],
  ['an empty object', { body: {} }],
  ['a wrapper around nothing', { body: { data: null } }],
  ['no more than a message', { body: { title: 'Done', message: 'All are taken', requestId: 'r-1' } }],
  ['another shape', { status: 202, body: { data: 7 } }],
];

describe('a write', () => {
  const names = Object.keys(writes);

  /** Each write has a market of its own. */
  let market = 0;

  /** Sends a mutation, and reads its market twice around it. */
  async function wrote(mutation: string, reply: WireReply) {
    over(({ method, path }) =>
      method === 'GET' && !path.endsWith('/session') ? { body: { data: [{ domain: 'a.example' }] } } : reply,
    );
    market += 1;
    const companies = () => gateway.query(`{ market(id: ${market}) { companies { totalCount } } }`);
    await companies();
    const answer = await gateway.query(`mutation { ${mutation.replace('marketId: 1', `marketId: ${market}`)} }`);
    service.calls.splice(0, 1);
    const sent = service.calls.splice(0);
    for (let time = 0; time < 2; time += 1) await companies();
    return { ...answer, sent, readAgain: service.calls.length };
  }

  /** Nobody knows what was done: it is not sent again, and nothing of its market may be cached. */
  function expectUnknown({ data, errors, sent, readAgain }: Awaited<ReturnType<typeof wrote>>, mutation: string) {
    const name = mutation.split(/\W/)[0] ?? '';
    expect(data[name]).toBeNull();
    expect(errors).toHaveLength(1);
    expect(errors?.[0]).toMatchObject({
      path: [name],
      extensions: { code: 'UPSTREAM_INVALID_RESPONSE', retryable: false },
    });
    expect(sent).toHaveLength(1);
    expect(readAgain).toBe(/startDiscovery|publishMarket|reviewCompanies/.test(name) ? 2 : 0);
  }

  test.each(names)('(%s) succeeds with what the service documents', async name => {
    const [mutation = '', body] = writes[name] ?? [];
    const { errors, readAgain } = await wrote(mutation, { body });
    expect(errors).toBeUndefined();
    expect(readAgain).toBe(/startDiscovery|publishMarket/.test(name) ? 1 : 0);
  });

  test.each([...neverSuccess, ...notDocumented])(
    'whose answer is no success (%s) fails, and its effect is unknown',
    async (_, reply) => {
      for (const name of names) {
        const [mutation = ''] = writes[name] ?? [];
        expectUnknown(await wrote(mutation, reply), mutation);
      }
    },
  );

  test('that is to create a session fails without an access token', async () => {
    const [mutation = ''] = writes.createEmbedSession ?? [];
    const tokens = { idToken: '', accessToken: '', refreshToken: '', expiresIn: 0, checksum: '' };
    expectUnknown(await wrote(mutation, { body: tokens }), mutation);
  });

  test.each(['startDiscovery', 'publishMarket'])('(%s) that names no job fails', async name => {
    const [mutation = ''] = writes[name] ?? [];
    for (const body of [[], { data: [{ workflowName: 'no id' }] }]) {
      expectUnknown(await wrote(mutation, { body }), mutation);
    }
  });

  test.each<readonly [string, WireReply]>([
    ...neverSuccess.filter(([kind]) => kind !== 'too deep'),
    ['domains that failed', { body: { updated: 0, failed: ['a.example'] } }],
    ['a refusal of one domain', { body: { data: [{ domain: 'a.example', success: false }] } }],
    ['an error of one domain', { body: { results: [{ domain: 'a.example' }, { error: 'not found' }] } }],
    ['an error of one domain, in a list', { body: [{ domain: 'a.example', Error: 'not found' }] }],
  ])('of a review fails after %s', async (_, reply) => {
    expectUnknown(await wrote(review, reply), review);
  });

  test.each<[string, WireReply]>([
    ['nothing', { status: 204, body: '' }],
    ['nothing, without a type', { body: '', headers: { 'content-type': '' } }],
    ['null', { body: 'null' }],
    ['a list', { body: [{ domain: 'a.example', reviewStatus: 'include' }] }],
    ['an object', { body: (call: WireCall) => ({ metadata: metadataOf(call), data: [] }) }],
    ['a message', { body: { message: 'Reviews updated' } }],
    ['none that failed', { body: { updated: 1, failed: [], message: 'Done' } }],
    ['an object without errors', { body: { success: true, message: 'Done', error: null, errors: [] } }],
    [
      'JSON of another name',
      { body: {}, headers: { 'content-type': 'application/vnd.service.v2+json; charset=utf-8' } },
    ],
  ])('of a review, whose body is not specified, succeeds with %s', async (_, reply) => {
    const { data, errors, readAgain } = await wrote(review, reply);
    expect([errors, data.reviewCompanies, readAgain]).toEqual([undefined, { marketId: `${market}` }, 1]);
  });
});

const saysWhy = new Set(['the code of an error', 'a status of its own', 'a problem (RFC 9457)']);
const refusals: Readonly<Record<string, string>> = {
  'a refusal': 'FORBIDDEN',
  'a refusal in its status': 'UNAUTHENTICATED',
  'a refusal in its code': 'NOT_FOUND',
  'a refusal in its error': 'FORBIDDEN',
  'a refusal in its message': 'UNAUTHENTICATED',
  'an error of another server': 'UNAUTHENTICATED',
  'a refusal in the other spelling': 'UNAUTHENTICATED',
  'a refusal in small letters, in its code': 'NOT_FOUND',
};

test.each([...neverSuccess, ...notDocumented])('a read whose answer is no success (%s) fails', async (kind, reply) => {
  const fields = [
    'market(id: 1) { name }',
    'market(id: 1) { topics { id } }',
    'market(id: 1) { esg }',
    'market(id: 1) { searchCriteria { userPrompt } }',
    'market(id: 1) { searchCriteriaHistory { userPrompt } }',
    'market(id: 1) { jobs { id } }',
    'market(id: 1) { companies { totalCount } }',
    'suggestMarkets(keyword: "x")',
    'events { totalCount }',
    'observation(id: "o-1") { title }',
  ];
  // A part is still what it is where nothing was to be done, and ESG data may be any object.
  const isRead = reply.status === 206 || reply.status === 207 || kind === 'an empty object' || kind === 'another shape';
  if (isRead) return;
  over(reply);
  for (const field of fields) {
    const { errors } = await gateway.query(`{ ${field} }`);
    const code = refusals[kind] ?? (saysWhy.has(kind) ? 'UPSTREAM_UNAVAILABLE' : 'UPSTREAM_INVALID_RESPONSE');
    expect([field, codesOf(errors)]).toEqual([field, [code]]);
  }
});

test('a refusal is one in each spelling, and wherever a body says it', async () => {
  let body: object = {};
  over(() => ({ body }));
  const said: [object, string][] = [
    [{ success: false, errorCode: 'unauthorized' }, 'UNAUTHENTICATED'],
    [{ status: 'Forbidden' }, 'FORBIDDEN'],
    [{ data: { code: 'access-denied' } }, 'FORBIDDEN'],
    [{ status: ' Not found ' }, 'NOT_FOUND'],
    [{ code: 'InvalidToken' }, 'UNAUTHENTICATED'],
    [{ error: { code: 7, status: 'UNAUTHENTICATED' } }, 'UNAUTHENTICATED'],
    [{ error: { code: 403, message: 'No' } }, 'FORBIDDEN'],
    [{ status: 'error', code: 401, message: 'No' }, 'UNAUTHENTICATED'],
    [{ code: 'too_many_requests' }, 'RATE_LIMITED'],
    [{ status: 'rate-limited' }, 'RATE_LIMITED'],
    [{ code: 'internal_error' }, 'UPSTREAM_UNAVAILABLE'],
    [{ status: 'Service Unavailable' }, 'UPSTREAM_UNAVAILABLE'],
  ];
  for (const [index, [refusal, code]] of said.entries()) {
    body = refusal;
    const headers = { 'x-api-key': `key-${index}` };
    const read = await gateway.query('{ market(id: 1) { esg } }', {}, headers);
    const wrote = await gateway.query(`mutation { ${review} }`, {}, headers);
    expect([body, codesOf(read.errors), codesOf(wrote.errors)]).toEqual([body, [code], ['UPSTREAM_INVALID_RESPONSE']]);
  }
});

test('an observation whose own status is "failed" is read', async () => {
  over({ body: { _id: 'o', title: 'T', status: 'failed' } });
  const { data, errors } = await gateway.query('{ observation(id: "o") { title } }');
  expect([errors, data]).toEqual([undefined, { observation: { title: 'T' } }]);
});

test('ESG data whose status is an object that has no value is read', async () => {
  const esg = { status: { toString: 1, valueOf: 1 }, code: { toString: 1, valueOf: 1 }, score: 7 };
  over({ body: esg });
  const { data, errors } = await gateway.query('{ market(id: 1) { esg } }');
  expect([errors, data]).toEqual([undefined, { market: { esg } }]);
});

test.each<[unknown, unknown, unknown]>([
  [
    { id: 1, name: 'M', status: 'failed' },
    { status: 'FAILED', data: [{ jobId: 7 }] },
    { status: 'failed', data: [{ domain: 'a.example' }] },
  ],
  [
    { name: 'M', status: 'Failure' },
    { status: 'failed', jobs: [{ jobId: 7 }] },
    { status: 'failed', companies: [{ domain: 'a.example' }] },
  ],
  [
    { data: { name: 'M', status: 'failed' } },
    { data: { status: 'failed', jobs: [{ jobId: 7 }] } },
    { status: 'failed', companies: [{ domain: 'a.example' }] },
  ],
])('a market or a list whose own status is "failed" is read, case %#', async (market, jobs, companies) => {
  over(({ path }) => ({
    body: path.endsWith('/jobs') ? jobs : path.endsWith('/companies') ? companies : market,
  }));
  const { data, errors } = await gateway.query('{ market(id: 1) { name jobs { id } companies { nodes { domain } } } }');
  const found = { name: 'M', jobs: [{ id: '7' }], companies: { nodes: [{ domain: 'a.example' }] } };
  expect([errors, data]).toEqual([undefined, { market: found }]);
});

test.each<readonly [string, WireReply]>([
  ...neverSuccess.filter(([, { status }]) => status === undefined || status === 302),
  ['a status that it does not document', { status: 405, body: '' }],
  ['a timeout of its own', { status: 408, body: '' }],
])(
  'a read whose answer is no success (%s) counts once as a failure of the service, and is logged',
  async (kind, reply) => {
    over(reply);
    const lines: string[] = [];
    const seams = { log: { write: (line: string) => void lines.push(line) } };
    const gateway = forTest(await startGateway({ wire: service.wire, env: { LOG_LEVEL: 'warn' }, seams }));
    await gateway.query('{ market(id: 1) { name } }');
    const isRefusal = kind in refusals;
    const broken = await counted(gateway.url, 'gateway_upstream_call_seconds_count', { status: 'none' });
    const unreadable = await counted(gateway.url, 'gateway_upstream_unreadable_total');
    expect(broken + unreadable).toBe(isRefusal ? 0 : service.calls.length);
    expect(lines.filter(line => line.includes('UPSTREAM_'))).toHaveLength(isRefusal ? 0 : 1);
  },
);

describe('a market of which there is no record', () => {
  const fields = 'name subtitle companyCount';

  test.each<[string, unknown, string]>([
    ['null', 'null', 'UPSTREAM_INVALID_RESPONSE'],
    ['under data', { data: null }, 'UPSTREAM_INVALID_RESPONSE'],
    ['an empty list', [], 'UPSTREAM_INVALID_RESPONSE'],
    ['an empty list under data', { data: [] }, 'UPSTREAM_INVALID_RESPONSE'],
    ['an empty object', {}, 'UPSTREAM_INVALID_RESPONSE'],
    ['what another server says', { message: 'Hello' }, 'UPSTREAM_INVALID_RESPONSE'],
    ['a record of nulls', { id: null, name: null, subtitle: null, marketName: null }, 'UPSTREAM_INVALID_RESPONSE'],
    ['a null under data', { data: { id: null, userPrompt: null } }, 'UPSTREAM_INVALID_RESPONSE'],
    ['a refusal', { success: false, errorCode: 'NOT_FOUND', message: 'No' }, 'NOT_FOUND'],
    ['a refusal of the key', { success: false, errorCode: 'UNAUTHORISED' }, 'UNAUTHENTICATED'],
    ['a refusal of the key in another spelling', { success: false, errorCode: 'Unauthorized' }, 'UNAUTHENTICATED'],
  ])('(%s) is an error at each field that needs it', async (_, body, code) => {
    over({ body });
    const { data, errors } = await gateway.query(`{ market(id: 1) { id ${fields} searchCriteria { marketName } } }`);
    expect(data.market).toEqual({ id: '1', name: null, subtitle: null, companyCount: null, searchCriteria: null });
    expect(codesOf(errors)).toEqual([code, code, code, code]);
  });

  test('may have criteria of which only members that the specification does not name have values', async () => {
    const attributes = { marketId: 1, createdBy: 'x' };
    over({ body: { ...attributes, id: null, userPrompt: null, keywords: null } });
    const { data, errors } = await gateway.query('{ market(id: 1) { name searchCriteria { userPrompt attributes } } }');
    const searchCriteria = { userPrompt: null, attributes: { ...attributes, id: null } };
    expect([data.market, codesOf(errors)]).toEqual([{ name: null, searchCriteria }, ['UPSTREAM_INVALID_RESPONSE']]);
  });

  test('is like an observation of which there is none', async () => {
    over({ body: { _id: null, title: null } });
    const { data, errors } = await gateway.query('{ observation(id: "o-1") { title } }');
    expect([data.observation, codesOf(errors)]).toEqual([null, ['UPSTREAM_INVALID_RESPONSE']]);
  });

  test('is none of the client that made up its key', async () => {
    over({ body: { success: false, errorCode: 'UNAUTHORISED' } });
    const gateway = forTest(await startGateway({ wire: service.wire }));
    await gateway.query('{ market(id: 1) { name } }', {}, { 'x-api-key': 'made-up' });
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(text).not.toMatch(/outcome="accepted"\} [1-9]/);
  });
});

describe('a number', () => {
  const numbers = { '2^31': 2 ** 31, '2^53': 2 ** 53, '1e400': 0, '-1': -1, '0.5': 0.5 } as const;
  /** The body with the number as the service writes it. */
  const textOf = (body: unknown, number: keyof typeof numbers) =>
    JSON.stringify(body, (_, value) => (value === any ? '@' : value)).replaceAll(
      '"@"',
      number === '1e400' ? number : String(numbers[number]),
    );
  const any = 'any number';
  const meta = { totalItems: 1, totalPages: 1, currentPage: 1, pageSize: 10 };
  const list = (event: object, more: object = {}) => ({ meta: { ...meta, ...more }, data: [{ ...good, ...event }] });
  const entity = (impact: object) => list({ taxonomicMatches: { impactedEntities: [{ name: 'N', impact }] } });
  const company = (fields: object) => ({ data: [{ domain: 'a.example', ...fields }] });
  const observed = (fields: object) => ({ _id: 'o-1', ...fields });
  const quantity = { operator: '=', values: [any], unit: '%' };
  const finite = ['2^31', '2^53', '-1', '0.5'];
  /** Where each number is, how it is selected, and which of the numbers the field can hold. */
  const places: [string, unknown, string, string[]][] = [
    ['meta.totalItems', list({}, { totalItems: any }), 'events { totalCount }', []],
    ['meta.totalItems', list({}, { totalItems: any }), 'eventStatistics { total }', []],
    ['meta.totalPages', list({}, { totalPages: any }), 'events { totalCount }', finite],
    ['meta.currentPage', list({}, { currentPage: any }), 'events { totalCount }', []],
    ['meta.pageSize', list({}, { pageSize: any }), 'events { totalCount }', []],
    ['unfilteredTotalItems', list({}, { unfilteredTotalItems: any }), 'events { unfilteredTotalCount }', []],
    ['likelihood', entity({ likelihood: any }), 'events { nodes { impactedEntities { impact { likelihood } } } }', []],
    ['severity', entity({ severity: any }), 'events { nodes { impactedEntities { impact { severity } } } }', []],
    [
      'similarity',
      list({ taxonomicMatches: { alertTypes: [{ name: 'N', similarity: any }] } }),
      'events { nodes { alertTypes { similarity } } }',
      finite,
    ],
    [
      'quantity.values',
      list({ taxonomicMatches: { affectedDatapoints: [{ name: 'N', quantity }] } }),
      'events { nodes { affectedDatapoints { quantity { values } } } }',
      finite,
    ],
    ['weight', observed({ weight: { a: any } }), 'observation(id: "o-1") { weight }', finite],
    ['label', observed({ clusterLabel: { label: any } }), 'observation(id: "o-1") { clusterLabel { label } }', finite],
    ['company_count', { company_count: any }, 'market(id: 1) { companyCount }', []],
    ['topicId', { data: [{ topicId: any, label: 'A' }] }, 'market(id: 1) { topics { id } }', ['2^31']],
    [
      'groups.topicId',
      { data: [{ topicId: 1, label: 'A', groups: [{ topicId: any, label: 'B' }] }] },
      'market(id: 1) { topics { groups { id } } }',
      ['2^31'],
    ],
    ['jobId', { data: [{ jobId: any }] }, 'market(id: 1) { jobs { id } }', ['2^31']],
    ['jobProgress', { data: [{ jobId: 1, jobProgress: any }] }, 'market(id: 1) { jobs { progress } }', finite],
    ['count', { count: any }, 'market(id: 1) { searchCriteria { count } }', []],
    ['count', { data: [{ count: any }] }, 'market(id: 1) { searchCriteriaHistory { count } }', []],
    ...['score', 'overallMomentum', 'actualRevenue'].map((name): [string, unknown, string, string[]] => [
      name,
      company({ [name]: any }),
      `market(id: 1) { companies(orderBy: { field: SCORE, direction: DESC }) { nodes { ${name} } } companyFacets { naics { code } ${name} { min buckets { start end count } } } }`,
      finite,
    ]),
    [
      'naics.level',
      company({ naics: [{ code: '1', level: any }] }),
      'market(id: 1) { companies { nodes { naics { level } } } }',
      ['-1'],
    ],
    [
      'naics.code',
      company({ naics: [{ code: any }] }),
      'market(id: 1) { companies { nodes { naics { code } } } }',
      ['2^31', '-1'],
    ],
  ];
  const cases = places.flatMap(([name, body, selection, held]) =>
    Object.keys(numbers).map(number => [number, name, body, selection, held] as const),
  );

  test.each(cases)('%s as %s is served where the field can hold it, and else an error there', async (...row) => {
    const [number, name, given, selection, held] = row;
    over({ body: textOf(given, number as keyof typeof numbers) });
    for (const ask of ['cold', 'warm']) {
      const { data, errors = [] } = await gateway.query(`{ ${selection} }`);
      const known = held.includes(number);
      expect([ask, number, name, codesOf(errors)]).toEqual([
        ask,
        number,
        name,
        known ? [] : ['UPSTREAM_INVALID_RESPONSE'],
      ]);
      const first = selection.split(/[^\w]/)[0];
      if (!known && errors[0].extensions.record === undefined) expect(errors[0].path[0]).toBe(first);
      if (known) expect(JSON.stringify(data)).not.toContain('null');
    }
  });

  test.each<[unknown, number]>([
    ['9999999999', 2 ** 31 - 1],
    ['2147483648', 2 ** 31 - 1],
    ['9007199254740992', 2 ** 31 - 1],
    ['1e400', 2 ** 31 - 1],
    ['3600', 3600],
    ['"3600"', 3600],
    ['3600.5', 3600],
    ['0.5', 0],
    ['-1', 0],
    ['null', 0],
    ['"soon"', 0],
    ['[]', 0],
    [undefined, 0],
  ])('%s as the lifetime of an embedded session does not lose the session', async (expiresIn, expected) => {
    const tokens = '"idToken":"i","accessToken":"a","refreshToken":"r","checksum":"c"';
    over({ body: `{${tokens}${expiresIn === undefined ? '' : `,"expiresIn":${expiresIn}`}}` });
    const { data, errors } = await gateway.query(
      'mutation { createEmbedSession { session { accessToken expiresIn } } }',
    );
    expect([errors, data.createEmbedSession.session]).toEqual([undefined, { accessToken: 'a', expiresIn: expected }]);
  });
});

test('what the specification does not name is ignored, or kept as an attribute', async () => {
  over(eventPage([{ ...good, novelty: { deep: [1] } }]));
  const { data, errors } = await gateway.query(query);
  expect(errors).toBeUndefined();
  expect(data.events.nodes).toEqual([{ id: 'e-1', title: 'Good' }]);

  over({ body: { data: [{ domain: 'a.example', score: 3, more: { x: null } }] } });
  const market = await gateway.query('{ market(id: 1) { companies { nodes { score attributes } } } }');
  expect(market.data.market.companies.nodes).toEqual([{ score: 3, attributes: { more: { x: null } } }]);
});

test('a number that is too large for JavaScript is an error of the JSON that has it, and stays one in Redis', async () => {
  const esg =
    '{"a.example":{"deep":[{"x":1e400}]},"list":[{"domain":"b.example","x":-1e400},{"domain":"c.example","x":1}]}';
  const bad = '{"domain":"b.example","more":{"x":[[-1e400]]}}';
  const companies = `{"data":[{"domain":"a.example","more":1},${bad},{"domain":"c.example","more":2}]}`;
  over(({ url }) => ({ body: url.pathname.endsWith('/esg') ? esg : companies }));
  const { data, errors } = await gateway.query('{ market(id: 1) { esg companies { nodes { attributes esg } } } }');
  const nodes = [
    { attributes: { more: 1 }, esg: null },
    { attributes: null, esg: null },
    { attributes: { more: 2 }, esg: { domain: 'c.example', x: 1 } },
  ];
  expect(data).toEqual({ market: { esg: null, companies: { nodes } } });
  const found = errors?.map(({ path, extensions }) => `${path?.slice(1).join('.')} ${extensions.code}`).sort();
  const paths = ['companies.nodes.0.esg', 'companies.nodes.1.attributes', 'companies.nodes.1.esg', 'esg'];
  expect(found).toEqual(paths.map(path => `${path} UPSTREAM_INVALID_RESPONSE`));

  const stored = JSON.parse(JSON.stringify(esgData.parse(JSON.parse(esg))));
  for (const domain of ['a.example', 'b.example']) expect(isUnreadable(esgOf(stored, domain))).toBe(true);
});

describe('a body', () => {
  const whole = `{
    events { totalCount } observation(id: "o-1") { id } suggestMarkets(keyword: "x")
    market(id: 1) { id name topics { id } companies { totalCount } esg jobs { id } searchCriteria { count } searchCriteriaHistory { count } }
  }`;
  const nothing = {
    events: null,
    observation: null,
    suggestMarkets: null,
    market: {
      id: '1',
      name: null,
      topics: null,
      companies: null,
      esg: null,
      jobs: null,
      searchCriteria: null,
      searchCriteriaHistory: null,
    },
  };
  const invalid = Array.from({ length: 10 }, () => 'UPSTREAM_INVALID_RESPONSE');

  test.each<[string, WireReply]>([
    ['that is empty', { body: '' }],
    ['that is not JSON', { body: '<html>Welcome to the login page</html>' }],
    ['that is JSON cut short', { body: '{"meta":{"totalItems":3,"unf' }],
    ['that is a number', { body: '7' }],
    ['that is text', { body: '"events"' }],
    ['that is null', { body: 'null' }],
    ['whose data is text', { body: { meta: { totalItems: 1 }, data: 'none' } }],
  ])('%s is an error of each field it was for, and is not kept', async (_, reply) => {
    over(reply);
    const { status, data, errors } = await gateway.query(whole);
    expect(status).toBe(200);
    expect(data).toEqual(nothing);
    expect(codesOf(errors)).toEqual(invalid);
    expect(JSON.stringify(errors)).not.toMatch(/login page|service\.test|at .*\.js/);
    const calls = service.calls.length;
    await gateway.query(whole);
    expect(service.calls).toHaveLength(calls * 2);
  });

  test.each<[string, unknown]>([
    ['without meta', { data: [] }],
    ['without data', { meta: { totalItems: 0 } }],
    ['with a total that is no number', { meta: { totalItems: 'many' }, data: [] }],
    ['with a total below nothing', { meta: { totalItems: -1 }, data: [] }],
    ['that is a bare list', []],
  ])('of the event list %s is an error', async (_, body) => {
    over({ body });
    const { data, errors } = await gateway.query(query);
    expect(data).toEqual({ events: null });
    expect(errors?.[0].extensions).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', retryable: false });
  });

  const record = { domain: 'a.example', jobId: 1, topicId: 1, label: 'A', userPrompt: 'A' };
  test.each<[string, object]>([
    ['meta', { meta: { totalItems: 2, totalPages: 2 }, data: [record] }],
    ['metadata', { metadata: { marketId: 1, totalItems: '2' }, data: [record] }],
    ['pagination', { pagination: { total: 2 }, data: [record] }],
    ['the body', { totalPages: 2, data: [record] }],
  ])('that says in %s it is one page of a list is not taken for all of it', async (_, body) => {
    const lists = {
      companies: 'companies { totalCount }',
      topics: 'topics { id }',
      esg: 'esg',
      jobs: 'jobs { id }',
      searchCriteriaHistory: 'searchCriteriaHistory { userPrompt }',
    };
    for (const [name, field] of Object.entries(lists)) {
      over({ body });
      const { data, errors } = await gateway.query(`{ market(id: 1) { ${field} } }`);
      expect([data.market, codesOf(errors)]).toEqual([{ [name]: null }, invalid.slice(0, 1)]);
    }
  });

  test('that says in its content it is one page of a list is not taken for all of it', async () => {
    const meta = { totalItems: 2 };
    over({ body: { data: { companies: [record], jobs: [record], meta } } });
    const { data, errors } = await gateway.query('{ market(id: 1) { companies { totalCount } jobs { id } } }');
    expect([data.market, codesOf(errors)]).toEqual([{ companies: null, jobs: null }, invalid.slice(0, 2)]);
  });

  test('that says how long its list is, or has ESG data of such a name, is taken', async () => {
    const companies = { totalItems: 1, metadata: { totalPages: 1, total: '1' }, data: [record] };
    over(({ url }) => ({ body: url.pathname.endsWith('/esg') ? { total: 85, rating: 'A' } : companies }));
    const { data, errors } = await gateway.query('{ market(id: 1) { companies { totalCount } esg } }');
    const market = { companies: { totalCount: 1 }, esg: { total: 85, rating: 'A' } };
    expect([data.market, errors]).toEqual([market, undefined]);
  });

  test('that is bad leaves the rest of the answer whole', async () => {
    over(({ url }) => {
      if (url.pathname.endsWith('/esg')) return { body: '<html>' };
      return { body: url.pathname.endsWith('/companies') ? { data: [] } : { name: 'M' } };
    });
    const { data, errors } = await gateway.query('{ market(id: 1) { name esg companies { totalCount } } }');
    expect(data).toEqual({ market: { name: 'M', esg: null, companies: { totalCount: 0 } } });
    expect(errors?.map(({ path }) => path.join('.'))).toEqual(['market.esg']);
  });
});

test('an observation that is read as it is has what the model would make of it, without drift', () => {
  const usual = {
    dedupeId: 'd',
    sourceService: 'news',
    title: 'T',
    content: ['a', 'b'],
    textEmbedding: null,
    weight: { mediaBias: 0.5 },
    publishedAt: '2026-01-30T08:30:00.000Z',
    addedAt: '2026-01-30T09:00:00.000Z',
    clusterLabel: { label: 1, method: 'm' },
    url: 'https://news.example/a',
  };
  const other = fc.oneof(
    fc.constantFrom(undefined, null, [], '', 0, [1], '2026-01-30', 'http://a', Number.POSITIVE_INFINITY),
    fc.jsonValue(),
  );
  const within = fc.record({ label: other, method: other, mediaBias: other }, { requiredKeys: [] });
  const members = fc.constantFrom(...Object.keys(usual), '_id', 'data', 'more', 'error');
  expect(isUsualObservation(usual)).toBe(true);
  fc.assert(
    fc.property(fc.dictionary(members, fc.oneof(other, within), { maxKeys: 2 }), changes => {
      const body = { ...usual, ...changes };
      const drift = { fields: [], leftOut: 0 };
      if (!isUsualObservation(body)) return;
      const made = parseLenient(observation, body, drift);
      expect({ ...body, textEmbedding: null }).toMatchObject(made);
      expect(drift.fields).toEqual([]);
    }),
    { numRuns: 5_000 },
  );
});

test.each([
  ['https://news.example/a', 'https://news.example/a'],
  ['HTTP://news.example', 'HTTP://news.example'],
  ['javascript:alert(1)', null],
  ['data:text/html,a', null],
  ['//news.example/a', null],
  ['news.example', null],
  ['', null],
])('a URL of the service that a browser would not open as a page is null: %s', (url, shown) => {
  const references = [{ _id: 'o-1', title: 'O', url }];
  const meta = { totalItems: 1, totalPages: 1, currentPage: 1, pageSize: 10 };
  const { events } = pageModel.parse({ meta, data: [{ _id: 'e-1', references }] });
  expect(events).toMatchObject([{ references: [{ url: shown }] }]);
  expect(observation.parse({ _id: 'o-1', url }).url).toBe(shown);
  expect(marketRecord.parse({ header_image_url: url }).headerImageUrl).toBe(shown);
  expect(csvExport.safeParse({ downloadLink: url }).data ?? null).toBe(shown);
});

describe('a time', () => {
  test.each([
    ['2026-01-31T08:30:00.000Z', '2026-01-31T08:30:00.000Z'],
    ['2024-02-29T23:59:59.123456789Z', '2024-02-29T23:59:59.123456789Z'],
    ['2026-01-31', '2026-01-31T00:00:00Z'],
    ['2026-01-31T08:30Z', '2026-01-31T08:30:00Z'],
    ['2026-01-31 08:30:00', '2026-01-31T08:30:00Z'],
    ['2026-01-31T08:30:00+0200', '2026-01-31T08:30:00+02:00'],
    ['2026-01-31T08:30-03:30', '2026-01-31T08:30:00-03:30'],
    ['2026-11-25t10:00:00z', '2026-11-25T10:00:00Z'],
    ['2026-11-25T10:00:00.5z', '2026-11-25T10:00:00.5Z'],
    ['2026-11-25T10:00:00+02', '2026-11-25T10:00:00+02:00'],
    ['2026-11-25T10:00:00+0000', '2026-11-25T10:00:00+00:00'],
    ['2026-11-25T10:00:00-00:00', '2026-11-25T10:00:00-00:00'],
    ['2026-12-31T23:59:60Z', '2026-12-31T23:59:59Z'],
    ['2026-12-31T18:59:60.25-05:00', '2026-12-31T18:59:59.25-05:00'],
    ['2024-02-29T00:00:00+14:00', '2024-02-29T00:00:00+14:00'],
  ])('%s is sent in RFC 3339 as %s', (text, expected) => {
    expect(utcTime.parse(text)).toBe(expected);
    expect(readTime(text)).toBe(expected);
    expect(Date.parse(expected)).not.toBeNaN();
  });

  test.each([
    ['2026-01-31T08:30:00Z', '2026-01-31T08:30:00+00:00'],
    ['2026-01-31T08:30:00.000Z', '2026-01-31T08:30:00-00:00'],
    ['2026-01-31T08:30:00.120Z', '2026-01-31T10:30:00.12+02:00'],
    ['2026-01-31T00:30:00.123456789Z', '2026-01-30T21:00:00.1234567890-03:30'],
  ])('%s is the same as %s, and not as a later one', (one, other) => {
    expect(instantOf(one)).toBe(instantOf(other));
    expect(Date.parse(instantOf(one))).toBe(Date.parse(other));
    expect(instantOf(one)).not.toBe(instantOf(one.replace('Z', one.includes('.') ? '1Z' : '.000000001Z')));
  });

  test('may have a hundred characters', () => {
    const text = `2026-01-31T08:30:00.${'1'.repeat(79)}Z`;
    expect([readTime(text), readTime(text.replace('.', '.1'))]).toEqual([text, undefined]);
  });

  test.each([
    '2026-02-29T08:30:00Z',
    '2026-04-31',
    '2026-01-31T24:00:00Z',
    '2026-01-31T08:60:00Z',
    '',
    'soon',
    '2026-13-01',
    '2026-13-01T08:30:00Z',
    '2026-04-00T08:30:00Z',
    '2026-01-31T08:30:61Z',
    '2026-01-31T08:30:00+24:00',
    '2026-01-31T08:30:00+02:',
    '2026-01-31T08:30:00+02:60',
    '2026-01-31T08:30:00 Z',
    '2026-01-31T08:30:00,5Z',
    '2026-01-31Z',
    '2026-01-31T',
    '2026-01-31T08Z',
    '+002026-01-31T08:30:00Z',
    '2026-01-31T08:30:00.Z',
    '2026-01-31T08:30:00Z\n',
    '٢٠٢٦-01-31T08:30:00Z',
  ])('%j is not sent', text => {
    expect(utcTime.safeParse(text).success).toBe(false);
    expect(readTime(text)).toBeUndefined();
  });

  test('may be on any day of the calendar, and on no other', () => {
    const twoDigits = (number: number) => String(number).padStart(2, '0');
    for (const year of [2023, 2024]) {
      for (let month = 1; month <= 12; month += 1) {
        const days = new Date(year, month, 0).getDate();
        for (let day = 1; day <= 31; day += 1) {
          const text = `${year}-${twoDigits(month)}-${twoDigits(day)}T08:30:00Z`;
          expect([text, utcTime.safeParse(text).success]).toEqual([text, day <= days]);
        }
      }
    }
  });
});

/** What a query returns over a service with these answers, by the path without its prefix. */
async function read(query: string, answers: Readonly<Record<string, WireReply>>) {
  over(({ url }) => answers[url.pathname.replace(/^\/(api|stage)/, '')] ?? { status: 404, body: {} });
  const { data, errors } = await gateway.query(query);
  expect(errors).toBeUndefined();
  return data;
}

const eventsPath = '/v2/events-monitor/events';
const observationPath = '/v2/events-monitor/observation/1';

describe('each field that the specification shows has its name in the schema, and its value', () => {
  test('in an event', async () => {
    const same = {
      title: 'Fire at a plant',
      summary: 'A fire stopped production.',
      vectorIndex: { anchorText: 'fire at a plant', embeddings: [0.25, -1e-7, 3], embeddingsModelName: 'model-1' },
      eventSearchKeywords: [{ keyword: 'fire', propertySource: 'inferred' }],
      timestamps: {
        published: '2026-01-01T00:00:00Z',
        recordedStart: '2026-01-02T00:00:00Z',
        recordedEnd: '2026-01-03T00:00:00Z',
        projectedStart: '2026-01-04T00:00:00Z',
        projectedEnd: '2026-01-05T00:00:00Z',
      },
      lastUpdated: '2026-01-06T00:00:00.123456Z',
    };
    const alertTypes = [{ name: 'Fire', mappedFrom: 'blaze', method: 'llm', similarity: 0.5, rationale: 'It burnt.' }];
    const impact = { likelihood: 1, severity: 3, rationale: 'Few others make it.' };
    const impactedEntities = [{ name: 'Steel', entityType: 'category', mappedFrom: 'steel plates', impact }];
    const entity = { name: 'Acme', propertySource: 'explicit' };
    const datapoint = { name: 'Price', subject: 'Coils' };
    const quantity = { values: [1, 2.5], unit: '%' };
    const reference = { title: 'Plant burns', url: 'https://news.example/1' };
    const record = {
      ...same,
      _id: 'e-1',
      relevantEntities: [{ ...entity, entityType: 'company' }],
      references: [{ ...reference, _id: 'o-1' }],
      taxonomicMatches: {
        affectedDatapoints: [{ ...datapoint, direction: 'up', quantity: { ...quantity, operator: 'range' } }],
        alertTypes,
        impactedEntities,
      },
    };
    const query = `{ events { nodes {
      id title summary vectorIndex { anchorText embeddings embeddingsModelName } eventSearchKeywords { keyword propertySource }
      relevantEntities { name entityType propertySource }
      timestamps { published recordedStart recordedEnd projectedStart projectedEnd }
      references { id title url } lastUpdated
      affectedDatapoints { name subject direction quantity { operator values unit } }
      alertTypes { name mappedFrom method similarity rationale }
      impactedEntities { name entityType mappedFrom impact { likelihood severity rationale } }
    } } }`;
    const { events } = await read(query, { [eventsPath]: eventPage([record]) });
    expect(events.nodes).toEqual([
      {
        ...same,
        id: 'e-1',
        relevantEntities: [{ ...entity, entityType: 'COMPANY' }],
        references: [{ ...reference, id: 'o-1' }],
        affectedDatapoints: [{ ...datapoint, direction: 'UP', quantity: { ...quantity, operator: 'RANGE' } }],
        alertTypes,
        impactedEntities,
      },
    ]);
  });

  test('in an observation', async () => {
    const same = {
      dedupeId: 'd-1',
      sourceService: 'news',
      title: 'Plant burns',
      content: ['A fire', 'broke out'],
      textEmbedding: [1, 0.5],
      weight: { bias: 0.75 },
      publishedAt: '2026-01-01T00:00:00Z',
      addedAt: '2026-01-02T00:00:00Z',
      clusterLabel: { label: 7, method: 'leiden' },
      url: 'https://news.example/1',
    };
    const query = `{ observation(id: "o-1") {
      id dedupeId sourceService title content textEmbedding weight publishedAt addedAt clusterLabel { label method } url
    } }`;
    const { observation } = await read(query, {
      '/v2/events-monitor/observation/o-1': { body: { ...same, _id: 'o-1' } },
    });
    expect(observation).toEqual({ ...same, id: 'o-1' });
  });

  test('in a market, its topics, jobs and companies', async () => {
    const texts = { name: 'Bearings', subtitle: 'Sealed ones', description: 'Who makes them' };
    const company = {
      domain: 'a.example',
      name: 'A',
      description: 'Makes bearings',
      overallMomentum: 0.5,
      contactNumber: '+49 1',
      contactEmail: 'info@a.example',
      actualRevenue: 1e6,
      naics: [{ code: '332991', name: 'Bearings', level: 6, isPrimary: true }],
      operatesIn: ['de'],
      dunsNumbers: ['123456789'],
    };
    const job = { workflowName: 'first_pass', startTime: '2026-01-01T00:00:00Z', status: 'running', endTime: null };
    const query = `{ market(id: 1) {
      name subtitle description dateCreated companyCount headerImageUrl reviewStatus
      companies { nodes {
        domain name description overallMomentum contactNumber contactEmail actualRevenue
        naics { code name level isPrimary } operatesIn dunsNumbers
      } }
      topics { id label groups { id label } }
      jobs { id workflowName startTime status endTime progress }
    } }`;
    const { market } = await read(query, {
      '/dev/markets/1': {
        body: {
          ...{ ...texts, id: 1, date_created: '2026-01-01T00:00:00Z', company_count: 5 },
          ...{ header_image_url: 'https://images.example/1', review_status: 'published' },
        },
      },
      '/markets/1/topics': { body: { data: [{ topicId: 1, label: 'T', groups: [{ topicId: 2, label: 'G' }] }] } },
      '/v2/discovery/1/jobs': { body: { metadata: { marketId: 1 }, data: [{ ...job, jobId: 3, jobProgress: 40 }] } },
      '/v2/markets/1/companies': { body: { data: [company] } },
    });
    expect(market).toEqual({
      ...texts,
      ...{ dateCreated: '2026-01-01T00:00:00Z', companyCount: 5 },
      ...{ headerImageUrl: 'https://images.example/1', reviewStatus: 'PUBLISHED' },
      topics: [{ id: '1', label: 'T', groups: [{ id: '2', label: 'G' }] }],
      jobs: [{ ...job, id: '3', progress: 40 }],
      companies: { nodes: [company] },
    });
  });
});

describe('each value of a set that the specification closes has its name', () => {
  const operators = {
    '>': 'GREATER_THAN',
    '<': 'LESS_THAN',
    '>=': 'GREATER_THAN_OR_EQUAL',
    '<=': 'LESS_THAN_OR_EQUAL',
    '=': 'EQUAL',
    '~': 'APPROXIMATELY',
    range: 'RANGE',
  };
  const directions = ['up', 'down', 'fluctuate', 'unknown'];
  const entityTypes = ['company', 'category', 'country', 'location'];
  const upperCase = (values: readonly string[]) => values.map(value => value.toUpperCase());

  test('in an event', async () => {
    const affectedDatapoints = [
      ...Object.keys(operators).map(operator => ({ name: 'N', quantity: { operator, values: [1], unit: '%' } })),
      ...directions.map(direction => ({ name: 'N', direction })),
    ];
    const relevantEntities = entityTypes.map(entityType => ({ name: 'N', entityType }));
    const event = { _id: 'e-1', relevantEntities, taxonomicMatches: { affectedDatapoints } };
    const { events } = await read(
      '{ events { nodes { relevantEntities { entityType } affectedDatapoints { direction quantity { operator } } } } }',
      { [eventsPath]: eventPage([event]) },
    );
    expect(events.nodes).toEqual([
      {
        relevantEntities: upperCase(entityTypes).map(entityType => ({ entityType })),
        affectedDatapoints: [
          ...Object.values(operators).map(operator => ({ direction: null, quantity: { operator } })),
          ...upperCase(directions).map(direction => ({ direction, quantity: null })),
        ],
      },
    ]);
  });

  test.each(['published', 'draft', 'reviewing'])('in a market that is %s', async status => {
    const { market } = await read('{ market(id: 1) { reviewStatus } }', {
      '/dev/markets/1': { body: { id: 1, review_status: status } },
    });
    expect(market).toEqual({ reviewStatus: status.toUpperCase() });
  });
});

describe('a reply that names its record', () => {
  const job = { jobId: 1, startTime: '2026-01-01T00:00:00Z' };
  const metadata = (marketId: unknown) => ({ metadata: { marketId } });
  const ofMarket = (field: string) => `{ market(id: 1) { value: ${field} } }`;
  const write = (call: string, fields: string) => `mutation { value: ${call} { ${fields} } }`;
  const companies = ofMarket('companies { nodes { domain } }');
  const criteria = ofMarket('searchCriteria { marketName }');
  const jobs = ofMarket('jobs { id }');
  const start = write(
    'startDiscovery(input: { marketId: 1, searchCriteria: { userPrompt: "q" } })',
    '... on DiscoveryStarted { jobs { id } }',
  );
  const cases: [name: string, query: string, path: string, body: (id: unknown) => unknown][] = [
    ['the market', ofMarket('name'), '/dev/markets/1', id => ({ id, name: 'M' })],
    ['the market under data', ofMarket('name'), '/dev/markets/1', id => ({ id: 'r-1', data: { id, name: 'M' } })],
    ['the market beside data', ofMarket('name'), '/dev/markets/1', id => ({ ...metadata(id), data: { name: 'M' } })],
    ['an observation', '{ value: observation(id: "1") { title } }', observationPath, _id => ({ _id, title: 'O' })],
    [
      'one under data',
      '{ value: observation(id: "1") { title } }',
      observationPath,
      _id => ({ data: { _id, title: 'O' } }),
    ],
    ['one of a list', '{ value: observations(ids: ["1"]) { title } }', observationPath, _id => ({ _id, title: 'O' })],
    ['jobs', jobs, '/v2/discovery/1/jobs', id => ({ ...metadata(id), data: [job] })],
    ['jobs of their own', jobs, '/v2/discovery/1/jobs', marketId => [{ ...job, marketId }]],
    [
      'jobs of a publication',
      ofMarket('jobs(phase: PUBLISH) { id }'),
      '/v2/markets/1/jobs',
      marketId => ({ marketId, jobs: [{ ...job, marketId }] }),
    ],
    ['topics', ofMarket('topics { id }'), '/markets/1/topics', id => ({ ...metadata(id), data: [] })],
    ['companies', companies, '/v2/markets/1/companies', id => ({ ...metadata(id), data: [{ domain: 'a.example' }] })],
    [
      'a company',
      companies,
      '/v2/markets/1/companies',
      marketId => ({ companies: [{ domain: 'a.example', marketId }] }),
    ],
    ['ESG data', ofMarket('esg'), '/v2/markets/1/esg', marketId => ({ marketId, rating: 'A' })],
    ['ESG data under data', ofMarket('esg'), '/v2/markets/1/esg', marketId => ({ data: { marketId, rating: 'A' } })],
    ['criteria', criteria, '/v2/discovery/1/search-criteria', id => ({ ...metadata(id), data: { marketName: 'M' } })],
    [
      'criteria of their own',
      criteria,
      '/v2/discovery/1/search-criteria',
      marketId => ({ searchCriteria: { marketId, marketName: 'M' } }),
    ],
    [
      'earlier criteria',
      ofMarket('searchCriteriaHistory { marketName }'),
      '/v2/discovery/1/search-criteria/history',
      marketId => [{ marketId, marketName: 'M' }],
    ],
    ['a started discovery', start, '/v2/discovery/1/start', id => ({ ...metadata(id), data: [job] })],
    [
      'a publication',
      write('publishMarket(input: { marketId: 1 })', 'jobs { id }'),
      '/v2/discovery/1/publish',
      id => ({ ...metadata(id), data: [job] }),
    ],
    [
      'a review',
      write('reviewCompanies(input: { marketId: 1, reviewStatus: INCLUDE, target: { all: true } })', 'marketId'),
      '/v2/discovery/1/companies/reviews',
      id => metadata(id),
    ],
    [
      'a CSV file',
      write('exportMarketCsv(input: { marketId: 1, companies: { domains: ["a.example"] } })', 'downloadLink'),
      '/markets/1/export-csv',
      marketId => ({ marketId, downloadLink: 'https://a.example' }),
    ],
  ];

  test.each(cases)('is taken only as that which was requested: %s', async (_, query, path, body) => {
    const answers: WireReply[] = [];
    const { wire } = fakeWire(({ url }) => {
      if (url.pathname.replace(/^\/(api|stage)/, '') === path) return answers.shift() ?? { status: 500, body: {} };
      return { body: [{ domain: 'a.example' }] };
    });
    gateway = await startGateway({ wire, env: { RESPONSE_CACHE: 'false' } });
    for (const id of [999, '999', 0, '', '01', {}]) {
      answers.push({ body: body(id) });
      const { data, errors } = await gateway.query(query);
      expect(JSON.stringify(data) ?? 'null').not.toMatch(/"(?:M|O|A|a\.example)"|"id"/);
      expect(errors?.map(({ extensions, path }) => [extensions.code, path?.includes('value')])).toEqual([
        ['UPSTREAM_INVALID_RESPONSE', true],
      ]);
    }
    for (const id of [1, '1', undefined, null]) {
      answers.push({ body: body(id), headers: { 'cache-control': 'no-store' } });
      const { errors } = await gateway.query(query);
      expect(errors).toBeUndefined();
    }
  });
});
