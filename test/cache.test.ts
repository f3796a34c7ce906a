import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { AcceptedScopes } from '../src/auth/accepted-scopes.js';
import type { Scope } from '../src/auth/credentials.js';
import { Cache, type Load, type Loaded, type Lookup, type LookupOutcome } from '../src/data/cache/cache.js';
import { localGenerations, sharedGenerations } from '../src/data/cache/generations.js';
import { type ScopedKey, scopedKey } from '../src/data/cache/keys.js';
import { freshEntry, MemoryTier } from '../src/data/cache/tiers.js';
import { sharedScopes } from '../src/data/fleet-scopes.js';
import { connectRedis, maxQuickBytes, type RedisClient } from '../src/data/redis.js';
import { errorOfProblem } from '../src/data/upstream/call-errors.js';
import {
  Forbidden,
  NotFound,
  QueryTooComplex,
  RateLimited,
  Unauthenticated,
  UpstreamInvalidResponse,
  UpstreamTimeout,
  UpstreamUnavailable,
} from '../src/errors.js';
import type { Telemetry } from '../src/observability/telemetry.js';
import { cleanups, forTest } from './support/cleanups.js';
import { startNetwork } from './support/network.mjs';
import { sharedRedisUrl, startRedis } from './support/redis.js';
import { isClusterRun, type RedisPlace, startCluster } from './support/redis-cluster.js';
import { acceptedScopes, sharedStore, testFleet } from './support/shared-store.js';
import { silentTelemetry } from './support/silent-telemetry.js';
import { block, countTurns } from './support/turns.js';
import { until } from './support/until.js';

afterEach(() => {
  jest.restoreAllMocks();
});

/** A look-up before it is known for whom, and how its source loads it. */
interface Wanted extends Omit<Lookup, 'key' | 'receive'> {
  readonly key: string;
  load(signal: AbortSignal): Promise<Loaded>;
}

/** Loads each look-up from its own source. */
const load: Load<Lookup & Pick<Wanted, 'load'>> = (lookups, receiver) => {
  const controllers = lookups.map(lookup => {
    const controller = new AbortController();
    return { controller, loading: lookup.load(controller.signal) };
  });
  for (const [index, { loading }] of controllers.entries()) {
    loading.then(
      loaded => receiver.resolve(index, loaded),
      error => receiver.reject(index, error),
    );
  }
  return { abort: (index, reason) => controllers[index]?.controller.abort(reason) };
};

async function loadMany(cache: Cache, scope: Scope, wanted: readonly Wanted[], signal: AbortSignal) {
  const outcomes: LookupOutcome[] = [];
  const lookups = wanted.map((each, index) => ({
    ...each,
    key: scopedKey(scope, each.key),
    receive(outcome: LookupOutcome) {
      outcomes[index] = outcome;
    },
  }));
  await cache.loadMany(lookups, load, signal);
  return outcomes;
}

/** One look-up. @throws what the source threw; the signal's reason as soon as it aborts. */
async function getOrLoad(cache: Cache, scope: Scope, wanted: Wanted, signal: AbortSignal) {
  const [answer] = await loadMany(cache, scope, [wanted], signal);
  if (answer instanceof Error || answer === undefined) throw answer;
  return answer;
}

const faults: string[] = [];
const lookedUp: string[] = [];
beforeEach(() => {
  faults.length = 0;
  lookedUp.length = 0;
});
const telemetry: Telemetry = {
  ...silentTelemetry,
  lookup: (_, source) => lookedUp.push(source),
  redisFault: command => faults.push(command),
};

const megabyte = 1024 * 1024;
const second = 1_000;
const lifetime = { maxAge: 60 * second, grace: 600 * second, absent: 30 * second };
const never = new AbortController().signal;

function connection(...urls: readonly string[]): RedisClient {
  const redis = connectRedis(urls, () => {});
  // Several processes of a test share one connection.
  redis.setMaxListeners(0);
  cleanups.push(() => redis.disconnect());
  return redis;
}

/** A connection that is ready for commands. */
async function connected(...urls: readonly string[]): Promise<RedisClient> {
  const redis = connection(...urls);
  // On a busy machine the first attempt may take too long.
  await until(() => redis.status === 'ready');
  return redis;
}

/** A process's cache: over this Redis, or with nothing but its memory. */
function cacheOver(redis: RedisClient | undefined, accepted: Accepted = acceptedScopes): Cache {
  const shared = redis && { ...sharedStore(redis, telemetry), acceptedScopes: accepted };
  const generations = shared === undefined ? localGenerations() : sharedGenerations(shared);
  return new Cache(8 * megabyte, shared, generations, telemetry);
}

type Accepted = Pick<AcceptedScopes, 'add' | 'has'>;

const someScope = () => randomUUID() as string as Scope;

interface Found {
  id: string;
}
type Change = Partial<Wanted>;

/** A source that counts how often it is asked, and for what. */
function sourceOf() {
  const asked: string[] = [];
  const lookup = (key: string, change: Change = {}): Wanted => ({
    key,
    family: 'things',
    lifetime,
    async load(): Promise<Loaded> {
      asked.push(key);
      return { value: { id: `${key} #${asked.length}` }, bytes: 20, noStore: false };
    },
    ...change,
  });
  return { asked, lookup };
}

