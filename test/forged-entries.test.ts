import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { request } from 'undici';
import type { Scope } from '../src/auth/credentials.js';
import { Secret } from '../src/config/values.js';
import { type Generations, writePurge } from '../src/data/cache/generations.js';
import { scopedKey } from '../src/data/cache/keys.js';
import { createSigner } from '../src/data/cache/signer.js';
import { createRedisTier } from '../src/data/cache/tiers.js';
import { redisPollStore } from '../src/data/polling/redis-poll-store.js';
import { RedisCounter } from '../src/data/redis.js';
import { createStartedRuns } from '../src/data/started-runs.js';
import { createRevocations } from '../src/domains/sessions/revocations.js';
import { createResponseCacheStore } from '../src/http/response-cache/store.js';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { demoHeaders, startGateway, type TestGateway } from './support/gateway.js';
import { counted } from './support/metrics.js';
import { type RedisServer, startRedis } from './support/redis.js';
import { sharedStore, testFleet } from './support/shared-store.js';
import { silentTelemetry } from './support/silent-telemetry.js';
import { until } from './support/until.js';

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(() => redis.flushall());

/** The names under which records and whole answers are kept. */
const entries = async () => (await redis.keys('mig:*')).filter(name => /[{]/.test(name) && !name.includes(':live:'));

describe('A gateway that finds in Redis what no gateway wrote', () => {
  let sandbox: Sandbox;
  const env = { SESSION_SECRET: 'a secret that all gateways of these tests share', RESPONSE_CACHE: 'true' };
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  async function withGateway<T>(use: (gateway: TestGateway) => Promise<T>): Promise<T> {
    const gateway = await startGateway({ sandbox, redisUrl: server.url, env });
    try {
      return await use(gateway);
    } finally {
      await gateway.close();
    }
  }

  const queries = [
    '{ market(id: 1) { name } }',
    '{ market(id: 2) { name } }',
    '{ events(first: 3) { nodes { title } } }',
  ];

  async function answersOf({ url }: TestGateway) {
    const answers = [];
    for (const query of queries) {
      const { statusCode, body } = await request(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...demoHeaders },
        body: JSON.stringify({ query }),
      });
      answers.push([statusCode, await body.text()]);
    }
    return answers;
  }

  const head = (headers: unknown) =>
    JSON.stringify({
      headers,
      length: 5,
      etag: '"forged"',
      keepUntil: Date.now() + 60_000,
      generations: [],
      freshUntil: Date.now() + 60_000,
      usableUntil: Date.now() + 60_000,
      bytes: 5,
      value: { name: 'forged', events: [] },
    });
  const forgeries: Readonly<Record<string, (kept: Buffer, another: Buffer) => Buffer | string>> = {
    nothing: () => '',
    'an answer with a content-length of its own': () => `${head(['content-length', 1])}\n{"data":{"market":null}}`,
    'an answer with two ways to tell its end': () => `${head(['transfer-encoding', 'chunked'])}\n{"data":null}`,
    'an answer with a line break in a header': () => `${head(['x-a', 'b\r\nset-cookie: c=d'])}\n{"data":null}`,
    'a record without a signature': () => head([]),
    'an entry that was changed by one bit': kept => {
      const changed = Buffer.from(kept);
      changed[changed.length - 3] = (changed.at(-3) ?? 0) ^ 1;
      return changed;
    },
    'an entry that was cut short': kept => kept.subarray(0, -1),
    'an entry of another name': (_, another) => another,
    'an entry of another fleet': kept => {
      const content = kept.subarray(43);
      return Buffer.concat([Buffer.from(createSigner([new Secret('s'.repeat(40))]).sign('x', content)), content]);
    },
  };

  test.each(Object.keys(forgeries))('answers as if there were nothing, and counts it: %s', async name => {
    const right = await withGateway(async writer => {
      const answers = await answersOf(writer);
      await until(async () => (await entries()).length === queries.length * 2);
      return answers;
    });
    const names = await entries();
    const kept = await Promise.all(names.map(each => redis.getBuffer(each)));
    for (const [index, each] of names.entries()) {
      const another = kept[(index + 1) % kept.length] ?? Buffer.alloc(0);
      await redis.set(each, forgeries[name]?.(kept[index] ?? Buffer.alloc(0), another) ?? '', 'PX', 60_000);
    }
    await withGateway(async reader => {
      expect(await answersOf(reader)).toEqual(right);
      for (const what of ['record', 'response']) {
        expect(await counted(reader.url, 'gateway_redis_malformed_total', { what })).toBe(queries.length);
      }
    });
  });
});

