import { afterAll, afterEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Secret } from '../../src/config/values.js';
import { createSigner } from '../../src/data/signer.js';
import { startSandbox } from '../../src/sandbox/server.js';
import { forSuite } from '../support/cleanups.js';
import { ask } from '../support/gateway.js';
import { counted } from '../support/metrics.js';
import { buildProgram } from '../support/program.js';
import { startRedis } from '../support/redis.js';
import { type Heard, overSse, startDiscovery } from '../support/streams.js';
import { until } from '../support/until.js';

let heard: Heard | undefined;

const secret = 's'.repeat(32);
const [sandbox, server, program] = await Promise.all([
  startSandbox({ discoveryMs: 4_000 }),
  startRedis(),
  buildProgram(),
]);
const redis = forSuite(new Redis(server.url));
const gateway = await program.start({
  UPSTREAM_BASE_URL: sandbox.origin,
  REDIS_URL: server.url,
  SESSION_SECRET: secret,
  POLL_INTERVAL_MS: '300',
});

afterEach(() => heard?.stop());
afterAll(async () => {
  await gateway?.kill();
  await sandbox.close();
  await server.stop();
});

const place = { generation: 'any', order: 8e15 };
const state = { ...place, kind: 'state', observedAt: 1 };
/** Not an envelope: dropped even if it is signed. */
const malformed = [
  '{',
  'null',
  JSON.stringify(place),
  JSON.stringify({ ...state, kind: 'rumour', state: {} }),
  JSON.stringify({ ...place, kind: 'refused', message: 'No', upstream: null }),
  JSON.stringify({ ...place, kind: 'refused', code: 'toString', message: 'No', upstream: null }),
  JSON.stringify(state),
  JSON.stringify({ ...state, state: null }),
  JSON.stringify({ ...state, observedAt: 1e300, state: {} }),
];

/** An envelope with a state that no gateway produces: dropped because it is not signed. */
const unsigned = [
  JSON.stringify({ ...state, state: { jobs: [{ id: {} }], finished: 'yes' } }),
  `{"generation":"any","order":8e15,"kind":"state","observedAt":1,"state":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
];

const signer = createSigner([new Secret(secret)]);

const total = () => counted(gateway.url, 'gateway_redis_malformed_total');

test('A generation that no gateway wrote is counted and replaced', async () => {
  const query = () => ask(`${gateway.url}/graphql`, '{ market(id: 1) { jobs { id } } }');
  const generations = async () => {
    const keys = (await redis.keys('mig:generation*')).sort();
    return Promise.all(keys.map(async key => [key, await redis.get(key)] as const));
  };
  await query();
  const [before] = await generations();
  if (before === undefined) throw new Error('There is no generation');
  await redis.set(before[0], 'x'.repeat(100_000));
  expect((await query()).errors).toBeUndefined();
  expect(await counted(gateway.url, 'gateway_redis_malformed_total', { what: 'generation' })).toBeGreaterThan(0);
  const [after] = await generations();
  expect(after?.[1]).toMatch(/^[0-9a-f-]{36}$/);
  expect(after?.[1]).not.toBe(before[1]);
});

test('Messages and states that no gateway wrote are counted and ignored, and listeners hear the next state', async () => {
  await startDiscovery(sandbox.origin, '5');
  const query = 'subscription { jobProgress(marketId: 5) { finished jobs { id progress } } }';
  heard = overSse(gateway.url, { query });
  await until(() => heard?.results.length === 1);
  const channels = async () => (await redis.pubsub('CHANNELS', '*')) as string[];
  await until(async () => (await channels()).length === 1);
  const before = await total();
  for (const [index, text] of [...malformed, ...unsigned].entries()) {
    for (const channel of await channels()) {
      const sent = (malformed.includes(text) ? signer.sign(channel, text) : '') + text;
      await redis.publish(channel, sent);
      await redis.set(channel.replace(/messages$/, 'message'), sent);
    }
    await until(async () => (await total()) > before + index);
  }
  await heard.ended;
  expect(heard.results.every(({ errors }) => errors === undefined)).toBe(true);
  expect(heard.results.at(-1)).toMatchObject({ data: { jobProgress: { finished: true } } });
});

test('A complete state without a valid signature for its topic reaches no client', async () => {
  sandbox.reset();
  await startDiscovery(sandbox.origin, '6');
  heard = overSse(gateway.url, {
    query: 'subscription { jobProgress(marketId: 6) { finished jobs { workflowName } } }',
  });
  await until(() => heard?.results.length === 1);
  const [channel = ''] = (await redis.pubsub('CHANNELS', '*')) as string[];
  const job = { id: '1', progress: 1, workflowName: 'forged', status: null, startTime: null, endTime: null };
  const forged = { marketId: '6', phase: 'DISCOVERY', jobs: [{ ...job, finished: true }], finished: true };
  const text = JSON.stringify({ ...place, kind: 'final', observedAt: Date.now(), state: forged });
  const before = await counted(gateway.url, 'gateway_redis_malformed_total', { what: 'message' });
  const stranger = createSigner([new Secret('t'.repeat(32))]);
  for (const signature of ['', signer.sign(`${channel}2`, text), stranger.sign(channel, text)]) {
    await redis.publish(channel, signature + text);
  }
  await until(
    async () => (await counted(gateway.url, 'gateway_redis_malformed_total', { what: 'message' })) >= before + 3,
  );
  await heard.ended;
  expect(JSON.stringify(heard.results)).not.toContain('forged');
  expect(heard.results.at(-1)).toMatchObject({ data: { jobProgress: { finished: true } } });
});
