import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/cleanups.js';
import { runnableTests } from '../support/ensure.mjs';

describe('the tools of the tests', () => {
  async function folderWith(programs: Record<string, string>): Promise<string> {
    const folder = await temporaryFolder();
    for (const [name, script] of Object.entries(programs)) {
      await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
      await chmod(join(folder, name), 0o755);
    }
    return folder;
  }

  test('that are missing and not installed skip the tests that need them, but not in CI', async () => {
    const files = ['histogram', 'system/graphiql', 'system/purge', 'system/deployment', 'system/balancer'].map(name =>
      join(import.meta.dirname, `../${name}.test.ts`),
    );
    const run = (env: Record<string, string>, mayInstall: boolean) => {
      const { files: runnable, skipped, needs } = runnableTests(files, env, mayInstall);
      return { names: runnable.map(file => basename(file, '.test.ts')), skipped, needs };
    };
    const PATH = await folderWith({ 'redis-server': '', openssl: '', curl: '', jq: '', python3: '' });
    const expected = {
      names: ['histogram', 'purge'],
      skipped: ['balancer.test.ts', 'deployment.test.ts', 'graphiql.test.ts'],
      needs: [
        'install chromium or set CHROME_PATH',
        'install haproxy',
        'install docker-compose',
        'install prometheus',
        'install prometheus-alertmanager',
      ],
    };
    expect(run({ PATH }, false)).toEqual(expected);
    expect(run({ PATH, SKIP_SYSTEM_INSTALL: '1' }, true)).toEqual(expected);
    expect(run({ PATH: '/nowhere' }, false).names).toEqual(['histogram']);
    expect(run({ PATH: '/nowhere' }, true)).toMatchObject({ skipped: [] });
    expect(run({ PATH: '/nowhere', CI: '1' }, false)).toMatchObject({ skipped: [] });
  });

  test('missing end npm test with that one line and nothing else', async () => {
    const setup = new URL('../support/setup.mjs', import.meta.url);
    const child = spawn(
      process.execPath,
      ['--input-type=module', '-e', `(await import('${setup}')).default({}, { displayName: {} })`],
      {
        env: { PATH: await folderWith({ 'redis-server': '' }), CHROME_PATH: '/nowhere/chrome' },
      },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk));
    const [code] = await once(child, 'close');
    expect([code, output]).toEqual([1, 'CHROME_PATH names no program that can be run: /nowhere/chrome\n']);
  });
});
