import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { Scope } from '../src/auth/credentials.js';
import { localPollStore, type PollStore } from '../src/data/polling/poll-store.js';
import { askedPauseMs, pauseAfter, type Watched } from '../src/data/polling/poller.js';
import { createPolling, type Polling } from '../src/data/polling/polling.js';
import { redisPollStore } from '../src/data/polling/redis-poll-store.js';
import type { StateMessage } from '../src/data/polling/state-message.js';
import type { TopicSubscription } from '../src/data/polling/topic.js';
import { connectRedis } from '../src/data/redis.js';
import { Forbidden, NotFound, RateLimited, Unauthenticated, UpstreamUnavailable } from '../src/errors.js';
import { type RedisServer, startRedis } from './support/redis.js';
import { isClusterRun, type RedisPlace, startCluster, startSingle } from './support/redis-cluster.js';
import { acceptedScopes, sharedStore } from './support/shared-store.js';
import { silentTelemetry } from './support/silent-telemetry.js';
import { until } from './support/until.js';

const intervalMs = 300;
const counts = () => {
  const counted = { pollers: 0, taken: 0, lost: 0, released: 0 };
  return {
    counted,
    telemetry: {
      ...silentTelemetry,
      poller: (change: 'taken' | 'lost' | 'released') => {
        counted[change] += 1;
        counted.pollers += change === 'taken' ? 1 : -1;
      },
    },
  };
};

/** A source whose state is a number, and final from 100 on. */
function source(initial = 1) {
  const asked: { at: number; previous: number | undefined }[] = [];
  const of: {
    value: number | Error;
    delayMs: number;
    generation: string | undefined;
    readonly asked: typeof asked;
    /** How many calls have ended. */
    settled: number;
    readonly watched: Watched<number>;
  } = {
    value: initial,
    delayMs: 0,
    generation: 'first',
    asked,
    settled: 0,
    watched: {
      async ask(previous, signal) {
        asked.push({ at: performance.now(), previous });
        const { value } = of;
        try {
          if (of.delayMs > 0) await sleep(of.delayMs, undefined, { signal });
        } finally {
          of.settled += 1;
        }
        if (value instanceof Error) throw value;
        return value;
      },
      same: (one, other) => one === other,
      isFinal: state => state >= 100,
      generation: async () => of.generation,
    },
  };
  return of;
}

const scope = (name = randomUUID()) => name as Scope;

const both = <T>(value: T): [T, T] => [value, value];

/** Collects what a listener hears; `ended` resolves with the error, or undefined. */
function listen(live: Polling, whose: Scope, from: { watched: Watched<number> }) {
  const leaving = new AbortController();
  const heard: number[] = [];
  const times: number[] = [];
  const ended = (async () => {
    try {
      for await (const { state, observedAt } of await live.watch(whose, 'one', from.watched, leaving.signal)) {
        heard.push(state);
        times.push(observedAt);
      }
      return undefined;
    } catch (error) {
      return error as Error;
    }
  })();
  return { heard, times, ended, leave: () => leaving.abort() };
}

test('limits how many topics one scope watches, and not the other scopes', async () => {
  const live = createPolling(
    { store: localPollStore(intervalMs), intervalMs, telemetry: silentTelemetry, acceptedScopes },
    2,
  );
  const { watched } = source();
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
  await readerOf(first).next();
  await watch(whose, 'three');
  leaving.abort();
  await live.close();
});

const readerOf = <T>(subscription: TopicSubscription<T>) => subscription[Symbol.asyncIterator]();

describe('A poller', () => {
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
    const live = createPolling({
      store: localPollStore(50),
      intervalMs: 50,
      telemetry: silentTelemetry,
      acceptedScopes,
    });
    const from = source();
    from.value = new UpstreamUnavailable('Down', { status: 503, errorCode: null, retryAfterSeconds: 1 });
    const listener = listen(live, scope(), from);
    await until(() => from.asked.length === 1);
    from.value = 7;
    await until(() => listener.heard.length === 1);
    const [refused, next] = from.asked;
    expect((next?.at ?? 0) - (refused?.at ?? 0)).toBeGreaterThanOrEqual(998);
    listener.leave();
    await live.close();
  });
});

const pollingPlaces = isClusterRun ? ['over a Redis Cluster'] : ['in one process', 'over Redis'];

