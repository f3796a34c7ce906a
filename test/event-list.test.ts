import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { nodeId } from '../src/graphql/node.js';
import { startSandbox } from '../src/sandbox/server.js';
import { cursorOf, eventsWith } from './support/calls-table.js';
import { forSuite, forTest } from './support/cleanups.js';
import { fuzz } from './support/fuzz.js';
import { addressesOn, startGateway, type TestGateway } from './support/gateway.js';
import { drawFrom } from './support/seeded.js';
import { reply, startStubService } from './support/stub-service.js';
import { eventMeta, eventPage, fakeWire } from './support/wire.js';

interface Page {
  first?: number;
  after?: number;
  last?: number;
  before?: number;
  page?: number;
}

/** The list of the service, its length, and what it changes in `meta`. */
const world = { length: 237, isSizeOfLastPageCounted: false, cap: 100, meta: {} as object };
const impacts = [
  [],
  [{ name: 'a', impact: null }],
  [
    { name: 'a', impact: { likelihood: 1, severity: 3 } },
    { name: 'b', impact: { likelihood: 2, severity: 0 } },
  ],
  [{ name: 'a', impact: { likelihood: 0 } }],
];
const service = fakeWire(({ url }) => {
  const id = /observation\/(.*)$/.exec(url.pathname)?.[1];
  if (id !== undefined) {
    return id.startsWith('missing')
      ? { status: 404, body: { success: false, errorCode: 'NOT_FOUND', message: 'None' } }
      : { body: { _id: id, title: `Title of ${id}` } };
  }
  const { totalItems, currentPage, pageSize: asked } = eventMeta(url, world.length);
  const pageSize = Math.min(asked, world.cap);
  const start = (currentPage - 1) * pageSize;
  const count = Math.max(Math.min(start + pageSize, world.length) - start, 0);
  const meta = {
    totalItems,
    totalPages: Math.ceil(totalItems / pageSize),
    currentPage,
    pageSize: world.isSizeOfLastPageCounted ? count : pageSize,
    ...world.meta,
  };
  const data = Array.from({ length: count }, (_, index) => ({
    _id: `e-${start + index}`,
    taxonomicMatches: { affectedDatapoints: [], alertTypes: [], impactedEntities: impacts[start + index] ?? [] },
  }));
  return { body: { meta, data } };
});

const gateway = forSuite(await startGateway({ wire: service.wire }));

let queries = 0;
/** Queries a page of events. The text that each query searches for keeps the cache from answering it. */
async function queryEvents({ after, before, ...sizes }: Page) {
  queries += 1;
  service.calls.length = 0;
  const list = eventsWith(String(queries));
  const page = {
    ...sizes,
    after: after === undefined ? null : cursorOf(after, list),
    before: before === undefined ? null : cursorOf(before, list),
  };
  const { data, errors } = await gateway.query(
    `query ($first: Int, $after: String, $last: Int, $before: String, $page: Int, $search: String) {
      events(first: $first, after: $after, last: $last, before: $before, page: $page, filter: { search: $search }) {
        totalCount nodes { id } edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }`,
    { ...page, search: String(queries) },
  );
  return { events: data?.events, errors, calls: service.calls.length, list };
}

/** The indexes of the events on a page, computed on a list in memory. */
function indexesOf({ first, after = -1, last, before = world.length, page }: Page): number[] {
  const list = Array.from({ length: world.length }, (_, index) => index).slice(after + 1, Math.max(before, 0));
  if (page !== undefined) return list.slice((page - 1) * (first ?? 10)).slice(0, first ?? 10);
  return last === undefined ? list.slice(0, first ?? 10) : list.slice(-last);
}

/** Whether any page of the service holds these events. */
const isOnOnePage = (start: number, end: number) =>
  Array.from({ length: 100 }, (_, index) => index + 1).some(
    size => Math.floor(start / size) === Math.floor((end - 1) / size),
  );

