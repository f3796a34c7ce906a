import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import { freeAddress } from '../support/free-address.js';
import { follow, type Step } from '../support/guide.js';
import { buildProgram } from '../support/program.js';

jest.setTimeout(600_000);

/** The ports of the guide: gateways, Redis, sandbox, balancer, Prometheus, Alertmanager and pager. */
const ports = ['4101', '4102', '4103', '4109', '4110', '4143', '4190', '4193', '4199'];

// It takes two minutes: `npm run test:rehearsal`.
const rehearse = process.env.REHEARSAL ? test : test.skip;

rehearse(
  'docs/rehearsal.md goes from nothing to a fleet with TLS, one page for an outage, a rotated secret and a rolled-back release',
  async () => {
    const { folder: dist } = await buildProgram();
    // In the project, because a copied release looks for packages in the folders above.
    const folder = await mkdtemp(resolve('dist/rehearsal-'));
    const free = await Promise.all(ports.map(async port => [port, (await freeAddress()).split(':')[1] ?? '']));
    const steps: Step[] = [];
    try {
      await follow('docs/rehearsal.md', '', {
        // The machine of a test is busy with other tests.
        env: { MAX_EVENT_LOOP_DELAY_MS: '60000', PATH: `${process.env.PATH}:/usr/sbin` },
        stands: Object.fromEntries(free),
        links: {
          dist,
          docs: resolve('docs'),
          'package.json': resolve('package.json'),
          rehearsal: folder,
          schema: resolve('schema'),
        },
        onStep(step) {
          steps.push(step);
          const { command, code, stdout, stderr, promised } = step;
          if (code !== 0) throw new Error(`${command}\nended with ${code}:\n${stdout}${stderr}`);
          if (promised !== undefined) expect(stdout).toBe(promised);
        },
      });
      expect(steps.filter(({ promised }) => promised !== undefined)).toHaveLength(4);
    } finally {
      await stopAll(folder);
      await rm(folder, { recursive: true });
    }
  },
);

/** Ends what the guide has started, where it did not come to its end. */
async function stopAll(folder: string): Promise<void> {
  for (const file of (await readdir(folder)).filter(name => name.endsWith('.pid'))) {
    const pid = Number(await readFile(join(folder, file), 'utf8'));
    try {
      process.kill(pid);
    } catch {
      // It has ended.
    }
  }
}
