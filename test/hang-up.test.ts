import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { counted } from './support/metrics.js';
import { buildProgram, type Running } from './support/program.js';
import { get, post } from './support/raw-http.js';
import { sharedRedisUrl } from './support/redis.js';
import { until } from './support/until.js';

// A process of its own: its event loop must not wait for that of the clients.
let gateway: Running;
let admin: string;
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox();
  const { base, api, dev } = sandbox.addresses;
  gateway = await (await buildProgram()).start({
    UPSTREAM_BASE_URL: base,
    UPSTREAM_API_URL: api,
    UPSTREAM_DEV_URL: dev,
    REDIS_URL: sharedRedisUrl(),
    ADMIN_PORT: '0',
    SESSION_SECRET: 'a secret of the test with 32 characters',
  });
  admin = /^Probes and metrics: (.*)\/metrics$/m.exec(gateway.stdout())?.[1]?.replace('localhost', '127.0.0.1') ?? '';
});
afterAll(async () => {
  await gateway.kill();
  await sandbox.close();
});

/** Sends a request on many connections, each of which is reset zero to three milliseconds later. */
async function hangUpEarly(request: string, connections = 150): Promise<void> {
  for (let connection = 0; connection < connections; connection += 1) {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(request);
    await sleep(connection % 4);
    socket.resetAndDestroy();
  }
}

test('a request that equals one whose client has hung up is answered', async () => {
  await hangUpEarly(post('{ nothing }'));
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  socket.write(post('{ nothing }'));
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
  socket.destroy();
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
  const request = get(path, [`cookie: ${cookie}`, 'accept: text/event-stream']);
  await hangUpEarly(request.replace('host: gateway', `host: ${new URL(gateway.url).host}`));
  // The metrics are a second old at most.
  await sleep(1_500);
  await until(async () => (await counted(admin, 'gateway_live_listeners')) === 0);
  await until(async () => (await counted(admin, 'gateway_live_pollers')) === 0);
});