describe.each(pollingPlaces)('Polling %s', place => {
  let server: RedisPlace | undefined;
  let closing: (() => void)[] = [];

  beforeAll(async () => {
    if (place === 'over Redis') server = await startSingle();
    if (place === 'over a Redis Cluster') server = await startCluster();
  });
  afterAll(() => server?.stop());
  afterEach(() => {
    for (const close of closing) close();
    closing = [];
  });

  async function readyStore(storeMs = intervalMs): Promise<PollStore> {
    if (place === 'in one process') return localPollStore(storeMs);
    const redis = connectRedis(server?.urls ?? [], () => {});
    const store = redisPollStore(sharedStore(redis), storeMs);
    closing.push(() => {
      store.close();
      redis.disconnect();
    });
    await until(() => store.claim(randomUUID(), '', 'nobody').catch(() => false));
    return store;
  }

  const word = (order: number, state = order, kind: 'state' | 'final' = 'state'): StateMessage<number> => ({
    kind,
    state,
    observedAt: 1,
    generation: 'first',
    order,
  });

  if (place !== 'in one process') {
    test('gives a claim to one gateway at a time, until it is given back or runs out', async () => {
      const [one, other] = [await readyStore(), await readyStore()];
      const topic = randomUUID();
      expect(await one.claim(topic, 'first', 'a')).toBe(true);
      expect(await other.claim(topic, 'first', 'b')).toBe(false);
      expect(await one.claim(topic, 'first', 'a')).toBe(true);
      // What was written since has no poller yet.
      expect(await other.claim(topic, 'second', 'b')).toBe(true);
      await other.release(topic, 'first', 'b');
      expect(await other.claim(topic, 'first', 'b')).toBe(false);
      await one.release(topic, 'first', 'a');
      expect(await other.claim(topic, 'first', 'b')).toBe(true);
      await until(() => one.claim(topic, 'first', 'a'));
      expect(await other.claim(topic, 'first', 'b')).toBe(false);
    });

    test('ignores a state that was signed for another topic', async () => {
      const store = await readyStore();
      const [topic, other] = [randomUUID(), randomUUID()];
      await store.publish(topic, word(1));
      const redis = connectRedis(server?.urls ?? [], () => {});
      closing.push(() => redis.disconnect());
      await until(() => redis.status === 'ready');
      const key = (name: string) => `mig:live:${sharedStore(redis).namespace}:{${name}}:first:state`;
      await redis.set(key(other), (await redis.get(key(topic))) ?? '');
      expect(await store.read(topic, 'first')).toEqual(word(1));
      expect(await store.read(other, 'first')).toBeUndefined();
    });
  }

  test('stores the last state of each generation and the final state for later listeners, and no refusal', async () => {
    // Long enough to read what is stored for one interval.
    const start = () => readyStore(2_000);
    const [one, other] = place === 'in one process' ? both(await start()) : [await start(), await start()];
    const topic = randomUUID();
    await one.publish(topic, word(1));
    expect(await other.read(topic, 'first')).toEqual(word(1));
    expect(await other.read(topic, 'second')).toBeUndefined();
    await one.publish(topic, word(2, 100, 'final'));
    expect(await other.read(topic, 'first')).toMatchObject({ kind: 'final', state: 100 });
    await until(async () => (await one.read(topic, 'first')) === undefined);
    await one.publish(topic, word(3));
    const refused = { kind: 'refused', code: 'NOT_FOUND', message: 'No', upstream: null } as const;
    await other.publish(topic, { ...refused, generation: 'first', order: 4 });
    expect(await one.read(topic, 'first')).toBeUndefined();
  });

  /** Two gateways; without Redis there is only one. */
  async function readyFleet() {
    const { counted, telemetry } = counts();
    const start = async () => createPolling({ store: await readyStore(), intervalMs, telemetry, acceptedScopes });
    const first = await start();
    const second = place === 'in one process' ? first : await start();
    return { first, second, counted, close: () => Promise.all([first.close(), second.close()]) };
  }

  test('serves all listeners of all processes with one poller, and a late one without a call', async () => {
    const { first, second, counted, close } = await readyFleet();
    const whose = scope();
    const from = source();
    const early = [listen(first, whose, from), listen(first, whose, from)];
    await until(() => early.every(({ heard }) => heard.length === 1));
    const [calls, since] = [from.asked.length, performance.now()];
    const late = listen(second, whose, from);
    await until(() => late.heard.length === 1);
    expect(from.asked.length).toBeLessThanOrEqual(calls + 1 + (performance.now() - since) / intervalMs);
    from.value = 2;
    await until(() => [...early, late].every(({ heard }) => heard.at(-1) === 2));
    await until(() => counted.pollers === 1);
    from.value = 100;
    expect(await Promise.all([...early, late].map(({ ended }) => ended))).toEqual([undefined, undefined, undefined]);
    for (const { heard } of [...early, late]) expect(heard).toEqual([1, 2, 100]);
    expect(counted.pollers).toBe(0);
    const gaps = from.asked.slice(1).map(({ at }, index) => at - (from.asked[index]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(intervalMs - 2);
    await close();
  });

  test('ends all listeners of the fleet with the refusal after one call', async () => {
    const { first, second, counted, close } = await readyFleet();
    for (const refusal of [
      new Unauthenticated('No', { status: 401, errorCode: 'UNAUTHORISED' }),
      new Forbidden('No', { status: 403, errorCode: 'FORBIDDEN' }),
      new NotFound('No'),
    ]) {
      const whose = scope();
      const from = source();
      const listeners = [listen(first, whose, from), listen(second, whose, from)];
      await until(() => listeners.every(({ heard }) => heard.length === 1));
      const before = from.asked.length;
      const claims = counted.taken;
      from.value = refusal;
      const errors = await Promise.all(listeners.map(({ ended }) => ended));
      for (const error of errors) {
        expect(error).toBeInstanceOf(refusal.constructor);
        expect(error).toMatchObject({ message: 'No', extensions: refusal.extensions });
      }
      expect(from.asked.length).toBeGreaterThan(before);
      // Where the machine paused for as long as a claim lasts, the gateway that took over has asked too.
      expect(from.asked.length).toBeLessThanOrEqual(before + 1 + counted.taken - claims);
    }
    await close();
  });
});

describe('Polling over a failing Redis', () => {
  let server: RedisServer;
  const redises: Redis[] = [];
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    for (const redis of redises) redis.disconnect();
    await server.stop();
  });

  async function member() {
    const { counted, telemetry } = counts();
    const redis = connectRedis([server.url], () => {}) as Redis;
    redises.push(redis);
    await until(() => redis.status === 'ready');
    const live = createPolling({
      store: redisPollStore(sharedStore(redis), intervalMs),
      intervalMs,
      telemetry,
      acceptedScopes,
    });
    return { live, counted, redis };
  }

  test('keeps streams through a restart without its data, with one poller afterwards', async () => {
    const [one, other] = [await member(), await member()];
    const whose = scope();
    const from = source();
    const listeners = [listen(one.live, whose, from), listen(other.live, whose, from)];
    await until(() => listeners.every(({ heard }) => heard.at(-1) === 1));
    await server.kill();
    from.value = 2;
    // Alone, each asks for its own.
    await until(() => listeners.every(({ heard }) => heard.at(-1) === 2));
    await server.restart();
    await until(() => one.counted.pollers + other.counted.pollers === 1);
    from.value = 3;
    await until(() => listeners.every(({ heard }) => heard.at(-1) === 3));
    from.value = 100;
    await Promise.all(listeners.map(({ ended }) => ended));
    for (const { heard } of listeners) expect(heard).toEqual([...heard].sort((a, b) => a - b));
    await one.live.close();
    await other.live.close();
  });

  test('uses one subscriber connection for each process, and leaves no subscriptions or keys', async () => {
    const { live, redis } = await member();
    const watching = Array.from({ length: 20 }, () => listen(live, scope(), source()));
    await until(() => watching.every(({ heard }) => heard.length === 1));
    const subscribers = async () =>
      String(await redis.client('LIST'))
        .split('\n')
        .filter(line => / sub=[1-9]/.test(line)).length;
    await until(async () => (await subscribers()) > 0);
    expect(await subscribers()).toBe(1);
    for (const { leave } of watching) leave();
    await until(async () => ((await redis.pubsub('CHANNELS', '*')) as string[]).length === 0);
    await live.close();
    expect(await redis.keys('*:claim')).toEqual([]);
  });
});