async function checkPage(page: Page): Promise<void> {
  const { events, errors, calls, list } = await queryEvents(page);
  const indexes = indexesOf(page);
  const what = { page, length: world.length };
  const [start, end] = [indexes[0], indexes.at(-1)];
  expect({ what, errors, nodes: events?.nodes }).toEqual({
    what,
    errors: undefined,
    nodes: indexes.map(index => ({ id: `e-${index}` })),
  });
  expect({ what, total: events.totalCount, edges: events.edges }).toEqual({
    what,
    total: world.length,
    edges: indexes.map(index => ({ cursor: cursorOf(index, list) })),
  });
  if (start === undefined || end === undefined) {
    expect({ what, pageInfo: events.pageInfo }).toMatchObject({
      what,
      pageInfo: { startCursor: null, endCursor: null },
    });
    expect({ what, calls: Math.min(calls, 2) }).toEqual({ what, calls });
    return;
  }
  expect({ what, pageInfo: events.pageInfo }).toEqual({
    what,
    pageInfo: {
      hasPreviousPage: start > 0,
      hasNextPage: end < world.length - 1,
      startCursor: cursorOf(start, list),
      endCursor: cursorOf(end, list),
    },
  });
  // The window lies on as many pages as it would if the list did not end.
  const size = page.last === undefined ? (page.first ?? 10) : end - start + 1;
  const most = isOnOnePage(start, Math.min(start + size, page.before ?? Number.POSITIVE_INFINITY)) ? 1 : 2;
  const isEndUnknown = page.last !== undefined && (page.before ?? world.length) >= world.length;
  expect({ what, isFew: calls <= most + (isEndUnknown ? 1 : 0), calls }).toMatchObject({ what, isFew: true });
}

describe('a page of events', () => {
  test('is exact for any arguments and any length of the list', async () => {
    // The same cases in each run, and others under FUZZ_MINUTES.
    const draw = drawFrom('pages');
    const checkOne = async (drawn = draw) => {
      world.length = drawn.pick([0, 1, 9, 10, 11, 99, 100, 101, 150, 237]);
      world.isSizeOfLastPageCounted = drawn.chance(0.3);
      const index = () => drawn.below(world.length + 12);
      const size = () => drawn.pick([1, 2, 7, 10, 33, 50, 60, 99, 100]);
      const cursors = { ...(drawn.chance(0.5) && { after: index() }), ...(drawn.chance(0.5) && { before: index() }) };
      const kind = drawn.below(4);
      if (kind === 0) await checkPage({ first: size(), page: 1 + drawn.below(12) });
      else if (kind === 1) await checkPage({ first: size(), ...cursors });
      else if (kind === 2) await checkPage({ last: size(), ...cursors });
      else await checkPage(cursors);
    };
    for (let round = 0; round < 250; round += 1) await checkOne();
    if (process.env.FUZZ_MINUTES !== undefined) await fuzz(checkOne);
    world.isSizeOfLastPageCounted = false;
  });

  test.each<[Page, number]>([
    [{ first: 10 }, 1],
    [{}, 1],
    [{ first: 60, after: 49 }, 2],
    [{ first: 100, page: 3 }, 1],
    [{ first: 7, page: 20 }, 1],
    [{ first: 50, before: 10 }, 1],
    [{ last: 10, before: 20 }, 1],
    [{ last: 10, before: 27 }, 1],
    [{ last: 60, before: 110 }, 2],
    [{ last: 10 }, 2],
    [{ last: 90 }, 3],
    [{ last: 10, after: 236 }, 1],
  ])('%j needs %d calls', async (page, calls) => {
    world.length = 237;
    await checkPage(page);
    expect((await queryEvents(page)).calls).toBe(calls);
  });

  test('at the end of a list that is not longer needs one call', async () => {
    world.length = 12;
    await checkPage({ last: 12 });
    expect((await queryEvents({ last: 20 })).calls).toBe(1);
  });

  test.each<[Page, string]>([
    [{ first: 3, last: 3 }, 'last'],
    [{ first: 0 }, 'first'],
    [{ last: 101 }, 'last'],
    [{ page: 0 }, 'page'],
    [{ page: -1 }, 'page'],
    [{ first: 100, page: 10_000_001 }, 'page'],
    [{ first: 1, page: 2_147_483_647 }, 'page'],
    [{ page: 2, after: 3 }, 'page'],
    [{ page: 2, before: 3 }, 'page'],
    [{ page: 2, last: 3 }, 'page'],
  ])('%j is refused without a call', async (page, argument) => {
    const { events, errors, calls } = await queryEvents(page);
    expect(events).toBeNull();
    expect(errors?.map(({ extensions }) => extensions)).toEqual([{ code: 'BAD_USER_INPUT', argument }]);
    expect(calls).toBe(0);
  });

  test('has the cursors of its first and last index, even if those events cannot be read', async () => {
    world.length = 237;
    const unreadable = fakeWire(() => eventPage([{ _id: 1 }, { _id: 'e-1' }, { _id: 2 }], 30));
    const other = forTest(await startGateway({ wire: unreadable.wire }));
    const query = '{ events(first: 3) { nodes { id } pageInfo { startCursor endCursor } } }';
    const { data } = await other.query(query);
    expect(data.events).toEqual({
      nodes: [{ id: 'e-1' }],
      pageInfo: { startCursor: cursorOf(0), endCursor: cursorOf(2) },
    });
  });
});

