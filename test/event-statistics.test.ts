import { beforeEach, describe, expect, test } from '@jest/globals';
import { type Event, newestVersions } from '../src/domains/events/model.js';
import { forSuite } from './support/cleanups.js';
import { startGateway } from './support/gateway.js';
import { drawFrom } from './support/seeded.js';
import { eventMeta, fakeWire } from './support/wire.js';

interface Listed {
  readonly id: string;
  readonly at: number | null;
  readonly severity: number | null;
  readonly alertType: string;
  /** Impacted entities in place of the one that has the severity. */
  readonly impacts?: readonly object[];
}

const limit = 200;
const start = Date.parse('2026-03-01T00:00:00Z');
const hourMs = 3_600_000;
const range = { from: '2026-03-01', to: '2026-03-31' };

/** The events of the service, in its order, and what happens when a page is read. */
const world = { list: [] as readonly Listed[], strays: [] as readonly Listed[], onPage: (_page: number) => {} };
const service = fakeWire(({ url }) => {
  const [from, to] = ['from', 'to'].map(name => url.searchParams.get(name) ?? '');
  const [least, most] = [Date.parse(from ?? ''), Date.parse(to?.length === 10 ? `${to}T23:59:59.999Z` : (to ?? ''))];
  const inRange = world.list.filter(({ at }) => at === null || (at >= least && at <= most));
  const listed = [...inRange, ...world.strays];
  const meta = eventMeta(url, listed.length);
  const { currentPage, pageSize } = meta;
  const data = listed
    .slice((currentPage - 1) * pageSize, currentPage * pageSize)
    .map(({ id, at, severity, alertType, impacts = [{ severity }] }) => ({
      _id: id,
      lastUpdated: at === null ? null : new Date(at).toISOString(),
      vectorIndex: { anchorText: null, embeddings: [1, 0.5], embeddingsModelName: null },
      relevantEntities: [{ name: 'Same' }, { name: 'Same' }, { name: null }],
      taxonomicMatches: {
        affectedDatapoints: [{ name: 'Price' }],
        alertTypes: [{ name: alertType }],
        impactedEntities: impacts.map(impact => ({ name: 'Steel', impact })),
      },
    }));
  world.onPage(currentPage);
  return { body: { meta, data } };
});

const gateway = forSuite(await startGateway({ wire: service.wire, env: { EVENT_STATISTICS_LIMIT: String(limit) } }));

beforeEach(() => {
  world.onPage = () => {};
  service.calls.length = 0;
});

/** An order that has nothing to do with times. */
function inNoOrder(list: readonly Listed[]): readonly Listed[] {
  const draw = drawFrom('order');
  return list
    .map(listed => ({ listed, key: draw.below(1_000_000) }))
    .sort((one, other) => one.key - other.key)
    .map(({ listed }) => listed);
}

/** Every query searches for another text, so that no cache answers it. */
let queries = 0;
async function statistics(interval = 'DAY', filter: object = range) {
  queries += 1;
  const { data, errors } = await gateway.query(
    `query ($filter: EventFilter, $interval: EventInterval!) {
      eventStatistics(filter: $filter, interval: $interval) {
        total counted buckets { start count bySeverity { severity count } }
        alertTypes { value count } affectedDatapoints { value count } impactedEntities { value count } relevantEntities { value count }
        scores { severity likelihood count }
      }
    }`,
    { interval, filter: { search: String(queries), ...filter } },
  );
  return { statistics: data?.eventStatistics, errors };
}

const event = (index: number, hours: number | null, severity: number | null = 2, alertType = 'Fire'): Listed => ({
  id: `e-${index}`,
  at: hours === null ? null : start + hours * hourMs,
  severity,
  alertType,
});

