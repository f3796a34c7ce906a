import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { hashOfKey } from '../../src/auth/credentials.js';
import { newSigningSecret, signatureHeaders } from '../../src/domains/exports/signing.js';
import { startSandbox } from '../../src/sandbox/server.js';
import { cleanups, listening, temporaryFolder } from '../support/cleanups.js';
import { addressesOn, ask } from '../support/gateway.js';
import { buildProgram, type Program, type Running } from '../support/program.js';
import { rawConnection } from '../support/raw-http.js';
import { startRedis } from '../support/redis.js';
import { noEvents, reply, startStubService } from '../support/stub-service.js';
import { hangMs, until } from '../support/until.js';

let program: Program;
beforeAll(async () => {
  program = await buildProgram();
});

const moduleOf = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`;

/** For a gateway whose modules take for ever to load. */
const hooks = moduleOf(`
  import { writeSync } from 'node:fs';
  export async function load(url, context, next) {
    if (!url.endsWith('/app.js')) return next(url, context);
    writeSync(2, 'Loading');
    await new Promise(() => {});
  }
`);
const loadedForEver = `--import=${moduleOf(`
  import { register } from 'node:module';
  register(${JSON.stringify(hooks)});
  setInterval(() => {}, 1_000);
`)}`;

describe('a signal ends a gateway that is starting at once, with a message', () => {
  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('%s, while its modules are loaded', async (name, code) => {
    const starting = program.launch({ NODE_OPTIONS: loadedForEver });
    await until(() => starting.stderr().includes('Loading'));
    starting.signal(name);
    const stderr = expect.stringContaining(`${name}: the gateway ended before it was ready\n`);
    expect(await starting.ended).toEqual({ code, stdout: '', stderr });
  });

  test('SIGTERM, while it waits for Redis', async () => {
    const silent = createServer();
    const port = await listening(silent);
    const connected = once(silent, 'connection');
    const starting = program.launch({ REDIS_URL: `redis://127.0.0.1:${port}` });
    await connected;
    starting.signal('SIGTERM');
    expect(await starting.ended).toMatchObject({ code: 143, stdout: '' });
  });
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  'a %s that comes again is that of the same stop, until it is meant',
  async signal => {
    let release = () => {};
    const service = await startStubService((_, response) => {
      release = () => reply(response, 200, noEvents);
    });
    const gateway = await program.start({ UPSTREAM_BASE_URL: service.origin, SHUTDOWN_GRACE_MS: '60000' });
    const running = ask(`${gateway.url}/graphql`, '{ events { totalCount } }');
    await service.arrived(1);
    gateway.signal(signal);
    await until(() =>
      fetch(`${gateway.url}/readyz`).then(
        ({ status }) => status === 503,
        () => true,
      ),
    );
    for (let times = 0; times < 3; times += 1) {
      gateway.signal(signal);
      await new Promise(resolve => setTimeout(resolve, 100));
    }
    release();
    expect((await running).data).toEqual({ events: { totalCount: 0 } });
    expect(await gateway.ended).toMatchObject({ code: 0 });

    const stubborn = await program.start({ UPSTREAM_BASE_URL: service.origin, SHUTDOWN_GRACE_MS: '60000' });
    const lost = ask(`${stubborn.url}/graphql`, '{ events { totalCount } }').catch(() => 'lost');
    await service.arrived(2);
    let isOver = false;
    void stubborn.ended.then(() => {
      isOver = true;
    });
    const firstAt = performance.now();
    await until(() => {
      stubborn.signal(signal);
      return isOver;
    });
    expect(performance.now() - firstAt).toBeGreaterThan(4_000);
    expect([(await stubborn.ended).code, await lost]).toEqual([signal === 'SIGTERM' ? 143 : 130, 'lost']);
    await service.close();
  },
);

