import { execFile } from 'node:child_process';
import { buildProgram } from './program.js';

/** Runs histories of the simulation over this build. @throws Error with the seeds that broke a rule, and the rules. */
export async function simulate(...args: readonly string[]): Promise<void> {
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
  await new Promise<void>((resolve, reject) => {
    execFile(process.execPath, all, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const failed = stdout.split('\n').filter(line => line !== '' && !line.includes('"violations":0'));
      if (error === null) resolve();
      else reject(new Error(`Repeat it with npm run simulate -- --seed: ${failed.join('\n')}\n${stderr}`));
    });
  });
}
