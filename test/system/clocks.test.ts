import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { forTest } from '../support/cleanups.js';
import { addressesOn, ask, signedIn } from '../support/gateway.js';
import { counted } from '../support/metrics.js';
import { buildProgram, type Program, type Running } from '../support/program.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { until } from '../support/until.js';

const hour = 3_600;

let program: Program;
let sandbox: Sandbox;
let redis: RedisServer;
const running: Running[] = [];
beforeAll(async () => {
  [program, sandbox, redis] = await Promise.all([buildProgram(), startSandbox(), startRedis()]);
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(gateway => gateway.kill()));
});
afterAll(() => Promise.all([sandbox.close(), redis.stop()]));

/** Sets the clock of a process: the time that it starts with, in seconds ahead of the real one, and those that its SIGUSR2 adds. */
const clockAhead = (seconds: number, stepSeconds = 0) => `
  const real = Date;
  let aheadMs = ${seconds} * 1000;
  process.on('SIGUSR2', () => { aheadMs += ${stepSeconds} * 1000; });
  globalThis.Date = class Date extends real {
    constructor(...given) { if (given.length === 0) super(real.now() + aheadMs); else super(...given); }
    static now() { return real.now() + aheadMs; }
  };`;

async function startAhead(seconds: number, env: Record<string, string> = { REDIS_URL: redis.url }, step = 0) {
  const gateway = await program.start({
    ...addressesOn(sandbox.origin),
    SESSION_SECRET: 's'.repeat(40),
    EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true',
    LOG_LEVEL: 'warn',
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(clockAhead(seconds, step))}`,
    ...env,
  });
  running.push(gateway);
  return gateway;
}

const signOut = ({ url }: Running, cookie: Record<string, string>) =>
  ask(`${url}/graphql`, 'mutation { signOut { viewer { email } } }', {}, cookie);
const codeOf = async ({ url }: Running, cookie: Record<string, string>) =>
  (await ask(`${url}/graphql`, '{ viewer { email } events { totalCount } }', {}, cookie)).errors?.[0]?.extensions.code;

describe.each([2 * hour, 25 * hour, -2 * hour, 80])('a gateway whose clock is wrong by %s s', seconds => {
  test('forgets no sign-out, and takes part in the sessions of the others', async () => {
    const [right, wrong] = await Promise.all([startAhead(0), startAhead(seconds)]);
    const cookies = [await signedIn(right), await signedIn(wrong), await signedIn(right)] as const;
    expect(await codeOf(wrong, cookies[0])).toBeUndefined();
    expect(await codeOf(right, cookies[1])).toBeUndefined();
    await signOut(right, cookies[0]);
    await signOut(wrong, cookies[1]);
    await signOut(wrong, cookies[2]);
    const later = await startAhead(0);
    for (const gateway of [right, wrong, later]) {
      for (const cookie of cookies) await until(async () => (await codeOf(gateway, cookie)) === 'UNAUTHENTICATED');
    }
  });

  test('says so in its log and its metrics', async () => {
    const wrong = await startAhead(seconds);
    // Not cached by another one, so that the service is called.
    await ask(`${wrong.url}/graphql`, `{ suggestMarkets(keyword: "k${seconds}") }`);
    const words = `this host is ${seconds > 0 ? 'ahead' : 'behind'} by ${Math.abs(seconds)} s`;
    await until(() => wrong.stderr().includes(`Clock of Redis: ${words}`));
    await until(() => wrong.stderr().includes('Clock of the service: this host is'));
    expect(await counted(wrong.url, 'gateway_clock_difference_seconds', { clock: 'redis' })).toBeCloseTo(seconds, 0);
  });
});

test('says nothing of the clock of a Redis that is away', async () => {
  const own = forTest(await startRedis());
  const wrong = await startAhead(300, { REDIS_URL: own.url });
  const known = async () => (await counted(wrong.url, 'gateway_clock_difference_seconds', { clock: 'redis' })) !== 0;
  await until(known);
  own.pause();
  await until(async () => !(await known()));
  own.resume();
  await until(known);
});

describe('what is cached', () => {
  /** Of a market of its own for each case: the gateways of all share one Redis. */
  const jobs = ({ url }: Running, market = 3) => ask(`${url}/graphql`, `{ market(id: ${market}) { jobs { id } } }`);
  const calls = () => sandbox.calls.count(/jobs/);

  test.each([
    ['ahead', hour],
    ['behind', -hour],
  ])(
    'by a gateway whose clock is an hour %s is as fresh for the others as their own, and no longer',
    async (_, seconds) => {
      const market = seconds > 0 ? 3 : 2;
      const wrong = await startAhead(seconds);
      const right = await startAhead(0);
      sandbox.calls.clear();
      await jobs(wrong, market);
      await jobs(right, market);
      expect(calls()).toBe(1);
      await until(async () => {
        await jobs(right, market);
        return calls() > 1;
      });
    },
  );

  test.each([hour, -hour])('lives as long as ever in a lone gateway whose clock is set by %s s', async seconds => {
    const lone = await startAhead(0, {}, seconds);
    sandbox.calls.clear();
    await jobs(lone);
    lone.signal('SIGUSR2');
    await jobs(lone);
    expect(calls()).toBe(1);
    await until(async () => {
      await jobs(lone);
      return calls() > 1;
    });
  });
});