test('after SIGTERM the gateway serves for SHUTDOWN_NOTICE_MS, while it is no longer ready', async () => {
  const noticeMs = 1_000;
  const [short, long] = await Promise.all(
    [noticeMs, 60_000].map(each => program.start({ SHUTDOWN_NOTICE_MS: String(each) })) as [
      Promise<Running>,
      Promise<Running>,
    ],
  );
  const at = performance.now();
  short.signal('SIGTERM');
  expect(await short.ended).toMatchObject({ code: 0 });
  expect(performance.now() - at).toBeGreaterThan(noticeMs);

  const { url } = long;
  long.signal('SIGTERM');
  await until(async () => (await fetch(`${url}/readyz`)).status === 503);
  const answer = await fetch(`${url}/graphql?query={viewer{team}}`, {
    headers: { 'apollo-require-preflight': 'true' },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('connection')).toBe('close');
  await long.kill();
});

test('prints its address as localhost, and the keys, users and markets of the sandbox', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'index.html'), 'The front end');
  const running = await program.start({ STATIC_DIR: folder, DATA_DIR: join(folder, 'data') });
  const { port } = new URL(running.url);
  const page = await fetch(`http://localhost:${port}/`);
  expect(await page.text()).toBe('The front end');
  const { stdout } = await running.stop();
  expect(stdout).not.toContain('127.0.0.1');
  const lines = stdout.split('\n').map(line => line.trim());
  expect(lines[0]).toBe(`Front end: http://localhost:${port}/`);
  expect(lines[1]).toContain(`http://localhost:${port}/graphql`);
  expect(lines.filter(line => line.startsWith('market '))).toEqual([
    `market  http://localhost:${port}/markets/1  Industrial Components Suppliers Europe (published)`,
    `market  http://localhost:${port}/markets/2  Cold Chain Logistics DACH (published)`,
    `market  http://localhost:${port}/markets/3  Battery Materials Refiners (published)`,
    `market  http://localhost:${port}/markets/4  Industrial Cleaning Services Benelux (reviewing)`,
    `market  http://localhost:${port}/markets/5  Sustainable Packaging Start-ups (draft)`,
    `market  http://localhost:${port}/markets/6  Contract Electronics Manufacturers (draft)`,
  ]);
  for (const expected of [/^key .*demo-key-subscribed/, /^user .*ada@team\.example/]) {
    expect(lines).toContainEqual(expect.stringMatching(expected));
  }
});

