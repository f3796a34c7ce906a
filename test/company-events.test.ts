import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { EventFilter } from '../src/generated/schema-types.js';
import { forSuite } from './support/cleanups.js';
import { startGateway } from './support/gateway.js';
import { fakeWire, pageOf, type WireCall, type WireReply } from './support/wire.js';

interface Entity {
  name: string;
  impact: { likelihood: number | null; severity: number | null; rationale: string } | null;
}
interface World {
  companies: string[];
  events: Entity[][];
  /** How the service combines a name with the scores: both in one impacted entity, or each in any. */
  reading: 'one' | 'any';
  /** How the service compares a name with that of an entity. Left out: exactly. */
  isSame?: (entity: string, name: string) => boolean;
  /** Whether a score that is missing is within all bounds. Left out: within none. */
  isLenient?: boolean;
  /** A name for which the service refuses a call. */
  refused?: string;
}

let world: World = { companies: [], events: [], reading: 'one' };
const service = fakeWire(answer);
const gateway = forSuite(await startGateway({ wire: service.wire }));

/** The service, by its specification. The search text has no meaning: it keeps one world from answering another out of the cache. */
function answer(call: WireCall): WireReply {
  const { url } = call;
  if (url.pathname.endsWith('/companies')) {
    return { body: { data: world.companies.map((name, index) => ({ domain: `c${index}.example`, name })) } };
  }
  const asked = url.searchParams.get('impactedEntity') ?? '';
  if (world.refused !== undefined && asked.includes(world.refused))
    return { status: 400, body: { success: false, errorCode: 'QUERY_VALIDATION_FAILED', message: 'no such name' } };
  const number = (name: string, byDefault: number) => Number(url.searchParams.get(name) ?? byDefault);
  const names = (url.searchParams.get('impactedEntity') ?? '').split(',');
  const { isSame = (entity, name) => entity === name, isLenient = false } = world;
  const isBetween = (score: number | null, min: number, max: number) =>
    score === null ? isLenient : score >= min && score <= max;
  const scored = ({ impact }: Entity) =>
    impact !== null &&
    isBetween(impact.likelihood, number('minLikelihood', 2), number('maxLikelihood', 3)) &&
    isBetween(impact.severity, number('minSeverity', 2), number('maxSeverity', 3));
  const isNamed = ({ name: entity }: Entity) => names.some(name => isSame(entity, name));
  const listed = world.events
    .map((entities, index) => ({ _id: `e-${index}`, taxonomicMatches: { impactedEntities: entities } }))
    .filter(({ taxonomicMatches: { impactedEntities: entities } }) =>
      world.reading === 'one'
        ? entities.some(entity => isNamed(entity) && scored(entity))
        : entities.some(isNamed) && entities.some(scored),
    );
  return pageOf(call, listed);
}

const fields =
  'totalCount nodes { id } edges { node { id } impact { severity likelihood } } pageInfo { hasNextPage hasPreviousPage }';
let question = 0;

/** Asks for the events of all companies at once, then for each alone, and counts the calls for events of the former. */
async function compare({ first, bounds }: { first: number; bounds: EventFilter }) {
  question += 1;
  service.calls.length = 0;
  // A market of its own for each question, since companies are kept too.
  const together = await gateway.query(
    `query ($id: ID!, $first: Int, $filter: EventFilter) { market(id: $id) { companies(first: 100) { nodes { name
      events(first: $first, filter: $filter) { ${fields} }
    } } } }`,
    { id: String(question), first, filter: { search: `together ${question}`, ...bounds } },
  );
  expect(together.errors).toBeUndefined();
  const calls = service.calls.filter(({ path }) => path.includes('/events?')).length;
  const given = new Map<string, unknown>(
    together.data.market.companies.nodes.map((node: { name: string; events: unknown }) => [node.name, node.events]),
  );
  const names = [...new Set(world.companies)];
  const alone = { search: `alone ${question}`, ...bounds };
  for (let from = 0; from < names.length; from += 50) {
    const some = names.slice(from, from + 50);
    const answer = await gateway.query(
      `query ($first: Int ${some.map((_, index) => `$f${index}: EventFilter`).join(' ')}) {
        ${some.map((_, index) => `n${index}: events(first: $first, filter: $f${index}) { ${fields} }`).join('\n')}
      }`,
      {
        first,
        ...Object.fromEntries(some.map((name, index) => [`f${index}`, { ...alone, impactedEntities: [name] }])),
      },
    );
    expect(answer.errors).toBeUndefined();
    for (const [index, name] of some.entries()) {
      expect([name, given.get(name)]).toEqual([name, answer.data[`n${index}`]]);
    }
  }
  return { calls, companies: names.length };
}

