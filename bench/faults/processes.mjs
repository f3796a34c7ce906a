// The processes that faults happen to. Each has a port of its own, so that it can come back where it was.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** @type {Set<Process>} */
const running = new Set();
const startMs = 20_000;

/** One process that can be started again with the same command. */
export class Process {
  #command;
  #args;
  #env;
  #ready;
  child;
  /** What it has written to its standard error, over all its starts. */
  stderr = '';

  /** @param {{ command: string, args: string[], env?: Record<string, string>, ready: () => Promise<boolean> }} plan */
  constructor({ command, args, env = {}, ready }) {
    this.#command = command;
    this.#args = args;
    this.#env = env;
    this.#ready = ready;
  }

  /** @param {string[]} [args] other ones from now on */
  async start(args = this.#args) {
    this.#args = args;
    this.child = spawn(this.#command, this.#args, {
      env: { PATH: `${process.env.PATH}:/usr/sbin`, ...this.#env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.child.stderr.on('data', chunk => {
      this.stderr += chunk;
    });
    running.add(this);
    await until(async () => {
      if (this.child.exitCode !== null) throw new Error(`${this.#command} ended with ${this.child.exitCode}`);
      return this.#ready();
    });
  }

  /** @param {NodeJS.Signals} name */
  signal(name) {
    this.child.kill(name);
  }

  /** Ends it with a signal and waits for its end. @param {NodeJS.Signals} name */
  async end(name) {
    running.delete(this);
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill(name);
    await exit;
  }
}

/** Ends whatever still runs. */
export async function endAll() {
  await Promise.all(
    [...running].map(each => {
      each.signal('SIGCONT');
      return each.end('SIGKILL');
    }),
  );
}

/** @param {() => Promise<boolean>} holds */
export async function until(holds) {
  const end = performance.now() + startMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Not within ${startMs} ms: ${holds}`);
    await sleep(50);
  }
}

/** @param {string} url */
export const answers = url =>
  fetch(url).then(
    response => response.arrayBuffer().then(() => response.ok),
    () => false,
  );