test('counts events by day and severity, with empty days between them, and their values by frequency', async () => {
  world.list = [event(1, 1), event(2, 20, 3, 'Flood'), event(3, 5, 3, 'Flood'), event(4, 80, null), event(5, null)];
  expect((await statistics()).statistics).toEqual({
    total: 5,
    counted: 5,
    buckets: [
      {
        start: '2026-03-01T00:00:00.000Z',
        count: 3,
        bySeverity: [
          { severity: 3, count: 2 },
          { severity: 2, count: 1 },
        ],
      },
      { start: '2026-03-02T00:00:00.000Z', count: 0, bySeverity: [] },
      { start: '2026-03-03T00:00:00.000Z', count: 0, bySeverity: [] },
      { start: '2026-03-04T00:00:00.000Z', count: 1, bySeverity: [{ severity: null, count: 1 }] },
    ],
    alertTypes: [
      { value: 'Fire', count: 3 },
      { value: 'Flood', count: 2 },
    ],
    affectedDatapoints: [{ value: 'Price', count: 5 }],
    impactedEntities: [{ value: 'Steel', count: 5 }],
    relevantEntities: [{ value: 'Same', count: 5 }],
    scores: [],
  });
  expect(service.calls.length).toBe(1);
});

test('counts an event once for each pair of scores of an impacted entity, the highest first', async () => {
  const scored = (index: number, ...pairs: readonly (readonly [unknown, unknown])[]) => ({
    ...event(index, index),
    impacts: pairs.map(([severity, likelihood]) => ({ severity, likelihood })),
  });
  world.list = [
    scored(1, [3, 2], [3, 2], [2, 3]),
    scored(2, [3, 2], [0, 0]),
    // No pair: a score that is missing, that cannot be read, or that another entity has.
    scored(3, [1, null], [null, 1], ['high', 1], [1, 4]),
  ];
  expect((await statistics()).statistics.scores).toEqual([
    { severity: 3, likelihood: 2, count: 2 },
    { severity: 2, likelihood: 3, count: 1 },
    { severity: 0, likelihood: 0, count: 1 },
  ]);
});

test.each([
  ['HOUR', ['2026-03-01T01:00:00.000Z', '2026-03-01T02:00:00.000Z']],
  ['WEEK', ['2026-02-23T00:00:00.000Z', '2026-03-02T00:00:00.000Z', '2026-03-09T00:00:00.000Z']],
  ['MONTH', ['2026-03-01T00:00:00.000Z', '2026-04-01T00:00:00.000Z', '2026-05-01T00:00:00.000Z']],
])('begins a bucket of one %s where it begins in UTC', async (interval, starts) => {
  const last = { HOUR: 2.9, WEEK: 24 * 8, MONTH: 24 * 70 }[interval] ?? 0;
  world.list = [event(1, last), event(2, 1.5)];
  const { statistics: found } = await statistics(interval, {
    from: '2026-03-01',
    to: interval === 'HOUR' ? '2026-03-31' : '2026-05-31',
  });
  expect(found.buckets.map((bucket: { start: string }) => bucket.start)).toEqual(starts);
});

test('an event outside the requested range has no bucket', async () => {
  world.list = [event(1, 1), event(2, null)];
  world.strays = [event(3, -24 * 365 * 1_000)];
  const { statistics: found } = await statistics('HOUR');
  world.strays = [];
  expect(found).toMatchObject({ total: 3, counted: 3, buckets: [{ start: '2026-03-01T01:00:00.000Z', count: 1 }] });
});

test('an empty list has no buckets', async () => {
  world.list = [];
  expect((await statistics()).statistics).toMatchObject({ total: 0, counted: 0, buckets: [], alertTypes: [] });
});

describe.each([
  ['newest first', (list: readonly Listed[]) => list.toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0))],
  ['oldest first', (list: readonly Listed[]) => list.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0))],
  ['in no order', inNoOrder],
])('when the service lists events %s', (_, order) => {
  test.each([1, 99, 100, 101, limit])('counts all of %i events', async count => {
    world.list = order(Array.from({ length: count }, (_, index) => event(index, index * 2)));
    expect((await statistics()).statistics).toMatchObject({ total: count, counted: count });
    expect(service.calls.length).toBe(Math.ceil(count / 100));
  });

  test.each([
    ['evenly', (index: number) => index / 2],
    ['mostly at the end', (index: number) => 700 - 700 / (index + 1)],
    ['mostly at the start', (index: number) => index ** 3 / 1e6],
  ])('counts only the newest of 900 events that are spread %s', async (_, hours) => {
    const all = Array.from({ length: 900 }, (_, index) =>
      event(index, Math.min(hours(index), 740), 2, `Type ${index}`),
    );
    world.list = order(all);
    const { total, counted, alertTypes } = (await statistics()).statistics;
    expect(total).toBe(900);
    expect(counted).toBeGreaterThan(limit / 2);
    expect(counted).toBeLessThanOrEqual(limit);
    const newest = all.toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0)).slice(0, counted);
    const types = new Set(newest.map(({ alertType }) => alertType));
    expect(alertTypes.every(({ value }: { value: string }) => types.has(value))).toBe(true);
    expect(service.calls.length).toBeLessThanOrEqual(21 + limit / 100);
  });
});