const scores = fc.integer({ min: 0, max: 3 });
const impact = fc.record({ likelihood: scores, severity: scores, rationale: fc.constant('') });
const allBounds: readonly EventFilter[] = [
  {},
  { likelihood: null, severity: null },
  { severity: { max: 1 } },
  { likelihood: { min: 3 } },
];

const worldOf = (companies: number, events: number, impacts: fc.Arbitrary<Entity['impact']>): fc.Arbitrary<World> => {
  const name = fc.integer({ min: 0, max: companies + 2 }).map(index => `Company ${index} & Söhne`);
  const entities = fc.array(fc.record({ name, impact: impacts }), { minLength: 1, maxLength: 4 });
  return fc.record({
    companies: fc.constant(Array.from({ length: companies }, (_, index) => `Company ${index} & Söhne`)),
    events: fc.array(entities, { minLength: 0, maxLength: events, size: 'max' }),
    reading: fc.constantFrom('one' as const, 'any' as const),
  });
};
const anyWorld = fc
  .record({ companies: fc.integer({ min: 1, max: 12 }), events: fc.constantFrom(5, 40, 330) })
  .chain(({ companies, events }) => worldOf(companies, events, impact));

test('each company gets exactly what a call of its own would return, with at most one more call', async () => {
  const question = fc.record({ first: fc.constantFrom(1, 3, 10, 100), bounds: fc.constantFrom(...allBounds) });
  await fc.assert(
    fc.asyncProperty(anyWorld, question, async (generated, asked) => {
      world = generated;
      const { calls, companies } = await compare(asked);
      expect(calls).toBeLessThanOrEqual(companies + 1);
    }),
    { numRuns: 150 },
  );
});

test('each company gets exactly its own events even if a score is missing', async () => {
  const score = fc.option(scores, { nil: null, freq: 3 });
  const scored = fc.record({ likelihood: score, severity: score, rationale: fc.constant('') });
  const holey = worldOf(6, 30, fc.option(scored, { nil: null, freq: 3 }));
  await fc.assert(
    fc.asyncProperty(holey, fc.boolean(), fc.constantFrom(...allBounds), async (generated, isLenient, bounds) => {
      world = { ...generated, isLenient };
      const { calls, companies } = await compare({ first: 5, bounds });
      expect(calls).toBeLessThanOrEqual(companies + 2);
    }),
    { numRuns: 60 },
  );
});

test('a hundred companies share one call, or two if the result depends on how the service interprets its filter', async () => {
  // None is a part of another one.
  const companies = Array.from({ length: 100 }, (_, index) => `Company ${index + 100}`);
  const hit = { likelihood: 3, severity: 2, rationale: '' };
  const spared = { likelihood: 0, severity: 0, rationale: '' };
  for (const reading of ['one', 'any'] as const) {
    world = { companies, reading, events: companies.slice(0, 90).map(name => [{ name, impact: hit }]) };
    expect(await compare({ first: 10, bounds: {} })).toMatchObject({ calls: 1 });

    const entangled = companies.slice(0, 90).map((name, index) => [
      { name, impact: hit },
      { name: companies[index + 1] ?? '', impact: spared },
    ]);
    world = { companies, reading, events: entangled };
    expect(await compare({ first: 10, bounds: {} })).toMatchObject({ calls: 2 });
  }
});

