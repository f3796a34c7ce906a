import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { ensureTools, runnableTests, systemTools } from '../support/ensure.mjs';
import { startRedis } from '../support/redis.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function ownRedis(args: string[] = []) {
  const server = await startRedis({ args });
  cleanups.push(() => server.stop());
  return server;
}

function connect(url: string): Redis {
  // ioredis leaves a timer of this length behind when it is disconnected after the server went away.
  const client = new Redis(url, { retryStrategy: () => 20, disconnectTimeout: 50 });
  client.on('error', () => {});
  cleanups.push(() => client.disconnect());
  return client;
}

describe('a Redis of its own', () => {
  test('says why it does not start', async () => {
    await expect(startRedis({ args: ['--no-such-setting', '1'] })).rejects.toThrow(/no-such-setting/);
  });

  test('is gone after stop, even when frozen, with its folder', async () => {
    const server = await ownRedis();
    const [, folder] = (await connect(server.url).config('GET', 'dir')) as [string, string];
    expect(existsSync(folder)).toBe(true);
    server.pause();
    await server.stop();
    expect(server.process.signalCode).toBe('SIGKILL');
    expect(existsSync(folder)).toBe(false);
  });
});

describe('the tools of the tests', () => {
  const others = {
    haproxy: '',
    'docker-compose': '',
    prometheus: '',
    'prometheus-alertmanager': '',
    openssl: '',
    curl: '',
    jq: '',
    python3: '',
  };

  async function folderWith(programs: Record<string, string>): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'tools-'));
    cleanups.push(() => rm(folder, { recursive: true }));
    for (const [name, script] of Object.entries(programs)) {
      await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
      await chmod(join(folder, name), 0o755);
    }
    return folder;
  }

  function silenceStderr() {
    const spy = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    cleanups.push(() => spy.mockRestore());
    return spy;
  }

  test('missing on a Debian machine are installed, and only they', async () => {
    const said = silenceStderr();
    const folder = await folderWith({
      'redis-server': '',
      ...others,
      'apt-get': `echo "$DEBIAN_FRONTEND $*" >> "$0.calls"; case "$*" in *chromium*) /bin/cp "$0" "\${0%apt-get}chromium";; esac`,
    });
    expect(ensureTools(systemTools, { PATH: folder }, true)).toHaveProperty('chromium', join(folder, 'chromium'));
    expect(said).toHaveBeenCalledWith('The tests need chromium: installing with apt-get\n');
    const calls = (await readFile(join(folder, 'apt-get.calls'), 'utf8')).trim().split('\n');
    expect(calls).toEqual([
      expect.stringMatching(/^noninteractive .*update$/),
      expect.stringMatching(/^noninteractive .*install --yes --no-install-recommends chromium$/),
    ]);
  });

  test('are not installed with SKIP_SYSTEM_INSTALL=1', async () => {
    const folder = await folderWith({ curl: '', 'apt-get': 'touch "$0.called"' });
    const found = ensureTools(systemTools, { PATH: folder, SKIP_SYSTEM_INSTALL: '1' }, true);
    expect(found).toEqual({ curl: join(folder, 'curl') });
    expect(existsSync(join(folder, 'apt-get.called'))).toBe(false);
  });

  test('that are missing and not installed skip the tests that need them, but not in CI', async () => {
    const files = ['histogram', 'system/graphiql', 'system/rotation', 'system/deployment', 'system/balancer'].map(
      name => join(import.meta.dirname, `../${name}.test.ts`),
    );
    const run = (env: Record<string, string>, mayInstall: boolean) => {
      const { files: runnable, skipped, needs } = runnableTests(files, env, mayInstall);
      return { names: runnable.map(file => basename(file, '.test.ts')), skipped, needs };
    };
    const PATH = await folderWith({ 'redis-server': '', openssl: '', curl: '', jq: '', python3: '' });
    const expected = {
      names: ['histogram', 'rotation'],
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
