import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Attack, attacks } from '../support/attacks.js';
import { addressesOn, ask } from '../support/gateway.js';
import { type Inspector, inspect, inspected } from '../support/inspector.js';
import { buildProgram, type Running } from '../support/program.js';
import { until } from '../support/until.js';

/** `HOSTILE_REQUESTS=20000 npm run test:system -- hostile.test.ts` sends more. */
const requests = Number(process.env.HOSTILE_REQUESTS ?? 600);
/** Requests under way at a time, each of which is sent as soon as an earlier one is answered. */
const atOnce = 8;
/** Of what the process holds after a collection, for each request of the measured run: a gateway that kept the bodies would hold 40 KB each. */
const maxHeldPerRequest = 4 * 1024;

let sandbox: Running;
let gateway: Running;
let inspector: Inspector;
beforeAll(async () => {
  const program = await buildProgram();
  sandbox = await program.start({}, 'sandbox/main.js', ['--port', '0']);
  gateway = await program.start({
    ...inspected,
    NODE_ENV: 'production',
    SESSION_SECRET: 's'.repeat(32),
    ...addressesOn(sandbox.url),
    MAX_EVENT_LOOP_DELAY_MS: '60000',
  });
  inspector = await inspect(gateway);
});
afterAll(async () => {
  inspector?.close();
  await Promise.all([gateway?.stop(), sandbox?.stop()]);
});

/** Sends an attack. Resolves with all that came back, or with nothing where the connection was cut. */
function send({ bytes, pauseMs, leaves }: Attack): Promise<string> {
  const { hostname, port } = new URL(gateway.url);
  return new Promise(resolve => {
    const parts: Buffer[] = [];
    const socket = connect(Number(port), hostname, async () => {
      const half = pauseMs === undefined ? bytes.length : bytes.length - 20;
      socket.write(bytes.subarray(0, half));
      if (pauseMs !== undefined) await sleep(pauseMs);
      if (leaves) socket.destroy();
      else if (half < bytes.length) socket.write(bytes.subarray(half));
    });
    socket.setTimeout(20_000, () => socket.destroy(new Error('No answer')));
    socket.on('data', part => parts.push(part));
    socket.on('error', () => {});
    socket.once('close', () => resolve(Buffer.concat(parts).toString()));
  });
}

const faults: string[] = [];
async function strike(attack: Attack): Promise<void> {
  const answer = await send(attack);
  const [, status = '0'] = /^HTTP\/1.1 (\d+)/.exec(answer) ?? [];
  const isFault = Number(status) >= 500 || answer.includes('INTERNAL_SERVER_ERROR');
  if (isFault || /\n\s+at |node_modules/.test(answer)) {
    faults.push(`${attack.what}: ${attack.bytes.toString('latin1').slice(0, 600)} -> ${answer.slice(0, 600)}`);
  }
}

/** Sends attacks, and beside them one good request after another. Every other one is executed: the response cache does not answer `x-explain`. */
async function strikeAll(seed: number): Promise<void> {
  const left = fc.sample(attacks, { numRuns: requests, seed });
  const worker = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) await strike(next);
  };
  const striking = Promise.all(Array.from({ length: atOnce }, worker));
  const pages = '{ totalCount nodes { title references { observation { title } } } }';
  for (let number = 0; left.length > 0; number += 1) {
    const headers = { 'x-api-key': 'demo-key-subscribed', ...(number % 2 === 1 && { 'x-explain': '1' }) };
    const query = `{ events(first: ${1 + (Math.floor(number / 2) % 10)}) ${pages} }`;
    const { status, errors } = await ask(`${gateway.url}/graphql`, query, {}, headers);
    expect([status, errors]).toEqual([200, undefined]);
  }
  await striking;
}

/** Bytes that the gateway holds after a collection, on its heap and outside of it. */
async function heldBytes(): Promise<number> {
  const { heap, buffers } = await inspector.holdings();
  return heap + buffers;
}

async function attackAndMeasure(): Promise<void> {
  // All caches fill in the warm-up.
  await strikeAll(20_240_612);
  const heldBefore = await heldBytes();
  await strikeAll(20_240_611);
  expect(faults).toEqual([]);
  expect(gateway.stderr()).not.toMatch(/"msg":"Unexpected"|Unexpected error/);
  // Connections that the attacks left open are closed within their time limits.
  await until(async () => (await heldBytes()) - heldBefore < requests * maxHeldPerRequest);
}

test(
  `${requests} hostile requests cause no server error, no crash and no leak, and good requests are answered meanwhile`,
  async () => {
    const died = gateway.ended.then(({ code, stderr }) => {
      throw new Error(`The gateway ended with ${code}: ${stderr.slice(-2_000)}`);
    });
    await Promise.race([attackAndMeasure(), died]);
  },
  requests > 1_000 ? 1_800_000 : undefined,
);