const lower = (text: string) => text.toLowerCase();
const withoutAccents = (text: string) => lower(text.normalize('NFKD').replace(/\p{M}/gu, ''));
const comparisons: Readonly<Record<string, NonNullable<World['isSame']>>> = {
  exactly: (entity, name) => entity === name,
  'without case': (entity, name) => lower(entity) === lower(name),
  'without case and accents': (entity, name) => withoutAccents(entity) === withoutAccents(name),
  'as a dictionary does': (entity, name) => entity.localeCompare(name, 'en', { sensitivity: 'base' }) === 0,
  'in any Unicode form': (entity, name) => entity.normalize('NFC') === name.normalize('NFC'),
  'by part': (entity, name) => entity.includes(name),
  'by part without case': (entity, name) => lower(entity).includes(lower(name)),
  'by its beginning': (entity, name) => entity.startsWith(name),
  'as a part of the name': (entity, name) => name.includes(entity),
};

test.each(Object.keys(comparisons))(
  'each company gets exactly its own events of a service that compares names %s',
  async how => {
    const isSame = comparisons[how] as NonNullable<World['isSame']>;
    const names = [
      'Acme',
      'ACME',
      'Acme Coatings',
      'acme coatings gmbh',
      'Café',
      'Cafe\u0301',
      'Cafe',
      'Straße',
      'STRASSE',
      'Møller',
      'Moller',
      'Bolt',
    ];
    const high = { likelihood: 3, severity: 3, rationale: '' };
    const entity = fc.record({
      name: fc.constantFrom(...names, 'Acme Holding', 'Bolt and Acme'),
      impact: fc.constant(high),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(names, { minLength: 2 }),
        fc.array(fc.array(entity, { minLength: 1, maxLength: 3 }), { maxLength: 8 }),
        fc.constantFrom('one' as const, 'any' as const),
        async (companies, events, reading) => {
          // A service that looks for parts of the name is asked for whole names: other entities may be of another kind, such as a country.
          const isKept = ({ name }: Entity) => how !== 'as a part of the name' || companies.includes(name);
          const kept = events.map(each => each.filter(isKept)).filter(({ length }) => length > 0);
          world = { companies, events: kept, reading, isSame };
          const { calls } = await compare({ first: 5, bounds: {} });
          expect(calls).toBeLessThanOrEqual(companies.length + 1);
        },
      ),
      { numRuns: 40 },
    );
  },
);

test('names that are like no other share one call, although other names of the list are alike', async () => {
  const high = { likelihood: 3, severity: 3, rationale: '' };
  const others = Array.from({ length: 20 }, (_, index) => `Other ${index + 10} Works`);
  const events = [...others, 'Acme', 'ACME'].map(name => [{ name, impact: high }]);
  world = {
    companies: [...others, 'Acme', 'ACME'],
    events,
    reading: 'one',
    isSame: (one, two) => lower(one) === lower(two),
  };
  expect(await compare({ first: 5, bounds: {} })).toEqual({ calls: 3, companies: 22 });
});

test('a name that the service refuses takes no other company with it', async () => {
  const companies = Array.from({ length: 20 }, (_, index) => `Company ${index + 10}`);
  const hit = { likelihood: 3, severity: 2, rationale: '' };
  world = { companies, reading: 'one', events: companies.map(name => [{ name, impact: hit }]), refused: 'Company 17' };
  question += 1;
  const { data, errors } = await gateway.query(
    `query ($id: ID!) { market(id: $id) { companies(first: 100) { nodes { name events(first: 1) { totalCount } } } } }`,
    { id: String(question) },
  );
  expect(errors).toHaveLength(1);
  expect(errors?.[0]).toMatchObject({
    path: expect.arrayContaining(['events']),
    extensions: { code: 'BAD_USER_INPUT' },
  });
  const nodes: { name: string; events: { totalCount: number } | null }[] = data.market.companies.nodes;
  expect(nodes.filter(({ events }) => events?.totalCount !== 1).map(({ name }) => name)).toEqual(['Company 17']);
});

test('names that would make the URL too long are split over several calls', async () => {
  const companies = Array.from({ length: 100 }, (_, index) => `Company ${index} ${'ü'.repeat(200)}`);
  world = { companies, reading: 'one', events: [] };
  const { calls } = await compare({ first: 10, bounds: {} });
  expect(calls).toBeGreaterThan(1);
  expect(calls).toBeLessThan(35);
  const longest = Math.max(...service.calls.map(({ path }) => path.length));
  expect(longest).toBeLessThan(8_000);
});

