import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { startGateway, type TestGateway } from './support/gateway.js';
import { market, publishMarket, readMarket, recordCallsOf, startPair } from './support/market-pair.js';
import { type RedisPlace, redisPlaces } from './support/redis-cluster.js';
import { overSse } from './support/streams.js';
import { until } from './support/until.js';

const env = { SESSION_SECRET: 's'.repeat(40) };
const bearerless = { 'x-api-key': 'demo-key-markets-only' };

let sandbox: Sandbox;
let one: TestGateway;
let other: TestGateway;

beforeAll(async () => {
  sandbox = await startSandbox({ publishMs: 60_000 });
});

afterAll(() => sandbox.close());

beforeEach(() => sandbox.reset());

const recordCalls = () => recordCallsOf(sandbox);

describe.each(redisPlaces)('over %s, after a write through one gateway', (_, startPlace) => {
  let place: RedisPlace;
  beforeAll(async () => {
    place = await startPlace();
    [one, other] = await startPair(sandbox, place.url);
  });
  afterAll(async () => {
    await Promise.all([one.close(), other.close()]);
    await place.stop();
  });

  test('the next read through another is fresh, for every credential', async () => {
    for (const gateway of [one, other]) {
      await gateway.query(readMarket);
      await gateway.query(readMarket, {}, bearerless);
    }
    sandbox.calls.clear();
    await one.query(readMarket);
    await other.query(readMarket, {}, bearerless);
    expect(recordCalls()).toBe(0);

    const { data, errors } = await one.query(publishMarket);
    expect(errors).toBeUndefined();
    const ids = data.publishMarket.jobs.map(({ id }: { id: string }) => id);
    for (const headers of [undefined, bearerless]) {
      for (const gateway of [other, one]) {
        const after = await gateway.query(readMarket, {}, headers);
        expect(after.data.market.jobs.map(({ id }: { id: string }) => id)).toEqual(ids);
      }
    }
    expect(recordCalls()).toBe(2);
  });

  test('what was read of other markets is still kept', async () => {
    const neighbour = '{ market(id: 1) { name } }';
    await one.query(neighbour);
    sandbox.calls.clear();
    await one.query(publishMarket);
    await other.query(neighbour);
    expect(sandbox.calls.count(/\/dev\/markets\/1$/)).toBe(0);
  });

  test('a read that was under way answers those who asked before, and no one after', async () => {
    await one.query(publishMarket);
    sandbox.calls.clear();
    sandbox.tell({ path: /\/dev\/markets/, delayMs: 400, times: 1 });
    const early = other.query(`{ market(id: ${market}) { name } }`);
    await until(() => recordCalls() === 1);
    await one.query(
      `mutation { reviewCompanies(input: { marketId: ${market}, reviewStatus: INCLUDE, target: { all: true } }) { marketId } }`,
    );
    sandbox.calls.clear();
    await other.query(`{ market(id: ${market}) { name } }`);
    expect(recordCalls()).toBe(1);
    expect((await early).errors).toBeUndefined();
  });

  test('whose outcome is unknown, what was kept is stale', async () => {
    await one.query(readMarket);
    sandbox.tell({ path: /publish$/, breakConnection: 'after-headers', times: 1 });
    await one.query(publishMarket);
    sandbox.calls.clear();
    await other.query(readMarket);
    expect(recordCalls()).toBe(1);
  });
});

describe.each(redisPlaces)('over %s, what a subscription has delivered', (_, startPlace) => {
  let place: RedisPlace;
  beforeAll(async () => {
    place = await startPlace();
    [one, other] = await startPair(sandbox, place.url, { POLL_INTERVAL_MS: '100' });
  });
  afterAll(async () => {
    await Promise.all([one.close(), other.close()]);
    await place.stop();
  });

  const updates = 'subscription ($after: String) { eventUpdates(after: $after) { cursor event { title } } }';

  test.each([
    ['live', false, '{ maxSeverity: 3 }'],
    ['after a cursor', true, '{ maxLikelihood: 3 }'],
  ])('%s is in the next list, and in the next counts, through each gateway', async (title, isAway, filter) => {
    const readEvents = `{
      events(first: 3, filter: ${filter}) { totalCount nodes { title } } eventStatistics(filter: ${filter}) { total counted }
    }`;
    const before = (await one.query(readEvents)).data.events.totalCount;
    let heard = overSse(one.url, { query: updates });
    await until(() => heard.results.length === 1);
    const [{ data }] = heard.results;
    if (isAway) heard.stop();
    for (const gateway of [one, other]) await gateway.query(readEvents);
    sandbox.publishEvent({ title });
    if (isAway) heard = overSse(one.url, { query: updates, variables: { after: data.eventUpdates.cursor } });
    await until(() => heard.results.some(result => result.data.eventUpdates.event?.title === title));
    for (const gateway of [other, one]) {
      const after = (await gateway.query(readEvents)).data;
      expect(after.events.nodes[0].title).toBe(title);
      expect(after.events.totalCount).toBe(before + 1);
      expect(after.eventStatistics).toEqual({ total: before + 1, counted: before + 1 });
    }
    heard.stop();
  });
});

test('when the end of a publication is told, what it changed is to be seen', async () => {
  const quick = await startSandbox({ publishMs: 800 });
  const gateway = await startGateway({ sandbox: quick, env: { ...env, POLL_INTERVAL_MS: '200' } });
  try {
    const companies = '{ market(id: 2) { companies(first: 1) { totalCount nodes { domain } } } }';
    const before = (await gateway.query(companies)).data.market.companies;
    const target = `{ domains: ["${before.nodes[0].domain}"] }`;
    await gateway.query(
      `mutation { reviewCompanies(input: { marketId: 2, reviewStatus: EXCLUDE, target: ${target} }) { marketId }
                  publishMarket(input: { marketId: 2 }) { marketId } }`,
    );
    const heard = overSse(gateway.url, {
      query: 'subscription { jobProgress(marketId: 2, phase: PUBLISH) { finished } }',
    });
    expect((await gateway.query(companies)).data.market.companies).toEqual(before);
    expect(await heard.ended).toBeUndefined();
    expect((await gateway.query(companies)).data.market.companies.totalCount).toBe(before.totalCount - 1);
  } finally {
    await gateway.close();
    await quick.close();
  }
});