describe('a SIGTERM to npm ends its program', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
    const manifest = JSON.parse(await readFile('package.json', 'utf8'));
    manifest.scripts.build = 'true';
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    await symlink(program.folder, join(folder, 'dist'));
  });

  test.each([['start'], ['dev'], ['sandbox']])('npm run %s', async script => {
    const address = /http:\/\/[\w.]+:\d+/;
    const args = ['run', script, ...(script === 'sandbox' ? ['--', '--port', '0'] : [])];
    const npm = spawn('npm', args, {
      cwd: folder,
      env: { ...process.env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let stdout = '';
    npm.stdout.on('data', chunk => {
      stdout += chunk;
    });
    let started: number[] = [];
    try {
      await until(() => address.test(stdout));
      started = descendantsOf(npm.pid ?? 0);
      expect(started.length).toBeGreaterThan(0);
      npm.kill('SIGTERM');
      await until(() => !started.some(isAlive));
      const [url = ''] = address.exec(stdout) ?? [];
      await expect(fetch(url)).rejects.toThrow();
    } finally {
      for (const pid of started.filter(isAlive)) process.kill(pid, 'SIGKILL');
      npm.kill('SIGKILL');
    }
  });

  function descendantsOf(pid: number): number[] {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
    return children.flatMap(child => [child, ...descendantsOf(child)]);
  }

  function isAlive(pid: number): boolean {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  }
});

describe('in production', () => {
  const production = { NODE_ENV: 'production', SESSION_SECRET: 'x'.repeat(32), PORT: '0' };

  test('the sandbox runs only if it is configured, and warns that its data is invented', async () => {
    const DATA_DIR = await temporaryFolder();
    const running = await program.start({ ...production, SANDBOX: 'true', DATA_DIR });
    const { stderr } = await running.stop();
    const lines = stderr.split('\n').filter(line => line.startsWith('{'));
    const [major = 0] = process.versions.node.split('.').map(Number);
    const ofNode = {
      level: 'warn',
      msg: `Node ${major} gets no security fixes any more: run the gateway with Node 24`,
    };
    expect(lines.map(line => JSON.parse(line))).toMatchObject([
      { level: 'warn', msg: expect.stringMatching(/sandbox.*invented/i), time: expect.stringMatching(/^\d{4}-.*Z$/) },
      ...(major < 22 ? [ofNode] : []),
    ]);
  });
});

describe('without Redis', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
  });

  /** Runs the program as somebody whom a folder's mode binds, as it does not bind root. */
  function runBound(env: Record<string, string>) {
    const bound = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override'] : [];
    const [command = '', ...args] = [...bound, process.execPath, join(program.folder, 'main.js')];
    return spawnSync(command, args, { env: { PATH: process.env.PATH, ...env }, encoding: 'utf8', timeout: hangMs });
  }

  test('the start creates the folder for exports', async () => {
    const DATA_DIR = join(folder, 'made', 'at the start');
    const running = await program.start({ DATA_DIR });
    expect((await stat(DATA_DIR)).mode & 0o777).toBe(0o700);
    await running.stop();
  });

  test('an address in use ends the start with one clear line', async () => {
    const running = await program.start({ DATA_DIR: join(folder, 'data') });
    const { port } = new URL(running.url);
    const { code, stderr } = await program.run({
      PATH: process.env.PATH ?? '',
      PORT: port,
      DATA_DIR: join(folder, 'data'),
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Invalid configuration: HOST, PORT: cannot listen at 127\.0\.0\.1, port \d+: [^\n]+\n$/);
    await running.stop();
  });

  test('a port in use ends every other program that listens with one clear line', async () => {
    const port = String(await listening(createServer()));
    const PATH = process.env.PATH ?? '';
    const fleet = spawn(process.execPath, ['docs/operations/fleet.mjs'], {
      env: { PATH, PORT: port, PROGRAM: program.folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [fleetEnds, fleetSays] = [once(fleet, 'close'), text(fleet.stderr)];
    const said: Record<string, unknown> = {};
    for (const script of ['receiver/main.js', 'sandbox/main.js']) {
      const { code, stderr } = await program.run({ PATH }, script, ['--port', port]);
      said[script] = [code, stderr];
    }
    said.fleet = [(await fleetEnds)[0], await fleetSays];
    const line = (begin: string) => expect.stringMatching(new RegExp(`^${begin}: [^\\n]*EADDRINUSE[^\\n]*${port}\\n$`));
    expect(said).toEqual({
      'receiver/main.js': [1, line('The receiver cannot start')],
      'sandbox/main.js': [1, line('The sandbox cannot start')],
      fleet: [1, line('Invalid configuration: PORT')],
    });
  });

  test('a call that is cut off, or is no export, does not end the receiver', async () => {
    const receiver = await program.start({ PATH: process.env.PATH ?? '' }, 'receiver/main.js', ['--port', '0']);
    cleanups.push(() => receiver.stop());
    const head = ['POST / HTTP/1.1', 'host: receiver', 'expect: 100-continue', 'content-length: 100', '', '{'];
    const cut = rawConnection(receiver.url, head.join('\r\n'));
    await until(() => cut.statuses().includes(100));
    cut.socket.destroy();
    for (const body of ['null', '{ "data": {} }', '{ "data": [null] }']) {
      const { status } = await fetch(receiver.url, { method: 'POST', body });
      expect(status).toBe(200);
    }
  });

  test.each([
    ['receiver/main.js', ['--port', 'http']],
    ['receiver/main.js', ['--mode', 'unknown']],
    ['receiver/main.js', ['--prot', '1']],
    ['sandbox/main.js', ['--port', '70000']],
    ['sandbox/main.js', ['--companies', '0']],
    ['sandbox/main.js', ['more']],
  ])('an option that is invalid ends %s with one clear line: %j', async (script, args) => {
    const { code, stderr } = await program.run({ PATH: process.env.PATH ?? '' }, script, args);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^[^\n]+\n$/)]);
  });

  test.each([
    ['is not the gateway’s', '.'],
    ['cannot be made', 'data'],
    ['is a file', 'file'],
  ])('a folder that %s ends it with one clear line', async (_, place) => {
    await writeFile(join(folder, 'file'), '');
    await chmod(folder, 0o500);
    const DATA_DIR = join(folder, place);
    const { status, stdout, stderr } = runBound({ PORT: '0', DATA_DIR });
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^Invalid configuration: DATA_DIR: [^\n]+ must be a writable folder[^\n]+\n$/);
    expect(stderr).toContain(DATA_DIR);
  });
});

