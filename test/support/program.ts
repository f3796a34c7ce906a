import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rename, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { ofTheRun } from './of-the-run.js';

/** A run of the program that has ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A run of the program, as far as it has come. */
export interface Launched {
  /** Sends it a signal. */
  signal(name: NodeJS.Signals): void;
  /** What it has written so far. */
  stdout(): string;
  stderr(): string;
  readonly ended: Promise<Ended>;
}

/** A run of the program that listens. */
export interface Running extends Launched {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** Ends it at once with SIGKILL. */
  kill(): Promise<Ended>;
  /** Asks it to close, waits for its end, and gives back how that went. */
  stop(): Promise<Ended>;
}

/** The gateway as a program, built once for all test files of a run. */
export interface Program {
  /** Where `main.js` lies. */
  readonly folder: string;
  /** Runs it, or another script beside it, to its end, with this environment and no more. */
  run(env: Record<string, string>, script?: string, args?: readonly string[], stdin?: string): Promise<Ended>;
  /** Starts it, or another script beside it, on a free port and waits for nothing. */
  launch(env: Record<string, string>, script?: string, args?: readonly string[]): Launched;
  /** Starts it, or another script beside it, on a free port, and waits until it listens. */
  start(env: Record<string, string>, script?: string, args?: readonly string[]): Promise<Running>;
}

/** What operators run it with. */
const startScript: string = JSON.parse(readFileSync('package.json', 'utf8')).scripts.start;
const flags = startScript.split(/\s+/).filter(word => word.startsWith('--'));

/** Builds the program, where no other test file of this run has, into the folder that the global setup made for it. No one writes there. @param within a command that runs it. */
export async function buildProgram(within: readonly string[] = []): Promise<Program> {
  const folder = process.env.TEST_PROGRAM_FOLDER;
  if (!folder) throw new Error('TEST_PROGRAM_FOLDER is not set: the global setup of Jest did not run');
  const built = join(folder, 'built');
  if (!existsSync(built)) await buildInto(built, folder);
  const out = join(built, 'src');

  function spawnProgram(env: Record<string, string>, script = 'main.js', args: readonly string[] = [], stdin = '') {
    const [command = '', ...more] = [...within, process.execPath, ...flags, join(out, script), ...args];
    const child = spawn(command, more, { env, stdio: 'pipe' });
    child.stdin.end(stdin);
    const written = { stdout: '', stderr: '' };
    child.stdout.on('data', chunk => {
      written.stdout += chunk;
    });
    child.stderr.on('data', chunk => {
      written.stderr += chunk;
    });
    const ended = once(child, 'close').then(([exitCode]): Ended => ({ code: exitCode, ...written }));
    const launched: Launched = {
      ended,
      signal: name => void child.kill(name),
      stdout: () => written.stdout,
      stderr: () => written.stderr,
    };
    return { child, launched };
  }

  const onFreePort = (env: Record<string, string>, script?: string, args?: readonly string[]) =>
    spawnProgram({ PORT: '0', ...ofTheRun, ...env }, script, args);

  return {
    folder: out,
    run: (...what) => spawnProgram(...what).launched.ended,
    launch: (...what) => onFreePort(...what).launched,
    async start(env, script, args) {
      const { child, launched } = onFreePort(env, script, args);
      const { ended } = launched;
      const lines = createInterface({ input: child.stdout });
      const failed = ended.then(({ stderr }) => {
        throw new Error(`The program did not start: ${stderr}`);
      });
      const [line] = (await Promise.race([once(lines, 'line'), failed])) as [string];
      failed.catch(() => {});
      const [, port = ''] = /http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/.exec(line) ?? [];
      return {
        ...launched,
        url: `http://127.0.0.1:${port}`,
        kill() {
          child.kill('SIGKILL');
          return ended;
        },
        stop() {
          child.kill('SIGTERM');
          return ended;
        },
      };
    },
  };
}

/** Two files that build at the same time build separately; the second one discards its result. */
async function buildInto(built: string, folder: string): Promise<void> {
  const own = await mkdtemp(join(folder, 'building-'));
  for (const name of ['schema', 'operations', 'package.json']) await symlink(resolve(name), join(own, name));
  const args = ['node_modules/typescript/bin/tsc', '-p', 'src', '--outDir', join(own, 'src')];
  const [code] = await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit');
  if (code !== 0) throw new Error('The program could not be built');
  await rename(own, built).catch(async error => {
    await rm(own, { recursive: true });
    if (!existsSync(built)) throw error;
  });
}
