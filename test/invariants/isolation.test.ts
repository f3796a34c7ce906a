import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { moveMs } from '../../src/data/redis.js';
import { fuzz, fuzzMs } from '../support/fuzz.js';
import { addressesOn, ask, startGateway, type TestGateway } from '../support/gateway.js';
import { counted } from '../support/metrics.js';
import { allRedisPlaces, type RedisPlace } from '../support/redis-cluster.js';
import type { Draw } from '../support/seeded.js';
import { overWebsocket } from '../support/streams.js';
import { reply, type StubService, startStubService } from '../support/stub-service.js';
import { until } from '../support/until.js';
import { eventMeta } from '../support/wire.js';

/** An upstream service that puts its own mark into everything it answers. */
async function startMarked(mark: string): Promise<StubService> {
  return startStubService(({ url = '' }, response, count) => {
    const path = url.split('?')[0] ?? '';
    if (path.endsWith('/events')) {
      const meta = eventMeta(new URL(url, 'http://service'), 1);
      return reply(response, 200, {
        meta,
        data: [{ _id: `e-${count}`, title: mark, lastUpdated: new Date().toISOString() }],
      });
    }
    if (path.endsWith('/jobs')) {
      return reply(response, 200, { data: [{ jobId: 1, workflowName: mark, jobProgress: count % 100 }] });
    }
    return reply(response, 200, path.includes('/dev/') ? { id: path.split('/').at(-1), name: mark } : {});
  });
}

/** A gateway of a fleet of its own, and what its upstream service calls itself. */
interface Fleet {
  readonly name: string;
  readonly gateway: TestGateway;
  readonly service: StubService;
  readonly mark: string;
}

const sameForAll = {
  SESSION_SECRET: 'one secret for all fleets of these tests',
  POLL_INTERVAL_MS: '100',
  MAX_EVENT_LOOP_DELAY_MS: '60000',
};
const headers = { 'x-api-key': 'the-same-key-everywhere' };
let markets = 0;

describe.each(allRedisPlaces)('over %s', (placeName, startPlace) => {
  let place: RedisPlace;
  let services: readonly StubService[] = [];
  let fleets: readonly Fleet[] = [];

  beforeAll(async () => {
    place = await startPlace();
    const marks = ['alpha', 'bravo', 'charlie'];
    services = await Promise.all(marks.map(startMarked));
    // A Cluster has one database.
    const layout =
      placeName === 'one Redis'
        ? [
            [0, 0],
            [1, 1],
            [1, 2],
            [0, 2],
          ]
        : [
            [0, 0],
            [0, 1],
          ];
    fleets = await Promise.all(
      layout.map(async ([database = 0, at = 0]): Promise<Fleet> => {
        const [service, mark = ''] = [services[at] as StubService, marks[at]];
        const gateway = await startGateway({
          redisUrl: database === 0 ? place.url : `${place.url}/${database}`,
          env: {
            ...sameForAll,
            ...addressesOn(service.origin),
          },
        });
        return { name: `database ${database} over ${mark}`, gateway, service, mark };
      }),
    );
  });
  afterAll(async () => {
    await Promise.all(fleets.map(({ gateway }) => gateway.close()));
    await Promise.all(services.map(service => service.close()));
    await place?.stop();
  });

  /** How many commands of its Redis each fleet saw fail before the round. */
  const faultsBefore = new Map<Fleet, number>();
  const redisFaults = ({ gateway }: Fleet) => counted(gateway.url, 'gateway_redis_faults_total');

  /**
   * One fleet answers with its own data, and makes so many calls. More are right if its Redis did not answer in time on a busy machine, now
   * or earlier in the round: what could not be stored then is missing now.
   */
  async function expectOwn(fleet: Fleet, query: string, expected: number): Promise<void> {
    const { name, mark, gateway, service } = fleet;
    const before = service.calls.length;
    const { data, errors } = await ask(`${gateway.url}/graphql`, query, {}, headers);
    expect(errors).toBeUndefined();
    const calls = service.calls.length - before;
    const hadRedis = (await redisFaults(fleet)) === faultsBefore.get(fleet);
    expect({
      name,
      marks: [data.market?.name, data.events?.nodes[0].title],
      calls: hadRedis ? calls : expected,
    }).toEqual({
      name,
      marks: [mark, mark],
      calls: expected,
    });
  }

  /** Whether each fleet polls so many topics. */
  async function allPoll(count: number): Promise<boolean> {
    const pollers = await Promise.all(fleets.map(({ gateway }) => counted(gateway.url, 'gateway_live_pollers')));
    return pollers.every(each => each === count);
  }

  async function round(draw: Draw): Promise<void> {
    markets += 1;
    const id = markets;
    const order = [...fleets].sort(() => draw.next() - 0.5);
    for (const fleet of fleets) {
      const faults = await redisFaults(fleet);
      // A gateway that lost its connection on a busy machine trusts no generation for a while.
      if (faults !== (faultsBefore.get(fleet) ?? faults)) await sleep(moveMs);
      faultsBefore.set(fleet, faults);
    }
    const query = `{ market(id: ${id}) { name } events(first: 3, filter: { impactedEntities: ["c${id}"] }) { nodes { title } } }`;
    const other = query.replace('{', 'query Other {');

    // A fleet that finds what another one keeps makes no call.
    for (const fleet of order) await expectOwn(fleet, query, 2);
    for (const fleet of order) await expectOwn(fleet, other, 0);

    // A write voids what its own fleet keeps, and nothing else.
    const writer = draw.pick(fleets);
    const review = `mutation { reviewCompanies(input: { marketId: ${id}, reviewStatus: INCLUDE, target: { all: true } }) { marketId } }`;
    const written = await ask(`${writer.gateway.url}/graphql`, review, {}, headers);
    expect(written.errors).toBeUndefined();
    for (const fleet of order) await expectOwn(fleet, query, fleet === writer ? 1 : 0);

    // Each fleet polls for its own listeners, who hear of no one else's states.
    const subscriptions = [
      `subscription { jobProgress(marketId: ${id}) { jobs { workflowName progress } } }`,
      `subscription { eventUpdates(filter: { impactedEntities: ["c${id}"] }) { event { id title } } }`,
    ];
    const listeners = order.flatMap(fleet =>
      subscriptions.map(subscription => ({
        fleet,
        heard: overWebsocket(fleet.gateway.url, { query: subscription }, { params: headers }),
      })),
    );
    await until(() => listeners.every(({ heard }) => heard.results.length >= 3));
    for (const { fleet, heard } of listeners) {
      const marks = heard.results.flatMap(
        ({ data }) => data?.jobProgress?.jobs[0].workflowName ?? data?.eventUpdates.event?.title ?? [],
      );
      expect([fleet.name, ...new Set(marks)]).toEqual([fleet.name, fleet.mark]);
    }
    // All at the same time, which no two that share a lock could. A lock that ran out on a busy machine is taken again.
    await until(() => allPoll(subscriptions.length));
    for (const { heard } of listeners) heard.stop();
    await until(() => allPoll(0));
  }

  test('fleets on other databases or over other upstream services share nothing', async () => {
    await fuzz(round, fuzzMs / allRedisPlaces.length);
  });
});
