import { execFile } from 'node:child_process';
import { buildProgram } from './program.js';

/** Runs histories of the simulation over this build. @returns the hash of the last one. @throws Error with the seeds that broke a rule, and the rules. */
export async function simulate(...args: readonly string[]): Promise<string> {
  const { folder } = await buildProgram();
  const all = [
    '--preserve-symlinks',
    '--no-warnings',
    'test/simulation/main.mjs',
    '--dist',
    folder,
    '--no-shrink',
    ...args,
  ];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, all, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const lines = stdout.split('\n').filter(line => line !== '');
      const failed = lines.filter(line => !line.includes('"violations":0'));
      if (error === null) resolve(JSON.parse(lines.at(-1) as string).hash);
      else reject(new Error(`Repeat it with npm run simulate -- --seed: ${failed.join('\n')}\n${stderr}`));
    });
  });
}