test('What a gateway signed is not used for longer than it would have been stored, whoever puts it back', async () => {
  const shared = sharedStore(redis);
  const store = redisPollStore(shared, 1_000);
  const [runs, ofAnother] = [createStartedRuns(shared, silentTelemetry), createStartedRuns(shared, silentTelemetry)];
  const message = { kind: 'final', state: { is: 1 }, observedAt: Date.now(), generation: 'first', order: 1 } as const;
  const received: unknown[] = [];
  await store.publish('topic', message);
  await runs.add('jobs of 7', ['1']);
  const [stateKey = '', runsKey = ''] = [...(await redis.keys('*:state')), ...(await redis.keys('mig:started:*'))];
  const [state, started] = [(await redis.get(stateKey)) ?? '', (await redis.get(runsKey)) ?? ''];
  expect(await store.read('topic', 'first')).toMatchObject({ order: 1 });
  expect(await ofAnother.of('jobs of 7')).toEqual({ ids: ['1'], isRecent: true });
  const now = performance.now.bind(performance);
  let ahead = 6 * 60_000;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  try {
    await redis.set(stateKey, state);
    await redis.set(runsKey, started);
    store.subscribe('topic', ({ order }) => received.push(order));
    await until(async () => (await redis.publish(stateKey.replace('first:state', 'messages'), state)) > 0);
    expect(await store.read('topic', 'first')).toBeUndefined();
    expect(await ofAnother.of('jobs of 7')).toEqual({ ids: ['1'], isRecent: false });
    ahead *= 2;
    expect(await ofAnother.of('jobs of 7')).toEqual({ ids: [], isRecent: false });
    await store.publish('topic', { ...message, order: 2 });
    await until(() => received.includes(2));
    expect(received).toEqual([2]);
  } finally {
    clock.mockRestore();
    store.close();
  }
});

test('A value of another type is replaced, also where it would never expire', async () => {
  const put = async (key: string) => {
    await redis.del(key);
    await redis.lpush(key, 'of another type');
  };
  const writes: Record<string, () => Promise<unknown>> = {
    'mig:count:client': () =>
      new RedisCounter({ keyPrefix: 'mig:count', points: 2, duration: 60, storeClient: redis }).consume('client'),
    [`mig:live:${sharedStore(redis).namespace}:{topic}:generation:claim`]: async () => {
      const store = redisPollStore(sharedStore(redis), 1_000);
      await store.claim('topic', 'generation', 'gateway').finally(() => store.close());
    },
    'mig:sessions:revoked': () => createRevocations(redis, silentTelemetry).add('session', Date.now() + 60_000),
    [`mig:purge:${testFleet(redis)}`]: () => writePurge(redis, testFleet(redis), 'all'),
  };
  for (const [key, write] of Object.entries(writes)) {
    await put(key);
    await write();
    expect([key, await redis.type(key)]).not.toEqual([key, 'list']);
    expect([key, await redis.exists(key)]).toEqual([key, 1]);
  }
  // A count that is text never expires, either.
  await redis.set('mig:count:client', 'text');
  expect(await writes['mig:count:client']?.()).toMatchObject({ consumedPoints: 1 });
});

test('Gateways in all phases of a rotation of the secret answer alike over one Redis, and find nothing malformed', async () => {
  const [old, next] = ['o', 'n'].map(letter => letter.repeat(40));
  const sandbox = await startSandbox();
  const phases = [`${old}`, `${old},${next}`, `${next},${old}`, `${next}`];
  const gateways = await Promise.all(
    phases.map(secrets => startGateway({ sandbox, redisUrl: server.url, env: { SESSION_SECRET: secrets } })),
  );
  try {
    const query = '{ market(id: 1) { name } events(first: 3) { nodes { title } } }';
    const right = (await gateways[0]?.query(query))?.data;
    for (const gateway of [...gateways, ...gateways.toReversed()]) {
      const { data, errors } = await gateway.query(query);
      expect([data, errors]).toEqual([right, undefined]);
      expect(await counted(gateway.url, 'gateway_redis_malformed_total')).toBe(0);
    }
    // The first secret names whose an entry is: two phases share theirs.
    expect(sandbox.calls.count('/v2/events-monitor/events')).toBe(2);
  } finally {
    await Promise.all(gateways.map(gateway => gateway.close()));
    await sandbox.close();
  }
});