describe('a list that changes between two calls of one window', () => {
  /** The list, the newest event first, and what is done to it when the service is called for the nth time. */
  const changing = { ids: [] as string[], changes: new Map<number, (ids: string[]) => string[]>(), calls: 0 };
  const byId = (id: string) => ({ _id: id, lastUpdated: '2026-01-01T00:00:00Z' });
  let own: TestGateway;
  beforeAll(async () => {
    const { wire } = fakeWire(({ url }) => {
      changing.calls += 1;
      changing.ids = changing.changes.get(changing.calls)?.(changing.ids) ?? changing.ids;
      const { currentPage, pageSize, ...meta } = eventMeta(url, changing.ids.length);
      const page = changing.ids.slice((currentPage - 1) * pageSize, currentPage * pageSize);
      return { body: { meta: { currentPage, pageSize, ...meta }, data: page.map(byId) } };
    });
    own = await startGateway({ wire });
  });
  afterAll(() => own.close());

  const query = `query ($first: Int, $after: String, $last: Int, $before: String, $search: String) {
    events(first: $first, after: $after, last: $last, before: $before, filter: { search: $search }) {
      totalCount nodes { id } edges { node { id } cursor } pageInfo { endCursor hasNextPage hasPreviousPage }
    }
    equal: events(first: $first, after: $after, last: $last, before: $before, filter: { search: $search }) { nodes { id } }
  }`;
  let searches = 0;
  async function read(page: { first?: number; after?: number; last?: number; before?: number }, search: string) {
    const cursors = Object.fromEntries(
      (['after', 'before'] as const).flatMap(bound => {
        const index = page[bound];
        return index === undefined ? [] : [[bound, cursorOf(index, eventsWith(search))]];
      }),
    );
    const { data, errors } = await own.query(query, { ...page, ...cursors, search });
    expect(errors).toBeUndefined();
    expect(idsOf(data.equal)).toEqual(idsOf(data.events));
    return data.events as {
      totalCount: number;
      nodes: { id: string }[];
      edges: { node: { id: string } }[];
      pageInfo: object;
    };
  }
  const idsOf = ({ nodes }: { nodes: { id: string }[] }) => nodes.map(({ id }) => id);
  const numbered = Array.from({ length: 300 }, (_, index) => `e-${index}`);

  test.each<[string, (ids: string[]) => string[]]>([
    ['an event is added', ids => ['new', ...ids]],
    ['ten events are added', ids => [...Array.from({ length: 10 }, (_, index) => `new-${index}`), ...ids]],
    ['an event goes', ids => ids.slice(1)],
    ['ten events go', ids => ids.slice(10)],
  ])('is read as it is afterwards: %s', async (_, change) => {
    for (const page of [
      { first: 100, after: 49 },
      { last: 60, before: 110 },
    ]) {
      Object.assign(changing, { ids: numbered, changes: new Map([[2, change]]), calls: 0 });
      searches += 1;
      const found = await read(page, `changed ${searches}`);
      const [start, end] = page.after === undefined ? [50, 110] : [50, 150];
      expect([found.totalCount, idsOf(found)]).toEqual([changing.ids.length, changing.ids.slice(start, end)]);
      expect(changing.calls).toBe(3);
    }
  });

  test('has the updatesCursor of a page in whose place another one is read', async () => {
    const read = async (change: (ids: string[]) => string[], call: number) => {
      Object.assign(changing, { ids: numbered, changes: new Map([[call, change]]), calls: 0 });
      searches += 1;
      const search = `updates ${searches}`;
      const { data, errors } = await own.query(
        'query ($search: String) { events(last: 10, filter: { search: $search }) { totalCount updatesCursor } }',
        { search },
      );
      return { errors, ...data?.events };
    };
    await read(ids => ids, 1);
    const { calls } = changing;
    const found = await read(ids => [...numbered.slice(0, 25).map(id => `new-${id}`), ...ids], calls);
    expect(found).toEqual({ totalCount: 325, updatesCursor: expect.any(String) });
    expect(changing.calls).toBe(calls + 1);
  });

  test.each([1, 10])('ends as it ends afterwards where %i events were added to its beginning', async count => {
    const added = Array.from({ length: count }, (_, index) => `new-${index}`);
    const changes = new Map([[2, (ids: string[]) => [...added, ...ids]]]);
    Object.assign(changing, { ids: numbered, changes, calls: 0 });
    searches += 1;
    const found = await read({ last: 90 }, `end ${searches}`);
    expect([found.totalCount, idsOf(found)]).toEqual([300 + count, changing.ids.slice(-90)]);
    expect(changing.calls).toBe(3);
  });

  test.each([
    [1, 3],
    [10, 25],
    [10, -5],
    [10, -15],
    [60, 130],
    [60, -130],
    [90, -1],
    [100, 2],
    [100, -2],
  ])('its last %i events are those of its end, where it grew by %i since its length was read', async (last, count) => {
    const added = Array.from({ length: Math.max(count, 0) }, (_, index) => `new-${index}`);
    const change = (ids: string[]) => [...added, ...ids.slice(Math.max(-count, 0))];
    Object.assign(changing, { ids: numbered.slice(0, 250), changes: new Map([[2, change]]), calls: 0 });
    searches += 1;
    const found = await read({ last }, `moved ${searches}`);
    expect([found.totalCount, idsOf(found)]).toEqual([250 + count, changing.ids.slice(-last)]);
    expect(found.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    expect(changing.calls).toBeLessThanOrEqual(4);
  });

  test('is not joined with a page that is cached', async () => {
    Object.assign(changing, { ids: numbered, changes: new Map(), calls: 0 });
    searches += 1;
    await read({ first: 100 }, `cached ${searches}`);
    changing.ids = ['new', ...numbered];
    const found = await read({ first: 100, after: 49 }, `cached ${searches}`);
    expect(idsOf(found)).toEqual(changing.ids.slice(50, 150));
  });

  test.each<[string, (ids: string[]) => string[]]>([
    ['ten events were added', ids => [...Array.from({ length: 10 }, (_, index) => `new-${index}`), ...ids]],
    ['thirty events went', ids => ids.slice(30)],
  ])('is not joined with a second page that is cached, where %s', async (_, change) => {
    Object.assign(changing, { ids: numbered, changes: new Map(), calls: 0 });
    searches += 1;
    const search = `older ${searches}`;
    await own.query(
      'query ($search: String) { events(first: 60, page: 2, filter: { search: $search }) { totalCount } }',
      {
        search,
      },
    );
    changing.ids = change(numbered);
    const found = await read({ first: 60, after: 49 }, search);
    expect([found.totalCount, idsOf(found)]).toEqual([changing.ids.length, changing.ids.slice(50, 110)]);
    // The first page, and both again.
    expect(changing.calls).toBe(1 + 3);
  });

  test('has no event twice, and hides none, however often one is added', async () => {
    const add = (ids: string[]) => [`new-${ids.length}`, ...ids];
    Object.assign(changing, { ids: numbered, changes: new Map([2, 3, 4].map(call => [call, add] as const)), calls: 0 });
    searches += 1;
    const found = await read({ first: 100, after: 49 }, `twice ${searches}`);
    expect(new Set(idsOf(found)).size).toBe(found.nodes.length);
    expect(idsOf(found).slice(0, 60)).toEqual(numbered.slice(50, 110));
    expect(found.edges.map(({ node }) => node.id)).toEqual(idsOf(found));
  });
});

test('an event that moves to the top between two calls of one window hides no other one', async () => {
  let ids = Array.from({ length: 300 }, (_, index) => `e-${index}`);
  const waiting: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  // Of what comes at once, the last is answered first, and the list changes after each answer.
  const service = await startStubService((request, response) => {
    const { currentPage, pageSize, ...meta } = eventMeta(new URL(`${request.url}`, 'http://service'), ids.length);
    waiting.push(() => {
      const page = ids.slice((currentPage - 1) * pageSize, currentPage * pageSize);
      reply(response, 200, { meta: { currentPage, pageSize, ...meta }, data: page.map(_id => ({ _id })) });
      ids = ['e-250', ...ids.filter(id => id !== 'e-250')];
    });
    clearTimeout(timer);
    timer = setTimeout(
      () =>
        waiting
          .splice(0)
          .reverse()
          .map(answer => answer()),
      100,
    );
  });
  const own = await startGateway({ env: addressesOn(service.origin) });
  const { data } = await own.query(`{ events(first: 100, after: "${cursorOf(197)}") { nodes { id } } }`);
  await Promise.all([own.close(), service.close()]);
  const found = data.events.nodes.map(({ id }: { id: string }) => id);
  expect(found.slice(0, 4)).toEqual(['e-198', 'e-199', 'e-200', 'e-201']);
});

describe('a service that answers with another page', () => {
  const invalid = [expect.objectContaining({ code: 'UPSTREAM_INVALID_RESPONSE' })];
  test.each<[string, Page, object]>([
    ['caps the size of pages', { first: 60 }, { cap: 50 }],
    ['caps the size of pages, later in the list', { first: 100, page: 2 }, { cap: 50 }],
    ['does not say which page it is', { first: 5 }, { meta: { currentPage: undefined } }],
    ['does not say how large pages are', { first: 5 }, { meta: { pageSize: undefined } }],
    ['does not say how many pages there are', { first: 5 }, { meta: { totalPages: undefined } }],
    ['says that it is another page', { first: 5, page: 2 }, { meta: { currentPage: 1 } }],
    ['says that pages have another size', { first: 5 }, { meta: { pageSize: 10 } }],
  ])('%s: UPSTREAM_INVALID_RESPONSE', async (_, page, change) => {
    Object.assign(world, { length: 150 }, change);
    const { events, errors } = await queryEvents(page);
    Object.assign(world, { cap: 100, meta: {} });
    expect(events).toBeNull();
    expect(errors?.map(({ extensions }) => extensions)).toEqual(invalid);
  });

  test.each([
    ['forward', { first: 50, page: 5 }],
    ['backward', { last: 50 }],
  ])('without events has none to go on to %s, however many the service counts', async (_, page) => {
    Object.assign(world, { length: 200, meta: { totalItems: 250 } });
    const { events, errors } = await queryEvents(page);
    Object.assign(world, { meta: {} });
    expect(errors).toBeUndefined();
    const isForward = 'first' in page;
    expect(events).toMatchObject({
      totalCount: 250,
      nodes: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: isForward, startCursor: null, endCursor: null },
    });
  });

  test('may say anything of a page after the end', async () => {
    Object.assign(world, { length: 30, meta: { currentPage: 3, pageSize: 0 } });
    const { events, errors } = await queryEvents({ first: 10, page: 7 });
    Object.assign(world, { meta: {} });
    expect(errors).toBeUndefined();
    expect(events).toMatchObject({
      totalCount: 30,
      nodes: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: true },
    });
  });
});