test('counts as many as it may of events whose times are equal', async () => {
  world.list = Array.from({ length: 900 }, (_, index) => event(index, 10));
  expect((await statistics()).statistics).toMatchObject({ total: 900, counted: limit, buckets: [{ count: limit }] });
});

test('an event that two pages have counts in its newest version, however its times are written', () => {
  const [old, newer] = ['2026-03-01T08:30:00Z', '2026-03-01T08:30:00.500Z'].map(
    lastUpdated => ({ id: 'e', lastUpdated }) as Event,
  ) as [Event, Event];
  expect(newestVersions([newer, old])).toEqual([newer]);
  expect(newestVersions([old, newer])).toEqual([newer]);
});

test('counts each event once while the list changes', async () => {
  const list = Array.from({ length: 150 }, (_, index) => event(index, index));
  world.list = list;
  world.onPage = page => {
    // A new event moves the last event of the first page to the second page.
    if (page === 1) world.list = [event(1_000, 200), ...list];
  };
  const { total, counted } = (await statistics()).statistics;
  expect({ total, counted }).toEqual({ total: 151, counted: 150 });
});

test('reports no more events than there are after some have gone', async () => {
  const list = Array.from({ length: 150 }, (_, index) => event(index, index));
  world.list = list;
  world.onPage = page => {
    if (page === 1) world.list = list.slice(0, 120);
  };
  const { total, counted } = (await statistics()).statistics;
  expect(counted).toBe(120);
  expect(total).toBeGreaterThanOrEqual(counted);
});

test('never requests embeddings, and shares its pages with other intervals of the same query', async () => {
  world.list = Array.from({ length: 150 }, (_, index) => event(index, index));
  const filter = `filter: { from: "2026-03-01", to: "2026-03-31", search: "shared" }`;
  await gateway.query(`{
    days: eventStatistics(${filter}) { counted }
    weeks: eventStatistics(${filter}, interval: WEEK) { counted }
  }`);
  expect(service.calls.length).toBe(2);
});