describe('the command hash-key', () => {
  const run = (args: string[], stdin?: string) => program.run({}, 'auth/hash-key.js', args, stdin);

  test('prints the hash of its argument, or of the first line of stdin', async () => {
    const expected = { code: 0, stdout: `${hashOfKey('the key')}\n`, stderr: '' };
    expect(await run(['the key'])).toEqual(expected);
    expect(await run([], 'the key\n')).toEqual(expected);
    expect(await run([], 'the key')).toEqual(expected);
  });

  test('prints its usage without a key', async () => {
    expect(await run([])).toMatchObject({ code: 1, stdout: '' });
  });
});

test('the receiver takes its secret from the environment, where other users cannot see it', async () => {
  const secret = newSigningSecret();
  const script = 'receiver/main.js';
  const receiver = await program.start({ SIGNING_SECRET: secret.reveal() }, script, ['--port', '0']);
  const body = JSON.stringify({ data: [] });
  const headers = signatureHeaders([{ secret, validUntil: null }], { id: 'one', body }, new Date());
  const statusOf = async (init: RequestInit) => (await fetch(receiver.url, { method: 'POST', body, ...init })).status;
  expect([await statusOf({ headers }), await statusOf({})]).toEqual([200, 401]);
  const asArgument = await program.run({}, script, ['--secret', secret.reveal()]);
  expect(asArgument).toMatchObject({ code: 1, stderr: expect.stringContaining("Unknown option '--secret'") });
  await receiver.stop();
});

test('the standalone sandbox prints its address and usage, and ends on a signal', async () => {
  const standalone = await program.start({}, 'sandbox/main.js', ['--port', '0']);
  await until(() => standalone.stdout().includes('ben@team.example'));
  const lines = standalone
    .stdout()
    .split('\n')
    .map(line => line.trim());
  const origin = lines[0]?.match(/http:\S+$/)?.[0];
  expect(lines).toEqual(
    expect.arrayContaining([
      `UPSTREAM_BASE_URL=${origin}`,
      `UPSTREAM_DEV_URL=${origin}/stage`,
      'MCP_OPERATIONS=operations',
      'EXPORT_ALLOW_PRIVATE_ADDRESSES=true',
      expect.stringMatching(/^market +3 .*\(published\)$/),
    ]),
  );
  const key = lines.find(line => line.startsWith('key'))?.split(/ +/)[1] ?? '';
  expect((await fetch(`${origin}/v2/markets/1/jobs`, { headers: { 'x-api-key': key } })).status).toBe(200);
  expect(await standalone.stop()).toMatchObject({ code: 0 });
});

