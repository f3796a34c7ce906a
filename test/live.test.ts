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
import { Topic, type TopicSubscription } from '../src/data/polling/topic.js';
import { connectRedis } from '../src/data/redis.js';
import { Forbidden, NotFound, RateLimited, Unauthenticated, UpstreamUnavailable } from '../src/errors.js';
import { type RedisServer, startRedis } from './support/redis.js';
import { isClusterRun, type RedisPlace, startCluster, startSingle } from './support/redis-cluster.js';
import { sharedStore } from './support/shared-store.js';
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
  const live = createPolling({ store: localPollStore(intervalMs), intervalMs, telemetry: silentTelemetry }, 2);
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

const numbers = (onEmpty = () => {}) => new Topic<number>({ onEmpty, refresh: async () => {} });

describe('A topic', () => {
  test('gives a slow reader only the newest value', async () => {
    const topic = numbers();
    const reading = readerOf(topic.subscribe(new AbortController().signal));
    for (const value of [1, 2, 3]) topic.publish(value);
    expect(await reading.next()).toEqual({ value: 3, done: false });
    const waiting = reading.next();
    topic.publish(4);
    topic.publish(5);
    expect(await waiting).toEqual({ value: 5, done: false });
  });

  test('gives the last value, then ends once', async () => {
    const topic = numbers();
    const reading = readerOf(topic.subscribe(new AbortController().signal));
    topic.publish(1);
    topic.end(new Error('over'));
    expect(await reading.next()).toEqual({ value: 1, done: false });
    await expect(reading.next()).rejects.toThrow('over');
    expect(await reading.next()).toEqual({ value: undefined, done: true });
  });

  test('gives neither a late reader nor a slow one what it has forgotten', async () => {
    const topic = numbers();
    const { signal } = new AbortController();
    const slow = readerOf(topic.subscribe(signal));
    topic.publish(1);
    topic.forget();
    expect(topic.newest).toBeUndefined();
    const late = readerOf(topic.subscribe(signal));
    topic.publish(2);
    expect(await Promise.all([slow.next(), late.next()])).toEqual([
      { value: 2, done: false },
      { value: 2, done: false },
    ]);
  });

  test('reports when the last reader has left, in any way', async () => {
    let emptied = 0;
    const topic = numbers(() => {
      emptied += 1;
    });
    const leaving = new AbortController();
    const one = readerOf(topic.subscribe(leaving.signal));
    const other = topic.subscribe(new AbortController().signal);
    const pending = one.next();
    leaving.abort();
    expect(await pending).toEqual({ value: undefined, done: true });
    expect(emptied).toBe(0);
    topic.publish(1);
    for await (const _ of other) break;
    expect(emptied).toBe(1);
    topic.subscribe(AbortSignal.abort());
    expect(emptied).toBe(2);
  });
});

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

  test('runs one poll at a time until its last listener leaves, which aborts it', async () => {
    const { counted, telemetry } = counts();
    const live = createPolling({ store: localPollStore(100), intervalMs: 100, telemetry });
    const from = source();
    const asked = from.watched.ask;
    let running = 0;
    let maxRunning = 0;
    let aborted = 0;
    const watched: Watched<number> = {
      ...from.watched,
      async ask(previous, signal) {
        running += 1;
        maxRunning = Math.max(maxRunning, running);
        try {
          return await asked(previous, signal);
        } finally {
          running -= 1;
          if (signal.aborted) aborted += 1;
        }
      },
    };
    // Longer than an interval.
    from.delayMs = 150;
    const listener = listen(live, scope(), { watched });
    await until(() => from.asked.length >= 4);
    listener.leave();
    await listener.ended;
    await until(() => running === 0);
    expect([maxRunning, aborted, counted.pollers]).toEqual([1, 1, 0]);
    const gaps = from.asked.slice(1).map(({ at }, index) => at - (from.asked[index]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(148);
    await live.close();
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
    const live = createPolling({ store: localPollStore(50), intervalMs: 50, telemetry: silentTelemetry });
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
    const start = async () => createPolling({ store: await readyStore(), intervalMs, telemetry });
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

  test('hands over to another process with the same state when the listeners of the first have left', async () => {
    const { first, second, counted, close } = await readyFleet();
    const whose = scope();
    const from = source();
    const one = listen(first, whose, from);
    await until(() => one.heard.length === 1);
    const other = listen(second, whose, from);
    await until(() => other.heard.length === 1);
    one.leave();
    await one.ended;
    from.value = 2;
    await until(() => other.heard.at(-1) === 2);
    expect(from.asked.every(({ previous }, index) => (index === 0) === (previous === undefined))).toBe(true);
    const pollers = place === 'in one process' ? 1 : 2;
    expect(counted.taken).toBe(pollers);
    other.leave();
    await other.ended;
    await close();
    expect(counted).toMatchObject({ pollers: 0, released: pollers });
  });

  test('never polls faster than the interval, however often listeners join and leave', async () => {
    const { first, close } = await readyFleet();
    const whose = scope();
    const from = source();
    for (let round = 0; round < 30; round += 1) {
      const listener = listen(first, whose, from);
      await until(() => listener.heard.length === 1);
      listener.leave();
      await listener.ended;
    }
    const [begun] = from.asked;
    // On a slow machine the rounds take longer than an interval.
    expect(from.asked.filter(({ at }) => at - (begun?.at ?? 0) < intervalMs - 2)).toHaveLength(1);
    await close();
  });

  test('sends the final state to later listeners of any process, with one call in an interval', async () => {
    const { first, second, counted, close } = await readyFleet();
    const whose = scope();
    const from = source(100);
    for (let round = 0; from.asked.length < 3; round += 1) {
      const listener = listen(round % 2 === 0 ? first : second, whose, from);
      expect(await listener.ended).toBeUndefined();
      expect(listener.heard).toEqual([100]);
      // Timers must have their turn.
      await sleep(1);
    }
    const gaps = from.asked.slice(1).map(({ at }, index) => at - (from.asked[index]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(intervalMs - 2);
    await close();
    expect(counted.pollers).toBe(0);
  });

  test('sends no state from before a write to listeners that join after it', async () => {
    const { first, second, close } = await readyFleet();
    for (const former of [100, 7]) {
      const whose = scope();
      const from = source(former);
      const early = listen(first, whose, from);
      await until(() => early.heard.length === 1);
      from.generation = 'second';
      from.value = 1;
      const late = [listen(first, whose, from), listen(second, whose, from)];
      await until(() => late.every(({ heard }) => heard.length === 1));
      expect(late.map(({ heard }) => heard)).toEqual([[1], [1]]);
      from.value = 100;
      await Promise.all([early, ...late].map(({ ended }) => ended));
      for (const { heard } of late) expect(heard).toEqual([1, 100]);
    }
    await close();
  });

  test('sends the state after a write to earlier listeners too, with one poller', async () => {
    const { first, second, counted, close } = await readyFleet();
    const whose = scope();
    const from = source(7);
    const early = [listen(first, whose, from), listen(second, whose, from)];
    await until(() => early.every(({ heard }) => heard.length === 1));
    from.generation = 'second';
    from.value = 1;
    await until(() => early.every(({ heard }) => heard.at(-1) === 1));
    const late = listen(second, whose, from);
    await until(() => late.heard.length === 1);
    await until(() => counted.pollers === 1);
    from.value = 100;
    await Promise.all([...early, late].map(({ ended }) => ended));
    for (const { heard } of early) expect(heard).toEqual([7, 1, 100]);
    await close();
    expect(counted.pollers).toBe(0);
  });

  test('sends no state that was being read when a write came', async () => {
    const { first, close } = await readyFleet();
    const from = source(7);
    from.delayMs = 400;
    const whose = scope();
    const early = listen(first, whose, from);
    await until(() => from.asked.length === 1);
    from.delayMs = 0;
    from.generation = 'second';
    from.value = 1;
    const late = listen(first, whose, from);
    await until(() => late.heard.length === 1 && early.heard.length === 1);
    await until(() => from.settled >= 3);
    expect([early.heard, late.heard]).toEqual([[1], [1]]);
    early.leave();
    late.leave();
    await close();
  });

  test('polls alone while the generation cannot be read, and shares again afterwards', async () => {
    const { first, second, counted, close } = await readyFleet();
    const whose = scope();
    const from = source();
    from.generation = undefined;
    const listeners = [listen(first, whose, from), listen(first, whose, from), listen(second, whose, from)];
    await until(() => listeners.every(({ heard }) => heard.length === 1));
    expect(counted.pollers).toBe(place === 'in one process' ? 1 : 2);
    from.generation = 'first';
    await until(() => counted.pollers === 1);
    from.value = 100;
    await Promise.all(listeners.map(({ ended }) => ended));
    for (const { heard } of listeners) expect([...new Set(heard)]).toEqual([1, 100]);
    await close();
  });

  test('starts a late listener with the newest state of the fleet', async () => {
    const one = await readyStore();
    const other = place === 'in one process' ? one : await readyStore();
    // It hears of nothing, and never has the claim.
    const deaf: PollStore = { ...other, claimMs: 60_000, claim: async () => false, subscribe: () => () => {} };
    const lives = [one, deaf].map(store => createPolling({ store, intervalMs, telemetry: silentTelemetry }));
    const [first, second] = lives as [Polling, Polling];
    const whose = scope();
    const from = source();
    const early = listen(first, whose, from);
    await until(() => early.heard.length === 1);
    const lagging = listen(second, whose, from);
    await until(() => lagging.heard.length === 1);
    from.value = 2;
    await until(() => early.heard.at(-1) === 2);
    const late = listen(second, whose, from);
    await until(() => late.heard.length === 1);
    expect(late.heard).toEqual([2]);
    for (const { leave } of [early, lagging, late]) leave();
    await Promise.all(lives.map(live => live.close()));
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

  test('polls on through other failures, sends the age of the last state once, then new states', async () => {
    const { first, close } = await readyFleet();
    const from = source();
    const listener = listen(first, scope(), from);
    await until(() => listener.heard.length === 1);
    from.value = new UpstreamUnavailable('Down');
    await until(() => listener.heard.length === 2);
    expect(listener.times[1]).toBe(listener.times[0]);
    expect(Date.now() - (listener.times[1] ?? 0)).toBeGreaterThanOrEqual(3 * intervalMs - 20);
    from.value = 1;
    await until(() => listener.heard.length === 3);
    expect(listener.times[2]).toBeGreaterThan(listener.times[0] ?? 0);
    expect(listener.heard).toEqual([1, 1, 1]);
    listener.leave();
    await close();
  });

  test('polls separately for each scope, and aborts the poll when the last listener leaves', async () => {
    const { first, counted, close } = await readyFleet();
    const from = source();
    const one = listen(first, scope(), from);
    const other = listen(first, scope(), from);
    await until(() => counted.pollers === 2 && one.heard.length + other.heard.length === 2);
    from.delayMs = 10_000;
    const before = from.asked.length;
    await until(() => from.asked.length > before);
    one.leave();
    other.leave();
    await Promise.all([one.ended, other.ended]);
    await close();
    expect(counted).toMatchObject({ pollers: 0, taken: 2, released: 2, lost: 0 });
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
    const live = createPolling({ store: redisPollStore(sharedStore(redis), intervalMs), intervalMs, telemetry });
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
  const live = createPolling({ store: blind, intervalMs, telemetry });
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
  const live = createPolling({ store, intervalMs, telemetry: silentTelemetry });
  const listener = listen(live, scope(), source());
  await until(() => released.length > 0 && listener.heard.length === 1);
  await live.close();
});

test('A listener never gets an older state after its process polled alone', async () => {
  const server = await startSingle();
  const slowly = 1_000;
  const redises = [0, 1].map(() => connectRedis(server.urls, () => {}));
  await until(() => redises.every(({ status }) => status === 'ready'));
  const [store, otherStore] = redises.map(redis => redisPollStore(sharedStore(redis), slowly)) as [
    PollStore,
    PollStore,
  ];
  let isAway = true;
  const reached =
    <A extends unknown[], R>(call: (...values: A) => Promise<R>) =>
    (...values: A) =>
      isAway ? Promise.reject(new Error('The store is away')) : call(...values);
  const cutOff: PollStore = {
    ...otherStore,
    read: reached(otherStore.read),
    claim: reached(otherStore.claim),
    release: reached(otherStore.release),
    publish: reached(otherStore.publish),
    subscribe: (topic, onMessage) => otherStore.subscribe(topic, message => isAway || onMessage(message)),
  };
  const [one, other] = [store, cutOff].map(its =>
    createPolling({ store: its, intervalMs: slowly, telemetry: silentTelemetry }),
  ) as [Polling, Polling];
  const whose = scope();
  const [slow, quick] = [source(40), source(42)];
  slow.delayMs = 400;

  const first = listen(one, whose, slow);
  await until(() => slow.asked.length === 1);
  slow.value = 43;
  const second = listen(other, whose, quick);
  await until(() => second.heard.length === 1 && first.heard.length === 1);
  isAway = false;
  await until(() => second.heard.at(-1) === 43);
  expect([first.heard, second.heard]).toEqual([
    [40, 43],
    [42, 43],
  ]);
  await one.close();
  await other.close();
  for (const redis of redises) redis.disconnect();
  await server.stop();
});
