import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Attack, attacks } from '../support/attacks.js';
import { addressesOn } from '../support/gateway.js';
import { type Inspector, inspect, inspected } from '../support/inspector.js';
import { buildProgram, type Running } from '../support/program.js';
import { until } from '../support/until.js';

/** `HOSTILE_REQUESTS=20000 npm run test:system -- hostile.test.ts` also bounds the resident memory and the time of good requests. */
const requests = Number(process.env.HOSTILE_REQUESTS ?? 600);
const isWhole = requests >= 10_000;
/** Requests under way at a time in the warm-up, which sends each request as soon as an earlier one is answered. */
const atOnce = 8;
/** In the measured run. It leaves the gateway time for good requests, or their times would only show how fast the machine is. */
const perSecond = 200;
/** Quiet and hostile periods take turns, so that other work of the machine affects both. */
const rounds = isWhole ? 10 : 1;
const quietMs = isWhole ? 10_000 : 500;
/** Of the resident memory, between the first and the second half of the rounds. */
const maxResidentGrowth = 16 * 1024 * 1024;
/** Of what the process holds after a collection, for each request of the measured run: a gateway that kept the bodies would hold 40 KB each. */
const maxHeldPerRequest = 4 * 1024;

let sandbox: Running;
let gateway: Running;
let inspector: Inspector;
let goodClient: ChildProcess;
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
  goodClient = fork('test/support/good-client.mjs', [gateway.url], { execArgv: [] });
});
afterAll(async () => {
  goodClient?.kill();
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

/** Sends each attack as soon as an earlier one is answered. */
async function strikeAtOnce(all: readonly Attack[]): Promise<void> {
  const left = [...all];
  const worker = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) await strike(next);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** Sends the attacks at a fixed rate, whether earlier ones are answered or not. */
async function strikeInTime(all: readonly Attack[]): Promise<void> {
  const startedAt = performance.now();
  const struck: Promise<void>[] = [];
  for (const [index, attack] of all.entries()) {
    await sleep(Math.max(0, startedAt + (index * 1_000) / perSecond - performance.now()));
    struck.push(strike(attack));
  }
  await Promise.all(struck);
}

/** How long the good requests since the last call took, in milliseconds. @throws where one had a wrong answer */
async function goodTimes(): Promise<number[]> {
  const exited = once(goodClient, 'exit').then(([code]) => {
    throw new Error(`The good client ended with ${code}`);
  });
  goodClient.send('times');
  const [{ times, wrong }] = (await Promise.race([once(goodClient, 'message'), exited])) as [
    { times: number[]; wrong: number },
  ];
  expect(wrong).toBe(0);
  return times;
}

async function residentBytes(): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]);
}

/** Bytes that the gateway holds after a collection, on its heap and outside of it. */
async function heldBytes(): Promise<number> {
  const { heap, buffers } = await inspector.holdings();
  return heap + buffers;
}

const quantile = (found: readonly number[], share: number) =>
  [...found].sort((a, b) => a - b)[Math.floor(found.length * share)] ?? 0;
const median = (found: readonly number[]) => quantile(found, 0.5);
const p99 = (found: readonly number[]) => quantile(found, 0.99);

async function attackAndMeasure(): Promise<void> {
  // All caches fill in the warm-up.
  await strikeAtOnce(fc.sample(attacks, { numRuns: requests, seed: 20_240_612 }));
  const underLoad = p99(await goodTimes());

  const all = fc.sample(attacks, { numRuns: requests, seed: 20_240_611 });
  const size = Math.ceil(requests / rounds);
  const quiet: number[] = [];
  const beside: number[] = [];
  const resident: number[] = [];
  const heldBefore = await heldBytes();
  for (let round = 0; round < rounds; round += 1) {
    await goodTimes();
    await sleep(quietMs);
    quiet.push(p99(await goodTimes()));
    await strikeInTime(all.slice(round * size, (round + 1) * size));
    beside.push(p99(await goodTimes()));
    resident.push(await residentBytes());
  }

  expect(faults).toEqual([]);
  expect(gateway.stderr()).not.toMatch(/"msg":"Unexpected"|Unexpected error/);
  // Connections that the attacks left open are closed within their time limits.
  await until(async () => (await heldBytes()) - heldBefore < requests * maxHeldPerRequest);
  if (!isWhole) return;
  const figures = {
    underLoad,
    quiet: median(quiet),
    beside: median(beside),
    before: median(resident.slice(0, rounds / 2)),
    after: median(resident.slice(rounds / 2)),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures.after - figures.before).toBeLessThan(maxResidentGrowth);
  expect(figures.beside).toBeLessThan(figures.quiet * 2);
}

test(
  `${requests} hostile requests cause no server error, no crash and no leak, and good requests are answered meanwhile`,
  async () => {
    const died = gateway.ended.then(({ code, stderr }) => {
      throw new Error(`The gateway ended with ${code}: ${stderr.slice(-2_000)}`);
    });
    await Promise.race([attackAndMeasure(), died]);
  },
  isWhole ? 1_800_000 : undefined,
);
