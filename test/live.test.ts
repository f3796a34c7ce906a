import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { Scope } from '../src/auth/credentials.js';
import type { Generation } from '../src/data/cache/generations.js';
import { present } from '../src/data/parsing.js';
import { localPollStore } from '../src/data/polling/poll-store.js';
import { askedPauseMs, Poller, type PollerDeps, pauseAfter, type Watched } from '../src/data/polling/poller.js';
import { createPolling } from '../src/data/polling/polling.js';
import { connectRedis } from '../src/data/redis.js';
import {
  estimatedEnd,
  measured,
  nextHistory,
  overallProgress,
  type ProgressHistory,
} from '../src/domains/discovery/estimate.js';
import { jobProgress } from '../src/domains/discovery/feed.js';
import type { Job } from '../src/domains/discovery/model.js';
import { Forbidden, RateLimited, UpstreamUnavailable } from '../src/errors.js';
import { MemoryBudget } from '../src/lib/memory-budget.js';
import { cleanups } from './support/cleanups.js';
import { collectGarbage } from './support/collect-garbage.js';
import { sharedRedisUrl } from './support/redis.js';
import { acceptedScopes, sharedStore } from './support/shared-store.js';
import { silentTelemetry } from './support/silent-telemetry.js';
import { until } from './support/until.js';

const polling = (intervalMs: number, maxTopics?: number) =>
  createPolling(
    undefined,
    { intervalMs, telemetry: silentTelemetry, acceptedScopes, budget: new MemoryBudget() },
    maxTopics,
  );

const watchedWith = (ask: Watched<number>['ask']): Watched<number> => ({
  ask,
  same: (one, other) => one === other,
  isFinal: () => false,
  generation: async () => 'first',
});

const scope = () => randomUUID() as Scope;

test('limits how many topics one scope watches, and not the other scopes', async () => {
  const live = polling(300, 2);
  const watched = watchedWith(async () => 1);
  const [whose, other] = [scope(), scope()];
  const leaving = new AbortController();
  const watch = (by: Scope, key: string, { signal } = leaving) => live.watch(by, key, watched, signal);
  const firstLeaves = new AbortController();
  const first = await watch(whose, 'one', firstLeaves);
  await watch(whose, 'two');
  await watch(whose, 'two');
  await expect(watch(whose, 'three')).rejects.toBeInstanceOf(RateLimited);
  await watch(other, 'three');
  firstLeaves.abort();
  await first[Symbol.asyncIterator]().next();
  await watch(whose, 'three');
  leaving.abort();
  await live.close();
});

test('never polls faster than the interval, and slower without changes and after failures', () => {
  for (const result of ['changed', 'same', 'failed'] as const) {
    const pauses = [1, 2, 3, 4, 5, 6, 7].map(inARow => pauseAfter(result, inARow, 1_000, () => 0));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(1_000);
    expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
  }
  expect(pauseAfter('same', 9, 1_000, () => 0)).toBe(2_000);
  expect(pauseAfter('failed', 1, 1_000, () => 0)).toBe(2_000);
  expect(pauseAfter('failed', 9, 1_000, () => 0)).toBe(4_000);
  expect(pauseAfter('changed', 1, 1_000, () => 0.99)).toBeGreaterThan(1_000);
  // Listeners are told of a state that is older than three intervals: a poller that is well must be faster.
  expect(pauseAfter('same', 99, 1_000, () => 1)).toBeLessThan(3_000);
});

test('waits for as long as the service asks, but no longer than five minutes', () => {
  const asking = (retryAfterSeconds?: number) =>
    new UpstreamUnavailable('Down', { status: 503, errorCode: null, retryAfterSeconds });
  expect([undefined, 0, 60, 300, 3_600, 86_400].map(seconds => askedPauseMs(asking(seconds)))).toEqual([
    0, 0, 60_000, 300_000, 300_000, 300_000,
  ]);
  expect(askedPauseMs(new Error('No word of a pause'))).toBe(0);
});

test('does not poll before the time that the service asked for with an error', async () => {
  const live = polling(50);
  const asked: number[] = [];
  const watched = watchedWith(async () => {
    asked.push(performance.now());
    if (asked.length > 1) return 7;
    throw new UpstreamUnavailable('Down', { status: 503, errorCode: null, retryAfterSeconds: 1 });
  });
  const leaving = new AbortController();
  for await (const { state } of await live.watch(scope(), 'one', watched, leaving.signal)) {
    expect(state).toBe(7);
    break;
  }
  const [refused = 0, next = 0] = asked;
  expect(next - refused).toBeGreaterThanOrEqual(900);
  leaving.abort();
  await live.close();
});

/** The polling of one gateway of a fleet. */
async function pollingInFleet(accepted: PollerDeps['acceptedScopes'] = acceptedScopes) {
  const redis = connectRedis([sharedRedisUrl()], () => {});
  cleanups.push(() => redis.disconnect());
  await until(() => redis.status === 'ready');
  const deps = { telemetry: silentTelemetry, acceptedScopes: accepted, budget: new MemoryBudget() };
  const live = createPolling(sharedStore(redis), { ...deps, intervalMs: 300 });
  cleanups.push(() => live.close());
  return live;
}