describe('REUSE_PORT', () => {
  const canReuse = process.platform === 'linux' && Number.parseInt(process.versions.node, 10) >= 24;

  /** Starts gateways of one fleet. */
  async function startFleet() {
    const [redis, sandbox] = await Promise.all([startRedis(), startSandbox()]);
    cleanups.push(redis.stop, sandbox.close);
    const SESSION_SECRET = 'a secret of the fleet with 32 characters';
    const env = { REDIS_URL: redis.url, SESSION_SECRET, ...addressesOn(sandbox.origin) };
    return async (more: Record<string, string>) => {
      const gateway = await program.start({ ...env, ...more });
      cleanups.push(gateway.kill);
      return gateway;
    };
  }
  /** How many of 40 requests, each on a new connection, are answered, and by how many processes. */
  async function probe(url: string) {
    const found = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const response = await fetch(`${url}/metrics`, { headers: { connection: 'close' } });
        return /^process_start_time_seconds (.*)$/m.exec(await response.text())?.[1];
      }),
    );
    return { answers: found.length, processes: new Set(found).size };
  }

  (canReuse ? test : test.skip)('lets several gateways listen on one port, of which one may end', async () => {
    const start = await startFleet();
    const one = await start({ REUSE_PORT: 'true' });
    const two = await start({ REUSE_PORT: 'true', PORT: new URL(one.url).port });
    expect(two.url).toBe(one.url);
    await until(async () => (await probe(one.url)).processes === 2);
    expect(await one.stop()).toMatchObject({ code: 0 });
    expect(await probe(one.url)).toEqual({ answers: 40, processes: 1 });

    // During its notice, one that ends serves the connections that it has, and gets no others.
    const three = await start({ REUSE_PORT: 'true', PORT: new URL(one.url).port, SHUTDOWN_NOTICE_MS: '60000' });
    await until(async () => (await probe(one.url)).processes === 2);
    three.signal('SIGTERM');
    await until(async () => (await probe(one.url)).processes === 1);
    let isOver = false;
    void three.ended.then(() => {
      isOver = true;
    });
    for (let times = 0; times < 5; times += 1) expect((await probe(one.url)).processes).toBe(1);
    expect(isOver).toBe(false);
  });

  (canReuse ? test.skip : test)('says what it needs where it cannot be', async () => {
    const { code, stderr } = await program.run({ REUSE_PORT: 'true', PORT: '0' });
    expect([code, stderr]).toEqual([1, expect.stringContaining('REUSE_PORT: needs Linux and Node 24')]);
  });
});

test('the unit for systemd runs what npm start runs', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8'));
  const unit = await readFile('deploy/systemd/gateway@.service', 'utf8');
  const [, command] = /^ExecStart=\/bin\/sh -c '(.*)'$/m.exec(unit) ?? [];
  expect(command?.replaceAll('$$', '$')).toBe(scripts.start);
});

test('the unit for systemd starts a gateway again each second, however often it ends', async () => {
  const unit = await readFile('deploy/systemd/gateway@.service', 'utf8');
  const [, before, service] = unit.split(/^\[(?:Unit|Service)\]$/m);
  expect(before).toContain('\nStartLimitIntervalSec=0\n');
  expect(service).toContain('\nRestart=always\nRestartSec=1\n');
});

test('the script for systemd restarts one gateway after the other, and stops where one does not get ready', async () => {
  const folder = await temporaryFolder();
  const log = join(folder, 'log');
  /** Programs that note how they were called. */
  const fake = (name: string, rest: string) =>
    writeFile(join(folder, name), `#!/bin/sh\necho ${name} "$@" >> ${log}\n${rest}\n`, { mode: 0o755 });
  await fake('systemctl', '');
  await fake('curl', 'case "$*" in *4102*) exit 22;; esac');
  await fake('sleep', '');
  const { status } = spawnSync('deploy/systemd/roll.sh', ['1', '2', '3'], {
    env: { PATH: `${folder}:${process.env.PATH}` },
  });
  expect(status).toBe(22);
  const calls = (await readFile(log, 'utf8')).replaceAll(/ --[^\n]* (?=http)/g, ' ');
  expect(calls.trimEnd().split('\n')).toEqual([
    'systemctl restart gateway@1',
    'curl http://127.0.0.1:4101/readyz',
    // Until HAProxy has seen it.
    'sleep 2',
    'systemctl restart gateway@2',
    'curl http://127.0.0.1:4102/readyz',
  ]);
});
