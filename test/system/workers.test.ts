import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { readConfig } from '../../src/config/config.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { addressesOn } from '../support/gateway.js';
import { buildProgram, type Program, type Running } from '../support/program.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { noEvents, reply, startStubService } from '../support/stub-service.js';
import { until } from '../support/until.js';

let program: Program;
let redis: RedisServer;
let sandbox: Sandbox;
let running: Running | undefined;
let folder: string;

beforeAll(async () => {
  [program, redis, sandbox] = await Promise.all([buildProgram(), startRedis(), startSandbox()]);
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'workers-'));
});
afterEach(async () => {
  await running?.stop();
  await rm(folder, { recursive: true });
});
afterAll(async () => {
  await sandbox.close();
  await redis.stop();
});

const environment = () => ({
  WORKERS: '2',
  REDIS_URL: redis.url,
  SESSION_SECRET: 'a secret of the workers with 32 characters',
  ...addressesOn(sandbox.origin),
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

/** The listener of the first process for probes, its metrics, and one of their values. */
async function adminOf(gateway: Running) {
  await until(() => gateway.stdout().includes('/metrics'));
  const [, port = ''] = /metrics: http:\/\/localhost(:\d+)/.exec(gateway.stdout()) ?? [];
  const admin = `http://127.0.0.1${port}`;
  const metrics = async () => (await fetch(`${admin}/metrics`)).text();
  const gauged = async (series: string) => {
    const line = (await metrics()).split('\n').find(each => each.startsWith(`${series} `));
    return Number(line?.slice(series.length));
  };
  return { admin, metrics, gauged };
}

/** Code that each process of a gateway runs first. */
const preloaded = (code: string) => `--import=data:text/javascript,${encodeURIComponent(code)}`;

/** A worker that starts while this file is there waits. */
const held = () => join(folder, 'held');
const waitingWhile = (file: string) => `
    import cluster from 'node:cluster';
    import { existsSync } from 'node:fs';
    while (cluster.isWorker && existsSync(${JSON.stringify(file)})) await new Promise(resolve => setTimeout(resolve, 50));`;

/** The lines of a log that are not JSON. */
const notJson = (gateway: Running) =>
  gateway
    .stderr()
    .trim()
    .split('\n')
    .filter(line => !/^\{.*\}$/.test(line));

/** Signs in, and gives back the cookie. */
async function signIn(url: string, query: string): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) });
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** As whom a request on a new connection counts. */
async function authenticationOf(url: string, cookie: string): Promise<string | undefined> {
  const headers = { cookie, connection: 'close', 'apollo-require-preflight': 'true' };
  const sent = request(`${url}/graphql?query={viewer{authentication}}`, { agent: false, headers });
  const [response] = (await once(sent.end(), 'response')) as [IncomingMessage];
  return JSON.parse(await text(response)).data?.viewer?.authentication;
}

async function textOf(url: string, agent: Agent): Promise<string> {
  const [response] = (await once(request(url, { agent }).end(), 'response')) as [IncomingMessage];
  return text(response);
}

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

test('a file that is invalid is one clear line', async () => {
  const { code, stderr } = await program.run({ ...environment(), PORT: '0', TEAMS_FILE: '/nothing/teams.json' });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Invalid configuration: TEAMS_FILE: [^\n]+\n$/);
});

test('what stops a worker from starting is one line of the log', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const faults = {
    'STATIC_DIR: ': { PORT: '0', STATIC_DIR: '/nothing' },
    [`HOST, PORT: cannot listen at 127.0.0.1, port ${port}: `]: { PORT: String(port) },
  };
  for (const [words, env] of Object.entries(faults)) {
    const { code, stderr } = await program.run({ ...environment(), ...env });
    expect(code).toBe(1);
    const [line = '', ...others] = stderr.trim().split('\n');
    const msg = expect.stringMatching(new RegExp(`^Invalid configuration: ${words}`));
    expect(JSON.parse(line)).toMatchObject({ level: 'error', msg });
    expect(others).toEqual([]);
  }
  other.close();
});

