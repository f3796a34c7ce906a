import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { getIntrospectionQuery } from 'graphql';
import { listBounds } from '../../src/generated/list-bounds.js';
import { createSchema } from '../../src/schema.js';
import { fuzz } from '../support/fuzz.js';
import { ask, type GraphqlAnswer } from '../support/gateway.js';
import { type Inspector, inspect, inspected } from '../support/inspector.js';
import { type ListArgument, listArguments } from '../support/list-arguments.js';
import { buildProgram, type Running } from '../support/program.js';
import { reply, type StubService, startStubService } from '../support/stub-service.js';

/** The longest time that one request may block the event loop, in milliseconds, on the machine that `slowdown` compares with. */
const maxMs = 50;
/** Garbage collection, compilation and other processes can slow down a single try. */
const tries = 30;
const companyCount = 5_000;

const numbered = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, i) => make(i));
const repeated = (count: number, text: (index: number) => string) => numbered(count, text).join(' ');

const companies = numbered(companyCount, index => ({
  ...{
    domain: index === 0 ? 'a.example' : `company-${index}.example`,
    name: `Company ${index}`,
    description: `Makes thing ${index}. `.repeat(20),
  },
  ...{ overallMomentum: 1, contactNumber: '+49 1', contactEmail: 'a@b.example', actualRevenue: index, score: index },
  naics: numbered(3, code => ({ code: `${100_000 + index * 7 + code}`, name: 'Industry', level: 6, isPrimary: false })),
  ...{ operatesIn: ['de', 'us', 'fr'], dunsNumbers: [`${index}`] },
}));
const impact = { likelihood: 3, severity: 3, rationale: 'because' };
const events = numbered(100, index => ({
  ...{
    _id: `e-${index}`,
    title: `Event ${index}`,
    summary: 'It happened. '.repeat(20),
    lastUpdated: '2026-01-01T00:00:00Z',
  },
  references: numbered(10, reference => ({ _id: `o-${index * 10 + reference}` })),
  taxonomicMatches: { impactedEntities: numbered(5, entity => ({ name: `Company ${entity}`, impact })) },
}));
const wrong = companies.slice(0, 100).map(each => ({ ...each, score: 'high' }));
/** The market whose companies have a wrong score. */
const wrongMarket = 666;
const bodies = {
  wrong: JSON.stringify({ data: wrong }),
  companies: JSON.stringify({ data: companies }),
  esg: JSON.stringify({ data: companies.map(({ domain }) => ({ domain, score: 1, parts: { air: 1, water: 2 } })) }),
};

/** The filter of a list that holds what was updated last, and nothing at first. */
const updatesOnly = 'updates';
let updated: readonly object[] = [];

let service: StubService;
let gateway: Running;
let inspector: Inspector;
beforeAll(async () => {
  service = await startStubService(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://service');
    const [, family = ''] = /\/(companies|esg|events|observation)\b[^/]*(?:\/[^/]*)?$/.exec(pathname) ?? [];
    if (family === 'companies' && pathname.includes(`/${wrongMarket}/`)) return reply(response, 200, bodies.wrong);
    if (family === 'companies' || family === 'esg') return reply(response, 200, bodies[family]);
    if (pathname.startsWith('/dev/'))
      return reply(response, 200, { data: { id: 1, name: 'Market', companyCount: 5_000 } });
    if (family === 'observation')
      return reply(response, 200, { data: { _id: pathname.split('/').at(-1), title: 'News' } });
    const size = Number(searchParams.get('pageSize'));
    const page = Number(searchParams.get('page'));
    if (searchParams.get('alertType') === updatesOnly) {
      const pageOf = (list: readonly object[]) => list.slice((page - 1) * size, page * size);
      const meta = { totalItems: updated.length, totalPages: 20, currentPage: page, pageSize: size };
      return reply(response, 200, { meta, data: pageOf(updated) });
    }
    const meta = { totalItems: 100, totalPages: 1, currentPage: page, pageSize: size };
    return reply(response, 200, family === 'events' ? { meta, data: events.slice(0, size) } : { data: [] });
  });
  const [base, api, dev] = ['', '/api', '/dev'].map(path => `${service.origin}${path}`);
  gateway = await (await buildProgram()).start({
    ...{
      UPSTREAM_BASE_URL: `${base}`,
      UPSTREAM_API_URL: `${api}`,
      UPSTREAM_DEV_URL: `${dev}`,
      EVENTS_SEARCH_PARAM: 'search',
    },
    ...{ RESPONSE_CACHE: 'false', MAX_EVENT_LOOP_DELAY_MS: '60000' },
    ...inspected,
  });
  inspector = await inspect(gateway);
  // The gateway caches a parsed response from its second use on.
  for (let time = 0; time < 3; time += 1)
    await send('{ market(id: 1) { esg companies { nodes { esg } } } events(first: 100) { totalCount } }');
  for (let time = 0; time < 5; time += 1) await inspector.slowdown(); // compiles the fixed task
});
afterAll(async () => {
  inspector?.close();
  await gateway?.kill();
  await service?.close();
});

