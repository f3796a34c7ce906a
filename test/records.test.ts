import { afterEach, describe, expect, test } from '@jest/globals';
import { startGateway, type TestGateway } from './support/gateway.js';
import { eventPage, fakeWire, type WireReply } from './support/wire.js';

let gateway: TestGateway | undefined;
afterEach(() => gateway?.close());

/** What a query returns over a service with these answers, by the path without its prefix. */
async function read(query: string, answers: Readonly<Record<string, WireReply>>) {
  const { wire } = fakeWire(
    ({ url }) => answers[url.pathname.replace(/^\/(api|stage)/, '')] ?? { status: 404, body: {} },
  );
  gateway = await startGateway({ wire });
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
