import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { readConfig } from '../src/config/config.js';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { buildProgram, type Program, type Running } from './support/program.js';
import { type RedisServer, startRedis } from './support/redis.js';
import { until } from './support/until.js';

jest.setTimeout(120_000);

let program: Program;
let redis: RedisServer;
let sandbox: Sandbox;
let running: Running | undefined;

beforeAll(async () => {
  [program, redis, sandbox] = await Promise.all([buildProgram(), startRedis(), startSandbox()]);
});
afterEach(async () => {
  await running?.stop();
});
afterAll(async () => {
  await sandbox.close();
  await redis.stop();
});

const environment = () => ({
  WORKERS: '2',
  REDIS_URL: redis.url,
  SESSION_SECRET: 'a secret of the workers with 32 characters',
  UPSTREAM_BASE_URL: sandbox.origin,
  UPSTREAM_API_URL: `${sandbox.origin}/api`,
  UPSTREAM_DEV_URL: `${sandbox.origin}/stage`,
});

async function start(env: Record<string, string> = {}): Promise<Running> {
  running = await program.start({ ...environment(), ...env });
  return running;
}

/** The process ids of the workers. */
const workersOf = ({ pid }: Running) =>
  execFileSync('ps', ['--no-headers', '--ppid', String(pid), '-o', 'pid'], { encoding: 'utf8' })
    .trim()
    .split(/\s+/)
    .map(Number);

/** Whether the gateway answers a query, on a new connection or one of the agent's. */
async function isAnswered(url: string, agent: Agent | false = false): Promise<boolean> {
  const sent = request(`${url}/graphql?query={viewer{authentication}}`, {
    agent,
    headers: { 'x-api-key': 'demo-key-subscribed', 'apollo-require-preflight': 'true' },
  });
  try {
    const [response] = (await once(sent.end(), 'response')) as [IncomingMessage];
    return (await text(response)) === '{"data":{"viewer":{"authentication":"API_KEY"}}}';
  } catch {
    return false;
  }
}

/** Sends queries until `stop`, on new connections and on one that stays open, and counts them. */
function startQueries(url: string) {
  const agent = new Agent({ keepAlive: true });
  const counts = { answered: 0, failed: 0 };
  let isOver = false;
  const lanes = [false as const, agent].map(async connections => {
    while (!isOver) counts[(await isAnswered(url, connections)) ? 'answered' : 'failed'] += 1;
  });
  return {
    counts,
    async stop() {
      isOver = true;
      await Promise.all(lanes);
      agent.destroy();
      return counts;
    },
  };
}

test('an ADMIN_PORT that is taken is one clear line', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { code, stderr } = await program.run({ ...environment(), PORT: '0', ADMIN_PORT: String(port) });
  other.close();
  expect(code).toBe(1);
  expect(stderr).toContain(`Invalid configuration: ADMIN_PORT: cannot listen at 127.0.0.1, port ${port}: `);
  expect(stderr).not.toMatch(/^ +at /m);
});

test('a file that is invalid is one clear line of the worker that read it, and one of the first process', async () => {
  const { code, stderr } = await program.run({ ...environment(), PORT: '0', TEAMS_FILE: '/nothing/teams.json' });
  expect(code).toBe(1);
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringContaining('Invalid configuration: TEAMS_FILE: '),
    'Invalid configuration: WORKERS: a worker ended before it was ready (status 1)',
  ]);
});

test('the workers of one port count together, one that is killed is replaced, and SIGTERM ends all', async () => {
  const gateway = await start({ ADMIN_PORT: '0' });
  await until(() => gateway.stdout().includes('/metrics'));
  const [, admin = ''] = /metrics: http:\/\/localhost(:\d+)/.exec(gateway.stdout()) ?? [];
  const metrics = async () => (await fetch(`http://127.0.0.1${admin}/metrics`)).text();
  const limit = async () => Number(/^gateway_operations_limit (\d+)/m.exec(await metrics())?.[1]);
  const answered = async () => {
    const counts = (await metrics()).matchAll(/^gateway_requests_total\{.*outcome="ok"\} (\d+)/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  expect(gateway.stdout()).toContain('Workers: 2\n');
  expect(await limit()).toBe(512);
  expect((await fetch(`http://127.0.0.1${admin}/readyz`)).status).toBe(200);

  for (let sent = 0; sent < 20; sent += 1) expect(await isAnswered(gateway.url)).toBe(true);
  await until(async () => (await answered()) === 20);

  const [killed = 0, other] = workersOf(gateway);
  process.kill(killed, 'SIGKILL');
  await until(() => gateway.stderr().includes(`Worker ${killed} ended (SIGKILL), and is replaced`));
  expect(await answered()).toBe(20);
  expect(await isAnswered(gateway.url)).toBe(true);
  await until(async () => (await limit()) === 512, 60_000);
  expect(await answered()).toBe(21);
  expect(workersOf(gateway)).toContain(other);
  expect(workersOf(gateway)).not.toContain(killed);

  expect(await gateway.stop()).toMatchObject({ code: 0 });
});

test('SIGHUP replaces every worker without a lost request, and without ADMIN_PORT each worker serves the metrics of all', async () => {
  const gateway = await start();
  const before = workersOf(gateway);
  const queries = startQueries(gateway.url);
  try {
    await until(() => queries.counts.answered > 5);
    gateway.signal('SIGHUP');
    await until(() => gateway.stderr().includes('Every worker was replaced'), 60_000);
  } finally {
    await queries.stop();
  }
  const after = workersOf(gateway);
  expect(after).toHaveLength(2);
  for (const pid of before) expect(after).not.toContain(pid);
  expect(await (await fetch(`${gateway.url}/metrics`)).text()).toMatch(/^gateway_operations_limit 512$/m);
  expect(queries.counts.failed).toBe(0);
});

test('if a new worker does not start, the workers from before stay', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'workers-'));
  try {
    const teams = join(folder, 'teams.json');
    await writeFile(teams, '[]');
    const gateway = await start({ TEAMS_FILE: teams });
    const before = workersOf(gateway);
    await writeFile(teams, '{');
    gateway.signal('SIGHUP');
    await until(() => gateway.stderr().includes('the workers from before stay'), 30_000);
    expect(workersOf(gateway)).toEqual(before);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test.each(['REDIS_URL', 'SESSION_SECRET', 'UPSTREAM_BASE_URL'])('without %s there is one worker only', name => {
  const { [name as 'REDIS_URL']: _, ...others } = environment();
  expect(() => readConfig(others)).toThrow(`${name}: must be set where WORKERS is not 1`);
});