test('a worker that a signal ends before it is ready is one clear line', async () => {
  const ending = "import cluster from 'node:cluster'; if (cluster.isWorker) process.kill(process.pid, 'SIGKILL');";
  const { code, stderr } = await program.run({ ...environment(), PORT: '0', NODE_OPTIONS: preloaded(ending) });
  const line = 'Invalid configuration: WORKERS: a worker ended before it was ready (SIGKILL)\n';
  expect([code, stderr]).toEqual([1, line]);
});

test('the workers of one port count together, one that is killed is replaced, and SIGTERM ends all', async () => {
  const gateway = await start({ ADMIN_PORT: '0' });
  const { admin, metrics, gauged } = await adminOf(gateway);
  const limit = () => gauged('gateway_operations_limit');
  const answered = async () => {
    const counts = (await metrics()).matchAll(/^gateway_requests_total\{.*outcome="ok"\} (\d+)/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  expect(gateway.stdout()).toContain('Workers: 2\n');
  await until(async () => (await limit()) === 512);
  await until(async () => (await gauged('gateway_ready')) === 1);
  expect((await fetch(`${admin}/readyz`)).status).toBe(200);
  await until(async () => (await gauged('process_start_time_seconds')) > 1e9);
  const startedAt = await gauged('process_start_time_seconds');
  expect(await gauged('gateway_memory_ratio')).toBeLessThan(1);

  for (let sent = 0; sent < 20; sent += 1) expect(await isAnswered(gateway.url)).toBe(true);
  await until(async () => (await answered()) === 20);

  const [killed = 0, other] = workersOf(gateway);
  process.kill(killed, 'SIGKILL');
  await until(() => gateway.stderr().includes(`Worker ${killed} ended (SIGKILL), and is replaced`));
  expect(await answered()).toBe(20);
  expect(await isAnswered(gateway.url)).toBe(true);
  await until(async () => (await limit()) === 512);
  await until(async () => (await answered()) === 21);
  expect(await gauged('process_start_time_seconds')).toBe(startedAt);
  expect(await gauged('gateway_worker_exits_total')).toBe(1);
  expect(workersOf(gateway)).toContain(other);
  expect(workersOf(gateway)).not.toContain(killed);

  expect(await gateway.stop()).toMatchObject({ code: 0 });
});

test('a worker that is killed leaves no client waiting', async () => {
  const gateway = await start({ ADMIN_PORT: '0' });
  const { gauged } = await adminOf(gateway);
  let [isRunning, answered] = [true, 0];
  const get = () =>
    new Promise<void>(resolve => {
      const sent = request(`${gateway.url}/healthz`, { agent: false }, response => response.resume());
      sent.once('response', () => (answered += 1)).once('error', () => resolve());
      sent.once('close', resolve).end();
    });
  const clients = Array.from({ length: 32 }, async () => {
    while (isRunning) await get();
  });
  for (let time = 1; time <= 4; time += 1) {
    await until(async () => answered > time * 200 && (await gauged('gateway_workers{state="serving"}')) === 2);
    const [killed = 0] = workersOf(gateway);
    process.kill(killed, 'SIGKILL');
    await until(() => gateway.stderr().includes(`Worker ${killed} ended`));
  }
  isRunning = false;
  await Promise.all(clients);
});

test('what fails for several workers is one line of the log, and so is its recovery', async () => {
  const service = await startStubService((_, response) => reply(response, 500, {}));
  const gateway = await start({ UPSTREAM_BASE_URL: service.origin });
  /** Sends a read on a new connection: they go to both workers in turn. */
  let first = 0;
  const read = () => {
    first = (first % 100) + 1;
    const headers = { 'x-api-key': `key-${first}`, 'apollo-require-preflight': '1', connection: 'close' };
    return fetch(`${gateway.url}/graphql?query={events(first:${first}){totalCount}}`, { headers });
  };
  /** The warnings of the service, with how often each cause was counted. */
  const lines = () =>
    gateway
      .stderr()
      .split('\n')
      .filter(line => /UPSTREAM_BASE_URL/.test(line))
      .map(line => JSON.parse(line));
  for (let sent = 0; sent < 4; sent += 1) await read();
  await until(() => lines().length > 0);
  // What a worker has reported ends with it.
  process.kill(workersOf(gateway)[0] ?? 0, 'SIGKILL');
  await until(() => gateway.stderr().includes('ended (SIGKILL)'));
  service.handle = (_, response) => reply(response, 200, noEvents);
  await until(async () => {
    await read();
    await pause(100);
    return lines().some(({ msg }) => msg.endsWith('back to normal'));
  });
  expect(lines().map(({ level, msg }) => [level, msg])).toEqual([
    ['warn', 'UPSTREAM_BASE_URL: The service failed (HTTP 500); requests that need it fail'],
    ['warn', 'UPSTREAM_BASE_URL: back to normal'],
  ]);
  await service.close();
});

test('orders at ADMIN_PORT reach every worker, also those that are started later', async () => {
  const gateway = await start({ ADMIN_PORT: '0', ADMIN_TOKEN: 'token' });
  const { admin } = await adminOf(gateway);
  const headers = { authorization: 'Bearer token' };
  const order = (path: string, method: string, body: string | null = null) =>
    fetch(`${admin}${path}`, { method, headers, body }).then(({ status }) => status);
  type Shown = { pid: number; state: string; restarts: number };
  const shown = async () => (await (await fetch(`${admin}/workers`)).json()) as Shown[];
  expect((await shown()).map(({ pid }) => pid).sort()).toEqual(workersOf(gateway).sort());
  /** Which worker wrote a line for a request. */
  const answeredBy = () =>
    new Set([...gateway.stderr().matchAll(/"pid":(\d+),.*"msg":"Answered"/g)].map(([, pid]) => Number(pid)));
  const isLoggedByAll = async () => {
    await isAnswered(gateway.url);
    return workersOf(gateway).every(pid => answeredBy().has(pid));
  };
  /** What requests to `/readyz` on new connections get, which go to both workers in turn. */
  const statuses = async () => {
    const found = [];
    for (let sent = 0; sent < 4; sent += 1) found.push(await textOf(`${gateway.url}/readyz`, new Agent()));
    return [...new Set(found)].join();
  };
  expect(await order('/log-level', 'PUT', '{"level":"info"}')).toBe(200);
  await until(isLoggedByAll);
  const readyz = async () => (await fetch(`${admin}/readyz`)).text();
  expect(await order('/drain', 'POST')).toBe(200);
  expect(await readyz()).toBe('{"status":"draining"}');
  // A worker that is silent because the machine is busy is shown as that.
  expect((await shown()).map(({ state }) => state)).not.toContain('serving');
  await until(async () => (await statuses()) === '{"status":"draining"}');

  process.kill(workersOf(gateway)[0] ?? 0, 'SIGKILL');
  const states = async () => (await shown()).map(({ state, restarts }) => `${state} ${restarts}`).sort();
  await until(async () => (await states()).join() === 'draining 0,draining 1');
  expect(await statuses()).toBe('{"status":"draining"}');
  expect(await order('/drain', 'DELETE')).toBe(200);
  expect(await readyz()).not.toContain('draining');
  expect((await states()).join()).not.toContain('draining');
  await until(async () => (await statuses()) === '{"status":"ready"}');
  await until(isLoggedByAll);
});

test('SIGHUP replaces every worker without a lost request, and without ADMIN_PORT each worker serves the metrics of all', async () => {
  const gateway = await start();
  const before = workersOf(gateway);
  const queries = startQueries(gateway.url);
  try {
    await until(() => queries.counts.answered > 5);
    gateway.signal('SIGHUP');
    await until(() => gateway.stderr().includes('Every worker was replaced'));
  } finally {
    await queries.stop();
  }
  const after = workersOf(gateway);
  expect(after).toHaveLength(2);
  for (const pid of before) expect(after).not.toContain(pid);
  await until(async () => /^gateway_operations_limit 512$/m.test(await (await fetch(`${gateway.url}/metrics`)).text()));
  expect(queries.counts.failed).toBe(0);
});

test('while one worker is silent, the gateway is not ready, and says which state its workers have', async () => {
  const gateway = await start({ ADMIN_PORT: '0' });
  const { admin, gauged } = await adminOf(gateway);
  await until(async () => (await gauged('gateway_ready')) === 1);
  const [stopped = 0] = workersOf(gateway);
  process.kill(stopped, 'SIGSTOP');
  try {
    await until(async () => (await gauged('gateway_ready')) === 0);
    const response = await fetch(`${admin}/readyz`);
    expect([response.status, await response.text()]).toEqual([503, '{"status":"busy"}']);
    expect(await gauged('gateway_silent_seconds')).toBeGreaterThan(2);
    expect(await gauged('gateway_workers{state="silent"}')).toBe(1);
    expect(await gauged('gateway_workers{state="serving"}')).toBe(1);
    const shown = (await (await fetch(`${admin}/workers`)).json()) as { pid: number; state: string }[];
    expect(shown.map(({ pid, state }) => [pid === stopped, state]).sort()).toEqual([
      [false, 'serving'],
      [true, 'silent'],
    ]);
  } finally {
    process.kill(stopped, 'SIGCONT');
  }
  await until(async () => (await gauged('gateway_ready')) === 1);
  const line = new RegExp(`"pid":${stopped},.*"silentMs":\\d{4,},"msg":"The event loop was blocked`);
  await until(() => line.test(gateway.stderr()));
});

test('a worker that is frozen is replaced, but one that retires may finish what it has begun', async () => {
  const held: ServerResponse[] = [];
  const service = await startStubService((_, response) => held.push(response));
  const saying = `
    import cluster from 'node:cluster';
    if (cluster.isWorker) process.on('disconnect', () => console.error('the channel is closed'));`;
  const gateway = await start({
    NODE_OPTIONS: preloaded(saying),
    UPSTREAM_BASE_URL: service.origin,
    UPSTREAM_TIMEOUT_MS: '60000',
    SHUTDOWN_GRACE_MS: '60000',
  });
  const before = workersOf(gateway);
  // A write goes on although its client hangs up. On new connections, they go to both workers.
  const headers = { 'content-type': 'application/json', 'x-api-key': 'key', connection: 'close' };
  for (const marketId of [1, 2]) {
    const query = `mutation { publishMarket(input: { marketId: "${marketId}" }) { marketId } }`;
    const client = new AbortController();
    const asked = fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query }),
      signal: client.signal,
    });
    await service.arrived(marketId);
    client.abort();
    await expect(asked).rejects.toThrow('aborted');
  }
  gateway.signal('SIGHUP');
  await until(() => gateway.stderr().includes('the channel is closed'));
  const started = workersOf(gateway).find(pid => !before.includes(pid)) ?? 0;
  process.kill(started, 'SIGSTOP');
  await until(() => gateway.stderr().includes(`Worker ${started} ended (SIGKILL), and is replaced`));
  expect(gateway.stderr()).toContain(`"state":"T","msg":"Worker ${started} is stuck"`);
  expect([gateway.stderr().split(' is stuck').length - 1, workersOf(gateway)]).toEqual([
    1,
    expect.arrayContaining(before),
  ]);
  for (const response of held) reply(response, 200);
  await until(() => !workersOf(gateway).includes(before[0] ?? 0));
  await service.close();
});