describe('an event', () => {
  const now = Date.now();
  const listed = (index: number): Listed => ({
    id: `e-${index}`,
    at: now - index * 60_000,
    severity: 0,
    alertType: 'Fire',
  });
  const read = async (id: string) => gateway.query('query ($id: ID!) { event(id: $id) { id nodeId } }', { id });
  const again = async (nodeId: string, id: string) => {
    service.calls.length = 0;
    const found = await gateway.query(
      `query ($nodeId: ID!) { node(nodeId: $nodeId) { nodeId ... on Event { id alertTypes { name } vectorIndex { embeddings } } } }`,
      { nodeId },
    );
    expect(found).toMatchObject({ errors: undefined, data: { node: { nodeId, id } } });
    return [service.calls.length, found.data.node.alertTypes[0].name];
  };

  test('is found in the list, whatever its scores, and by its nodeId with one call until it changes', async () => {
    world.list = Array.from({ length: 150 }, (_, index) => listed(index));
    const { data, errors } = await read('e-120');
    expect(errors).toBeUndefined();
    expect(data.event).toEqual({ id: 'e-120', nodeId: expect.any(String) });
    for (const { url } of service.calls) {
      const scores = ['minSeverity', 'maxSeverity', 'minLikelihood', 'maxLikelihood'].map(name =>
        url.searchParams.get(name),
      );
      expect(scores).toEqual(['0', '3', '0', '3']);
      expect(now - Date.parse(url.searchParams.get('from') ?? '')).toBeGreaterThan(30 * 24 * hourMs);
    }
    const { nodeId } = data.event;
    expect(await again(nodeId, 'e-120')).toEqual([1, 'Fire']);
    world.list = [{ ...listed(121), at: now + 1_000, alertType: 'Flood' }, ...world.list];
    const changed = Buffer.from(JSON.stringify(['Event', 'e-121', new Date(now - 121 * 60_000).toISOString()]));
    world.list = world.list.filter(({ id, at }) => id !== 'e-121' || at === now + 1_000);
    // The old time of the event, the list from then on in two pages, and its embedding.
    expect(await again(changed.toString('base64url'), 'e-121')).toEqual([4, 'Flood']);
  });

  test('has the nodeId that was asked for, however its time is written', async () => {
    world.list = [listed(1)];
    const time = new Date(now - 60_000).toISOString();
    const leapSecond = new Date(now - 120_000).toISOString().replace(/\d\d\.\d+Z$/, '60Z');
    const nodeIds = [time, time.replace('Z', '+00:00'), leapSecond].map(each =>
      Buffer.from(JSON.stringify(['Event', 'e-1', each])).toString('base64url'),
    );
    const query = 'query ($nodeIds: [ID!]!) { nodes(nodeIds: $nodeIds) { nodeId ... on Event { id } } }';
    const { data } = await gateway.query(query, { nodeIds });
    expect(data.nodes).toEqual(nodeIds.map(nodeId => ({ nodeId, id: 'e-1' })));
  });

  test('that the list does not have, or only behind the newest, is NOT_FOUND with what to do', async () => {
    world.list = Array.from({ length: 1_000 }, (_, index) => listed(index));
    expect((await read('e-50')).data.event).toMatchObject({ id: 'e-50' });
    for (const id of ['e-999', 'none']) {
      const { data, errors } = await read(id);
      expect(data).toEqual({ event: null });
      expect(errors?.[0].extensions.code).toBe('NOT_FOUND');
      expect(errors?.[0].message).toContain('the newest 200 of the last 30 days; send its nodeId to node');
    }
    // Of the time of the nodeId, only a page is read.
    const nodeId = Buffer.from(JSON.stringify(['Event', 'e-999', new Date(now - 999 * 60_000).toISOString()]));
    expect(await again(nodeId.toString('base64url'), 'e-999')).toEqual([1, 'Fire']);
  });

  /** As a client that has read nothing yet. */
  const readWhole = (id: string, client = '') =>
    gateway.query(
      'query ($id: ID!) { event(id: $id) { vectorIndex { embeddings } } }',
      { id },
      { 'x-api-key': `whole-${id}-${client}` },
    );
  const whole = { vectorIndex: { embeddings: [1, 0.5] } };

  test('has its embedding, however many events have its time, or none', async () => {
    const equal = Array.from({ length: 150 }, (_, index) => ({ ...listed(index), at: now }));
    world.list = [...equal, { ...listed(150), at: null }];
    for (const id of ['e-20', 'e-120', 'e-150']) {
      const { data, errors } = await readWhole(id);
      expect([data.event, errors]).toEqual([whole, undefined]);
    }
  });

  test.each([0, 150])('that changes while it is read, and %i others, has its embedding', async others => {
    world.list = [listed(1)];
    const newer = Array.from({ length: others }, (_, index) => ({ ...listed(index + 10), at: now }));
    world.onPage = () => (world.list = [...newer, { ...listed(1), at: now + 1_000 }]);
    const { data, errors } = await readWhole('e-1', String(others));
    expect([data.event, errors]).toEqual([whole, undefined]);
  });

  const readAs = (id: string, client: string) =>
    gateway.query('query ($id: ID!) { event(id: $id) { id } }', { id }, { 'x-api-key': client, 'graphql-cost': '1' });

  test('that moves to the top between two calls is found', async () => {
    world.list = Array.from({ length: 150 }, (_, index) => listed(index));
    world.onPage = () => {
      const others = world.list.filter(({ id }) => id !== 'e-120');
      world.list = [{ ...listed(120), at: now + 1_000 }, ...others];
    };
    const { data, errors, extensions } = await readAs('e-120', 'moves');
    expect([data.event, errors]).toEqual([{ id: 'e-120' }, undefined]);
    expect(extensions.cost).toEqual({ estimated: 25, upstreamCalls: 4 });
  });

  test.each<[string, string, number, () => void]>([
    ['may be in a list that goes on changing', 'UPSTREAM_UNAVAILABLE', 4, () => (world.list = world.list.slice(1))],
    ['is not in a list that counts an event too many', 'NOT_FOUND', 4, () => {}],
  ])('that %s is %s', async (_, code, calls, onPage) => {
    world.list = [...Array.from({ length: 149 }, (_, index) => listed(index)), listed(0)];
    world.onPage = onPage;
    const { data, errors, extensions } = await readAs('none', code);
    expect([data.event, errors?.[0].extensions.code]).toEqual([null, code]);
    expect(extensions.cost.upstreamCalls).toBe(calls);
  });

  test.each([[['Event', 'e-1', 'yesterday']], [['Event', 'e-1', '2026-03-01T00:00:00Z', 'more']], [['Event', '']]])(
    'is not looked for with %j as its nodeId',
    async parts => {
      service.calls.length = 0;
      const nodeId = Buffer.from(JSON.stringify(parts)).toString('base64url');
      const { errors } = await gateway.query('query ($id: ID!) { node(nodeId: $id) { ... on Event { id } } }', {
        id: nodeId,
      });
      expect(errors?.[0].extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'nodeId' });
      expect(service.calls.length).toBeLessThan(2);
    },
  );
});

