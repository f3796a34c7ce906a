import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type GraphQLObjectType, isInterfaceType } from 'graphql';
import { hashOfKey } from '../src/auth/credentials.js';
import { nodeId } from '../src/graphql/node.js';
import { createSchema } from '../src/schema.js';
import { forTest } from './support/cleanups.js';
import { startGateway, startOverSandbox } from './support/gateway.js';
import { overSse, overWebsocket } from './support/streams.js';

const { sandbox, gateway } = await startOverSandbox();

afterAll(() => gateway.close());

/** A query for the `nodeId` of one object of each type in the gateway's data. */
const everyNodeId = `{
  market(id: 1) {
    nodeId
    topics { nodeId groups { nodeId } }
    companies { nodes { nodeId } }
    jobs { nodeId }
    publish: jobs(phase: PUBLISH) { nodeId }
  }
}`;

function nodeIdsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => (key === 'nodeId' ? [member] : nodeIdsIn(member)));
}

describe('nodeId', () => {
  test('is unique across the types and markets', async () => {
    const { data, errors } = await gateway.query(everyNodeId);
    expect(errors).toBeUndefined();
    const { data: other } = await gateway.query(everyNodeId.replace('id: 1', 'id: 2'));
    const ids = [...nodeIdsIn(data), ...nodeIdsIn(other)];
    expect(ids.length).toBeGreaterThan(20);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('keeps topics with the same number in two markets apart', async () => {
    const { data } = await gateway.query(
      '{ a: market(id: 1) { topics { id nodeId } } b: market(id: 2) { topics { id nodeId } } }',
    );
    const [a, b] = [data.a.topics[0], data.b.topics.find(({ id }: { id: string }) => id === data.a.topics[0].id)];
    expect(b?.nodeId ?? 'no topic of this number').not.toBe(a.nodeId);
  });
});

describe('node', () => {
  const market = nodeId('Market', ['1']);

  test('reads a market again, by the calls of the selected fields', async () => {
    sandbox.calls.clear();
    const query = 'query ($id: ID!) { node(nodeId: $id) { __typename nodeId ... on Market { id name } } }';
    const { data, errors } = await gateway.query(query, { id: market });
    expect(errors).toBeUndefined();
    expect(data.node).toEqual({ __typename: 'Market', nodeId: market, id: '1', name: expect.any(String) });
    expect(sandbox.calls.count()).toBe(1);

    sandbox.calls.clear();
    const bare = await gateway.query('query ($id: ID!) { node(nodeId: $id) { __typename nodeId } }', { id: market });
    expect(bare.data.node).toEqual({ __typename: 'Market', nodeId: market });
    expect(sandbox.calls.count()).toBe(0);
  });

  test.each([
    ['a Job of no phase', nodeId('Job', ['1', 'REVIEW', '2']), 'BAD_USER_INPUT'],
    ['an unknown type', nodeId('Viewer', ['1']), 'BAD_USER_INPUT'],
    ['a member of every object', nodeId('constructor', ['1']), 'BAD_USER_INPUT'],
    ['a market whose identifier is no number', nodeId('Market', ['x']), 'BAD_USER_INPUT'],
    ['too few parts', nodeId('Market', []), 'BAD_USER_INPUT'],
    ['too many parts', nodeId('Market', ['1', '2']), 'BAD_USER_INPUT'],
    ['a part that is no text', Buffer.from('["Market",1]').toString('base64url'), 'BAD_USER_INPUT'],
    ['padding', `${market}=`, 'BAD_USER_INPUT'],
    ['another spelling of the same JSON', Buffer.from('["Market", "1"]').toString('base64url'), 'BAD_USER_INPUT'],
    ['an empty text', '', 'BAD_USER_INPUT'],
    ['the identifier of a market', '1', 'BAD_USER_INPUT'],
  ])('refuses %s', async (_, id, code) => {
    const query =
      'query ($id: ID!, $ids: [ID!]!) { node(nodeId: $id) { ...F } nodes(nodeIds: $ids) { ...F } } fragment F on Node { nodeId ... on Market { name } ... on Job { id } }';
    const { data, errors } = await gateway.query(query, { id, ids: [market, id] });
    expect(data).toEqual({ node: null, nodes: [{ nodeId: market, name: expect.any(String) }, null] });
    expect(errors?.map(({ path, extensions }) => ({ path, extensions }))).toEqual([
      { path: ['node'], extensions: { code, argument: 'nodeId' } },
      { path: ['nodes', 1], extensions: { code, argument: 'nodeIds.1' } },
    ]);
  });

  test('reads each object of a market again, with what it had, and one that is gone as null', async () => {
    const { data } = await gateway.query(
      `{ market(id: 1) { topics { nodeId id label groups { nodeId id label } } companies(first: 1) { nodes { nodeId domain } }
        jobs { nodeId id workflowName } publish: jobs(phase: PUBLISH) { nodeId id workflowName } } }`,
    );
    const { topics, companies, jobs, publish } = data.market;
    const objects = [
      ...topics,
      ...topics.flatMap(({ groups }: { groups: object[] }) => groups),
      ...companies.nodes,
      ...jobs,
      ...publish,
    ];
    expect(new Set(objects.map(({ nodeId }) => JSON.parse(Buffer.from(nodeId, 'base64url').toString())[0])).size).toBe(
      4,
    );
    const again = async (nodeIds: readonly string[]) => {
      const found = await gateway.query(
        `query ($nodeIds: [ID!]!) { nodes(nodeIds: $nodeIds) { nodeId ... on Topic { id label groups { nodeId id label } }
          ... on TopicGroup { id label } ... on Company { domain } ... on Job { id workflowName } } }`,
        { nodeIds },
      );
      expect(found.errors).toBeUndefined();
      return found.data.nodes;
    };
    for (let start = 0; start < objects.length; start += 10) {
      const some = objects.slice(start, start + 10);
      expect(await again(some.map(({ nodeId }) => nodeId))).toEqual(some);
    }
    const gone = [
      ['Topic', '1', 'none'],
      ['TopicGroup', '1', 'none'],
      ['Job', '1', 'PUBLISH', '0'],
    ];
    expect(await again(gone.map(([type = '', ...parts]) => nodeId(type, parts)))).toEqual([null, null, null]);
  });

  test('reads several in their order, at most 100', async () => {
    const ids = ['3', '1', '2', '1'].map(id => nodeId('Market', [id]));
    const query = 'query ($ids: [ID!]!) { nodes(nodeIds: $ids) { nodeId ... on Market { id } } }';
    const { data, errors } = await gateway.query(query, { ids });
    expect(errors).toBeUndefined();
    expect(data.nodes).toEqual(ids.map((each, index) => ({ nodeId: each, id: ['3', '1', '2', '1'][index] })));

    const tooMany = await gateway.query(query, { ids: Array.from({ length: 101 }, () => market) });
    expect(tooMany.errors?.[0].extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'nodeIds' });
  });

  test('is resolved for every type that implements Node', () => {
    const schema = createSchema();
    const node = schema.getType('Node');
    if (!isInterfaceType(node)) throw new Error('Node is no interface');
    const unresolved = schema.getPossibleTypes(node).filter(type => type.getFields().nodeId?.resolve === undefined);
    expect(unresolved).toEqual([]);
  });
});

describe('markets', () => {
  const query = 'query ($ids: [ID!]!) { markets(ids: $ids) { id name } }';

  test('reads several in their order, each by one call', async () => {
    const other = forTest(await startGateway({ sandbox }));
    sandbox.calls.clear();
    const { data, errors } = await other.query(query, { ids: ['3', '1', '3'] });
    expect(errors).toBeUndefined();
    const [third, first] = ['3', '1'].map(id => ({ id, name: expect.any(String) }));
    expect(data.markets).toEqual([third, first, third]);
    expect(sandbox.calls.count()).toBe(2);
  });

  test('has null and an error in place of each that cannot be read, and refuses more than 50', async () => {
    const { data, errors } = await gateway.query('{ markets(ids: ["1", "x", "02"]) { id } }');
    expect(data.markets).toEqual([{ id: '1' }, null, null]);
    expect(errors?.map(({ path, extensions }) => [path, extensions.argument])).toEqual([
      [['markets', 1], 'ids.1'],
      [['markets', 2], 'ids.2'],
    ]);
    const tooMany = await gateway.query(query, { ids: Array.from({ length: 51 }, (_, index) => `${index}`) });
    expect(tooMany.errors?.[0].extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'ids' });
  });
});

