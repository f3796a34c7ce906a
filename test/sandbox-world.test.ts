import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type MarketEvent, type Sandbox, startSandbox } from '../src/sandbox/server.js';

const START = Date.parse('2026-03-10T12:00:00.000Z');
const DAY = 86_400_000;
const now = () => new Date(START);

let sandbox: Sandbox;
let events: readonly MarketEvent[];

beforeAll(async () => {
  sandbox = await startSandbox({ now });
  events = sandbox.data.events;
});
afterAll(() => sandbox.close());

const cosine = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
const hits = ({ taxonomicMatches }: MarketEvent) =>
  taxonomicMatches.impactedEntities.filter(({ impact }) => impact.likelihood >= 2 && impact.severity >= 2);

test('there are many observations, at most ten days old, with vectors of length one', () => {
  const { observations } = sandbox.data;
  expect(observations.length).toBeGreaterThanOrEqual(600);
  expect(new Set(observations.map(observation => observation._id)).size).toBe(observations.length);
  for (const { textEmbedding, publishedAt, addedAt, content } of observations) {
    expect(textEmbedding).toHaveLength(1536);
    expect(cosine(textEmbedding, textEmbedding)).toBeCloseTo(1, 4);
    expect(Date.parse(publishedAt)).toBeGreaterThanOrEqual(START - 10 * DAY);
    expect(addedAt >= publishedAt && Date.parse(addedAt) <= START).toBe(true);
    expect(content.join('')).not.toMatch(/[{}]|undefined/);
  }
  expect(observations.filter(observation => observation.url === undefined).length).toBeGreaterThan(20);
  expect(observations.filter(observation => observation.clusterLabel === undefined).length).toBeGreaterThan(0);
});

test('each event consists of the similar observations of one cluster', () => {
  expect(events.length).toBeGreaterThanOrEqual(120);
  const byId = new Map(sandbox.data.observations.map(observation => [observation._id, observation]));
  const labels = new Set<number>();
  for (const event of events) {
    const members = event.references.map(({ _id }) => byId.get(_id)).filter(member => member !== undefined);
    expect(members).toHaveLength(event.references.length);
    const [label, ...others] = new Set(members.map(member => member.clusterLabel?.label));
    expect(others).toEqual([]);
    labels.add(label ?? -1);
    expect(event.lastUpdated).toBe(
      members
        .map(member => member.addedAt)
        .sort()
        .at(-1),
    );
    expect(event.timestamps.published).toBe(members.map(member => member.publishedAt).sort()[0]);
    expect(event.references).toEqual(
      members.map(({ _id, title, url }) => (url === undefined ? { _id, title } : { _id, title, url })),
    );
    for (const member of members) {
      expect(cosine(member.textEmbedding, event.vectorIndex.embeddings ?? [])).toBeGreaterThan(0.4);
    }
  }
  expect(labels.size).toBe(events.length);
  const [first, second] = events;
  expect(cosine(first?.vectorIndex.embeddings ?? [], second?.vectorIndex.embeddings ?? [])).toBeLessThan(0.4);
});

test('each event finds its story, source, place and price unit in the data', () => {
  for (const { vectorIndex, ...event } of events) {
    expect(vectorIndex.anchorText).toMatch(/\w/);
    expect(JSON.stringify(event)).not.toMatch(/undefined|""|"price"|\{\w+\}/);
    expect(event.relevantEntities).toHaveLength(6);
  }
});

test('events have every direction and operator, none of them, and some have low scores only', () => {
  const datapoints = events.flatMap(event => event.taxonomicMatches.affectedDatapoints);
  expect(new Set(datapoints.map(({ direction }) => direction))).toEqual(
    new Set(['up', 'down', 'fluctuate', 'unknown', null]),
  );
  expect(new Set(datapoints.map(({ quantity }) => quantity?.operator))).toEqual(
    new Set(['>', '<', '>=', '<=', '=', '~', 'range', undefined]),
  );
  for (const { quantity } of datapoints) {
    if (!quantity) continue;
    expect(quantity.values).toHaveLength(quantity.operator === 'range' ? 2 : 1);
    expect([...quantity.values].sort((a, b) => a - b)).toEqual(quantity.values);
  }
  expect(events.filter(event => hits(event).length === 0).length).toBeGreaterThan(10);
  expect(events.some(event => event.references.some(({ url }) => url === undefined))).toBe(true);
});

test('by default, a few companies of the first market have many events and most have none', () => {
  const recent = events.filter(event => event.lastUpdated >= '2026-03-09');
  const counts = new Map<string, number>();
  for (const { name } of recent.flatMap(hits)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const companies = sandbox.data.markets[0]?.companies ?? [];
  const perCompany = companies.map(company => counts.get(company.name) ?? 0);
  expect(perCompany.filter(count => count > 20).length).toBeGreaterThanOrEqual(3);
  expect(perCompany.filter(count => count === 1).length).toBeGreaterThan(20);
  expect(perCompany.filter(count => count === 0).length).toBeGreaterThan(900);
});

test('six markets cover the three review states', () => {
  const { markets } = sandbox.data;
  expect(markets.map(({ record }) => record.review_status)).toEqual([
    'published',
    'published',
    'published',
    'reviewing',
    'draft',
    'draft',
  ]);
  expect(markets[0]?.companies).toHaveLength(1200);
  for (const { companies } of markets.slice(1)) {
    expect(companies.length).toBeGreaterThanOrEqual(20);
    expect(companies.length).toBeLessThanOrEqual(80);
  }
  const all = markets.flatMap(({ companies }) => companies);
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  expect(all.filter(({ name }) => name.includes(',')).length).toBeGreaterThan(5);
  for (const { naics, headquarters } of all) {
    expect(naics.filter(({ name }) => name === '')).toEqual([]);
    expect(headquarters.countryCode).toMatch(/^[A-Z]{2}$/);
  }
});

test('every sandbox has the same world and responses', async () => {
  const twin = await startSandbox({ now });
  try {
    expect(twin.data.markets).toEqual(sandbox.data.markets);
    expect(twin.data.events).toEqual(events);
    expect(twin.data.observations).toEqual(sandbox.data.observations);
    const session = async ({ origin, demo }: Sandbox) =>
      (await fetch(`${origin}/v2/auth/session`, { headers: { 'x-api-key': demo.keys[0]?.key ?? '' } })).json();
    expect(await session(twin)).toEqual(await session(sandbox));
  } finally {
    await twin.close();
  }
});