const send = (query: string, variables?: Record<string, unknown>): Promise<GraphqlAnswer> =>
  ask(`${gateway.url}/graphql`, query, variables, { 'x-api-key': 'key', 'graphql-cost': '1' });

/** The longest block during some work. A slow or shared core makes it longer, and a fixed task after it by as much. */
async function blockOf(work: () => Promise<unknown>): Promise<number> {
  const block = await inspector.maxBlock(work);
  return block < maxMs ? block : block / (await inspector.slowdown());
}

let documents = 0;
/** Sends a request, as a new document each time, until it blocks the loop for less than the limit. @returns the shortest block and the last answer. */
async function minBlock(query: string, variables?: Record<string, unknown>) {
  let least = Number.POSITIVE_INFINITY;
  let answer: GraphqlAnswer | undefined;
  for (let time = 0; time < tries && least >= maxMs; time += 1) {
    documents += 1;
    const own = query.replace('{', `{ d${documents}: __typename `);
    const block = await blockOf(async () => {
      answer = await send(own, variables);
    });
    least = Math.min(least, block);
  }
  if (answer === undefined) throw new Error('No request was sent');
  const { estimated, upstreamCalls } = answer.extensions?.cost ?? { estimated: 0, upstreamCalls: 0 };
  if (upstreamCalls > estimated)
    throw new Error(`${upstreamCalls} calls, estimated ${estimated}: ${query.slice(0, 300)}`);
  return { least, answer };
}

async function expectShort(query: string, variables?: Record<string, unknown>): Promise<GraphqlAnswer> {
  const { least, answer } = await minBlock(query, variables);
  if (least >= maxMs) {
    throw new Error(`${least.toFixed(0)} ms: ${query.slice(0, 300)} with ${JSON.stringify(variables)?.slice(0, 100)}`);
  }
  return answer;
}

/** Distinct values for a list, which the service does not know. */
const itemOf: Readonly<Record<string, (index: number) => unknown>> = {
  'CompanyFilter.naics': index => `${9_000_000 + index}`,
  'CompanyFilter.operatesIn': index => `x${index}`,
  'RegisterExportEndpointInput.headers': index => ({ name: `x-${index}`, value: 'v' }),
  'UpdateExportEndpointInput.headers': index => ({ name: `x-${index}`, value: 'v' }),
  'SearchCriteriaInput.locations': index => ({ countryCode: 'de', countryName: `Country ${index}` }),
};
const itemsOf = (coordinate: string, count: number) =>
  numbered(count, index => itemOf[coordinate]?.(index) ?? `other-${index}.example`);

/** The most characters that the texts of a list may have. */
const longest: Readonly<Record<string, number>> = {
  'CompanyFilter.domains': 1_000,
  'CompanyFilter.operatesIn': 100,
  'CompanyFilter.naics': 10,
  'CompanyFilter.dunsNumbers': 20,
  'CompanySelection.domains': 253,
  'ReviewTarget.domains': 253,
  'EventFilter.affectedDatapoints': 255,
  'EventFilter.alertTypes': 255,
  'EventFilter.impactedEntities': 255,
  'Query.nodes(nodeIds:)': 4_000,
  'Query.observations(ids:)': 256,
  'SearchCriteriaInput.seedDomains': 10_000,
  'SearchKeywordsInput.features': 10_000,
  'SearchKeywordsInput.irrelevant': 10_000,
  'SearchKeywordsInput.synonyms': 10_000,
  'SearchKeywordsInput.user': 10_000,
};
/** Marks of two classes in turns have to be sorted to be normalized. */
const fillings = { ASCII: 'm', CJK: '\u754c', 'combining marks': '\u0301\u0316' };
type Filling = keyof typeof fillings;
/** Of a request, which must be below a megabyte. */
const maxListBytes = 950_000;