const capabilities = '{ capabilities { eventSearch keywordSuggestion marketRecords marketData exports } }';

describe('capabilities', () => {
  const all = { eventSearch: true, keywordSuggestion: true, marketRecords: true, marketData: true, exports: true };

  test.each<[string, Record<string, string>, object]>([
    ['everything', {}, {}],
    ['no search', { EVENTS_SEARCH_PARAM: '' }, { eventSearch: false }],
    ['no keyword suggestion', { KEYWORD_SUGGESTION_PATH: '' }, { keywordSuggestion: false }],
    ['no markets interface', { UPSTREAM_API_URL: '' }, { marketData: false }],
    ['no market records', { UPSTREAM_DEV_URL: '' }, { marketRecords: false, exports: false }],
  ])('say what the operator has configured: %s', async (_, env, missing) => {
    const other = forTest(await startGateway({ sandbox, env }));
    const { data, errors } = await other.query(capabilities, {}, {});
    expect(errors).toBeUndefined();
    expect(data.capabilities).toEqual({ ...all, ...missing });
  });

  test('are the same over every transport', async () => {
    const overHttp = await gateway.query(capabilities);
    for (const listen of [overSse, overWebsocket]) {
      const { results, ended } = listen(gateway.url, { query: capabilities });
      expect(await ended).toBeUndefined();
      expect(results[0].data).toEqual(overHttp.data);
    }
  });
});

