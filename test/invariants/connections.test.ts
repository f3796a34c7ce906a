import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { fuzz } from '../support/fuzz.js';
import { addressesOn, ask } from '../support/gateway.js';
import { counted } from '../support/metrics.js';
import { buildProgram, type Running } from '../support/program.js';
import { get, post, rawConnection, toWebSocket } from '../support/raw-http.js';
import type { Draw } from '../support/seeded.js';
import { until } from '../support/until.js';

const maxInFlight = 200;

let sandbox: Sandbox;
let gateway: Running;
beforeAll(async () => {
  const [service, program] = await Promise.all([startSandbox(), buildProgram()]);
  sandbox = service;
  gateway = await program.start({
    ...addressesOn(sandbox.origin),
    SESSION_SECRET: 's'.repeat(32),
    MAX_REQUESTS_IN_FLIGHT: String(maxInFlight),
    RATE_LIMIT_PER_ADDRESS: '0',
    RATE_LIMIT_PER_CREDENTIAL: '0',
  });
});
afterAll(async () => {
  await gateway?.kill();
  await sandbox?.close();
});

let names = 0;
/** A query that waits for the service, and that no one else has asked. */
const slow = () => {
  names += 1;
  return `query Slow { market(id: ${names}) { topics { id } } }`;
};
const quick = 'query Quick { viewer { authentication } }';
const h2c = ['connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AAMAAABk'];

const parts: readonly ((draw: Draw) => string)[] = [
  () => post(slow()),
  () => post(quick),
  () => get('/nothing'),
  () => get('/healthz'),
  () => post(quick, h2c),
  () => post(`${quick} # ${'x'.repeat(90_000)}`, h2c),
  () => post(quick, ['upgrade: websocket']),
  () => post(quick, ['expect: 100-continue']),
  () => post(quick).replace('content-length', 'x-length'),
  draw => post(quick).repeat(draw.below(90)),
  draw => get('/healthz').repeat(draw.below(90)),
];
/** After these, whatever else is sent is no request. */
const last: readonly ((draw: Draw) => string)[] = [
  () => '',
  () => get('/graphql', toWebSocket()),
  () => get('/graphql', toWebSocket('graphql-transport-ws')),
  () => get('/graphql', toWebSocket('graphql-transport-ws').slice(0, 2)),
  () => get('/elsewhere', toWebSocket('graphql-transport-ws')),
  () => get('/graphql', ['connection: close']),
  () => 'NO HTTP AT ALL\r\n\r\n',
  draw => post(slow()).slice(0, draw.below(150)),
];

/** One client that sends what it likes, goes on sending, and leaves as it likes. */
async function visit(draw: Draw): Promise<void> {
  const bytes = Array.from({ length: draw.below(8) }, () => draw.pick(parts)(draw)).join('') + draw.pick(last)(draw);
  const raw = rawConnection(gateway.url);
  if (draw.chance(0.2)) raw.socket.pause();
  const cut = draw.below(bytes.length + 1);
  raw.socket.write(bytes.slice(0, cut));
  await sleep(draw.below(20));
  raw.socket.write(bytes.slice(cut));
  const late = draw.below(4);
  for (let sent = 0; sent < late; sent += 1) {
    await sleep(draw.below(30));
    raw.socket.write('x'.repeat(draw.below(50_000)));
  }
  await sleep(draw.below(60));
  const leaving = draw.below(3);
  if (leaving === 0) raw.socket.resetAndDestroy();
  else if (leaving === 1) raw.socket.destroy();
  else {
    raw.socket.resume().end();
    await Promise.race([raw.closed, sleep(1_500)]);
    raw.socket.destroy();
  }
}

const openDescriptors = () => counted(gateway.url, 'process_open_fds', {});

const inFlight = () => counted(gateway.url, 'gateway_requests_in_flight', {});

test('however clients pipeline, propose upgrades, send late data and leave, nothing of their connections stays', async () => {
  // More than there are connections to the service, so that all of those are open before descriptors are counted.
  sandbox.tell({ path: /topics/, delayMs: 4_000 });
  await Promise.all(Array.from({ length: 150 }, () => ask(`${gateway.url}/graphql`, slow())));
  sandbox.reset();
  sandbox.tell({ path: /topics/, delayMs: 40 });
  const before = await openDescriptors();
  await fuzz(async draw => {
    await Promise.all(Array.from({ length: 12 }, () => visit(draw)));
  });
  await until(async () => (await openDescriptors()) <= before);
  await until(async () => (await inFlight()) === 0).catch(async error => {
    throw new Error(`${await inFlight()} in flight`, { cause: error });
  });

  const requests = () => counted(gateway.url, 'gateway_requests_total', { transport: 'http' });
  await until(async () => {
    const earlier = await requests();
    await sleep(300);
    return earlier === (await requests());
  });
  const counts = await requests();
  const calls = sandbox.calls.count();
  const pipelined = rawConnection(gateway.url, post(slow()) + post(quick).repeat(20));
  // What was sent at once has been read by then.
  await until(() => sandbox.calls.count() > calls);
  pipelined.socket.resetAndDestroy();
  const answered = rawConnection(gateway.url, post(quick, h2c) + post(quick, ['upgrade: websocket']) + post(quick));
  await until(() => answered.statuses().length === 3);
  answered.socket.destroy();
  await until(async () => (await requests()) >= counts + 24);
  await sleep(200);
  expect(await requests()).toBe(counts + 24);

  const { code, stderr } = await gateway.stop();
  expect({ code, unexpected: stderr.split('\n').filter(line => line.includes('Unexpected')) }).toEqual({
    code: 0,
    unexpected: [],
  });
});
