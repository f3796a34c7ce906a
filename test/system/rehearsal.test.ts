import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { expect, jest, test } from '@jest/globals';
import { freeAddress } from '../support/free-address.js';
import { buildProgram } from '../support/program.js';

jest.setTimeout(600_000);

const script = 'docs/operations/rehearsal.sh';

/** The ports of the script: gateways, their operators, Redis, sandbox, balancer, Prometheus, Alertmanager and pager. */
const ports = ['4101', '4102', '4103', '4111', '4112', '4113', '4109', '4110', '4143', '4190', '4193', '4199'];

// It takes two minutes: `npm run test:rehearsal`.
const rehearse = process.env.REHEARSAL ? test : test.skip;

rehearse(
  'goes from nothing to a fleet with TLS, one page for an outage, a drained gateway, a rotated secret and a rolled-back release',
  async () => {
    const { folder: dist } = await buildProgram();
    // In the project, because a copied release looks for packages in the folders above.
    const folder = await mkdtemp(resolve('dist/rehearsal-'));
    try {
      for (const name of ['docs', 'operations', 'package.json', 'schema'])
        await symlink(resolve(name), join(folder, name));
      await symlink(dist, join(folder, 'dist'));
      let commands = await readFile(script, 'utf8');
      for (const port of ports) {
        const [, free = ''] = (await freeAddress()).split(':');
        commands = commands.replaceAll(port, free);
      }
      await writeFile(join(folder, 'rehearsal.sh'), commands);
      const child = spawn('bash', ['rehearsal.sh'], {
        cwd: folder,
        // The machine of a test is busy with other tests.
        env: { ...process.env, MAX_EVENT_LOOP_DELAY_MS: '60000', PATH: `${process.env.PATH}:/usr/sbin` },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [stdout, stderr] = await Promise.all([readText(child.stdout), readText(child.stderr)]);
      const printed = stdout.split('\n').filter(line => line !== '' && !line.startsWith('#'));
      expect({ printed, stderr }).toEqual({
        printed: [
          'true',
          'Invalid configuration: REDIS_URLS: unknown variable (did you mean REDIS_URL?)',
          '{"data":{"__typename":"Query"}} by HTTP/2',
          'page firing AvailabilityBudgetFast',
          'page resolved AvailabilityBudgetFast',
          '{"isDraining":true}',
          '{"isDraining":false}',
          '{"logLevel":"info"}',
          '{"logLevel":"warn"}',
          '{"data":{"signIn":{"viewer":{"email":"ada@team.example"}}}}',
          '{"data":{"viewer":{"email":"ada@team.example"}}}',
          '0',
          'Now remove the folder rehearsal.',
        ],
        stderr: '',
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);