describe('viewer', () => {
  const viewer = '{ viewer { authentication team canExport canManageExportEndpoints } market(id: 1) { name } }';
  const [admin = '', member = '', stranger = ''] = ['demo-key-subscribed', 'demo-key-markets-only', 'another-key'];
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'identity-'));
    const list = [{ name: 'Team', keys: [admin, member].map(hashOfKey), admins: [hashOfKey(admin)] }];
    await writeFile(join(folder, 'teams.json'), JSON.stringify(list));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('says who may export and who may manage the endpoints, each client its own', async () => {
    const other = forTest(
      await startGateway({ sandbox, env: { TEAMS_FILE: join(folder, 'teams.json'), DATA_DIR: folder } }),
    );
    const expected = {
      [admin]: { authentication: 'API_KEY', team: 'Team', canExport: true, canManageExportEndpoints: true },
      [member]: { authentication: 'API_KEY', team: 'Team', canExport: true, canManageExportEndpoints: false },
      [stranger]: { authentication: 'API_KEY', team: null, canExport: false, canManageExportEndpoints: false },
    };
    // Several times, because whole responses are cached.
    for (let time = 0; time < 3; time += 1) {
      for (const [key, own] of Object.entries(expected)) {
        const { data } = await other.query(viewer, {}, { 'x-api-key': key });
        expect(data.viewer).toEqual(own);
      }
      const { data, errors } = await other.query(viewer, {}, {});
      expect(data).toEqual({ viewer: null, market: { name: null } });
      expect(errors?.map(({ path }) => path)).toEqual([['market', 'name']]);
    }
  });

  test('may export without a teams file only with an API key', async () => {
    const withKey = await gateway.query(viewer);
    expect(withKey.data.viewer).toMatchObject({ canExport: true, canManageExportEndpoints: true });
    const withToken = await gateway.query(viewer, {}, { authorization: 'Bearer token' });
    expect(withToken.data.viewer).toMatchObject({ canExport: false, canManageExportEndpoints: false });
  });
});

