import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Attack, attacks } from './support/attacks.js';
import { buildProgram, type Running } from './support/program.js';

/** `HOSTILE_REQUESTS=20000 npm test -- test/hostile.test.ts` is the whole of it, with bounds on memory and on the time of good requests. */
const requests = Number(process.env.HOSTILE_REQUESTS ?? 600);
const isWhole = requests >= 10_000;
/** In the storm before the judged run. */
const atOnce = 8;
/** In the judged run, in which good requests are no more. A gateway that is asked for all it can do would show how much that is. */
const perSecond = 200;
/** Of quiet and hostile times in turns, so that whatever else the machine does meets both. */
const rounds = isWhole ? 10 : 1;
const quietMs = isWhole ? 10_000 : 500;
const mostGrowth = 16 * 1024 * 1024;

let sandbox: Running;
let gateway: Running;
let visitor: ChildProcess;
beforeAll(async () => {
  const program = await buildProgram();
  sandbox = await program.start({}, 'sandbox/main.js', ['--port', '0']);
  gateway = await program.start({
    NODE_ENV: 'production',
    SESSION_SECRET: 's'.repeat(32),
    UPSTREAM_BASE_URL: sandbox.url,
    UPSTREAM_API_URL: `${sandbox.url}/api`,
    UPSTREAM_DEV_URL: `${sandbox.url}/stage`,
    MAX_EVENT_LOOP_DELAY_MS: '60000',
  });
  visitor = fork('test/support/good-visitor.mjs', [gateway.url], { execArgv: [] });
}, 60_000);
afterAll(async () => {
  visitor?.kill();
  await Promise.all([gateway?.stop(), sandbox?.stop()]);
});

/** What came back, up to its end; nothing where the connection was cut. */
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

/** As fast as they are answered. */
async function storm(from: readonly Attack[]): Promise<void> {
  const left = [...from];
  const worker = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) await strike(next);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** At their time, whether those before are answered or not. */
async function rain(from: readonly Attack[]): Promise<void> {
  const startedAt = performance.now();
  const struck: Promise<void>[] = [];
  for (const [index, attack] of from.entries()) {
    await sleep(Math.max(0, startedAt + (index * 1_000) / perSecond - performance.now()));
    struck.push(strike(attack));
  }
  await Promise.all(struck);
}

/** How long the visitor's requests took since it was asked the last time, in milliseconds. */
async function timesOfVisitor(): Promise<number[]> {
  visitor.send('times');
  const [{ times, wrong }] = (await once(visitor, 'message')) as [{ times: number[]; wrong: number }];
  expect(wrong).toBe(0);
  return times;
}

async function residentBytes(): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]);
}

const quantile = (found: readonly number[], share: number) =>
  [...found].sort((a, b) => a - b)[Math.floor(found.length * share)] ?? 0;
const median = (found: readonly number[]) => quantile(found, 0.5);
const p99 = (found: readonly number[]) => quantile(found, 0.99);

test(
  `${requests} hostile requests cause no fault, no crash and no leak, and good ones beside them are answered`,
  async () => {
    // Once through, so that what is kept has grown to its bounds.
    await storm(fc.sample(attacks, { numRuns: requests, seed: 20_240_612 }));
    const stormy = p99(await timesOfVisitor());

    const all = fc.sample(attacks, { numRuns: requests, seed: 20_240_611 });
    const size = Math.ceil(requests / rounds);
    const quiet: number[] = [];
    const beside: number[] = [];
    const resident: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await timesOfVisitor();
      await sleep(quietMs);
      quiet.push(p99(await timesOfVisitor()));
      await rain(all.slice(round * size, (round + 1) * size));
      beside.push(p99(await timesOfVisitor()));
      resident.push(await residentBytes());
    }

    expect(faults).toEqual([]);
    expect(gateway.stderr()).not.toMatch(/"msg":"Unexpected"|Unexpected error/);
    expect(beside[0]).toBeGreaterThan(0);
    if (!isWhole) return;
    const figures = {
      /** For those who read it: how long good requests take while the gateway has all it can do. */
      stormy,
      quiet: median(quiet),
      beside: median(beside),
      before: median(resident.slice(0, rounds / 2)),
      after: median(resident.slice(rounds / 2)),
    };
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    expect(figures.after - figures.before).toBeLessThan(mostGrowth);
    expect(figures.beside).toBeLessThan(figures.quiet * 2);
  },
  isWhole ? 1_800_000 : 120_000,
);
