// Server processes on one core, the stub beside the load on the other, and what the system says about them.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const serverCore = 0;
const loadCore = availableParallelism() > 1 ? 1 : 0;
/** Where there is no `taskset`, nothing is pinned. */
const canPin = spawnSync('taskset', ['-V']).status === 0;

/** Pins a running process, all of its threads. @param {string} cores @param {number} pid */
function pin(cores, pid) {
  if (canPin) execFileSync('taskset', ['-acp', cores, String(pid)], { stdio: 'ignore' });
}

/** Puts this process, all of its threads, on the core of the load. */
export function settle() {
  pin(String(loadCore), process.pid);
}

/** Lets another process, and those that it starts later, use every core. @param {number} pid */
export function onEveryCore(pid) {
  pin(`0-${cpus().length - 1}`, pid);
}

/**
 * @typedef {object} Server
 * @property {string} origin
 * @property {number[]} pids its process, or its processes
 * @property {() => Promise<void>} stop
 * @property {(message: object) => Promise<any>} tell over IPC; resolves with the next message
 */

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts a process and waits until it says where it listens: over IPC as `{origin}`, or in what it prints.
 * @param {{ command?: string, args: string[], env?: Record<string, string>, core?: 'server' | 'load', cwd?: string, origin?: string, ready?: RegExp }} plan
 *   `command` is Node if it is left out; `origin` is where it will listen, if it cannot say so itself; `ready` is what it prints then
 * @returns {Promise<Server>}
 */
export async function start({ command = process.execPath, args, env = {}, core = 'server', cwd, origin, ready }) {
  const cpu = core === 'server' ? serverCore : loadCore;
  const [program, ...words] = [...(canPin ? ['taskset', '-c', String(cpu)] : []), command, ...args];
  const child = spawn(program, words, {
    cwd,
    env: { ...process.env, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  running.add(child);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', text => {
      printed = (printed + text).slice(-20_000);
    });
  }
  const ended = new Promise(resolve => child.once('exit', resolve)).finally(() => running.delete(child));
  const dead = ended.then(code => {
    throw new Error(`${args.join(' ')} ended with ${code}:\n${printed}`);
  });
  dead.catch(() => {});
  const told = new Promise(resolve => child.once('message', message => resolve(message.origin)));
  async function listening() {
    if (origin !== undefined && ready === undefined) return reachable(origin);
    const [, port] = await found(ready ?? /http:\/\/(?:127\.0\.0\.1|localhost):([1-9]\d*)/, () => printed);
    return origin ?? `http://127.0.0.1:${port}`;
  }
  const server = {
    origin: await Promise.race([dead, told, listening()]),
    pids: [child.pid ?? 0],
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
    tell: message =>
      new Promise(resolve => {
        child.once('message', resolve);
        child.send(message);
      }),
  };
  return server;
}

const startMs = 60_000;

/** @param {RegExp} pattern @param {() => string} printed */
async function found(pattern, printed) {
  for (let waited = 0; waited < startMs; waited += 20) {
    const match = pattern.exec(printed());
    if (match) return match;
    await sleep(20);
  }
  throw new Error(`Not started within ${startMs} ms:\n${printed()}`);
}

async function reachable(origin) {
  for (let waited = 0; waited < startMs; waited += 100) {
    const up = await fetch(origin).then(
      response => response.arrayBuffer(),
      () => undefined,
    );
    if (up) return origin;
    await sleep(100);
  }
  throw new Error(`${origin} could not be reached within ${startMs} ms`);
}

/** A port below those that outgoing connections take, and with room for a Cluster's bus 10,000 above. */
export async function freePort() {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 8_000);
    const server = createServer().listen(port, '127.0.0.1');
    const free = await Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ]);
    if (!free) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** CPU time that all threads of processes have used, in microseconds, with that of their children. @param {number[]} pids */
export function cpuOf(pids) {
  let nanoseconds = 0;
  for (const pid of family(pids)) {
    for (const task of readdirSync(`/proc/${pid}/task`))
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
  }
  return nanoseconds / 1_000;
}

/** Resident memory of processes with their children, in MiB. @param {number[]} pids */
export function memoryOf(pids) {
  return family(pids).reduce((sum, each) => {
    const [, kib = 0] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${each}/status`, 'utf8')) ?? [];
    return sum + Number(kib) / 1_024;
  }, 0);
}

/** @param {number[]} pids @returns {number[]} */
function family(pids) {
  if (pids.length === 0) return [];
  const children = pids.flatMap(pid =>
    readdirSync(`/proc/${pid}/task`).flatMap(task =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    ),
  );
  return [...pids, ...family(children)];
}