test('severity and likelihood of an event are the highest of its impacted entities', async () => {
  world.length = 4;
  const { data } = await gateway.query('{ events(filter: { search: "scores" }) { nodes { severity likelihood } } }');
  expect(data.events.nodes).toEqual([
    { severity: null, likelihood: null },
    { severity: null, likelihood: null },
    { severity: 3, likelihood: 2 },
    { severity: null, likelihood: 0 },
  ]);
});

describe('observations', () => {
  const query = 'query ($ids: [ID!]!) { observations(ids: $ids) { id title } }';

  test('are in the order of their ids, with null and an error for each that failed', async () => {
    service.calls.length = 0;
    const { data, errors } = await gateway.query(query, { ids: ['b', 'missing', 'a', '../x', 'b'] });
    const found = (id: string) => ({ id, title: `Title of ${id}` });
    expect(data.observations).toEqual([found('b'), null, found('a'), null, found('b')]);
    expect(errors?.map(({ path, extensions: { code, argument } }) => ({ path, code, argument }))).toEqual(
      expect.arrayContaining([
        { path: ['observations', 1], code: 'NOT_FOUND', argument: undefined },
        { path: ['observations', 3], code: 'BAD_USER_INPUT', argument: 'ids.3' },
      ]),
    );
    expect(service.calls.map(({ path }) => path.split('/').at(-1)).sort()).toEqual(['a', 'b', 'missing']);
  });

  test('are at most 100', async () => {
    service.calls.length = 0;
    const { errors } = await gateway.query(query, { ids: Array.from({ length: 101 }, (_, index) => `o-${index}`) });
    expect(errors?.map(({ extensions }) => extensions)).toEqual([{ code: 'BAD_USER_INPUT', argument: 'ids' }]);
    expect(service.calls).toEqual([]);
    const { data } = await gateway.query(query, { ids: [] });
    expect(data).toEqual({ observations: [] });
  });

  test('can be read again by their nodeId', async () => {
    const { data, errors } = await gateway.query(
      `query ($o: ID!, $e: ID!) {
        events(first: 1) { nodes { nodeId references { id } } } observation(id: "a") { nodeId }
        again: node(nodeId: $o) { nodeId ... on Observation { title } } event: node(nodeId: $e) { nodeId ... on Event { id } }
      }`,
      { o: nodeId('Observation', ['a']), e: nodeId('Event', ['e-0']) },
    );
    expect(data.events.nodes).toEqual([{ nodeId: nodeId('Event', ['e-0']), references: [] }]);
    expect(data.again).toEqual({ nodeId: data.observation.nodeId, title: 'Title of a' });
    expect(data.event).toEqual({ nodeId: nodeId('Event', ['e-0']), id: 'e-0' });
    expect(errors).toBeUndefined();
  });
});