test("an edge has the impact on whom its list asks for: the highest of those, and not the event's", async () => {
  const entity = (name: string, severity: number, likelihood: number): Entity => ({
    name,
    impact: { severity, likelihood, rationale: '' },
  });
  const event = [
    entity('Other', 3, 3),
    entity('Caf\u00e9', 2, 1),
    entity('CAFE\u0301', 2, 2),
    entity('Caf\u00e9', 1, 3),
    { name: 'None', impact: null },
  ];
  world = { companies: ['caf\u00e9', 'None', 'Other'], events: [event], reading: 'any', isSame: () => true };
  question += 1;
  const { data, errors } = await gateway.query(
    `query ($id: ID!, $filter: EventFilter, $named: EventFilter) {
      market(id: $id) { companies { nodes { events(filter: $filter) { edges { impact { severity likelihood } } } } } }
      all: events(filter: $filter) { edges { impact { severity } } }
      named: events(filter: $named) { edges { impact { severity } } }
    }`,
    {
      id: String(question),
      filter: { search: `own ${question}` },
      named: { search: `own ${question}`, impactedEntities: ['Nobody', 'Caf\u00e9'] },
    },
  );
  expect(errors).toBeUndefined();
  expect(data.market.companies.nodes.map(({ events }: { events: { edges: unknown } }) => events.edges)).toEqual([
    [{ impact: { severity: 2, likelihood: 2 } }],
    [{ impact: null }],
    [{ impact: { severity: 3, likelihood: 3 } }],
  ]);
  expect([data.all.edges, data.named.edges]).toEqual([[{ impact: null }], [{ impact: { severity: 2 } }]]);
});

test('Query.events continues the list with its cursor, the same filter and the name of the company, as documented', async () => {
  const { data } = await gateway.query('{ __type(name: "Company") { fields { name description } } }');
  const described = data.__type.fields.find(({ name }: { name: string }) => name === 'events');
  expect(described.description).toMatch(/go on with `Query\.events`.* `after`.* `impactedEntities`/is);

  await fc.assert(
    fc.asyncProperty(
      anyWorld,
      fc.constantFrom(...allBounds),
      fc.constantFrom(1, 3, 7),
      async (generated, bounds, first) => {
        world = generated;
        question += 1;
        const filter = { search: `go on ${question}`, ...bounds };
        const { data } = await gateway.query(
          `query ($id: ID!, $first: Int, $filter: EventFilter) { market(id: $id) { companies(first: 100) { nodes { name
          events(first: $first, filter: $filter) { totalCount nodes { id } pageInfo { hasNextPage endCursor } }
        } } } }`,
          { id: String(question), first, filter },
        );
        const { name, events } = data.market.companies.nodes[0];
        const ids = events.nodes.map(({ id }: { id: string }) => id);
        let { hasNextPage, endCursor } = events.pageInfo;
        while (hasNextPage) {
          const next = await gateway.query(
            `query ($filter: EventFilter, $after: String) {
            events(first: 40, after: $after, filter: $filter) {
              nodes { id } pageInfo { hasNextPage endCursor } } }`,
            { filter: { ...filter, impactedEntities: [name] }, after: endCursor },
          );
          ids.push(...next.data.events.nodes.map(({ id }: { id: string }) => id));
          ({ hasNextPage, endCursor } = next.data.events.pageInfo);
        }
        expect(new Set(ids).size).toBe(ids.length);
        expect(ids).toHaveLength(events.totalCount);
      },
    ),
    { numRuns: 40 },
  );
});

test('a company without events needs no call of its own, and two companies with the same name share one', async () => {
  const impact = { likelihood: 3, severity: 3, rationale: '' };
  world = { companies: ['Twin', 'Twin', 'Quiet'], reading: 'any', events: [[{ name: 'Twin', impact }]] };
  expect(await compare({ first: 10, bounds: {} })).toEqual({ calls: 1, companies: 2 });
});
