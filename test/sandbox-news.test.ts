import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { EventStore } from '../src/sandbox/event-store.js';
import { createNews } from '../src/sandbox/news.js';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { createWorld, type World } from '../src/sandbox/world/world.js';
import { startGateway } from './support/gateway.js';
import { until } from './support/until.js';

const START = Date.parse('2026-03-10T12:00:00.000Z');

describe('the news', () => {
  let time = START;
  let world: World;
  beforeAll(() => {
    world = createWorld(START);
  });
  const create = () => {
    const now = () => time;
    const events = new EventStore(world, now);
    return { events, publishNext: createNews(events, now) };
  };

  test('are new events, each of which then gets further observations', () => {
    const { events, publishNext } = create();
    const before = new Set(events.all.map(({ _id }) => _id));
    const steps = Array.from({ length: 40 }, () => {
      time += 20_000;
      publishNext();
      const [newest] = events.all;
      expect(newest?.lastUpdated).toBe(new Date(time).toISOString());
      return { id: newest?._id ?? '', observations: newest?.references.map(({ _id }) => _id) ?? [] };
    });
    expect(steps.filter(({ id }) => before.has(id))).toEqual([]);
    for (const [index, { id, observations }] of steps.entries()) {
      const isNew = id !== steps[index - 1]?.id;
      expect(observations).toHaveLength(isNew ? 1 : (steps[index - 1]?.observations.length ?? 0) + 1);
      for (const observation of observations) {
        expect(JSON.parse(events.observationText(observation))).toMatchObject({
          _id: observation,
          content: expect.any(Array),
        });
      }
    }
    const ids = new Set(steps.map(({ id }) => id));
    expect(ids.size).toBeGreaterThan(5);
    expect(ids.size).toBeLessThan(20);
    expect(events.all).toHaveLength(before.size + ids.size);
    const found = events.all
      .filter(({ _id }) => ids.has(_id))
      .flatMap(({ taxonomicMatches }) => taxonomicMatches.impactedEntities);
    expect(found.filter(({ impact }) => impact.likelihood >= 2 && impact.severity >= 2).length).toBeGreaterThan(5);
  });

  test('do not grow: after a hundred new events the oldest is forgotten, with its observations', () => {
    const { events, publishNext } = create();
    const before = events.all.length;
    const first = { id: '', observation: '' };
    for (let step = 0; step < 700; step++) {
      time += 1_000;
      publishNext();
      const [newest] = events.all;
      if (step === 0) Object.assign(first, { id: newest?._id, observation: newest?.references[0]?._id });
    }
    expect(events.all).toHaveLength(before + 100);
    expect(events.all.map(({ _id }) => _id)).not.toContain(first.id);
    expect(() => events.observationText(first.observation)).toThrow('does not exist');
    for (const { _id } of world.events.slice(-20)) expect(events.all.map(event => event._id)).toContain(_id);
  });
});

describe('a sandbox', () => {
  let sandbox: Sandbox | undefined;
  afterEach(() => sandbox?.close());

  test('has news by itself, until it is reset', async () => {
    sandbox = await startSandbox({ newsEveryMs: 5 });
    const { events } = sandbox.data;
    const live = sandbox;
    await until(() => live.data.events.length >= events.length + 3);
    const before = live.data.events.length;
    live.reset();
    expect(live.data.events.length).toBeLessThan(before);
    await until(() => live.data.events.length > events.length);
  });

  test('has as many companies in its first market as it is told, which the gateway reads', async () => {
    sandbox = await startSandbox({ companies: 5_000 });
    expect(sandbox.data.markets.map(({ companies }) => companies.length)).toEqual([5_000, 64, 41, 48, 36, 57]);
    const gateway = await startGateway({ sandbox });
    try {
      const { data, errors } = await gateway.query(
        '{ market(id: 1) { companyCount companies(last: 100, orderBy: { field: SCORE, direction: DESC }) { totalCount nodes { score } } } }',
      );
      expect(errors).toBeUndefined();
      expect(data.market).toMatchObject({ companyCount: 5_000, companies: { totalCount: 5_000 } });
      expect(data.market.companies.nodes).toHaveLength(100);
    } finally {
      await gateway.close();
    }
  });
});