describe('What is signed', () => {
  const [old, next, foreign] = ['old', 'next', 'foreign'].map(name => new Secret(name.repeat(10))) as [
    Secret,
    Secret,
    Secret,
  ];

  test('is opened by every gateway that knows the secret, first or not, and by no other', () => {
    const phases = [createSigner([old]), createSigner([old, next]), createSigner([next, old]), createSigner([next])];
    const opens = phases.map(writer =>
      phases.map(reader => reader.open('name', `${writer.sign('name', 'text')}text`) === 'text'),
    );
    expect(opens).toEqual([
      [true, true, true, false],
      [true, true, true, false],
      [false, true, true, true],
      [false, true, true, true],
    ]);
    const stranger = createSigner([foreign]);
    expect(phases.map(reader => reader.open('name', `${stranger.sign('name', 'text')}text`))).toEqual(
      phases.map(() => undefined),
    );
  });

  test('is opened as bytes and as text alike, and under its own name only', () => {
    const signer = createSigner([old]);
    const signed = `${signer.sign('name', 'te', Buffer.from('xt – ü'))}text – ü`;
    expect(signer.open('name', signed)).toBe('text – ü');
    expect(signer.open('name', Buffer.from(signed))?.toString()).toBe('text – ü');
    expect(signer.open('namet', signed.replace('text', 'ext'))).toBeUndefined();
    expect(signer.open('name', '')).toBeUndefined();
  });
});

describe('What a gateway signed and another one cannot read', () => {
  const scope = 'a-scope' as Scope;
  const now = () => Date.now() + 60_000;
  const seen: string[] = [];
  const telemetry = { ...silentTelemetry, malformed: (what: string) => void seen.push(what) };
  beforeEach(() => {
    seen.length = 0;
  });

  const record = () => ({ value: { id: 'a' }, freshUntil: now(), usableUntil: now(), bytes: 9 });
  test.each<[string, () => unknown]>([
    ['a time that is no number', () => ({ ...record(), freshUntil: 'soon' })],
    ['a generation that is no text', () => ({ ...record(), generation: {} })],
    ['a member of its own', () => ({ ...record(), more: 1 })],
    ['a refusal of another shape', () => ({ ...record(), absent: { status: 'no' } })],
    ['a list', () => []],
  ])('is no record: %s', async (_, made) => {
    const store = sharedStore(redis, telemetry);
    const [tier, key] = [createRedisTier(store), scopedKey(scope, 'a record')];
    await tier.setMany(new Map([[key, record()]]));
    expect((await tier.getMany([key])).get(key)).toMatchObject({ value: { id: 'a' } });
    const [name = ''] = await redis.keys('*');
    const json = JSON.stringify(made());
    await redis.set(name, store.signer.sign(name, json) + json);
    expect((await tier.getMany([key])).size).toBe(0);
    expect(seen).toEqual(['record']);
  });

  const answerHead = () => ({
    headers: ['content-type', 'application/json'],
    etag: '"e"',
    keepUntil: now(),
    generations: [],
  });
  test.each<[string, () => unknown]>([
    ['a header that is no text', () => ({ ...answerHead(), headers: ['x-a', {}] })],
    ['no time', () => ({ ...answerHead(), keepUntil: undefined })],
    ['a tag that is no text', () => ({ ...answerHead(), generations: [[1, 2]] })],
    ['an entity tag with a quote in it', () => ({ ...answerHead(), etag: '"a"b"' })],
  ])('is no answer: %s', async (_, made) => {
    const shared = sharedStore(redis, telemetry);
    const generations = {} as Generations;
    const store = () => createResponseCacheStore({ bytes: 100_000, shared, generations, telemetry });
    const key = scopedKey(scope, 'an answer');
    await until(() => redis.status === 'ready');
    const answer = { ...answerHead(), body: [Buffer.from('{}')], length: 2, compressed: {} };
    store().put(key, { ...answer, generations: [], operation: undefined, outcome: undefined });
    await until(async () => (await redis.dbsize()) === 1);
    expect(await store().get(key)).toMatchObject({ headers: answer.headers, length: 2 });
    const [name = ''] = await redis.keys('*');
    const line = `${JSON.stringify(made())}\n{}`;
    await redis.set(name, shared.signer.sign(name, line) + line);
    expect(await store().get(key)).toBeUndefined();
    expect(seen).toEqual(['response']);
  });
});
