import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
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

const upstream = async (path: string) =>
  (
    await fetch(`${sandbox.addresses.base}${path}`, { headers: { 'x-api-key': 'demo-key-subscribed' } })
  ).json() as Promise<{
    textEmbedding: number[];
    data: { _id: string; vectorIndex: { embeddings: number[] } }[];
  }>;

test('vectors are arrays of the very numbers that the service sent, now and when they are kept', async () => {
  const [first] = sandbox.data.observations;
  const document = `{
    observation(id: "${first?._id}") { textEmbedding title }
    events(first: 5) { nodes { id vectorIndex { embeddings anchorText } } }
  }`;
  const { textEmbedding } = await upstream(`/v2/events-monitor/observation/${first?._id}`);
  const { data: events } = await upstream('/v2/events-monitor/events?pageSize=5');
  expect(textEmbedding).toHaveLength(1536);
  for (const time of ['first', 'second']) {
    const { data, errors } = await gateway.query(document);
    expect([time, errors]).toEqual([time, undefined]);
    expect(data.observation.textEmbedding).toEqual(textEmbedding);
    for (const { _id, vectorIndex } of events) {
      const node = data.events.nodes.find(({ id }: { id: string }) => id === _id);
      expect(node.vectorIndex.embeddings).toEqual(vectorIndex.embeddings);
    }
  }
});

test('what was kept without vectors is fetched again for them, and what was kept with them serves without', async () => {
  const second = sandbox.data.observations[1]?._id;
  const path = `/v2/events-monitor/observation/${second}`;
  await gateway.query(`{ observation(id: "${second}") { title } }`);
  await gateway.query(`{ observation(id: "${second}") { title textEmbedding } }`);
  expect(sandbox.calls.count(path)).toBe(2);
  await gateway.query(`{ observation(id: "${second}") { title } }`);
  const kept = await gateway.query(`{ observation(id: "${second}") { textEmbedding } }`);
  expect(kept.data.observation.textEmbedding).toHaveLength(1536);
  expect(sandbox.calls.count(path)).toBe(2);
});
