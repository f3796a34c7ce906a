import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { isatty } from 'node:tty';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

// The fleet of docker-compose.yml (without Prometheus and Grafana) as plain processes of this machine: `npm run fleet`. PORT is the
// balancer's (4000; 0 picks one), PROGRAM the folder of the built gateway (dist). `--gateways 3` starts a third one. Everything listens on loopback
// alone.
const here = fileURLToPath(new URL('.', import.meta.url));
const program = process.env.PROGRAM ?? fileURLToPath(new URL('../../dist', import.meta.url));
/** Debian keeps servers where only root looks. */
const path = `${process.env.PATH ?? ''}${delimiter}/usr/sbin`;
const maxStopMs = 15_000;
const { values } = parseArgs({ options: { gateways: { type: 'string', default: '2' } } });
if (!['2', '3'].includes(values.gateways)) {
  process.stderr.write('--gateways must be 2 or 3: haproxy.cfg names three servers\n');
  process.exit(1);
}
const names = ['gateway-1', 'gateway-2', 'gateway-3'].slice(0, Number(values.gateways));

/** Of `{ name, child, exit }`, in the order of their start. */
const members = [];
let folder;
let stopping = false;

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => void stop(0));
process.on('SIGHUP', () => {
  // The terminal was closed: it is no terminal any more.
  if (process.stdout.isTTY && !isatty(1)) void stop(0);
  else for (const { name, child } of members) if (names.includes(name)) child.kill('SIGHUP');
});
try {
  await start();
} catch (error) {
  if (!stopping) process.stderr.write(`${error.message}\n`);
  await stop(1);
}

async function start() {
  for (const command of ['redis-server', 'haproxy']) {
    if (!isOnPath(command))
      throw new Error(`npm run fleet needs ${command}, which is not on this machine: install ${command}`);
  }
  const { orCannotListen } = await import(pathToFileURL(join(program, 'config/configuration-error.js')));
  const wanted = Number(process.env.PORT ?? 4000);
  const port = await orCannotListen('PORT', '127.0.0.1', wanted, freePort(wanted));
  folder = await mkdtemp(join(tmpdir(), 'fleet-'));
  const [redis, sandbox] = await Promise.all([startRedis(), startSandbox()]);
  const env = {
    NODE_ENV: 'production',
    PORT: '0',
    UPSTREAM_BASE_URL: sandbox,
    UPSTREAM_API_URL: `${sandbox}/api`,
    UPSTREAM_DEV_URL: `${sandbox}/stage`,
    EVENTS_SEARCH_PARAM: 'search',
    KEYWORD_SUGGESTION_PATH: '/v2/discovery/search-criteria/keywords',
    REDIS_URL: redis,
    SESSION_SECRET: randomBytes(32).toString('base64url'),
    TRUST_PROXY: '127.0.0.1',
    // The balancer checks every second.
    SHUTDOWN_NOTICE_MS: '1500',
    // What SIGHUP reads again.
    ...(process.env.TEAMS_FILE && { TEAMS_FILE: process.env.TEAMS_FILE }),
    // For a machine whose other processes delay the event loop.
    ...(process.env.MAX_EVENT_LOOP_DELAY_MS && { MAX_EVENT_LOOP_DELAY_MS: process.env.MAX_EVENT_LOOP_DELAY_MS }),
  };
  const gateways = await Promise.all(names.map(name => startGateway(name, env)));
  const balancer = await startBalancer(port, gateways);
  if (stopping) return;
  process.stdout.write(
    `${[
      `balancer   ${balancer}/graphql`,
      ...gateways.map(({ name, url, child }) => `${name}  ${url} (process ${child.pid})`),
      `sandbox    ${sandbox} (key demo-key-subscribed)`,
      'Stop with Ctrl-C.',
    ].join('\n')}\n`,
  );
}

/** Ends all, the last that was started first. */
async function stop(code) {
  if (stopping) return;
  stopping = true;
  for (const { child, exit } of members.reverse()) {
    const late = setTimeout(() => child.kill('SIGKILL'), maxStopMs);
    child.kill('SIGTERM');
    await exit;
    clearTimeout(late);
  }
  if (folder) await rm(folder, { recursive: true, force: true });
  process.exit(code);
}

async function startRedis() {
  const password = randomBytes(16).toString('hex');
  const port = await freePort();
  const redis = run('redis', 'redis-server', [`${here}redis.conf`, '-'], {}, 'pipe');
  redis.child.stdin.end(`port ${port}\nbind 127.0.0.1\ndir "${folder}"\nrequirepass ${password}\n`);
  await said(redis, /Ready to accept connections/);
  return `redis://:${password}@127.0.0.1:${port}`;
}

async function startSandbox() {
  const sandbox = run('sandbox', process.execPath, [join(program, 'sandbox/main.js'), '--live', '--port', '0']);
  const [, origin] = await said(sandbox, /listens on (http:\S+)/);
  return origin;
}

async function startGateway(name, env) {
  const gateway = run(name, process.execPath, [join(program, 'main.js')], env);
  const [, port] = await said(gateway, /http:\/\/localhost:(\d+)\/graphql/);
  return { ...gateway, url: `http://127.0.0.1:${port}` };
}

async function startBalancer(port, [one, two, three]) {
  const { child } = run('balancer', 'haproxy', ['-db', '-f', `${here}haproxy.cfg`], {
    BALANCER: `127.0.0.1:${port}`,
    GATEWAY_ONE: new URL(one.url).host,
    GATEWAY_TWO: new URL(two.url).host,
    ...(three && { GATEWAY_THREE: new URL(three.url).host }),
  });
  const url = `http://127.0.0.1:${port}`;
  while (!(await answers(`${url}/readyz`))) {
    if (child.exitCode !== null) throw new Error(`The balancer did not start on port ${port}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  return url;
}

/** Starts a member with this environment and no more. Where one ends, the others go on. */
function run(name, command, args, env = {}, stdin = 'ignore') {
  if (stopping) throw new Error('The fleet is being stopped');
  const child = spawn(command, args, { env: { PATH: path, ...env }, stdio: [stdin, 'pipe', 'inherit'] });
  child.stdout.setEncoding('utf8');
  const exit = once(child, 'exit');
  const member = { name, child, exit };
  members.push(member);
  void exit.then(([code, signal]) => {
    if (!stopping) process.stderr.write(`${name} has ended (${signal ?? code})\n`);
  });
  return member;
}

/** The first line that matches; what follows is not read. @throws Error where the member ends before it. */
async function said({ name, child, exit }, pattern) {
  const ended = exit.then(([code, signal]) => {
    throw new Error(`${name} did not start (${signal ?? code})`);
  });
  const heard = (async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      const match = pattern.exec(line);
      if (match) return match;
    }
    return ended;
  })();
  const match = await Promise.race([heard, ended]);
  ended.catch(() => {});
  child.stdout.resume();
  return match;
}

async function answers(url) {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

/** The port, or for 0 one that the system picks. @throws Error if another program uses it. */
async function freePort(wanted = 0) {
  const server = createServer().listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

function isOnPath(command) {
  return path.split(delimiter).some(directory => {
    try {
      accessSync(join(directory, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