/** A load that fails. */
const failing = (error: Error) => ({
  load: async () => {
    throw error;
  },
});

function moveClock(milliseconds: number): void {
  jest.restoreAllMocks();
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + milliseconds);
}

/** A load that ends when it is told to, or when its signal aborts. */
function slowLoad(value: Found = { id: 'late' }) {
  const signals: AbortSignal[] = [];
  let finish = () => {};
  const load = (signal: AbortSignal) =>
    new Promise<Loaded>((resolve, reject) => {
      signals.push(signal);
      signal.addEventListener('abort', () => reject(signal.reason));
      finish = () => resolve({ value, bytes: 20, noStore: false });
    });
  return { load, signals, finish: () => finish() };
}

const allTiers = isClusterRun ? ['memory over a Redis Cluster'] : ['memory', 'memory over Redis'];

describe.each(allTiers)('a cache of %s', tiers => {
  let cluster: RedisPlace | undefined;
  beforeAll(async () => {
    if (tiers === 'memory over a Redis Cluster') cluster = await startCluster();
  });
  afterAll(() => cluster?.stop());
  const cacheHere = async () =>
    cacheOver(tiers === 'memory' ? undefined : await connected(...(cluster?.urls ?? [sharedRedisUrl()])));

  test('answers a batch in order, each key with its own result', async () => {
    const [cache, scope, { lookup }] = [await cacheHere(), someScope(), sourceOf()];
    await getOrLoad(cache, scope, lookup('known'), never);
    const refusal = new Forbidden('No', { status: 403, errorCode: null });
    const answers = await loadMany(
      cache,
      scope,
      [lookup('new'), lookup('refused', failing(refusal)), lookup('known'), lookup('new')],
      never,
    );
    expect(answers).toEqual([
      expect.objectContaining({ value: { id: 'new #2' }, source: 'network' }),
      refusal,
      expect.objectContaining({ value: { id: 'known #1' }, source: 'memory' }),
      expect.objectContaining({ value: { id: 'new #2' }, source: 'flight' }),
    ]);
  });

  test('loads again after the value has expired', async () => {
    const [cache, scope, { lookup }] = [await cacheHere(), someScope(), sourceOf()];
    await getOrLoad(cache, scope, lookup('a'), never);
    moveClock(59 * second);
    expect(await getOrLoad(cache, scope, lookup('a'), never)).toMatchObject({ source: 'memory' });
    moveClock(61 * second);
    const again = await getOrLoad(cache, scope, lookup('a'), never);
    expect(again).toMatchObject({ value: { id: 'a #2' }, source: 'network', stale: false });
  });

  test.each([new UpstreamUnavailable('Down'), new UpstreamTimeout('Late')])(
    'stands in for a source that fails, in the grace time only, and says so: $code',
    async failure => {
      const [cache, scope, { lookup }] = [await cacheHere(), someScope(), sourceOf()];
      const known = await getOrLoad(cache, scope, lookup('a'), never);
      moveClock(100 * second);
      const answer = await getOrLoad(cache, scope, lookup('a', failing(failure)), never);
      expect(answer).toMatchObject({
        ...known,
        stale: true,
        freshUntil: 0,
        source: tiers === 'memory' ? 'memory' : 'redis',
      });
      // A source that is well again is asked, and believed.
      expect(await getOrLoad(cache, scope, lookup('a'), never)).toMatchObject({ value: { id: 'a #2' }, stale: false });
      moveClock(800 * second);
      await expect(getOrLoad(cache, scope, lookup('a', failing(failure)), never)).rejects.toBe(failure);
    },
  );

  test.each([
    new Forbidden('No', { status: 403, errorCode: null }),
    new NotFound('Gone', { status: 404, errorCode: null }),
    new RateLimited('Slower', { status: 429, errorCode: null }),
    new TypeError('A bug'),
  ])('does not stand in for a source that refuses: $name', async refusal => {
    const [cache, scope, { lookup }] = [await cacheHere(), someScope(), sourceOf()];
    await getOrLoad(cache, scope, lookup('a'), never);
    moveClock(100 * second);
    await expect(getOrLoad(cache, scope, lookup('a', failing(refusal)), never)).rejects.toBe(refusal);
  });

  test.each([
    new Unauthenticated('Who?', { status: 401, errorCode: null }),
    new Forbidden('No', { status: 403, errorCode: null }),
    new NotFound('Gone', { status: 404, errorCode: null }),
    new UpstreamInvalidResponse('To a page for signing in', { status: 302, errorCode: null }),
    new UpstreamInvalidResponse('Pay', { status: 402, errorCode: null }),
    // Of status 200, as some servers in front of a service answer everything.
    ...[{ statusCode: 402 }, { status: 'error', code: 419 }].map(body =>
      errorOfProblem(body, { status: 200, headers: {}, body: Buffer.of() }, { safe: true }),
    ),
  ])('after a refusal, what was kept before it stands in for nothing any more: $name', async refusal => {
    const [cache, scope, { lookup }] = [await cacheHere(), someScope(), sourceOf()];
    await getOrLoad(cache, scope, lookup('a'), never);
    moveClock(100 * second);
    await expect(getOrLoad(cache, scope, lookup('a', failing(refusal)), never)).rejects.toBe(refusal);
    moveClock(200 * second);
    const down = new UpstreamUnavailable('Down');
    await expect(getOrLoad(cache, scope, lookup('a', failing(down)), never)).rejects.toBe(down);
  });

  test.each([
    new UpstreamUnavailable('Down'),
    new Forbidden('No', { status: 403, errorCode: null }),
    new RateLimited('Slower', { status: 429, errorCode: null }),
    new TypeError('A bug'),
  ])('never keeps a failure: $name', async failure => {
    const [cache, scope, { lookup }] = [await cacheHere(), someScope(), sourceOf()];
    await expect(getOrLoad(cache, scope, lookup('a', failing(failure)), never)).rejects.toBe(failure);
    expect(await getOrLoad(cache, scope, lookup('a'), never)).toMatchObject({ source: 'network' });
  });

  test('caches a missing record for its own lifetime', async () => {
    const [cache, scope, { lookup }] = [await cacheHere(), someScope(), sourceOf()];
    const absence = new NotFound('Gone', { status: 404, errorCode: 'NOT_FOUND' });
    await expect(getOrLoad(cache, scope, lookup('a', failing(absence)), never)).rejects.toBe(absence);
    moveClock(29 * second);
    const again = getOrLoad(cache, scope, lookup('a'), never);
    await expect(again).rejects.toMatchObject({ code: 'NOT_FOUND', upstream: absence.upstream });
    moveClock(31 * second);
    const down = new UpstreamUnavailable('Down');
    await expect(getOrLoad(cache, scope, lookup('a', failing(down)), never)).rejects.toBe(down);
    expect(await getOrLoad(cache, scope, lookup('a'), never)).toMatchObject({ source: 'network' });
  });

  test.each([
    new Forbidden('No', { status: 403, errorCode: null }),
    new NotFound('Gone', { status: 404, errorCode: null, noStore: true }),
    new NotFound('Gone', { status: 404, errorCode: null }),
  ])('asks again after a refusal, even if the clock was set back: $name, $upstream.noStore', async refusal => {
    const [cache, scope, { lookup }] = [await cacheHere(), someScope(), sourceOf()];
    const brief = refusal.upstream?.noStore ? {} : { lifetime: { ...lifetime, absent: 0 } };
    await expect(getOrLoad(cache, scope, lookup('a', { ...brief, ...failing(refusal) }), never)).rejects.toBe(refusal);
    moveClock(-60 * second);
    expect(await getOrLoad(cache, scope, lookup('a', brief), never)).toMatchObject({ source: 'network' });
  });

  test('does not cache what the source marks as uncacheable', async () => {
    const [cache, scope, { lookup }] = [await cacheHere(), someScope(), sourceOf()];
    const load = async () => ({ value: { id: 'private' }, bytes: 20, noStore: true });
    await getOrLoad(cache, scope, lookup('a', { load }), never);
    expect(await getOrLoad(cache, scope, lookup('a'), never)).toMatchObject({
      source: 'network',
      value: { id: 'a #1' },
    });
  });

  test('loads again for a waiter that had little of the time of a load that ran out of it', async () => {
    const [cache, scope, { asked, lookup }] = [await cacheHere(), someScope(), sourceOf()];
    const late = new UpstreamTimeout('The service did not answer within 2000 ms');
    let fail: ((error: Error) => void) | undefined;
    const load = () => new Promise<never>((_, reject) => (fail = reject));
    let passedMs = 0;
    const { now } = performance;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + passedMs);
    cleanups.push(() => clock.mockRestore());
    const calls = [getOrLoad(cache, scope, lookup('a', { load }), never)];
    await until(() => fail !== undefined);
    calls.push(getOrLoad(cache, scope, lookup('a'), never));
    await nextTurn();
    passedMs = 1_000_000;
    calls.push(getOrLoad(cache, scope, lookup('a'), never));
    await nextTurn();
    fail?.(late);
    const [first, early, recent] = await Promise.allSettled(calls);
    for (const call of [first, early]) expect(call).toEqual({ status: 'rejected', reason: late });
    expect(recent).toMatchObject({ status: 'fulfilled', value: { source: 'network' } });
    expect(asked).toHaveLength(1);
  });

  test('loads again for a waiter where the operation that loads has read too much', async () => {
    const [cache, scope, { asked, lookup }] = [await cacheHere(), someScope(), sourceOf()];
    const tooMuch = new QueryTooComplex('bytes read', 2, 1);
    let fail: ((error: Error) => void) | undefined;
    const load = () => new Promise<never>((_, reject) => (fail = reject));
    const calls = [getOrLoad(cache, scope, lookup('a', { load }), never)];
    await until(() => fail !== undefined);
    for (let waiter = 0; waiter < 2; waiter += 1) calls.push(getOrLoad(cache, scope, lookup('a'), never));
    await nextTurn();
    fail?.(tooMuch);
    const [first, ...others] = await Promise.allSettled(calls);
    expect(first).toEqual({ status: 'rejected', reason: tooMuch });
    expect(others).toMatchObject([{ value: { source: 'network' } }, { value: { source: 'flight' } }]);
    expect(asked).toHaveLength(1);
  });

  test('does not serve invalidated values when the source fails', async () => {
    const [cache, scope, { lookup }] = [await cacheHere(), someScope(), sourceOf()];
    const tag = `market:${randomUUID()}`;
    await getOrLoad(cache, scope, lookup('a', { tag }), never);
    await cache.generations.renew(tag);
    const down = new UpstreamUnavailable('Down');
    await expect(getOrLoad(cache, scope, lookup('a', { tag, ...failing(down) }), never)).rejects.toBe(down);
  });

  test('does not serve values for longer because the clock was set back when the source fails', async () => {
    const [cache, scope, { lookup }] = [await cacheHere(), someScope(), sourceOf()];
    await getOrLoad(cache, scope, lookup('a'), never);
    moveClock(-60 * second);
    const down = new UpstreamUnavailable('Down');
    await expect(getOrLoad(cache, scope, lookup('a', failing(down)), never)).rejects.toBe(down);
  });

  test('serves values that outlive their tag only when the source fails', async () => {
    const [cache, scope, { lookup }] = [await cacheHere(), someScope(), sourceOf()];
    const lasting = { tag: `events:${scope}`, outlivesTag: true };
    await getOrLoad(cache, scope, lookup('a', lasting), never);
    await cache.generations.renew(lasting.tag);
    const whileDown = { ...lasting, ...failing(new UpstreamUnavailable('Down')) };
    const answer = await getOrLoad(cache, scope, lookup('a', whileDown), never);
    expect(answer).toMatchObject({ value: { id: 'a #1' }, stale: true, freshUntil: 0 });
    expect((await getOrLoad(cache, scope, lookup('a', lasting), never)).value).toEqual({ id: 'a #2' });
  });
});