describe('names that no event has', () => {
  const list = `query ($filter: EventFilter) { events(filter: $filter) { totalCount } }`;
  const readAll = (filter: object, headers: object) =>
    gateway.query(
      `query ($filter: EventFilter) { eventStatistics(filter: $filter) { counted } }`,
      { filter },
      { ...headers },
    );
  const warned = (extensions: { warnings?: { argument: string }[] } | undefined) =>
    extensions?.warnings?.map(({ argument }) => argument);
  const filter = { alertTypes: ['Fire', 'Fyre'], affectedDatapoints: ['Price'], impactedEntities: ['Nobody', 'STEEL'] };
  const unknown = ['filter.alertTypes.1', 'filter.impactedEntities.0'];
  let keys = 0;
  const newClient = () => ({ 'x-api-key': `client-${++keys}` });

  test('are warned of where their client has read all events, without another call', async () => {
    world.list = Array.from({ length: 150 }, (_, index) => event(index, null));
    const [client, other] = [newClient(), newClient()];
    // Nothing is known yet.
    expect((await gateway.query(list, { filter: { ...filter, search: 'early' } }, client)).extensions).toBeUndefined();
    await readAll({}, client);
    service.calls.length = 0;
    const { data, extensions } = await gateway.query(list, { filter }, client);
    expect(data.events.totalCount).toBe(150);
    expect(warned(extensions)).toEqual(unknown);
    expect(extensions.warnings[0].message).toMatch(/^None of the 150 events .*"Fyre"/);
    expect(service.calls.length).toBe(1);
    expect((await gateway.query(list, { filter }, other)).extensions).toBeUndefined();
    // Other scores, and another range, may have other names.
    for (const more of [{ severity: { min: 0 } }, range])
      expect((await gateway.query(list, { filter: { ...filter, ...more } }, client)).extensions).toBeUndefined();
  });

  test('are those that are spelled otherwise, too, where the filter finds nothing', async () => {
    const client = newClient();
    world.list = [event(1, null)];
    await readAll({}, client);
    world.list = [];
    const { extensions } = await gateway.query(list, { filter }, client);
    expect(warned(extensions)).toEqual([
      'filter.alertTypes.1',
      'filter.impactedEntities.0',
      'filter.impactedEntities.1',
    ]);
  });

  test.each([
    ['selects by name', {}, { alertTypes: ['Fire'] }],
    ['selects by text', {}, { search: 'some' }],
    ['counts only the newest', range, range, 900],
    ['has an event that cannot be read', {}, {}, 2, [{ ...event(1, null), id: 7 as unknown as string }]],
    ['counts none', {}, {}, 0],
  ])('are not told from others by statistics that %s', async (_, more, read, count = 2, strays: Listed[] = []) => {
    const client = newClient();
    world.list = Array.from({ length: count }, (_, index) => event(index + 10, count > 2 ? index / 2 : null));
    world.strays = strays;
    await readAll(read, client);
    const { errors, extensions } = await gateway.query(list, { filter: { ...filter, ...more } }, client);
    world.strays = [];
    expect([errors, extensions]).toEqual([undefined, undefined]);
  });
});

test('refuses a range with too many buckets before any call', async () => {
  const { errors } = await statistics('HOUR', { from: '2020-01-01', to: '2026-01-01' });
  expect(errors?.[0]).toMatchObject({ extensions: { code: 'BAD_USER_INPUT', argument: 'interval' } });
  expect(service.calls).toEqual([]);
});
