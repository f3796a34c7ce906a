import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { companyListId } from '../src/domains/companies/client.js';
import { type Esg, esgOf } from '../src/domains/companies/model.js';
import { nodeId } from '../src/graphql/node.js';
import { type Company, startSandbox } from '../src/sandbox/server.js';
import { cursorOf } from './support/calls-table.js';
import { forSuite, forTest } from './support/cleanups.js';
import { startGateway, type TestGateway } from './support/gateway.js';
import { fakeWire } from './support/wire.js';

const sandbox = forSuite(await startSandbox());
const folder = await mkdtemp(join(tmpdir(), 'companies-'));
const env = { DATA_DIR: folder, EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true' };
const gateway = await startGateway({ sandbox, env });
const listing = await fetch(`${sandbox.origin}/v2/markets/1/companies`, {
  headers: { 'x-api-key': 'demo-key-subscribed' },
});
const companies = ((await listing.json()) as { data: Company[] }).data;

afterAll(async () => {
  await gateway.close();
  await rm(folder, { recursive: true });
});

const listQuery = `query ($first: Int, $after: String, $last: Int, $before: String, $filter: CompanyFilter, $orderBy: CompanyOrder) {
  market(id: 1) { companies(first: $first, after: $after, last: $last, before: $before, filter: $filter, orderBy: $orderBy) {
    totalCount nodes { domain } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`;

const list = async (variables: Record<string, unknown>) => {
  const { data, errors } = await gateway.query(listQuery, variables);
  return { connection: data.market.companies, extensions: errors?.map(error => error.extensions) };
};
const domainsOf = (found: readonly { domain: string }[]) => found.map(({ domain }) => domain);

describe('Market.companies', () => {
  test('returns a window of the filtered, sorted list from both ends', async () => {
    const filter = { actualRevenue: { min: 1_000_000, max: 500_000_000 }, overallMomentum: { min: 0 } };
    const orderBy = { field: 'ACTUAL_REVENUE', direction: 'DESC' } as const;
    const expected = companies
      .filter(
        ({ actualRevenue, overallMomentum }) => actualRevenue >= 1e6 && actualRevenue <= 5e8 && overallMomentum >= 0,
      )
      .toSorted((one, other) => other.actualRevenue - one.actualRevenue || (one.domain < other.domain ? -1 : 1));
    expect(expected.length).toBeGreaterThan(20);
    expect(expected.length).toBeLessThan(companies.length);
    const all = { filter, orderBy };
    const cursorAt = (index: number) => cursorOf(index, companyListId('1', all));
    const windows = [
      { given: {}, from: 0, to: 10 },
      { given: { first: 7, after: cursorAt(4) }, from: 5, to: 12 },
      { given: { last: 7 }, from: expected.length - 7, to: expected.length },
      { given: { last: 7, before: cursorAt(12) }, from: 5, to: 12 },
      { given: { first: 100, after: cursorAt(4), before: cursorAt(9) }, from: 5, to: 9 },
    ];
    for (const { given, from, to } of windows) {
      const { connection } = await list({ ...all, ...given });
      expect([given, connection]).toEqual([
        given,
        {
          totalCount: expected.length,
          nodes: expected.slice(from, to).map(({ domain }) => ({ domain })),
          pageInfo: {
            hasNextPage: to < expected.length,
            hasPreviousPage: from > 0,
            startCursor: cursorAt(from),
            endCursor: cursorAt(to - 1),
          },
        },
      ]);
    }
  });

  test('keeps the order of the service without orderBy, and sorts ascending by default', async () => {
    const unsorted = await list({ first: 100 });
    expect(domainsOf(unsorted.connection.nodes)).toEqual(domainsOf(companies.slice(0, 100)));
    const sorted = await list({ first: 100, orderBy: { field: 'DOMAIN' } });
    expect(domainsOf(sorted.connection.nodes)).toEqual(domainsOf(companies).sort().slice(0, 100));
  });

  test.each([
    ['filter.actualRevenue.min', { filter: { actualRevenue: { min: 2, max: 1 } } }],
    ['filter.overallMomentum.min', { filter: { overallMomentum: { min: 0.2, max: 0.1 } } }],
    ['last', { first: 1, last: 1 }],
    ['last', { last: 101 }],
    ['before', { before: 'x' }],
  ])('refuses a bad %s: %j', async (argument, variables) => {
    const cold = forTest(await startGateway({ sandbox }));
    sandbox.calls.clear();
    const { data, errors } = await cold.query(listQuery, variables);
    expect(data.market.companies).toBeNull();
    expect(errors?.map(error => error.extensions)).toEqual([{ code: 'BAD_USER_INPUT', argument }]);
    expect(sandbox.calls.count()).toBe(0);
  });
});

test('topics come in the order of the service, or by their labels in both directions, which share one call', async () => {
  const own = forTest(await startGateway({ sandbox }));
  sandbox.calls.clear();
  const { data, errors } = await own.query(`{ market(id: 1) {
      asGiven: topics { id } rising: topics(orderBy: { field: LABEL }) { label } falling: topics(orderBy: { field: LABEL, direction: DESC }) { label }
      none: topics(orderBy: null) { id } } }`);
  expect(errors).toBeUndefined();
  const { asGiven, rising, falling, none } = data.market;
  expect(rising.length).toBeGreaterThan(2);
  expect(falling).toEqual(rising.toReversed());
  expect(rising).toEqual(
    rising.toSorted((one: { label: string }, other: { label: string }) => (one.label < other.label ? -1 : 1)),
  );
  expect(none).toEqual(asGiven);
  expect(sandbox.calls.count(/topics$/)).toBe(2);
});

describe('a market that is not published', () => {
  test('has no companies, ESG data and topics, and each error says so, without a further call', async () => {
    sandbox.calls.clear();
    const query = '{ market(id: 4) { companies { totalCount } companyFacets { __typename } esg topics { id } } }';
    const { data, errors } = await gateway.query(query);
    expect(data.market).toEqual({ companies: null, companyFacets: null, esg: null, topics: null });
    const message = 'The market is not published, does not exist, or is hidden from this credential';
    expect(errors?.map(error => [error.message, error.extensions.code])).toEqual(Array(4).fill([message, 'NOT_FOUND']));
    expect(sandbox.calls.count()).toBe(3);
  });
});

describe('Market.companyFacets', () => {
  test('counts what a filter with each value selects, under the filter of the list', async () => {
    const filter = { overallMomentum: { min: 0 } };
    const { data, errors } = await gateway.query(
      `query ($filter: CompanyFilter) { market(id: 1) { companyFacets(filter: $filter) {
        operatesIn { value count } naics { code name count }
        score { ...range } actualRevenue { ...range } overallMomentum { ...range } } } }
      fragment range on Histogram { min max buckets { start end count } }`,
      { filter },
    );
    expect(errors).toBeUndefined();
    const { operatesIn, naics, ...histograms } = data.market.companyFacets;
    const matching = companies.filter(({ overallMomentum }) => overallMomentum >= 0);
    const [country, industry] = [operatesIn[0], naics[0]];
    expect(country.count).toBe(matching.filter(company => company.operatesIn.includes(country.value)).length);
    expect(industry.name).toEqual(expect.any(String));
    const narrowed = await list({ filter: { ...filter, naics: [industry.code] } });
    expect(narrowed.connection.totalCount).toBe(industry.count);
    const [number = ''] = matching.flatMap(({ dunsNumbers }) => dunsNumbers);
    const dashed = `${number.slice(0, 2)}-${number.slice(2, 5)} ${number.slice(5)}`;
    for (const dunsNumbers of [[number], ['000000000', dashed]]) {
      const numbered = await list({ first: 100, filter: { ...filter, dunsNumbers } });
      expect(numbered.connection.nodes.map(({ domain }: Company) => domain)).toEqual(
        matching.filter(company => company.dunsNumbers.includes(number)).map(({ domain }) => domain),
      );
    }
    expect((await list({ filter: { ...filter, dunsNumbers: ['1'] } })).connection.totalCount).toBe(0);
    expect((await list({ filter: { ...filter, dunsNumbers: [] } })).connection.totalCount).toBe(matching.length);
    for (const member of ['score', 'actualRevenue', 'overallMomentum'] as const) {
      const values = matching.map(company => company[member]).sort((one, other) => one - other);
      expect(histograms[member]).toEqual({ min: values[0], max: values.at(-1), buckets: expect.any(Array) });
      const counts = histograms[member].buckets.map(({ count }: { count: number }) => count);
      expect(counts.reduce((sum: number, count: number) => sum + count)).toBe(matching.length);
    }
    const [range] = histograms.actualRevenue.buckets;
    const within = await list({ filter: { ...filter, actualRevenue: { min: range.start, max: range.end - 0.01 } } });
    expect(within.connection.totalCount).toBe(range.count);
  });

  test('has no histogram where no company has a value', async () => {
    const { data } = await gateway.query(
      '{ market(id: 1) { companyFacets(filter: { search: "of no company" }) { score { min } actualRevenue { min } overallMomentum { min } } } }',
    );
    expect(data.market.companyFacets).toEqual({ score: null, actualRevenue: null, overallMomentum: null });
  });
});

describe('a company', () => {
  test('has an id of its own in each market, its market, its score and its review status, and is found again by its nodeId', async () => {
    const fields = 'nodeId id domain score reviewStatus attributes market { id name }';
    const [first] = companies;
    const { data, errors } = await gateway.query(
      `query ($domain: String!) { market(id: 1) { company(domain: $domain) { ${fields} } } }`,
      { domain: first?.domain.toUpperCase() },
    );
    expect(errors).toBeUndefined();
    const { company } = data.market;
    expect(company).toMatchObject({
      id: `1:${first?.domain}`,
      nodeId: nodeId('Company', ['1', `${first?.domain}`]),
      score: first?.score,
      reviewStatus: 'INCLUDE',
      market: { id: '1', name: expect.any(String) },
    });
    expect(Object.keys(company.attributes).sort()).toEqual(['employeeCount', 'foundedYear', 'headquarters']);
    const again = await gateway.query(`query ($id: ID!) { node(nodeId: $id) { ... on Company { ${fields} } } }`, {
      id: company.nodeId,
    });
    expect(again.data.node).toEqual(company);
  });

  test.each([
    ['an unknown domain', nodeId('Company', ['1', 'unknown.example']), undefined],
    ['a domain in upper case', nodeId('Company', ['1', 'UNKNOWN.example']), undefined],
    ['no domain', nodeId('Company', ['1']), 'BAD_USER_INPUT'],
    ['a bad market', nodeId('Company', ['x', 'a.example']), 'BAD_USER_INPUT'],
  ])('is null for a nodeId with %s', async (_, id, code) => {
    const query = 'query ($id: ID!) { node(nodeId: $id) { ... on Company { name } } }';
    const { data, errors } = await gateway.query(query, { id });
    expect(data.node).toBeNull();
    expect(errors?.[0].extensions.code).toBe(code);
  });
});

describe('an export', () => {
  const filter = { actualRevenue: { min: 1_000_000 }, search: 'a' };
  const orderBy = { field: 'NAME', direction: 'DESC' } as const;

  test.each<[string, (some: string[]) => object, (page: string[], matching: string[], some: string[]) => string[]]>([
    ['all companies', () => ({ matching: {} }), () => domainsOf(companies)],
    ['a page', () => ({ visible: { last: 5, filter, orderBy } }), page => page],
    ['a filter', () => ({ matching: filter }), (_, matching) => matching],
    ['domains', some => ({ domains: [...some, ...some] }), (_, __, some) => some],
  ])('to CSV of %s sends exactly their domains', async (_, selection, expected) => {
    const page = domainsOf((await list({ last: 5, filter, orderBy })).connection.nodes);
    const text = ({ name, domain, description }: Company) => `${name} ${domain} ${description}`.toLowerCase();
    const matching = companies.filter(each => each.actualRevenue >= 1e6 && text(each).includes('a'));
    const some = domainsOf(companies.slice(3, 5));
    const domains = expected(page, domainsOf(matching), some);
    const input = { marketId: '1', companies: selection(some) };
    const { data } = await gateway.query(
      'mutation ($input: ExportMarketCsvInput!) { exportMarketCsv(input: $input) { downloadLink selected } }',
      { input },
    );
    expect(data.exportMarketCsv.selected).toBe(domains.length);
    const file = await (await fetch(data.exportMarketCsv.downloadLink)).text();
    const rows = file.trim().split('\r\n').slice(1);
    expect(rows.map(row => row.split(',')[0]).sort()).toEqual(domains.toSorted());
  });
});

describe('one domain in several forms', () => {
  const pages = ['facebook.example', 'facebook.example/bäcker', 'facebook.example/müller'];
  const market = [
    { domain: 'Example.com', name: 'First', score: 1, operatesIn: ['de'] },
    { domain: 'example.com', name: 'Second', score: 3, operatesIn: ['fr'] },
    { domain: 'example.com.', name: 'Third', score: 2 },
    { domain: ' example.com ', name: 'Thirdly' },
    { domain: 'm\u00fcnchen.example', name: 'Fourth' },
    { domain: 'xn--mnchen-3ya.example', name: 'Fifth' },
    { domain: 'mu\u0308nchen.example.', name: 'Sixth' },
    { name: 'Bad', domain: 'bad.example', naics: [{ code: {} }], operatesIn: 'x', dunsNumbers: 'y' },
    ...pages.map(domain => ({ domain, name: domain })),
  ];
  let own: TestGateway;
  const service = fakeWire(({ path }) => {
    if (path.endsWith('/companies')) return { body: { data: market } };
    if (path.endsWith('/esg')) return { body: { data: [{ domain: 'EXAMPLE.com.', share: 1 }] } };
    return { body: { downloadLink: 'https://files.example/1.csv' } };
  });
  beforeAll(async () => {
    own = await startGateway({ wire: service.wire });
  });
  afterAll(() => own.close());

  test('is one company in lists, facets and filters', async () => {
    const domains = ['EXAMPLE.COM.', 'xn--mnchen-3ya.example'];
    const { data, errors } = await own.query(
      `query ($domains: [String!]) { market(id: 1) {
        companies(first: 10) { totalCount nodes { id nodeId name esg } }
        sorted: companies(orderBy: { field: SCORE, direction: DESC }) { nodes { name } }
        filtered: companies(filter: { domains: $domains }) { nodes { name } }
        companyFacets { operatesIn { value count } }
      } }`,
      { domains },
    );
    expect(errors).toBeUndefined();
    const { companies, sorted, filtered, companyFacets } = data.market;
    const namesOf = ({ nodes }: { nodes: { name: string }[] }) => nodes.map(({ name }) => name);
    expect([companies.totalCount, namesOf(companies)]).toEqual([6, ['First', 'Fourth', 'Bad', ...pages]]);
    expect(companies.nodes.map(({ id }: { id: string }) => id).slice(0, 2)).toEqual([
      '1:example.com',
      '1:xn--mnchen-3ya.example',
    ]);
    expect(companies.nodes[0].esg).toEqual({ domain: 'EXAMPLE.com.', share: 1 });
    expect(namesOf(sorted)).toEqual(['First', 'Bad', ...pages, 'Fourth']);
    expect(namesOf(filtered)).toEqual(['First', 'Fourth']);
    expect(companyFacets.operatesIn).toEqual([{ value: 'de', count: 1 }]);
    for (const { nodeId, name } of companies.nodes) {
      const found = await own.query('query ($id: ID!) { node(nodeId: $id) { ... on Company { name } } }', {
        id: nodeId,
      });
      expect(found.data.node).toEqual({ name });
    }
  });

  test.each(['example.com', 'EXAMPLE.com', 'Example.com.'])('is found as %s', async domain => {
    const { data } = await own.query(
      'query ($domain: String!) { market(id: 1) { company(domain: $domain) { name } } }',
      {
        domain,
      },
    );
    expect(data.market.company).toEqual({ name: 'First' });
  });

  test.each(['münchen.example', 'MU\u0308NCHEN.example.', 'xn--mnchen-3ya.example'])('is found as %s', async domain => {
    const { data } = await own.query(
      'query ($domain: String!) { market(id: 1) { company(domain: $domain) { name } } }',
      {
        domain,
      },
    );
    expect(data.market.company).toEqual({ name: 'Fourth' });
  });

  test.each([
    [{ matching: {} }, ['Example.com', 'münchen.example', 'bad.example', ...pages]],
    [{ visible: { first: 2 } }, ['Example.com', 'münchen.example']],
    [{ domains: ['Example.com', 'example.com.', 'EXAMPLE.com'] }, ['example.com']],
    [{ domains: [' example.com. ', '\n\u00a0bad.example\t'] }, ['example.com', 'bad.example']],
    [{ domains: ['My_Company.example.com', '1.2.3.4'] }, ['my_company.example.com', '1.2.3.4']],
    [{ domains: ['MÜNCHEN.example', 'xn--mnchen-3ya.example', 'other.example'] }, ['münchen.example', 'other.example']],
  ])('is one row of a CSV file: %j', async (selection, sent) => {
    service.calls.length = 0;
    const { data, errors } = await own.query(
      'mutation ($input: ExportMarketCsvInput!) { exportMarketCsv(input: $input) { selected } }',
      { input: { marketId: 1, companies: selection } },
    );
    expect([errors, data.exportMarketCsv.selected]).toEqual([undefined, sent.length]);
    expect(JSON.parse(service.calls.at(-1)?.body ?? '')).toEqual({ domainList: sent });
  });
});

describe('names', () => {
  const names = ['Zeta', 'E\u0301clair', 'apple', '\u00c9cole', 'Eclair', 'Apple', 'Ecole', null, 'Z\u00fcrich'];
  let own: TestGateway;
  beforeAll(async () => {
    const records = names.map((name, index) => ({ domain: `c${index}.example`, name }));
    own = await startGateway({ wire: fakeWire(() => ({ body: { data: records } })).wire });
  });
  afterAll(() => own.close());

  test.each([
    ['ASC', ['apple', 'Apple', 'Eclair', 'E\u0301clair', 'Ecole', '\u00c9cole', 'Zeta', 'Z\u00fcrich', null]],
    ['DESC', ['Z\u00fcrich', 'Zeta', '\u00c9cole', 'Ecole', 'E\u0301clair', 'Eclair', 'apple', 'Apple', null]],
  ])('are in the order of a dictionary (%s)', async (direction, expected) => {
    const { data } = await own.query(
      'query ($by: CompanyOrder) { market(id: 1) { companies(orderBy: $by) { nodes { name } } } }',
      { by: { field: 'NAME', direction } },
    );
    expect(data.market.companies.nodes.map(({ name }: { name: string }) => name)).toEqual(expected);
  });

  test.each(['e\u0301c', '\u00e9C', '\u00c9c'])('are searched in any form of Unicode (%s)', async search => {
    const { data } = await own.query(
      'query ($search: String) { market(id: 1) { companies(filter: { search: $search }) { nodes { name } } } }',
      { search },
    );
    expect(data.market.companies.nodes).toEqual([{ name: 'E\u0301clair' }, { name: '\u00c9cole' }]);
  });
});

describe('ESG data', () => {
  let body = '';
  const service = fakeWire(({ url }) =>
    url.pathname.endsWith('/companies')
      ? { body: { data: [{ domain: 'a.example' }, { domain: '__proto__' }] } }
      : { body },
  );
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ wire: service.wire });
  });
  afterAll(() => gateway.close());

  let market = 0;
  /** What the companies' ESG data are, where the service answers with this body. */
  async function partsIn(text: string) {
    market += 1;
    body = text;
    const { data, errors } = await gateway.query(
      'query ($id: ID!) { market(id: $id) { companies { nodes { domain esg } } } }',
      {
        id: String(market),
      },
    );
    expect(errors).toBeUndefined();
    return data.market.companies.nodes.map(({ esg }: { esg: unknown }) => esg);
  }

  const part = '{ "domain": "A.Example", "score": 1 }';

  test.each([
    ['of any type', `[1, null, "x", [], { "domain": 5 }, { "domain": null }, { "domain": ["a.example"] }, ${part}]`],
    [
      'that cannot be converted to text',
      `[{ "domain": { "toString": 1 } }, { "domain": { "toString": null, "valueOf": 2 } }, ${part}]`,
    ],
    [
      'and members named like those of every object',
      `{ "__proto__": { "domain": "x" }, "constructor": 1, "toString": {}, "list": [${part}] }`,
    ],
    ['and members of any type', `{ "A.example": "no object", "a": null, "b": 7, "list": [${part}] }`],
  ])('ESG data with a domain %s does not affect the parts of other companies', async (_, text) => {
    expect((await partsIn(text))[0]).toEqual({ domain: 'A.Example', score: 1 });
  });

  test('a part may be a member named after the domain, and the first one wins', async () => {
    expect(await partsIn('{ "A.EXAMPLE": { "score": 2 }, "list": [{ "domain": "a.example" }] }')).toEqual([
      { score: 2 },
      null,
    ]);
    expect(await partsIn('{ "list": [{ "domain": "a.example" }, { "domain": "A.example", "score": 3 }] }')).toEqual([
      { domain: 'a.example' },
      null,
    ]);
  });

  test('any JSON document either has a part for a domain or not', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (data, domain) => {
        const found = esgOf(data as Esg, domain);
        expect(found === null || (typeof found === 'object' && !Array.isArray(found))).toBe(true);
      }),
    );
  });

  test('the parts of all companies are found in one pass', () => {
    let reads = 0;
    const records = Array.from({ length: 5_000 }, (_, index) => ({
      get domain() {
        reads += 1;
        return `c${index}.example`;
      },
    }));
    const data: Esg = { data: records };
    for (let index = 0; index < 5_000; index += 50) expect(esgOf(data, `C${index}.example`)).toBe(records[index]);
    expect(esgOf(data, 'other.example')).toBeNull();
    expect(reads).toBeLessThanOrEqual(records.length);
  });
});

test('a company that cannot be read is named by its place in a list that is read in pieces', async () => {
  const description = 'd'.repeat(10_000);
  const list = Array.from({ length: 30 }, (_, index) =>
    index === 15 ? {} : { domain: `c${index}.example`, description },
  );
  const own = forTest(await startGateway({ wire: fakeWire(() => ({ body: { data: list } })).wire }));
  const review = `mutation { reviewCompanies(input: { marketId: 1, reviewStatus: INCLUDE, target: { all: true } }) {
    companies { domain } } }`;
  const { data, errors } = await own.query(review);
  expect(data.reviewCompanies.companies).toHaveLength(29);
  expect(errors?.map(({ message }: { message: string }) => message)).toEqual([
    expect.stringMatching(/^One Company \(index 15\) was left out/),
  ]);
});
