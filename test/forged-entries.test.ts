// What a gateway finds in Redis that no gateway wrote, or that another one wrote long ago.
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Secret } from '../src/config/values.js';
import { writePurge } from '../src/data/cache/generations.js';
import { redisPollStore } from '../src/data/polling/redis-poll-store.js';
import { createRedisCounter } from '../src/data/redis.js';
import { createSigner } from '../src/data/signer.js';
import { createStartedRuns } from '../src/data/started-runs.js';
import { createRevocations } from '../src/domains/sessions/revocations.js';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { cleanups, forSuite, forTest } from './support/cleanups.js';
import { startGateway, type TestGateway } from './support/gateway.js';
import { counted } from './support/metrics.js';
import { startRedis } from './support/redis.js';
import { sharedStore, testFleet } from './support/shared-store.js';
import { silentTelemetry } from './support/silent-telemetry.js';
import { until } from './support/until.js';

const server = forSuite(await startRedis());
const redis = forSuite(new Redis(server.url));

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

  async function answersOf({ query: ask }: TestGateway) {
    const answers = [];
    for (const query of queries) {
      const { status, data, errors } = await ask(query);
      answers.push([status, data, errors]);
    }
    return answers;
  }

  const signer = createSigner([new Secret(env.SESSION_SECRET)]);
  const signatureLength = signer.sign('', '').length;
  const head = (headers: unknown) => {
    const times = { keepUntil: Date.now() + 60_000, freshUntil: Date.now() + 60_000, usableUntil: Date.now() + 60_000 };
    const value = { name: 'forged', events: [] };
    return JSON.stringify({ headers, length: 5, etag: '"forged"', generations: [], bytes: 5, value, ...times });
  };
  /** Signed as it should be, with members in another shape: of a record, or of an answer. */
  const changed = (ofRecord: object, ofAnswer: object) => (kept: Buffer, _: Buffer, name: string) => {
    const [first = '', ...more] = kept.subarray(signatureLength).toString().split('\n');
    const right = JSON.parse(first);
    const wrong = { ...right, ...('freshUntil' in right ? ofRecord : ofAnswer) };
    const content = [JSON.stringify(wrong), ...more].join('\n');
    return signer.sign(name, content) + content;
  };
  const forgeries: Readonly<Record<string, (kept: Buffer, another: Buffer, name: string) => Buffer | string>> = {
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
      const content = kept.subarray(signatureLength);
      return Buffer.concat([Buffer.from(createSigner([new Secret('s'.repeat(40))]).sign('x', content)), content]);
    },
    'an entry with a time that is no number': changed({ freshUntil: 'soon' }, { keepUntil: undefined }),
    'an entry with a generation that is no text': changed({ generation: {} }, { generations: [[1, 2]] }),
    'a record with a member of its own, and an answer with a header that is no text': changed(
      { more: 1 },
      { headers: ['x-a', {}] },
    ),
    'a refusal of another shape, and an entity tag with a quote in it': changed(
      { absent: { status: 'no' } },
      { etag: '"a"b"' },
    ),
  };

  test.each(Object.keys(forgeries))('answers as if there were nothing, and counts it: %s', async name => {
    let right: unknown;
    // A Redis that is slow on a busy machine is not waited for: then another gateway tries.
    await until(async () => {
      right = await withGateway(answersOf);
      return (await entries()).length === queries.length * 2;
    });
    const names = await entries();
    const kept = await Promise.all(names.map(each => redis.getBuffer(each)));
    const forge = async (each: string, index: number) => {
      const another = kept[(index + 1) % kept.length] ?? Buffer.alloc(0);
      await redis.set(each, forgeries[name]?.(kept[index] ?? Buffer.alloc(0), another, each) ?? '', 'PX', 60_000);
    };
    await until(async () => {
      await Promise.all(names.map(forge));
      return withGateway(async reader => {
        expect(await answersOf(reader)).toEqual(right);
        const malformed = (what: string) => counted(reader.url, 'gateway_redis_malformed_total', { what });
        return isDeepStrictEqual([await malformed('record'), await malformed('response')], [3, 3]);
      });
    });
  });
});

test('What a gateway signed is not used for longer than it would have been stored, whoever puts it back', async () => {
  const shared = sharedStore(redis);
  const store = forTest(redisPollStore(shared, 1_000));
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
  cleanups.push(() => clock.mockRestore());
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
});

test('A value of another type is replaced, also where it would never expire', async () => {
  const put = async (key: string) => {
    await redis.del(key);
    await redis.lpush(key, 'of another type');
  };
  const writes: Record<string, () => Promise<unknown>> = {
    'mig:count:client': () => createRedisCounter(redis, 'mig:count', 60).add('client', 1),
    [`mig:live:${sharedStore(redis).namespace}:{topic}:generation:lock`]: async () => {
      const store = redisPollStore(sharedStore(redis), 1_000);
      await store.lock('topic', 'generation').finally(() => store.close());
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
  expect(await writes['mig:count:client']?.()).toMatchObject({ consumed: 1 });
});
