import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { getNullableType, isInputObjectType, isIntrospectionType, isListType, isObjectType } from 'graphql';
import { known, present } from '../src/data/parsing.js';
import type { Reader } from '../src/data/reader.js';
import { companyListId, createCompaniesLoaders } from '../src/domains/companies/client.js';
import { facetsOf, preparedFilter } from '../src/domains/companies/list.js';
import { type CompanyRecord, companyList, type Esg, esgOf } from '../src/domains/companies/model.js';
import { listBounds } from '../src/generated/list-bounds.js';
import type { CompanyFilter, CompanyOrder, FloatRange } from '../src/generated/schema-types.js';
import { nodeId } from '../src/graphql/node.js';
import { histogramOf } from '../src/lib/histogram.js';
import { type Company, startSandbox } from '../src/sandbox/server.js';
import { createSchema } from '../src/schema.js';
import { cursorOf } from './support/calls-table.js';
import { forSuite, forTest } from './support/cleanups.js';
import { expectCpuTime } from './support/cpu-time.js';
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

const record = (domain: string, more: object = {}): CompanyRecord => {
  const [company] = present(companyList.parse([{ domain, ...more }]));
  if (company === undefined) throw new Error('This is no company');
  return company;
};

/** What the schema says of the filter, said as plainly as can be. */
function isWanted(company: CompanyRecord, filter: CompanyFilter): boolean {
  const { search, domains, operatesIn, naics, actualRevenue, overallMomentum } = filter;
  const isWithin = (value: number | null, { min, max }: FloatRange) =>
    value !== null && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
  const lower = (text: string) => text.toLowerCase();
  const has = (values: readonly string[], value: string) => values.map(lower).includes(lower(value));
  const text = [company.name, company.domain, company.description].map(part => lower(part ?? ''));
  return (
    (search == null || text.some(part => part.includes(lower(search)))) &&
    (domains == null || has(domains, company.domain)) &&
    (!operatesIn?.length || present(company.operatesIn).some(country => has(operatesIn, country))) &&
    (!naics?.length || present(company.naics).some(({ code }) => naics.some(wanted => code.startsWith(wanted)))) &&
    (actualRevenue == null || isWithin(known(company.actualRevenue), actualRevenue)) &&
    (overallMomentum == null || isWithin(known(company.overallMomentum), overallMomentum))
  );
}

const naicsCode = fc.stringMatching(/^[1-3A]{1,4}$/);
const word = fc.constantFrom('Steel', 'steel', 'WOOD', 'oil');
const country = fc.constantFrom('de', 'DE', 'us', 'fr');
const domain = fc.constantFrom('a.example', 'B.example', 'c.example');
const few = <T>(of: fc.Arbitrary<T>) => fc.array(of, { maxLength: 4 });
const number = fc.option(fc.integer({ min: -2, max: 2 }));
const some = fc
  .record({
    ...{ domain, name: fc.option(word), operatesIn: few(country), naics: few(naicsCode) },
    ...{ score: number, actualRevenue: number, overallMomentum: number },
  })
  .map(({ domain, naics, ...more }) => record(domain, { ...more, naics: naics.map(code => ({ code })) }));
const range = fc.record({ min: number, max: number }, { requiredKeys: [] }).map(given => {
  const { min, max } = given;
  return min != null && max != null && min > max ? { min: max, max: min } : given;
});
const filter: fc.Arbitrary<CompanyFilter> = fc.record(
  {
    search: fc.option(word),
    domains: fc.option(few(domain)),
    operatesIn: fc.option(few(country)),
    naics: fc.option(few(naicsCode)),
    actualRevenue: fc.option(range),
    overallMomentum: fc.option(range),
  },
  { requiredKeys: [] },
);
const order: fc.Arbitrary<CompanyOrder> = fc.record({
  field: fc.constantFrom('SCORE', 'NAME', 'DOMAIN', 'OVERALL_MOMENTUM', 'ACTUAL_REVENUE'),
  direction: fc.constantFrom('ASC', 'DESC'),
});

/** What the schema says of the order, said as plainly as can be. */
function plainlySorted(companies: readonly CompanyRecord[], { field, direction }: CompanyOrder): CompanyRecord[] {
  const members = { SCORE: 'score', NAME: 'name', DOMAIN: 'domain' } as const;
  const numbers = { OVERALL_MOMENTUM: 'overallMomentum', ACTUAL_REVENUE: 'actualRevenue' } as const;
  const sortedBy = (company: CompanyRecord) => {
    const value = company[{ ...members, ...numbers }[field]];
    return typeof value === 'string' ? value.toLowerCase() : value;
  };
  const byDomain = companies.toSorted((one, other) => (one.domain.toLowerCase() < other.domain.toLowerCase() ? -1 : 1));
  const values = [...new Set(companies.map(sortedBy))].filter(value => value !== null);
  values.sort((one, other) => (one < other ? -1 : 1));
  if (direction === 'DESC') values.reverse();
  return [...values, null].flatMap(value => byDomain.filter(company => sortedBy(company) === value));
}