test('A gateway that cannot read what another has found polls for itself, and no longer once it can', async () => {
  const store = localPollStore(intervalMs);
  let isUnreadable = true;
  const blind: PollStore = {
    ...store,
    claim: async () => false,
    read: (...values) => (isUnreadable ? Promise.reject(new Error('Too slow')) : store.read(...values)),
    publish: () => Promise.reject(new Error('It has no claim')),
  };
  const { counted, telemetry } = counts();
  const live = createPolling({ store: blind, intervalMs, telemetry, acceptedScopes });
  const from = source();
  const listener = listen(live, scope(), from);
  await until(() => listener.heard.length === 1);
  from.value = 2;
  await until(() => listener.heard.at(-1) === 2);
  expect(counted).toMatchObject({ taken: 1, lost: 0 });
  isUnreadable = false;
  await until(() => counted.lost === 1);
  isUnreadable = true;
  from.value = 3;
  await until(() => listener.heard.at(-1) === 3);
  await live.close();
});

test('A gateway that cannot store what it has found leaves the polls to another', async () => {
  const released: string[] = [];
  const store: PollStore = {
    ...localPollStore(intervalMs),
    publish: () => Promise.reject(new Error('Too slow')),
    release: async (_, __, holder) => void released.push(holder),
  };
  const live = createPolling({ store, intervalMs, telemetry: silentTelemetry, acceptedScopes });
  const listener = listen(live, scope(), source());
  await until(() => released.length > 0 && listener.heard.length === 1);
  await live.close();
});