test('while a worker is replaced, the gateway stays ready, but not while no new one starts', async () => {
  const stopper = join(folder, 'no-new-worker');
  const stopping = `${waitingWhile(held())}
    if (cluster.isWorker && existsSync(${JSON.stringify(stopper)})) throw new Error('raw text of a worker that breaks');`;
  const gateway = await start({ ADMIN_PORT: '0', NODE_OPTIONS: preloaded(stopping) });
  const { admin, gauged } = await adminOf(gateway);
  const readyz = async () => {
    const response = await fetch(`${admin}/readyz`);
    return [response.status, await response.text()];
  };
  await until(async () => (await gauged('gateway_ready')) === 1);

  await writeFile(held(), '');
  process.kill(workersOf(gateway)[0] ?? 0, 'SIGKILL');
  await until(async () => (await gauged('gateway_workers{state="starting"}')) === 1);
  // The thread of the listener hears of it a moment later. On a busy machine, the other worker may be silent for a while.
  for (let times = 0; times < 10; times += 1) {
    await pause(100);
    expect((await readyz())[1]).not.toContain('incomplete');
  }
  await until(async () => (await readyz())[0] === 200);
  expect(await gauged('gateway_workers{state="starting"}')).toBe(1);
  await rm(held());
  await until(async () => (await gauged('gateway_workers{state="serving"}')) === 2);

  await writeFile(stopper, '');
  process.kill(workersOf(gateway)[0] ?? 0, 'SIGKILL');
  await until(async () => (await gauged('gateway_worker_exits_total')) >= 3);
  await until(async () => (await gauged('gateway_workers{state="missing"}')) === 1);
  await until(async () => (await gauged('gateway_ready')) === 0);
  expect(await readyz()).toEqual([503, '{"status":"incomplete"}']);
  expect(await isAnswered(gateway.url)).toBe(true);
  await rm(stopper);
  await until(async () => (await gauged('gateway_ready')) === 1);
  expect(gateway.stderr()).toContain('raw text of a worker that breaks');
  expect(notJson(gateway)).toEqual([]);
});