/** As many of the longest texts as a list, and a request, may have: distinct, and domains where their labels may be so long. */
function longItems(coordinate: string, filling: Filling, count: number): readonly string[] {
  const length = longest[coordinate] ?? 0;
  const text = (index: number) => {
    const filled = `${index}`.padEnd(length, fillings[filling]);
    return coordinate.endsWith('omains')
      ? `${filled.replaceAll(/.{50}(?=.{15})/gu, '$&.').slice(0, length - 8)}.example`
      : filled;
  };
  const bytes = Buffer.byteLength(JSON.stringify(text(0))) + 8;
  return numbered(Math.min(count, Math.floor(maxListBytes / bytes)), text);
}

/** An operation that passes one list to many aliases of its field. */
function aliased({ operation, above, field, type }: ListArgument, aliases: number): string {
  const inside = repeated(aliases, index => `a${index}: ${field('$list')}`);
  const whole = above.reduceRight((text, each) => `${each} { ${text} }`, inside);
  return `${operation} ($list: ${type}) { ${whole} }`;
}

const lists = listArguments(createSchema());

test('every list of the schema has a limit', () => {
  expect(new Set(lists.map(({ coordinate }) => coordinate))).toEqual(new Set(Object.keys(listBounds)));
});

test.each(lists.map(list => [`${list.coordinate} at ${[list.parent, ...list.above].join('/')}`, list] as const))(
  'the longest list for %s does not block the event loop, for any number of aliases',
  async (_, list) => {
    const values = itemsOf(list.coordinate, listBounds[list.coordinate as keyof typeof listBounds]);
    for (const aliases of [1, 9, 98]) {
      const { errors } = await expectShort(aliased(list, aliases), { list: values });
      const [, member = ''] = list.coordinate.split('.');
      if (aliases === 1)
        expect(JSON.stringify(errors) ?? '').not.toMatch(new RegExp(`"\\S*\\.${member}\\S*: (?!cannot)`));
    }
  },
);

/** Each in the first place that takes it. */
const withTexts = lists.filter(
  ({ coordinate }, index) =>
    longest[coordinate] !== undefined && lists.findIndex(each => each.coordinate === coordinate) === index,
);

test.each(
  withTexts.flatMap(list =>
    (Object.keys(fillings) as Filling[]).map(filling => [list.coordinate, filling, list] as const),
  ),
)('the longest texts for %s, of %s, do not block the event loop', async (coordinate, filling, list) => {
  const values = longItems(coordinate, filling, listBounds[coordinate as keyof typeof listBounds]);
  for (const aliases of [1, 9, 98]) await expectShort(aliased(list, aliases), { list: values });
  // As many as the values of one operation allow.
  for (const share of [2, 10, 100]) {
    const some = values.slice(0, Math.max(1, values.length / share));
    await expectShort(aliased(list, 1), { list: some });
    await expectShort(aliased(list, share), { list: some });
  }
});

const company = `domain name description overallMomentum contactNumber contactEmail actualRevenue naics { code name level isPrimary }
  operatesIn dunsNumbers attributes`;
const event = `id title summary lastUpdated references { id observation { id title content url } } affectedDatapoints { name }
  alertTypes { name } impactedEntities { name entityType impact { likelihood severity rationale } }`;
const inMarket = (count: number, field: (index: number) => string) => `{ market(id: 1) { ${repeated(count, field)} } }`;
/** Pages of companies below the companies of `sizes.length` pages. */
const below = (sizes: readonly number[], fields: string) =>
  inMarket(1, () =>
    sizes.reduceRight((text, size) => `companies(first: ${size}) { nodes { market { ${text} } } }`, fields),
  );
