import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type FieldNode, Kind, parse, print, visit } from 'graphql';
import { startSandbox } from '../src/sandbox/server.js';
import { type CallsRow, callsTable, cursorOf, type Tally } from './support/calls-table.js';
import { cleanups, forSuite, forTest } from './support/cleanups.js';
import { demoHeaders, postJson, startGateway, type TestGateway } from './support/gateway.js';
import { startWithHeld } from './support/held-service.js';
import { overSse } from './support/streams.js';
import { until } from './support/until.js';
import { eventPage, fakeWire } from './support/wire.js';

/** The service's default window of events depends on the time of day. */
const noon = () => new Date('2026-03-10T12:00:00.000Z');

const sandbox = forSuite(await startSandbox({ now: noon }));
const gateway = forSuite(await startGateway({ sandbox }));

const known = new Set<string>();

/** The headers of a session of which the gateway has cached nothing. */
async function newcomer(): Promise<Record<string, string>> {
  const session = await fetch(`${sandbox.origin}/v2/auth/session`, { headers: demoHeaders });
  const { accessToken } = (await session.json()) as { accessToken: string };
  sandbox.calls.clear();
  // A sandbox that was reset makes the same tokens again.
  if (known.has(accessToken)) return newcomer();
  known.add(accessToken);
  return { authorization: `Bearer ${accessToken}` };
}

/** Changes the sandbox for the test. */
function prepare(given: CallsRow['given']): void {
  if (given === undefined) return;
  given(sandbox);
  cleanups.push(() => sandbox.reset());
}

/** The calls since the last time, without what their addresses and identifiers are. */
function tallied(): Tally {
  const counts: Record<string, number> = {};
  for (const { method, path } of sandbox.calls.list()) {
    const pattern = path.replace(/\?.*/, '').replace(/^\/(api|stage)/, '');
    const call = `${method} ${pattern.replace(/\/(\d+|[0-9a-f]{24}|nobody)(?=\/|$)/g, '/{id}')}`;
    counts[call] = (counts[call] ?? 0) + 1;
  }
  sandbox.calls.clear();
  return counts;
}

const send = ({ query, variables, clients = 1 }: CallsRow, headers: Record<string, string>) =>
  Promise.all(Array.from({ length: clients }, () => gateway.query(query, variables, headers)));

test('what depends on one read waits for no other read', async () => {
  const held = forTest(await startWithHeld(/companies|observation/));
  const query =
    '{ market(id: 3) { companies { totalCount } } events(first: 1) { nodes { references { observation { id } } } } }';
  const answer = held.gateway.query(query);
  // The companies, and observations.
  await until(() => held.held() > 1);
  held.open();
  expect((await answer).errors).toBeUndefined();
});

describe.each(callsTable.map(row => ({ name: row.what, row })))('$name', ({ row }) => {
  test('costs exactly its calls, cold and warm', async () => {
    prepare(row.given);
    // Some of what needs no call is for teams only.
    const headers = Object.keys(row.calls).length > 0 ? await newcomer() : demoHeaders;
    const [first, ...others] = await send(row, headers);
    expect(tallied()).toEqual(row.calls);
    for (const other of others) expect(other.data).toEqual(first?.data);
    const [second] = await send(row, headers);
    expect(tallied()).toEqual({});
    expect(second?.data).toEqual(first?.data);
    expect(second?.errors?.map(error => error.extensions.code)).toEqual(row.code && [row.code]);
  });
});

/** Every root field of a query once more, under an alias. */
const twice = (query: string) =>
  print(
    visit(parse(query), {
      OperationDefinition: ({ selectionSet: { selections, ...set }, ...operation }) => {
        const again = (selections as readonly FieldNode[]).map((field, index) => ({
          ...field,
          alias: { kind: Kind.NAME, value: `again${index}` } as const,
        }));
        return { ...operation, selectionSet: { ...set, selections: [...selections, ...again] } };
      },
    }),
  );

test.each<Pick<CallsRow, 'query' | 'variables' | 'given'>>([
  ...callsTable,
  { query: '{ eventChanges(first: 5) { cursor } }' },
  { query: `{ events(first: 60, after: "${cursorOf(49)}") { updatesCursor } }` },
  { query: '{ suggestKeywords(input: { searchCriteria: { userPrompt: "Who?" } }) { keywords } }' },
])('what is asked twice in one request is read once: $query', async ({ query, variables, given }) => {
  prepare(given);
  const tallies: Tally[] = [];
  for (const each of [query, twice(query)]) {
    await gateway.query(each, variables, await newcomer());
    tallies.push(tallied());
  }
  expect(tallies[1]).toEqual(tallies[0]);
});

test.each([
  [
    'that a variable leaves out',
    1,
    'query ($is: Boolean = false) { events { updatesCursor @include(if: $is) nodes { id } } }',
  ],
  ['of another list', 3, '{ events { nodes { id } } other: events(first: 5) { updatesCursor } }'],
  ['of an equal list', 3, '{ events { nodes { id } } other: events { updatesCursor } }'],
  ['of an equal end', 6, '{ events(last: 5) { nodes { id } } other: events(last: 5) { updatesCursor } }'],
])('an updatesCursor %s costs a list no call', async (_, calls, query) => {
  const { errors, extensions } = await gateway.query(query, {}, { ...(await newcomer()), 'graphql-cost': '1' });
  expect(errors).toBeUndefined();
  expect(tallied()).toEqual({ 'GET /v2/events-monitor/events': calls });
  expect(extensions.cost.estimated).toBeGreaterThanOrEqual(extensions.cost.upstreamCalls);
});