test('lets another gateway poll where its own polls fail, after the pause that the service asked for', async () => {
  const [broken, well] = [await pollingInFleet(), await pollingInFleet()];
  const leaving = new AbortController();
  const whose = scope();
  const failures: number[] = [];
  const watched = watchedWith(async () => {
    failures.push(performance.now());
    throw new UpstreamUnavailable('Down', { status: 503, errorCode: null, retryAfterSeconds: 1 });
  });
  await broken.watch(whose, 'one', watched, leaving.signal);
  await until(() => failures.length > 0);
  const heard = (
    await well.watch(
      whose,
      'one',
      watchedWith(async () => performance.now()),
      leaving.signal,
    )
  )[Symbol.asyncIterator]();
  const { value } = await heard.next();
  expect((value?.state ?? 0) - (failures.at(-1) as number)).toBeGreaterThanOrEqual(900);
  leaving.abort();
});

test.each(['there is no other gateway', 'Redis is away'])('leaves the lock to nobody where %s', async where => {
  const away = connectRedis(['redis://127.0.0.1:1'], () => {});
  cleanups.push(() => away.disconnect());
  const changes: string[] = [];
  const telemetry = { ...silentTelemetry, poller: (change: string) => void changes.push(change) };
  const shared = where === 'Redis is away' ? sharedStore(away) : undefined;
  const live = createPolling(shared, { intervalMs: 50, telemetry, acceptedScopes, budget: new MemoryBudget() });
  const leaving = new AbortController();
  let asked = 0;
  const watched = watchedWith(async () => {
    asked += 1;
    throw new UpstreamUnavailable('Down', { status: 503, errorCode: null });
  });
  await live.watch(scope(), 'one', watched, leaving.signal);
  await until(() => asked === 3);
  expect(changes).toEqual(['taken']);
  leaving.abort();
  await live.close();
});

test.each(['the lock', 'the generation'])(
  'does not take back the lock that it leaves to others while it waits for %s',
  async what => {
    let letGo = () => {};
    const held = new Promise<void>(resolve => {
      letGo = resolve;
    });
    let asked = 0;
    let locked = 0;
    let released = 0;
    const waitFor = async (which: string) => {
      if (which === what && asked === 1 && released === 0) await held;
    };
    const store: PollerDeps['store'] = {
      ...localPollStore(300),
      isShared: true,
      lockMs: 1_500,
      async lock() {
        locked += 1;
        await waitFor('the lock');
        return true;
      },
      async release() {
        released += 1;
      },
    };
    const watched = {
      ...watchedWith(async () => {
        asked += 1;
        throw new UpstreamUnavailable('Down', { status: 503, errorCode: null });
      }),
      async generation() {
        await waitFor('the generation');
        return 'one';
      },
    };
    const deps = { store, intervalMs: 300, telemetry: silentTelemetry, budget: new MemoryBudget(), acceptedScopes };
    const poller = new Poller(scope(), 'one', watched as Watched<unknown>, deps, () => {});
    await until(() => released === 1);
    const before = locked;
    letGo();
    await sleep(200);
    expect({ asked, locked }).toEqual({ asked: 1, locked: before });
    await until(() => asked === 2);
    await poller.stop();
  },
);

test('does not poll jobs before their time because another token is proposed for their market', async () => {
  const live = createPolling(undefined, {
    intervalMs: 120_000,
    telemetry: silentTelemetry,
    acceptedScopes: { has: () => false },
    budget: new MemoryBudget(),
  });
  let generation: Generation = { token: 'one', state: 'proposed' };
  let asked = 0;
  const endOverdue = () => {
    asked += 1;
    throw new UpstreamUnavailable('Down', { status: 503, errorCode: null, retryAfterSeconds: 60 });
  };
  const cache = { generations: { current: async () => generation } };
  const leaving = new AbortController();
  const auth = { scope: scope(), cancellation: leaving };
  const subscribe = () =>
    jobProgress('7', 'DISCOVERY')({ polling: live, cache, watches: { endOverdue } } as never, auth as never);
  await subscribe();
  await until(() => asked === 1);
  for (const token of ['two', 'three']) {
    generation = { token, state: 'proposed' };
    await subscribe();
    await sleep(20);
  }
  expect(asked).toBe(1);
  // Somebody has written.
  generation = { token: 'four', state: 'settled' };
  await subscribe();
  await until(() => asked === 2);
  leaving.abort();
  await live.close();
});

test('tells the other gateways nothing of a credential that the service has accepted for them, and not here', async () => {
  const whose = scope();
  const leaving = new AbortController();
  const watch = async (has: boolean, ask: Watched<number>['ask']) =>
    (await pollingInFleet({ has: () => has })).watch(whose, 'one', watchedWith(ask), leaving.signal);
  let found = 1;
  const states = (await watch(true, async () => found))[Symbol.asyncIterator]();
  expect(await states.next()).toMatchObject({ value: { state: 1 } });
  const refused = await watch(false, async () => {
    throw new Forbidden('Not subscribed');
  });
  const hearAll = async () => {
    for await (const _ of refused);
  };
  await expect(hearAll()).rejects.toThrow(Forbidden);
  found = 2;
  await until(
    async () => (await states.next()).value?.state,
    state => state === 2,
  );
  leaving.abort();
});