const partsOfPages = ['totalCount', 'nodes { __typename }', 'edges { cursor }', 'pageInfo { startCursor endCursor }'];
const queries: readonly (readonly [string, (count: number) => string])[] = [
  ['searches', count => inMarket(count, i => `a${i}: companies(filter: { search: "zz${i}" }) { totalCount }`)],
  ['equal searches', count => inMarket(count, i => `a${i}: companies(filter: { search: "thing" }) { totalCount }`)],
  [
    'filters of three lists',
    count =>
      inMarket(
        count,
        i => `a${i}: companies(filter: { naics: ["1${i}"] domains: ["c"] operatesIn: ["de"] }) { totalCount }`,
      ),
  ],
  ['companies by their domains', count => inMarket(count, i => `a${i}: company(domain: "zz${i}") { name }`)],
  ['pages with ESG data', count => inMarket(count, i => `a${i}: companies(first: 100) { nodes { esg } }`)],
  [
    'the market of each company of a page',
    count =>
      inMarket(
        count,
        i => `a${i}: companies(first: 100) { nodes { market { name subtitle description companyCount } } }`,
      ),
  ],
  ['whole ESG data', count => inMarket(count, i => `a${i}: esg`)],
  ['pages with every field', count => inMarket(count, i => `a${i}: companies(first: 100) { nodes { ${company} } }`)],
  ['pages of edges', count => inMarket(count, i => `a${i}: companies(first: 100) { edges { cursor node { name } } }`)],
  [
    'long texts',
    count =>
      `{ markets(ids: [1 1 1 1 1]) { companies(first: 100) { nodes { ${repeated(count, i => `a${i}: description`)} } } } }`,
  ],
  [
    'errors of fields',
    count =>
      `{ markets(ids: [${`${wrongMarket} `.repeat(9)}]) { companies(first: 100) { nodes { ${repeated(count, i => `a${i}: score`)} } } } }`,
  ],
  ...partsOfPages.flatMap(part =>
    [[100], [10, 100], [100, 100]].map((sizes): readonly [string, (count: number) => string] => [
      `pages with ${part} below ${sizes.join(' times ')} companies`,
      count =>
        below(
          sizes,
          repeated(count, i => `a${i}: companies(first: 100) { ${part} }`),
        ),
    ]),
  ),
  [
    "events of a page's companies",
    count =>
      inMarket(1, () => `companies(first: 100) { nodes { ${repeated(count, i => `a${i}: events { totalCount }`)} } }`),
  ],
  [
    "events of a page's companies under long filters",
    count =>
      inMarket(
        1,
        () => `companies(first: 100) { nodes {
        ${repeated(count, i => `a${i}: events(filter: { alertTypes: [${repeated(48, j => `"n${i} ${j}"`)}] }) { totalCount }`)} } }`,
      ),
  ],
  [
    'events with every field',
    count => `{ ${repeated(count, i => `a${i}: events(first: 100) { nodes { ${event} } }`)} }`,
  ],
  [
    'queries of the schema',
    count => `{ ${repeated(count, i => `a${i}: __schema { types { name fields { name } } }`)} }`,
  ],
  ['queries of types', count => `{ ${repeated(count, i => `a${i}: __type(name: "Event") { name fields { name } }`)} }`],
  [
    'lists of types',
    count => `{ __schema { ${repeated(count, i => `a${i}: types { name fields { name type { name } } }`)} } }`,
  ],
  [
    'names in lists of types of fields of types',
    count => `{ __schema { types { fields { type { fields { ${repeated(count, i => `a${i}: name`)} } } } } } }`,
  ],
  [
    'types of arguments of fields of types of fields',
    count =>
      `{ __schema { types { fields { type { ofType { fields { args { type { ${repeated(count, i => `a${i}: name`)} } } } } } } } } }`,
  ],
];

test.each(queries)('%s do not block the event loop, however many there are', async (_, query) => {
  for (const count of [1, 20, 50, 98]) await expectShort(query(count));
});

test.each([1, 3, 18])('the cursors of many updates do not block the event loop, under %s names', async aliases => {
  const filter = `filter: { alertTypes: ["${updatesOnly}"] }`;
  updated = [];
  const { cursor } = (await send(`{ eventChanges(${filter}) { cursor } }`)).data.eventChanges;
  const now = Date.now();
  updated = numbered(2_000, index => ({ _id: `u-${index}`, lastUpdated: new Date(now - index * 10).toISOString() }));
  const cursors = repeated(aliases, i => `c${i}: cursor`);
  const { data, errors } = await expectShort(
    `{ eventChanges(${filter}, after: "${cursor}", first: 1000) { nodes { ${cursors} } } }`,
  );
  if (aliases < 4) expect(data.eventChanges.nodes).toHaveLength(1_000);
  else expect(errors).toMatchObject([{ extensions: { code: 'QUERY_TOO_COMPLEX' } }]);
});

test('the impact on many long names does not block the event loop', async () => {
  // As parameters of a URL, they have 7,000 characters at most.
  const names = repeated(100, i => `"${`N${i}`.padEnd(66, 'm')}"`);
  const page = (inside: string) => `{ events(first: 100, filter: { impactedEntities: [${names}] }) { ${inside} } }`;
  for (const inside of [
    `edges { ${repeated(98, i => `i${i}: impact { severity }`)} }`,
    repeated(97, i => `e${i}: edges { impact { severity } }`),
  ]) {
    expect((await expectShort(page(inside))).errors).toBeUndefined();
  }
});