test('without Redis, nothing is cached for a minute after a write of unknown effect, which a renewal does not begin anew', async () => {
  const generations = localGenerations();
  const states: unknown[] = [];
  await (await generations.begin('market:7'))('unknown');
  for (const laterMs of [59 * second, 61 * second]) {
    moveClock(laterMs);
    // The cache of tokens looks at the clock once in a millisecond.
    await sleep(5);
    states.push(generations.known('market:7')?.state);
    await generations.renew('market:7');
  }
  expect(states).toEqual(['unsettled', 'settled']);
});

describe('the memory tier', () => {
  const entry = (bytes: number) => ({
    value: 'x'.repeat(bytes),
    freshUntil: Number.POSITIVE_INFINITY,
    usableUntil: Number.POSITIVE_INFINITY,
    bytes,
  });
  const named = (scope: Scope, number: number) => scopedKey(scope, `${number}`);
  const count = (tier: MemoryTier, scope: Scope, keys: number) =>
    Array.from({ length: keys }, (_, key) => freshEntry(tier, named(scope, key), undefined, 'freshUntil')).filter(
      found => found !== undefined,
    ).length;

  test('counts the overhead of tiny entries', () => {
    const [tier, scope] = [new MemoryTier(100_000), someScope()];
    for (let key = 0; key < 1_000; key += 1) tier.set(named(scope, key), entry(0));
    expect(count(tier, scope, 1_000)).toBeLessThan(250);
  });

  test('keeps what was used last, as much as half of its size, and never more than its size', () => {
    const [scope, bytes, of] = [someScope(), 20_000, 100];
    const size = named(scope, 10).length + of + 400;
    const uses = fc.array(fc.record({ number: fc.integer({ min: 10, max: 60 }), isRead: fc.boolean() }), {
      size: '+2',
    });
    fc.assert(
      fc.property(uses, all => {
        const tier = new MemoryTier(bytes);
        const used: ScopedKey[] = [];
        for (const { number, isRead } of all) {
          const key = named(scope, number);
          if (!isRead) tier.set(key, entry(of));
          if (tier.get(key) !== undefined) used.push(key);
        }
        for (const key of used.slice(-Math.floor(bytes / 2 / size))) expect(tier.get(key)).toBeDefined();
        const kept = new Set(used.filter(key => tier.get(key) !== undefined));
        expect(kept.size * size).toBeLessThanOrEqual(bytes);
      }),
    );
  });

  test('ignores an entry larger than its size, and evicts nothing for it', () => {
    const [tier, scope] = [new MemoryTier(100_000), someScope()];
    tier.set(named(scope, 0), entry(1_000));
    tier.set(named(scope, 1), entry(200_000));
    const found = [0, 1].map(key => freshEntry(tier, named(scope, key), undefined, 'freshUntil'));
    expect(found).toEqual([expect.anything(), undefined]);
  });
});