test('while a worker that is replaced prepares its documents, the gateway stays ready', async () => {
  const preparing = join(folder, 'preparing');
  // A worker that starts while this file is there says that it still prepares them.
  const saying = `
    import cluster from 'node:cluster';
    import { existsSync } from 'node:fs';
    const { send } = process;
    if (cluster.isWorker && existsSync(${JSON.stringify(preparing)}))
      process.send = (message, ...others) =>
        send.call(process, message.status === 'ready' ? { ...message, status: 'starting' } : message, ...others);`;
  const gateway = await start({ ADMIN_PORT: '0', NODE_OPTIONS: preloaded(saying) });
  const { admin, gauged } = await adminOf(gateway);
  const readyz = async () => (await fetch(`${admin}/readyz`)).text();
  await until(async () => (await readyz()) === '{"status":"ready"}');
  await writeFile(preparing, '');
  const replaceOne = async (exits: number) => {
    process.kill(workersOf(gateway)[0] ?? 0, 'SIGKILL');
    await until(async () => (await gauged('gateway_worker_exits_total')) === exits);
    await until(async () => (await gauged('gateway_workers{state="serving"}')) === 2);
  };
  await replaceOne(1);
  for (let times = 0; times < 10; times += 1) {
    await pause(100);
    expect(await readyz()).not.toContain('starting');
  }
  await replaceOne(2);
  await until(async () => (await readyz()) === '{"status":"starting"}');
});