test.each([
  [
    'fragments that double',
    `{ ...F0 } ${repeated(60, i => `fragment F${i} on Query { ...F${i + 1} ...F${i + 1} }`)} fragment F60 on Query { viewer { team } }`,
  ],
  ['1,999 opened lists', `{ events(filter: ${'['.repeat(1_990)}`],
  ['1,999 opened braces', '{'.repeat(1_999)],
  ['999 nested fragments', `{ ${'... { '.repeat(990)}`],
  ['a fragment that spreads itself', '{ ...F } fragment F on Query { ...F viewer { team } }'],
  ['a megabyte of commas', `{ viewer { team } ${','.repeat(1_000_000)} }`],
  [
    'a long text in a fragment that is spread often',
    `{ ${'...F '.repeat(20)} } fragment F on Query { events(filter: { search: "${'a'.repeat(900_000)}" }) { totalCount } }`,
  ],
])('a document with %s does not block the event loop', async (_, query) => {
  expect([200, 400]).toContain((await expectShort(query)).status);
});

const longTexts = numbered(10, () => 'D'.repeat(99_000));
const longId = Buffer.from(`[${'{},'.repeat(24_000)}{}]`).toString('base64url');

test.each<[string, string, unknown]>([
  ['an enum', 'query ($value: EventInterval!) { eventStatistics(interval: $value) { total } }', longTexts],
  ['a number', 'query ($value: Int!) { events(first: $value) { totalCount } }', longTexts],
  ['a text', 'query ($value: String) { events(after: $value) { totalCount } }', longTexts],
  ['a condition', 'query ($value: Boolean!) { viewer @skip(if: $value) { team } }', longTexts],
  [
    'an unknown member',
    'query ($value: EventFilter) { events(filter: $value) { totalCount } }',
    { ['x'.repeat(99_000)]: 1 },
  ],
  [
    'node ids',
    `query ($value: ID!) { ${repeated(4, i => `a${i}: nodes(nodeIds: [${'$value '.repeat(98)}]) { nodeId }`)} }`,
    longId,
  ],
])('large values for %s do not block the event loop', async (_, query, value) => {
  await expectShort(query, { value });
});

test.each(['companies { totalCount }', 'companies(first: 100) { nodes { esg } }', 'esg'])(
  'reading %s of a market that is not cached does not block the event loop',
  async field => {
    let market = 1;
    const fresh = () => {
      market += 1;
      return send(`{ market(id: ${market * 100 + field.length}) { ${field} } }`);
    };
    const blocks: number[] = [];
    while (blocks.length < tries && !blocks.some(block => block < maxMs)) blocks.push(await blockOf(fresh));
    expect(Math.min(...blocks)).toBeLessThan(maxMs);
  },
);

test('introspection does not block the event loop, and is fast when it is repeated', async () => {
  await expectShort(getIntrospectionQuery());
  const again = () => inspector.maxBlock(() => send(getIntrospectionQuery()));
  const times = [await again(), await again(), await again(), await again(), await again()];
  expect(Math.min(...times.slice(2)) / (await inspector.slowdown())).toBeLessThan(10);
});

test('no random request blocks the event loop', async () => {
  await fuzz(async draw => {
    const count = 1 + draw.below(98);
    if (draw.chance(0.4)) {
      await expectShort(draw.pick(queries)[1](count));
      return;
    }
    if (draw.chance(0.2)) {
      const size = () => draw.pick([1, 1 + draw.below(100), 100]);
      const sizes = numbered(1 + draw.below(3), size);
      const page = `first: ${draw.chance(0.1) ? 0 : size()}`;
      const aliases = draw.pick([1, 1 + draw.below(10), count]);
      await expectShort(
        below(
          sizes,
          repeated(aliases, i => `a${i}: companies(${page}) { ${draw.pick(partsOfPages)} }`),
        ),
      );
      return;
    }
    const list = draw.pick(lists);
    const most = listBounds[list.coordinate as keyof typeof listBounds];
    const length = 1 + draw.below(most);
    if (draw.chance(0.5) || list.above.length === 0) {
      const isLong = longest[list.coordinate] !== undefined && draw.chance(0.5);
      const filling = draw.pick(Object.keys(fillings) as Filling[]);
      const items = isLong ? longItems(list.coordinate, filling, length) : itemsOf(list.coordinate, length);
      await expectShort(aliased(list, draw.pick([1, count])), { list: items });
      return;
    }
    // The list as a literal in a fragment that is spread many times.
    const [first = '', ...rest] = list.above;
    const written = itemsOf(list.coordinate, Math.min(length, 4_500))
      .map(item => JSON.stringify(item))
      .join(' ');
    const inside = rest.reduceRight((text, each) => `${each} { ${text} }`, '...F');
    await expectShort(`{ ${repeated(count, i => `a${i}: ${first} { ${inside} }`)} }
      fragment F on ${list.parent} { ${list.field(`[${written}]`)} }`);
  });
});