test('forgets the state of what nobody watches any more once its time is over, without another state', async () => {
  const store = localPollStore(100);
  const read = () => store.read('topic', 'first');
  async function publish() {
    const state = { updates: Array.from({ length: 1_000 }, (_, id) => ({ id })) };
    await store.publish('topic', { kind: 'state', state, observedAt: 1, order: 1, generation: 'first' });
    return new WeakRef(state);
  }
  const state = await publish();
  await store.release('topic', 'first');
  expect(await read()).toMatchObject({ order: 1 });
  await until(() => {
    collectGarbage();
    return state.deref() === undefined;
  });
  expect(await read()).toBeUndefined();
});

const minute = 60_000;

/** A job of a recorded course; `null`: the job shows no progress, `'done'`: it has ended. */
type Recorded = number | null | 'done';

function job(id: number, recorded: Recorded): Job {
  const finished = recorded === 'done';
  const progress = finished ? 100 : recorded;
  const rest = {
    completion: null,
    marketId: '1',
    phase: 'DISCOVERY',
    workflowName: null,
    startTime: null,
    status: null,
  } as const;
  return { id: String(id), progress, endTime: null, finished, ...rest };
}

/** What clients see at each poll of a course, polled once a minute: the progress, and the minutes that remain. */
function replay(course: readonly (readonly Recorded[])[]) {
  let history: ProgressHistory | undefined;
  return course.map((recorded, index) => {
    const [jobs, at] = [recorded.map((value, id) => job(id, value)), index * minute];
    history = nextHistory(history, jobs, at);
    const end = estimatedEnd(jobs, history, at);
    expect(end ?? at).toBeGreaterThanOrEqual(at);
    return [overallProgress(present(measured(jobs, history.scale)), 0), end === null ? null : (end - at) / minute];
  });
}

test('a steady course in percent is estimated from the second poll on', () => {
  expect(replay([[0], [10], [20], [50], [100], ['done']])).toEqual([
    [0, null],
    [0.1, 9],
    [0.2, 8],
    [0.5, 3],
    [1, 0],
    [1, null],
  ]);
});

test('noise in the progress is no pace', () => {
  expect(replay([[30], [30.000000000000004], [40]])).toEqual([
    [0.3, null],
    [0.30000000000000004, null],
    [0.4, expect.closeTo(12)],
  ]);
});

test('a course in shares of 1 is read like one in percent', () => {
  expect(replay([[0], [0.25], [0.5]])).toEqual([
    [0, null],
    [0.25, 3],
    [0.5, 2],
  ]);
});

test('a progress of 1 is not read until another value shows the scale', () => {
  expect(replay([[1], [1], [21]])).toEqual([
    [null, null],
    [null, null],
    [0.21, expect.closeTo(7.9)],
  ]);
});

test('percentages below 1 do not change a scale that is known to be percent', () => {
  expect(replay([[50], [0.5], [25.25]]).map(([progress]) => progress)).toEqual([0.5, 0.005, 0.2525]);
});

test('the slowest job decides, and the progress is the mean of all jobs', () => {
  expect(
    replay([
      [0, 0],
      [50, 10],
      ['done', 20],
    ]),
  ).toEqual([
    [0, null],
    [0.3, 9],
    [0.6, 8],
  ]);
});

test('a job that stands still moves the estimate further away', () => {
  expect(replay([[10], [30], [30], [30]]).map(([, minutes]) => minutes)).toEqual([null, 3.5, 7, 10.5]);
});

test('a job that begins from the start is observed from there again', () => {
  expect(replay([[40], [80], [0], [10]]).map(([, minutes]) => minutes)).toEqual([null, 0.5, null, 9]);
});

test('there is no estimate while a running job shows no progress, or one that cannot be read', () => {
  expect(
    replay([
      [0, null],
      [50, null],
      [60, 120],
      [70, -5],
    ]),
  ).toEqual([
    [0, null],
    [0.5, null],
    [0.6, null],
    [0.7, null],
  ]);
});

test('there is nothing to estimate without jobs', () => {
  expect(replay([[], ['done']])).toEqual([
    [null, null],
    [1, null],
  ]);
});

test('the completion of a job is what its own list shows of the scale', () => {
  const completions = (...recorded: Recorded[]) =>
    present(measured(recorded.map((value, id) => job(id, value)))).map(({ completion }) => completion);
  expect(completions(50, 0.5, 0, 'done', null, 120, -5)).toEqual([0.5, 0.005, 0, 1, null, null, null]);
  expect(completions(0.25, 1, 0)).toEqual([0.25, 1, 0]);
  expect(completions(1, 0)).toEqual([null, 0]);
});