test('while no worker serves, the gateway is not ready', async () => {
  const gateway = await start({ ADMIN_PORT: '0', NODE_OPTIONS: preloaded(waitingWhile(held())) });
  const { gauged } = await adminOf(gateway);
  await until(async () => (await gauged('gateway_ready')) === 1);
  await writeFile(held(), '');
  for (const pid of workersOf(gateway)) process.kill(pid, 'SIGKILL');
  await until(async () => (await gauged('gateway_ready')) === 0);
  await rm(held());
  await until(async () => (await gauged('gateway_ready')) === 1);
  expect(await gauged('gateway_worker_exits_total')).toBe(2);
});

test('a worker that is replaced has the secrets and files of the others, until SIGHUP', async () => {
  const [secret, teams, operations] = ['secret', 'teams.json', 'operations'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(secret, 'the first secret of the workers with 32 characters');
  await writeFile(teams, '[]');
  await mkdir(operations);
  await writeFile(join(operations, 'first.graphql'), '# Who I am.\nquery First { viewer { authentication } }');
  const { SESSION_SECRET: _, ...others } = environment();
  running = await program.start({
    ...others,
    ADMIN_PORT: '0',
    SESSION_SECRET_FILE: secret,
    TEAMS_FILE: teams,
    MCP_OPERATIONS: operations,
  });
  const gateway = running;
  const { gauged } = await adminOf(gateway);
  const [user] = sandbox.demo.users;
  const signingIn = `mutation { signIn(input: { email: "${user?.email}", password: "${user?.password}" }) { viewer { authentication } } }`;
  const cookie = await signIn(gateway.url, signingIn);
  /** How many of 12 requests on new connections are those of the signed-in user. */
  const signedIn = async () => {
    const answers = [];
    for (let sent = 0; sent < 12; sent += 1) answers.push(await authenticationOf(gateway.url, cookie));
    return answers.filter(answer => answer === 'COOKIE').length;
  };
  expect(await signedIn()).toBe(12);

  await writeFile(secret, 'another secret of the workers with 32 characters');
  await writeFile(teams, '{');
  await writeFile(join(operations, 'first.graphql'), '{');
  process.kill(workersOf(gateway)[0] ?? 0, 'SIGKILL');
  await until(async () => (await gauged('gateway_worker_exits_total')) === 1);
  // The gateway is ready all the time: the other worker serves.
  await until(async () => (await gauged('gateway_workers{state="serving"}')) === 2);
  expect(await signedIn()).toBe(12);

  const before = workersOf(gateway);
  gateway.signal('SIGHUP');
  await until(() => gateway.stderr().includes('is not a valid list of teams'));
  expect(gateway.stderr()).toContain('the workers from before stay');
  await until(() => workersOf(gateway).join() === before.join());
  expect(await signedIn()).toBe(12);

  await writeFile(teams, '[{ "name": "one" }]');
  await writeFile(join(operations, 'first.graphql'), '# Who I am.\nquery First { viewer { authentication } }');
  gateway.signal('SIGHUP');
  await until(() => gateway.stderr().includes('Every worker was replaced'));
  expect(gateway.stderr()).toContain('TEAMS_FILE was read again: 1 team (1 added, 0 changed, 0 removed)');
  expect(await signedIn()).toBe(0);
  expect(notJson(gateway)).toEqual([]);
});

test('each line of the log is JSON, also what libraries and Node write', async () => {
  const writing = `
    import cluster from 'node:cluster';
    process.on('SIGUSR2', () => {
      process.emitWarning('a warning of Node');
      void Promise.reject(new Error('a forgotten rejection'));
      if (!cluster.isWorker) return;
      console.error('text of a library\\nin two lines');
      setTimeout(() => { throw new Error('an uncaught exception'); });
    });`;
  const gateway = await start({ NODE_OPTIONS: preloaded(writing) });
  const { pid = 0 } = gateway;
  for (const target of [pid, ...workersOf(gateway)]) process.kill(target, 'SIGUSR2');
  const times = (text: string) => gateway.stderr().split(text).length - 1;
  await until(() => times('an uncaught exception') >= 2 && times('in two lines') === 2);
  await until(() => times('a warning of Node') >= 3 && times('a forgotten rejection') >= 3);
  expect(notJson(gateway)).toEqual([]);
});

test('a worker gives its own metrics while the first process does not answer', async () => {
  const gateway = await start();
  const { pid = 0 } = gateway;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const limit = async () =>
    Number(/^gateway_operations_limit (\d+)/m.exec(await textOf(`${gateway.url}/metrics`, agent))?.[1]);
  try {
    await until(async () => (await limit()) === 512);
    process.kill(pid, 'SIGSTOP');
    expect(await limit()).toBe(256);
    process.kill(pid, 'SIGCONT');
    await until(async () => (await limit()) === 512);
  } finally {
    process.kill(pid, 'SIGCONT');
    agent.destroy();
  }
});

test('if a new worker does not start, the workers from before stay', async () => {
  const front = join(folder, 'front-end');
  await mkdir(front);
  await writeFile(join(front, 'index.html'), 'The front end');
  const gateway = await start({ STATIC_DIR: front });
  const before = workersOf(gateway);
  await rm(front, { recursive: true });
  gateway.signal('SIGHUP');
  await until(() => gateway.stderr().includes('the workers from before stay'));
  expect(workersOf(gateway)).toEqual(before);
  expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
  expect(notJson(gateway)).toEqual([]);
});

test.each(['REDIS_URL', 'SESSION_SECRET', 'UPSTREAM_BASE_URL'])('without %s there is one worker only', name => {
  const { [name as 'REDIS_URL']: _, ...others } = environment();
  expect(() => readConfig(others)).toThrow(`${name}: must be set where WORKERS is not 1`);
});