const loadersOf = (all: readonly CompanyRecord[]) => {
  const reader = { read: () => all } as unknown as Reader;
  return createCompaniesLoaders(reader, undefined);
};

test('a prepared filter selects the companies that the schema describes', () => {
  fc.assert(
    fc.property(few(some), filter, (all, given) => {
      expect(preparedFilter(given, 'filter').from(all)).toEqual(all.filter(company => isWanted(company, given)));
    }),
    { numRuns: 500 },
  );
});

test('a filtered list has the order that the schema describes', async () => {
  const distinct = fc.uniqueArray(some, { maxLength: 3, selector: company => company.domain.toLowerCase() });
  const many = fc
    .array(distinct, { maxLength: 4 })
    .map(parts =>
      parts.flatMap((part, index) => part.map(each => ({ ...each, domain: `${(7 - index) % 5}.${each.domain}` }))),
    );
  await fc.assert(
    fc.asyncProperty(many, fc.option(filter), fc.option(order), async (all, given, orderBy) => {
      const matching = all.filter(company => isWanted(company, given ?? {}));
      const expected = orderBy === null ? matching : plainlySorted(matching, orderBy);
      expect(await loadersOf(all).list('1', { filter: given, orderBy })).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

test('a facet counts the companies that a filter with its value selects, the most frequent first', () => {
  fc.assert(
    fc.property(few(some), all => {
      const { operatesIn, naics } = facetsOf(all);
      const countOf = (given: CompanyFilter) => preparedFilter(given, 'filter').from(all).length;
      expect(operatesIn.map(({ value, count }) => [value, count])).toEqual(
        operatesIn.map(({ value }) => [value, countOf({ operatesIn: [value] })]),
      );
      expect(naics.map(({ code, count }) => [code, count])).toEqual(
        naics.map(({ code }) => [code, countOf({ naics: [code] })]),
      );
      const values = all.flatMap(company => present(company.operatesIn).map(each => each.toLowerCase()));
      expect(operatesIn.map(({ value }) => value).sort()).toEqual([...new Set(values)].sort());
      expect(naics.map(({ code }) => code).sort()).toEqual(
        [...new Set(all.flatMap(company => present(company.naics).map(({ code }) => code)))].sort(),
      );
      const counts = [operatesIn, naics].map(facets => facets.map(({ count }) => count));
      for (const each of counts) expect(each).toEqual(each.toSorted((one, other) => other - one));
    }),
    { numRuns: 200 },
  );
});

test('a facet has no code that is too long for the filter', () => {
  const codes = Array.from({ length: 1_000 }, (_, at) => '1'.repeat(at + 1));
  const { naics } = facetsOf([record('a.example', { naics: codes.map(code => ({ code })) })]);
  expect(naics.map(({ code }) => code)).toEqual(codes.slice(0, 10));
});

test('a filtered, sorted list that cannot be read fails once, and leaves no rejection behind', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  const reader = { read: () => Promise.reject(new Error('away')) } as unknown as Reader;
  const loaders = createCompaniesLoaders(reader, undefined);
  const orderBy = { field: 'NAME', direction: 'ASC' } as const;
  await expect(loaders.list('1', { filter: { search: 'a' }, orderBy })).rejects.toThrow('away');
  await nextTurn();
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

test('sorting reads a value of each company once, and only once for each list', async () => {
  const all = Array.from({ length: 5_000 }, (_, index) =>
    record(`c${(index * 7_919) % 5_000}.example`, { name: `Company ${(index * 104_729) % 1_000}`, score: index % 100 }),
  );
  for (const [field, member] of [
    ['NAME', 'name'],
    ['SCORE', 'score'],
  ] as const) {
    let reads = 0;
    for (const company of all) {
      const value = company[member];
      const get = () => {
        reads += 1;
        return value;
      };
      Object.defineProperty(company, member, { get });
    }
    const sorted = await loadersOf(all).list('1', { orderBy: { field, direction: 'DESC' } });
    expect(await loadersOf(all).list('2', { orderBy: { field, direction: 'DESC' } })).toBe(sorted);
    expect(reads).toBe(all.length);
  }
});

test('filters with the same meaning have the same key, all others a different one', () => {
  const key = (given: CompanyFilter) => preparedFilter(given, 'filter').key;
  expect(key({ naics: ['52', '51'], search: null })).toBe(key({ naics: ['51', '52', '51'] }));
  expect(key({ domains: ['A.example'], search: 'Steel' })).toBe(key({ search: 'steel', domains: ['a.example'] }));
  expect(key({ actualRevenue: { min: 1 } })).toBe(key({ actualRevenue: { max: null, min: 1 } }));
  const different = [
    {},
    { actualRevenue: {} },
    { actualRevenue: { min: 1 } },
    { actualRevenue: { max: 1 } },
    { overallMomentum: { max: 1 } },
    { domains: [] },
    { naics: ['51'] },
    { domains: ['51'] },
    { operatesIn: ['51'] },
    { search: '51' },
  ];
  expect(new Set(different.map(key)).size).toBe(different.length);
});

test('equal filters of one market are applied once per request', async () => {
  const all = [record('a.example'), record('b.example')];
  const loaders = loadersOf(all);
  const first = await loaders.list('1', { filter: { search: 'a.ex' } });
  expect(first).toEqual([all[0]]);
  expect(await loaders.list('1', { filter: { search: 'A.EX' } })).toBe(first);
  expect(await loaders.list('2', { filter: { search: 'a.ex' } })).not.toBe(first);
});

test('a filter with long lists takes about as long as one with short lists', () => {
  const all = Array.from({ length: 5_000 }, (_, index) =>
    record(`c${index}.example`, { naics: [{ code: `${100_000 + index}` }], operatesIn: ['de', 'fr'] }),
  );
  const many = (most: number, text: (index: number) => string) =>
    Array.from({ length: most }, (_, index) => text(index));
  const longest = {
    naics: many(listBounds['CompanyFilter.naics'], index => `${900_000 + index}`),
    domains: many(listBounds['CompanyFilter.domains'], index => `other${index}.example`),
    operatesIn: many(listBounds['CompanyFilter.operatesIn'], index => `x${index}`),
  };
  for (const [member, values] of Object.entries(longest)) {
    const filteringBy = (given: readonly string[]) => {
      const selection = preparedFilter({ [member]: given }, 'filter');
      return () => expect(selection.from(all)).toEqual([]);
    };
    // To compare each company with each value would take a hundred times as long.
    expectCpuTime(filteringBy(values), 10, filteringBy(values.slice(0, 1)));
  }
});

test('every list argument of the schema has a bound that its description states', () => {
  const types = Object.values(createSchema().getTypeMap());
  const inputFields = types
    .filter(isInputObjectType)
    .flatMap(type =>
      Object.values(type.getFields()).map(field => ({ coordinate: `${type.name}.${field.name}`, field })),
    );
  const fieldArguments = types
    .filter(isObjectType)
    .filter(type => !isIntrospectionType(type))
    .flatMap(type => Object.values(type.getFields()).map(field => ({ type, field })))
    .flatMap(({ type, field }) =>
      field.args.map(argument => ({ coordinate: `${type.name}.${field.name}(${argument.name}:)`, field: argument })),
    );
  const members = [...inputFields, ...fieldArguments].filter(({ field }) => isListType(getNullableType(field.type)));
  expect(members.map(({ coordinate }) => coordinate).sort()).toEqual(Object.keys(listBounds).sort());
  for (const { coordinate, field } of members) {
    const most = listBounds[coordinate as keyof typeof listBounds].toLocaleString('en');
    expect(`${coordinate}: ${field.description}`).toContain(most);
  }
});

/** The bounds and the counts of a histogram. */
function shown(values: readonly number[]) {
  const { buckets = [] } = histogramOf(values) ?? {};
  return [[...buckets.map(({ start }) => start), buckets.at(-1)?.end], buckets.map(({ count }) => count)];
}

test('bounds are round, and the last one belongs to the last range', () => {
  expect(shown([3, 17, 42])).toEqual([
    [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42],
    [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
  ]);
  expect(shown([0, 0.1, 0.3, 0.7, 0.75])).toEqual([
    [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75],
    [1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2],
  ]);
  expect(shown([-2_500_000, 1_700_000])[0]).toEqual([
    -2_500_000, -2_000_000, -1_500_000, -1_000_000, -500_000, 0, 500_000, 1_000_000, 1_500_000, 2_000_000,
  ]);
});

test('equal values have one range, and no values have no histogram', () => {
  expect(histogramOf([42, 42])).toEqual({ min: 42, max: 42, buckets: [{ start: 42, end: 43, count: 2 }] });
  expect(histogramOf([0])).toEqual({ min: 0, max: 0, buckets: [{ start: 0, end: 0.01, count: 1 }] });
  expect(histogramOf([])).toBeNull();
});

test('any numbers are counted, each in the range that holds it', () => {
  const near = fc.tuple(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.array(fc.nat(50), { minLength: 1 }));
  const numbers = fc.oneof(
    fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 }),
    fc.array(
      fc.integer({ min: -100, max: 1_000 }).map(cents => cents / 100),
      { minLength: 1 },
    ),
    near.map(([base, steps]) => steps.map(step => base + step)),
    fc.array(fc.constantFrom(Number.MAX_VALUE, -Number.MAX_VALUE, 5e-324, 0, -0, 1e308), { minLength: 1 }),
  );
  fc.assert(
    fc.property(numbers, values => {
      const { min, max, buckets } = histogramOf(values) ?? { min: 0, max: 0, buckets: [] };
      expect([min, max]).toEqual([values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))]);
      expect(buckets.length).toBeGreaterThan(0);
      expect(buckets.length).toBeLessThanOrEqual(20);
      const wrong = buckets.filter(({ start, end, count }, index) => {
        const next = buckets[index + 1];
        const held = values.filter(value => value >= start && (value < end || (next === undefined && value === end)));
        return start >= end || (next !== undefined && next.start !== end) || count !== held.length;
      });
      expect(wrong).toEqual([]);
      expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(values.length);
      expect([buckets[0]?.count, buckets.at(-1)?.count]).not.toContain(0);
    }),
    { numRuns: 2_000 },
  );
});