test.each(['newest', 'oldest', 'id'] as const)(
  'pages are exact when the service orders events by %s',
  async eventOrder => {
    const sandbox = forTest(await startSandbox());
    const other = forTest(await startGateway({ sandbox }));
    sandbox.vary({ eventOrder });
    const { data } = await other.query('{ events(first: 100) { totalCount nodes { id } } }');
    const ids = data.events.nodes.map(({ id }: { id: string }) => id);
    const found = await other.query(
      `query ($after: String!, $before: String!) {
        page: events(first: 7, page: 3) { nodes { id } }
        last: events(last: 5, before: $before) { nodes { id } }
        end: events(last: 9) { nodes { id } }
        next: events(first: 60, after: $after) { nodes { id } }
      }`,
      { after: cursorOf(39), before: cursorOf(50) },
    );
    const idsOf = ({ nodes }: { nodes: { id: string }[] }) => nodes.map(({ id }) => id);
    expect(idsOf(found.data.page)).toEqual(ids.slice(14, 21));
    expect(idsOf(found.data.last)).toEqual(ids.slice(45, 50));
    expect(idsOf(found.data.end)).toHaveLength(9);
    expect(idsOf(found.data.next)).toEqual(ids.slice(40, 100));
    sandbox.vary({ maxPageSize: 50 });
    const { data: capped, errors } = await other.query(
      '{ events(first: 60, filter: { severity: { min: 1 } }) { nodes { id } } }',
    );
    expect([capped.events, errors?.[0].extensions.code]).toEqual([null, 'UPSTREAM_INVALID_RESPONSE']);
  },
);