test('a list is read again where the service forbids to store what its updatesCursor needs', async () => {
  const { wire, calls } = fakeWire(({ url }) => ({
    ...eventPage([]),
    ...(url.searchParams.has('to') && { headers: { 'cache-control': 'no-store' } }),
  }));
  const gateway = forTest(await startGateway({ wire, env: { RESPONSE_CACHE: 'false' } }));
  const read = () => gateway.query('{ events { updatesCursor } }');
  await read();
  const once = calls.length;
  expect((await read()).errors).toBeUndefined();
  expect(calls.length).toBe(2 * once);
});

test('explain lists each call, and who answered it', async () => {
  const headers = { ...(await newcomer()), 'x-explain': '1' };
  const row = callsTable.find(({ what }) => what === 'One query across all six types') as CallsRow;
  const cold = await gateway.query(row.query, {}, headers);
  const paths = (lines: { path: string }[]) => lines.map(({ path }) => path).sort();
  expect(cold.extensions.explain.every((line: { source: string }) => line.source === 'network')).toBe(true);
  expect(paths(cold.extensions.explain)).toEqual(
    paths(sandbox.calls.list())
      .map(path => path.replace(/^\/(api|stage)/, ''))
      .sort(),
  );
  for (const { milliseconds } of cold.extensions.explain) expect(String(milliseconds)).toMatch(/^\d+(\.\d)?$/);
  const warm = await gateway.query(row.query, {}, headers);
  expect(warm.extensions.explain.every((line: { source: string }) => line.source === 'memory')).toBe(true);
  expect(paths(warm.extensions.explain)).toEqual(paths(cold.extensions.explain));
});

describe('with graphql-cost: 1, a response says what it cost', () => {
  const headers = { 'x-api-key': 'demo-key-subscribed', 'graphql-cost': '1' };
  const row = callsTable.find(({ what }) => what === 'One query across all six types') as CallsRow;
  let gateway: TestGateway;
  beforeAll(async () => {
    sandbox.reset();
    gateway = await startGateway({ sandbox, env: { RESPONSE_CACHE: 'true', EXPLAIN: 'false' } });
  });
  afterAll(() => gateway.close());
  const called = () => Object.values(tallied()).reduce((sum, calls) => sum + (calls ?? 0), 0);

  test('what was estimated and what was called, and is not cached', async () => {
    tallied();
    const cold = (await gateway.query(row.query, {}, headers)).extensions;
    expect(cold).toEqual({ cost: { estimated: expect.any(Number), upstreamCalls: called() } });
    expect(cold.cost.estimated).toBeGreaterThanOrEqual(cold.cost.upstreamCalls);
    const warm = await gateway.query(row.query, {}, headers);
    expect(warm.extensions.cost).toEqual({ ...cold.cost, upstreamCalls: 0 });
    const without = await gateway.query(row.query);
    expect(without.extensions).toBeUndefined();
    expect((await gateway.query(row.query, {}, headers)).extensions.cost).toEqual(warm.extensions.cost);
  });

  test.each(['0', 'true'])('but not with %s', async value => {
    const { extensions } = await gateway.query(row.query, {}, { ...headers, 'graphql-cost': value });
    expect(extensions).toBeUndefined();
  });

  test('over GET and in parts', async () => {
    const query = '{ markets(ids: [1, 2]) { ... @defer { name } } }';
    const cost = { estimated: 2, upstreamCalls: expect.any(Number) };
    const get = await fetch(`${gateway.url}/graphql?query=${encodeURIComponent(query)}`, {
      headers: { ...headers, 'apollo-require-preflight': '1' },
    });
    expect(await get.json()).toMatchObject({ extensions: { cost } });
    const parts = await postJson(
      `${gateway.url}/graphql`,
      { query },
      { ...headers, accept: 'multipart/mixed; incrementalSpec=v0.2' },
    );
    expect(parts.headers.get('content-type')).toMatch(/^multipart/);
    expect(await parts.text()).toMatch(/"extensions":\{"cost":\{"estimated":2,"upstreamCalls":\d+\}\},"hasNext":false/);
  });

  test('over Server-Sent Events', async () => {
    const { results, ended } = overSse(gateway.url, { query: '{ market(id: 3) { name } }' }, headers);
    await ended;
    expect(results).toEqual([
      { data: { market: { name: expect.any(String) } }, extensions: { cost: { estimated: 1, upstreamCalls: 1 } } },
    ]);
  });

  test('of a mutation', async () => {
    const { extensions } = await gateway.query(
      'mutation { createEmbedSession { session { __typename } } }',
      {},
      headers,
    );
    expect(extensions).toEqual({ cost: { estimated: 1, upstreamCalls: 1 } });
  });

  test('of an operation that is refused for its cost', async () => {
    const each = 'nodes { events(first: 20) { nodes { references { observation { title } } } } }';
    const { errors, extensions } = await gateway.query(
      `{ market(id: 3) { companies(first: 100) { ${each} } } }`,
      {},
      headers,
    );
    const [{ extensions: refusal }] = errors ?? [];
    expect(refusal).toMatchObject({ code: 'QUERY_TOO_COMPLEX', measure: 'upstream calls' });
    expect(extensions).toEqual({ cost: { estimated: refusal.value, upstreamCalls: 0 } });
  });
});
