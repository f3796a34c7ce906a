import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { demoHeaders, startGateway, type TestGateway } from './support/gateway.js';
import { counted } from './support/metrics.js';
import { get, post } from './support/raw-http.js';
import { sharedRedisUrl } from './support/redis.js';
import { until } from './support/until.js';

let sandbox: Sandbox;
let gateway: TestGateway;

beforeAll(async () => {
  sandbox = await startSandbox();
  gateway = await startGateway({ sandbox, redisUrl: sharedRedisUrl() });
});
afterAll(async () => {
  await gateway.close();
  await sandbox.close();
});

/** Sends a request again and again, and hangs up zero to three milliseconds later. */
async function hangUpEarly(request: string, times = 100): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.on('error', () => {});
    await new Promise<void>(resolve => socket.write(request, () => resolve()));
    await sleep(time % 4);
    socket.resetAndDestroy();
  }
}

test('a request that equals one whose client has hung up is answered', async () => {
  await hangUpEarly(post('{ nothing }'));
  const { errors } = await gateway.query('{ nothing }', {}, demoHeaders);
  expect(errors?.[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
});

test('an operation whose client has hung up ends', async () => {
  const ids = sandbox.data.observations.slice(0, 100).map(({ _id }) => _id);
  sandbox.calls.clear();
  await hangUpEarly(post(`{ observations(ids: ${JSON.stringify(ids)}) { title } }`), 20);
  await until(async () => (await counted(gateway.url, 'gateway_operations_running')) === 0);
});

test('a subscription whose client has hung up ends', async () => {
  const path = `/graphql/stream?query=${encodeURIComponent('subscription { eventUpdates { cursor } }')}`;
  const { email, password } = sandbox.demo.users[0] ?? { email: '', password: '' };
  const signIn = await fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      query: 'mutation ($input: SignInInput!) { signIn(input: $input) { __typename } }',
      variables: { input: { email, password } },
    }),
  });
  const cookie = signIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  expect(cookie).not.toBe('');
  await hangUpEarly(get(path, [`cookie: ${cookie}`, 'accept: text/event-stream']));
  await until(async () => (await counted(gateway.url, 'gateway_live_listeners')) === 0);
  await until(async () => (await counted(gateway.url, 'gateway_live_pollers')) === 0);
});