/** The type of each list that has cursors, by the name of its field. */
const parents = Object.fromEntries(
  ['Query', 'Market'].flatMap(parent =>
    Object.values((createSchema().getType(parent) as GraphQLObjectType).getFields())
      .filter(({ args, type }) => /Connection!?$/.test(`${type}`) && args.some(({ name }) => name === 'after'))
      .map(({ name }) => [name, parent]),
  ),
);
type Kind = keyof typeof parents;

/** Arguments that make other lists of them. */
const others: Partial<Record<Kind, readonly string[]>> = {
  events: ['filter: { severity: { min: 3 } }', 'filter: { from: "2026-01-01" }', 'filter: { alertTypes: ["Strike"] }'],
  companies: [
    'filter: { search: "a" }',
    'orderBy: { field: NAME }',
    'orderBy: { field: NAME, direction: DESC }',
    'filter: { search: "a" }, orderBy: { field: NAME }',
  ],
  exports: ['filter: { outcome: DELIVERED }', 'filter: { marketId: 1 }'],
};

const within = (kind: Kind, field: string, market = 1) =>
  parents[kind] === 'Market' ? `{ market(id: ${market}) { ${field} } }` : `{ ${field} }`;

/** Reads a list. @param given its arguments. */
async function read(kind: Kind, given: string, market?: number) {
  const { data, errors } = await gateway.query(
    within(
      kind,
      `${kind}(${given}) { totalCount pageInfo { endCursor } ${kind === 'events' ? 'updatesCursor' : ''} }`,
      market,
    ),
  );
  const connection = (data?.market ?? data)?.[kind];
  return { connection, refused: errors?.map(({ extensions }) => [extensions.code, extensions.argument]) };
}

describe.each(Object.keys(parents))('A cursor of %s', kind => {
  const lists = ['', ...(others[kind] ?? [])];

  test('belongs to its filter and order, on both ends', async () => {
    // A list of exports may be empty: each cursor that can be had is sent to every list.
    const cursors = await Promise.all(
      lists.map(async given => (await read(kind, `first: 2, ${given}`)).connection.pageInfo.endCursor),
    );
    for (const [from, cursor] of cursors.entries()) {
      if (cursor === null) continue;
      for (const [to, given] of lists.entries()) {
        for (const argument of ['after', 'before']) {
          const { refused } = await read(kind, `${argument}: "${cursor}", ${given}`);
          expect([from, to, refused]).toEqual([from, to, from === to ? undefined : [['BAD_USER_INPUT', argument]]]);
        }
      }
    }
  });
});

test('a cursor belongs to its market, and to its kind of list', async () => {
  const endOf = async (kind: Kind) => (await read(kind, 'first: 2')).connection.pageInfo.endCursor;
  const [events, companies] = [await endOf('events'), await endOf('companies')];
  const refusal = [['BAD_USER_INPUT', 'after']];
  expect((await read('companies', `after: "${companies}"`, 2)).refused).toEqual(refusal);
  expect((await read('companies', `after: "${events}"`)).refused).toEqual(refusal);
  expect((await read('exports', `after: "${events}"`)).refused).toEqual(refusal);
  const { updatesCursor } = (await read('events', 'first: 2')).connection;
  expect((await read('events', `after: "${updatesCursor}"`)).refused).toEqual(refusal);
});

test.each<[Kind, string[]]>([
  ['events', ['', 'filter: null', 'filter: {}', 'filter: { alertTypes: [], from: null }']],
  ['companies', ['', 'filter: null', 'filter: {}', 'filter: { operatesIn: [], naics: [] }', 'orderBy: null']],
  ['companies', ['filter: { naics: ["31", "32"] }', 'filter: { naics: ["32", "31", "31"], operatesIn: [] }']],
  ['exports', ['', 'filter: null', 'filter: {}', 'filter: { endpoint: null }']],
])('%s with a filter that is written differently are the same list', async (kind, ways) => {
  const found = await Promise.all(ways.map(given => read(kind, `first: 2, ${given}`)));
  expect(new Set(found.map(({ connection }) => JSON.stringify(connection))).size).toBe(1);
});
