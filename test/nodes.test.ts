import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isInterfaceType } from 'graphql';
import { nodeId } from '../src/graphql/node.js';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { createSchema } from '../src/schema.js';
import { startGateway, type TestGateway } from './support/gateway.js';

let sandbox: Sandbox;
let gateway: TestGateway;
beforeAll(async () => {
  sandbox = await startSandbox();
  gateway = await startGateway({ sandbox });
});
afterAll(async () => {
  await gateway.close();
  await sandbox.close();
});

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
    ['a Topic', nodeId('Topic', ['1', '2']), 'NOT_REFETCHABLE'],
    ['a TopicGroup', nodeId('TopicGroup', ['1', '2']), 'NOT_REFETCHABLE'],
    ['a Job', nodeId('Job', ['1', 'DISCOVERY', '2']), 'NOT_REFETCHABLE'],
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
      'query ($id: ID!, $ids: [ID!]!) { node(nodeId: $id) { ...F } nodes(nodeIds: $ids) { ...F } } fragment F on Node { nodeId ... on Market { name } }';
    const { data, errors } = await gateway.query(query, { id, ids: [market, id] });
    expect(data).toEqual({ node: null, nodes: [{ nodeId: market, name: expect.any(String) }, null] });
    const fault = (argument: string) => (code === 'BAD_USER_INPUT' ? { code, argument } : { code });
    expect(errors?.map(({ path, extensions }) => ({ path, extensions }))).toEqual([
      { path: ['node'], extensions: fault('nodeId') },
      { path: ['nodes', 1], extensions: fault('nodeIds.1') },
    ]);
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