describe('Redis', () => {
  async function ownRedis(args: string[] = []) {
    const server = forTest(await startRedis({ args }));
    const redis = await connected(server.url);
    const admin = new Redis(server.url, { retryStrategy: () => 20, disconnectTimeout: 50 });
    admin.on('error', () => {});
    cleanups.push(() => admin.disconnect());
    return { server, redis: redis as Redis, admin, cache: cacheOver(redis) };
  }

  /** How often each command was called since the server started. */
  async function commandsOf(admin: Redis): Promise<Record<string, number>> {
    const lines = (await admin.info('commandstats')).matchAll(/^cmdstat_(mget|get|set|del|expire):calls=(\d+)/gm);
    return Object.fromEntries([...lines].map(([, name, calls]) => [name, Number(calls)]));
  }

  const writesOf = (admin: Redis, keys: number) => until(async () => (await admin.dbsize()) >= keys);

  test('shares missing records and writes with other processes', async () => {
    const { redis, cache, admin } = await ownRedis();
    const [scope, tag, { lookup }] = [someScope(), 'market:7', sourceOf()];
    const absence = new NotFound('Gone', { status: 404, errorCode: null, retryAfterSeconds: 5 });
    await loadMany(cache, scope, [lookup('gone', failing(absence)), lookup('a', { tag })], never);
    await writesOf(admin, 3);
    const elsewhere = cacheOver(redis);
    await expect(getOrLoad(elsewhere, scope, lookup('gone'), never)).rejects.toBeInstanceOf(NotFound);
    expect(await getOrLoad(elsewhere, scope, lookup('a', { tag }), never)).toMatchObject({ source: 'redis' });
    await cache.generations.renew(tag);
    expect(await getOrLoad(elsewhere, scope, lookup('a', { tag }), never)).toMatchObject({ source: 'network' });
  });

  test.each([
    [1, 1],
    [20, 1],
    [400, 13],
  ])('reads a batch of %d with MGETs of at most 32 keys, and writes it with one pipeline', async (size, reads) => {
    const { redis, cache, admin } = await ownRedis();
    const [scope, { asked, lookup }] = [someScope(), sourceOf()];
    const pipelines = jest.spyOn(redis, 'pipeline');
    const lookups = Array.from({ length: size }, (_, index) => lookup(`${index}`));
    await loadMany(cache, scope, lookups, never);
    await writesOf(admin, size);
    expect(asked).toHaveLength(size);
    expect(await commandsOf(admin)).toEqual({ mget: reads, set: size });
    expect(pipelines).toHaveBeenCalledTimes(1);
    await loadMany(cacheOver(redis), scope, lookups, never);
    await loadMany(cache, scope, lookups, never);
    expect(await commandsOf(admin)).toEqual({ mget: 2 * reads, set: size });
    expect(asked).toHaveLength(size);
  });

  const sized = (bytes: number): Change => ({
    load: async () => ({ value: { id: 'x'.repeat(bytes) }, bytes, noStore: false }),
  });

  test.each([
    ['large entries, each in a turn of its own', 20, 100_000, 20, 20],
    ['many small entries, some in later turns', 20, 30_000, 14, 18],
    ['few small entries, at once', 4, 15_000, 1, 1],
  ])('encodes and decodes %s', async (_, size, bytes, encoded, decoded) => {
    const { redis, admin } = await ownRedis();
    const store = sharedStore(redis, telemetry);
    const counting = countTurns();
    cleanups.push(counting.stop);
    const turns = { sign: new Set<number>(), open: new Set<number>() };
    for (const name of ['sign', 'open'] as const) {
      const given = store.signer[name] as (...values: unknown[]) => never;
      jest.spyOn(store.signer, name).mockImplementation((...values: unknown[]) => {
        turns[name].add(counting.count());
        block();
        return given(...values);
      });
    }
    const [scope, { lookup }] = [someScope(), sourceOf()];
    const lookups = Array.from({ length: size }, (_, index) => lookup(`${index}`, sized(bytes)));
    const cacheHere = () => new Cache(8 * megabyte, store, localGenerations(), telemetry);
    await loadMany(cacheHere(), scope, lookups, never);
    await writesOf(admin, size);
    const answers = await loadMany(cacheHere(), scope, lookups, never);
    for (const answer of answers) expect(answer).toMatchObject({ source: 'redis', bytes });
    expect([turns.sign.size, turns.open.size]).toEqual([encoded, decoded]);
  });

  test('gets no entry above 256 KB, which each process reads itself, and keeps no older one in its place', async () => {
    const { redis, cache, admin } = await ownRedis();
    const [scope, { lookup }] = [someScope(), sourceOf()];
    const look = (over: Cache, bytes: number) => getOrLoad(over, scope, lookup('a', sized(bytes)), never);
    await look(cache, maxQuickBytes);
    await writesOf(admin, 1);
    moveClock(100 * second);
    expect((await look(cache, maxQuickBytes + 1)).source).toBe('network');
    await until(async () => (await admin.dbsize()) === 0);
    expect((await look(cache, maxQuickBytes + 1)).source).toBe('memory');
    expect((await look(cacheOver(redis), maxQuickBytes + 1)).source).toBe('network');
    expect(faults).toEqual([]);
  });

  test.each<[string, number, Change]>([
    ['400 entries', 400, sized(15_000)],
    ['20 long lists', 20, { ...sized(200_000), isLarge: true }],
  ])('is read and written in parts that arrive in time, over a link of 100 Mbit/s: %s', async (_, count, change) => {
    const { admin, server } = await ownRedis();
    const network = forTest(await startNetwork(() => server.port, 12_500_000));
    const url = network.url.replace('http', 'redis');
    const [one, other] = [await connected(url), await connected(url)];
    const [scope, { lookup }] = [someScope(), sourceOf()];
    const lookups = Array.from({ length: count }, (_, index) => lookup(`${index}`, change));
    await loadMany(cacheOver(one), scope, lookups, never);
    await writesOf(admin, lookups.length);
    // On a busy machine some may be late, but not each time.
    await until(async () => {
      faults.length = 0;
      const answers = await loadMany(cacheOver(other), scope, lookups, never);
      return faults.length === 0 && answers.every(answer => 'source' in answer && answer.source === 'redis');
    });
  });

  test('deletes an entry when it can no longer be used', async () => {
    const { cache, admin } = await ownRedis();
    const [scope, { lookup }] = [someScope(), sourceOf()];
    await getOrLoad(cache, scope, lookup('a'), never);
    await writesOf(admin, 1);
    const [key = ''] = await admin.keys('*');
    const left = await admin.pttl(key);
    expect(left).toBeGreaterThan(640 * second);
    expect(left).toBeLessThanOrEqual(660 * second);
  });

  test('uses keys of a scope and a name of bounded length', async () => {
    const { redis, cache, admin } = await ownRedis();
    const [scope, { lookup }] = [someScope(), sourceOf()];
    const [long, longer] = ['k'.repeat(5_000), 'k'.repeat(5_001)];
    await loadMany(cache, scope, [lookup(long), lookup(longer)], never);
    await writesOf(admin, 2);
    for (const key of await admin.keys('*')) {
      expect(key.startsWith(`mig:cache:${sharedStore(redis).namespace}:{${scope}}:`)).toBe(true);
      expect(key.length).toBeLessThan(300);
    }
    const answers = await loadMany(cacheOver(redis), scope, [lookup(long), lookup(longer)], never);
    expect(answers).toEqual([
      expect.objectContaining({ source: 'redis', value: { id: `${long} #1` } }),
      expect.objectContaining({ source: 'redis', value: { id: `${longer} #2` } }),
    ]);
  });

  test('unavailable while the source fails: answers come from memory', async () => {
    const { server, redis, cache } = await ownRedis();
    const [scope, { lookup }] = [someScope(), sourceOf()];
    await getOrLoad(cache, scope, lookup('a'), never);
    const cut = new Promise(resolve => redis.once('close', resolve));
    await server.kill();
    await cut;
    moveClock(100 * second);
    const down = failing(new UpstreamUnavailable('Down'));
    expect(await getOrLoad(cache, scope, lookup('a', down), never)).toMatchObject({ stale: true, source: 'memory' });
    // ioredis leaves a timer behind when it is disconnected while the server is away.
    await server.restart();
    await until(() => redis.status === 'ready');
  });

  test('unavailable: no read joins a load that began before it, perhaps before a write elsewhere, and equal reads share one', async () => {
    const cache = cacheOver(connection('redis://127.0.0.1:1'));
    const [scope, tag, { asked, lookup }] = [someScope(), 'market:7', sourceOf()];
    const { load, signals, finish } = slowLoad({ id: 'before the write' });
    const before = getOrLoad(cache, scope, lookup('a', { tag, load }), never);
    await until(() => signals.length === 1);
    const after = await Promise.all(['a', 'a'].map(key => getOrLoad(cache, scope, lookup(key, { tag }), never)));
    expect(after.map(({ value }) => value)).toEqual([{ id: 'a #1' }, { id: 'a #1' }]);
    expect(asked).toHaveLength(1);
    finish();
    expect((await before).value).toEqual({ id: 'before the write' });
  });

  /** The key of a tag's generation. */
  const generationKey = (redis: RedisClient, tag: string) => `mig:generation:${testFleet(redis)}:${tag}`;

  test('with a key of another type in place of a generation: the key is replaced, by a read and by a write', async () => {
    const { redis, cache, admin } = await ownRedis();
    const [scope, { lookup }] = [someScope(), sourceOf()];
    const source = async () => (await getOrLoad(cache, scope, lookup('a', { tag: 'market:7' }), never)).source;
    await source();
    for (const replace of [source, () => cache.generations.renew('market:7')]) {
      await admin.unlink(generationKey(redis, 'market:7'));
      await admin.lpush(generationKey(redis, 'market:7'), 'of another type');
      await replace();
      expect(await admin.type(generationKey(redis, 'market:7'))).toBe('string');
      await source();
      expect(await source()).toBe('memory');
    }
    expect(faults).toEqual([]);
  });

  test('nothing is cached from when a write is sent until it has ended, or for a minute if its process ends before', async () => {
    const { redis, cache } = await ownRedis();
    const [scope, { lookup }] = [someScope(), sourceOf()];
    const elsewhere = cacheOver(redis);
    const begin = () => cache.generations.begin('market:7');
    const source = async () => (await getOrLoad(elsewhere, scope, lookup('a', { tag: 'market:7' }), never)).source;
    const sources = async () => [await source(), await source()];
    async function isUncached(): Promise<void> {
      expect(await sources()).toEqual(['network', 'network']);
      const seconds = await redis.ttl(generationKey(redis, 'market:7'));
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThanOrEqual(60);
    }
    const isCachedAnew = async () => expect(await sources()).toEqual(['network', 'memory']);

    await isCachedAnew();
    for (const effects of [
      ['none', 'done'],
      ['done', 'none'],
      ['done', 'done'],
    ] as const) {
      const writes = await Promise.all(effects.map(begin));
      await isUncached();
      await writes[0]?.(effects[0]);
      await isUncached();
      await writes[1]?.(effects[1]);
      await isCachedAnew();
    }
    const [first, second] = await Promise.all([begin(), begin()]);
    await Promise.all([first('none'), second('none')]);
    expect(await sources()).toEqual(['memory', 'memory']);

    // A write that has done nothing undoes no renewal.
    const refused = await begin();
    await cache.generations.renew('market:7');
    await refused('none');
    await isCachedAnew();

    for (let count = 0; count < 100; count += 1) await (await begin())('unknown');
    await (await begin())('done');
    await (await begin())('none');
    await isUncached();
    expect(await redis.strlen(generationKey(redis, 'market:7'))).toBeLessThan(100);

    // A renewal is no write, and does not begin the minute anew.
    await redis.expire(generationKey(redis, 'market:7'), 30);
    await cache.generations.renew('market:7');
    await isUncached();
    expect(await redis.ttl(generationKey(redis, 'market:7'))).toBeLessThanOrEqual(30);
    expect(faults).toEqual([]);
  });

  test('no token is kept for a scope that the service has not accepted; a token that Redis has lost comes back for nobody', async () => {
    const { redis, admin } = await ownRedis();
    const [accepted, { lookup }] = [new AcceptedScopes(), sourceOf()];
    const [cache, elsewhere] = [cacheOver(redis, accepted), cacheOver(redis, accepted)];
    const [stranger, scope] = [someScope(), someScope()];
    const refused = new Unauthenticated('No');
    const markets = Array.from({ length: 100 }, (_, id) =>
      lookup(`${id}`, { tag: `market:${id}`, ...failing(refused) }),
    );
    const absence = lookup('absent', failing(new NotFound('Gone', { status: 404, errorCode: null })));
    await loadMany(cache, stranger, [...markets, absence, { ...absence, tag: 'market:7' }], never);
    const look = (at: Cache, key = 'a') => getOrLoad(at, scope, lookup(key, { tag: 'market:7' }), never);
    await look(cache);
    expect(await redis.dbsize()).toBe(0);

    // What was loaded before is stored where nobody else had a token first.
    const loads = [cache, elsewhere].map(at => ({ at, ...slowLoad() }));
    const first = loads.map(({ at, load }) => getOrLoad(at, scope, lookup('b', { tag: 'market:7', load }), never));
    await until(() => loads.every(({ signals }) => signals.length === 1));
    accepted.add(scope);
    for (const { finish } of loads) finish();
    await Promise.all(first);
    await writesOf(admin, 2);
    const sources = async (key: string) => [(await look(cache, key)).source, (await look(elsewhere, key)).source];
    expect((await sources('b')).sort()).toEqual(['memory', 'redis']);

    const before = await cache.generations.current('market:7');
    await admin.flushall();
    const proposed = await cache.generations.current('market:7');
    expect([before?.state, proposed?.state]).toEqual(['settled', 'proposed']);
    expect(proposed?.token).not.toBe(before?.token);
    expect((await look(cache, 'b')).source).toBe('network');
  });

  test('the other gateways are told of an accepted scope once a minute, and again after Redis has refused it', async () => {
    const { redis, admin } = await ownRedis();
    const scopes = sharedScopes({ redis, namespace: testFleet(redis), telemetry });
    const scope = someScope();
    const now = performance.now.bind(performance);
    let aheadMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
    expect(await scopes.has(scope)).toBe(false);
    await admin.call('ACL', 'SETUSER', 'default', '-set');
    scopes.tell(scope);
    await until(() => faults.length === 1);
    await admin.call('ACL', 'SETUSER', 'default', '+set');
    for (const laterMs of [5_100, 61_000]) {
      aheadMs += laterMs;
      // The process looks at the clock once in a millisecond.
      await sleep(5);
      for (const _ of [1, 2]) scopes.tell(scope);
      await until(() => scopes.has(scope));
      await admin.flushall();
      scopes.tell(scope);
      expect(await scopes.has(scope)).toBe(false);
    }
    expect(await admin.call('ACL', 'SETUSER', 'default', '-exists')).toBe('OK');
    expect(await scopes.has(scope)).toBeUndefined();
  });

  test('a token stays proposed while it is asked for again and again, and half a minute longer', async () => {
    const { redis } = await ownRedis();
    const { generations } = cacheOver(redis, new AcceptedScopes());
    const now = performance.now.bind(performance);
    let aheadMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
    const tokens: unknown[] = [];
    for (const laterMs of [0, 20_000, 20_000, 31_000]) {
      aheadMs += laterMs;
      // The cache of tokens looks at the clock once in a millisecond.
      await sleep(5);
      tokens.push((await generations.current('market:7'))?.token);
    }
    const [first, second, third, late] = tokens;
    expect([second, third]).toEqual([first, first]);
    expect(late).not.toBe(first);
  });

  test.each([
    ['from the start', true],
    ['while it runs', false],
  ])(
    'whose user may run no scripts, %s: nothing with a tag is used from it, so that no other process misses a write',
    async (_, fromTheStart) => {
      const { redis, cache, admin } = await ownRedis();
      const forbid = () => admin.call('ACL', 'SETUSER', 'default', '-eval');
      const [scope, { lookup }] = [someScope(), sourceOf()];
      const tagged = lookup('a', { tag: 'market:7' });
      if (fromTheStart) await forbid();
      await getOrLoad(cache, scope, tagged, never);
      if (!fromTheStart) await forbid();
      void cacheOver(redis).generations.renew('market:7');
      await until(() => faults.includes('EVAL'));
      expect(await cache.generations.current('market:7')).toBeUndefined();
      expect((await getOrLoad(cache, scope, tagged, never)).source).toBe('network');
    },
  );

  test('that is full while a write begins whose process ends: once it has room, nothing from before is used', async () => {
    const { redis, cache, admin } = await ownRedis();
    const [scope, { lookup }] = [someScope(), sourceOf()];
    const tagged = lookup('a', { tag: 'market:7' });
    await getOrLoad(cache, scope, tagged, never);
    await admin.config('SET', 'maxmemory', '1');
    await cacheOver(redis).generations.begin('market:7');
    await admin.config('SET', 'maxmemory', '0');
    expect((await getOrLoad(cache, scope, tagged, never)).source).toBe('network');
    expect(new Set(faults)).toEqual(new Set(['EVAL']));
  });

  test('that refuses one key and not another: no write waits longer than Redis takes to move', async () => {
    const { redis, cache, admin } = await ownRedis();
    await admin.call('ACL', 'SETUSER', 'default', 'resetkeys', `~${generationKey(redis, 'market:8')}`);
    // Both answers come at once.
    redis.stream.cork();
    const writes = ['market:7', 'market:8'].map(tag => cache.generations.renew(tag));
    redis.stream.uncork();
    await writes[1];
    expect(faults).toEqual(['EVAL']);
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 5 * second);
    await Promise.all(writes);
  });

  /** A process with a connection of its own to a server, which can be cut. */
  async function processWithNetwork({ port }: { port: number }) {
    const network = forTest(await startNetwork(() => port));
    const redis = await connected(network.url.replace('http', 'redis'));
    return { network, cache: cacheOver(redis) };
  }

  test('reached again: nothing with a tag is used until every process has had the time to reach it, too', async () => {
    const { server } = await ownRedis();
    const [early, late] = [await processWithNetwork(server), await processWithNetwork(server)];
    const [scope, { lookup }] = [someScope(), sourceOf()];
    const tagged = lookup('a', { tag: 'market:7' });
    const source = async () => (await getOrLoad(early.cache, scope, tagged, never)).source;
    await source();
    expect(await source()).toBe('memory');
    late.network.silence();
    // Longer than a write waits.
    await late.cache.generations.renew('market:7');
    early.network.cut(1);
    await until(async () => (await source()) === 'network');
    await late.cache.generations.renew('market:7');
    expect(await source()).toBe('network');
    late.network.restore();
    await until(async () => (await source()) === 'memory');
    await late.cache.generations.renew('market:7');
    expect(await source()).toBe('network');
  });

  test('back with a generation from before a write, as a server that was restored: what was stored under it is not used', async () => {
    const { redis, cache, admin } = await ownRedis();
    const [scope, { lookup }] = [someScope(), sourceOf()];
    const tagged = lookup('a', { tag: 'market:7' });
    await getOrLoad(cache, scope, tagged, never);
    await writesOf(admin, 2);
    const earlier = await Promise.all((await admin.keys('*')).map(async key => [key, await admin.get(key)] as const));
    const restore = async () => {
      for (const [key, value] of earlier) await admin.set(key, value ?? '');
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
    };
    await cache.generations.renew('market:7');
    await restore();
    await until(async () => {
      const { value, source } = await getOrLoad(cache, scope, tagged, never);
      expect(value).not.toEqual({ id: 'a #1' });
      return source === 'memory';
    });
    expect(redis.status).toBe('ready');
    // A write that may still be carried out is not forgotten, either.
    await (await cache.generations.begin('market:7'))('unknown');
    await restore();
    await until(async () => (await cache.generations.current('market:7'))?.state === 'unsettled');
    expect(await redis.get(generationKey(redis, 'market:7'))).toMatch(/^unsettled-[\da-f-]{36}\+\?$/);
  });
});
