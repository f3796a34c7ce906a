import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { launchChromium, openPage } from '../support/chromium.js';
import { ensureTools, runnableTests, systemTools } from '../support/ensure.mjs';
import { sharedRedisUrl, startRedis } from '../support/redis.js';

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

describe('the shared Redis', () => {
  test('answers at its url', async () => {
    expect(await connect(sharedRedisUrl()).ping()).toBe('PONG');
  });

  test('is not what a process started with this environment finds', () => {
    expect(process.env.REDIS_URL).toBeUndefined();
  });
});

describe('a Redis of its own', () => {
  test('listens on its own loopback port and keeps nothing on disk', async () => {
    const [one, other] = [await ownRedis(), await ownRedis()];
    expect(one.port).not.toBe(other.port);
    expect(one.url).toBe(`redis://127.0.0.1:${one.port}`);
    await connect(one.url).set('key', 'value');
    expect(await connect(other.url).get('key')).toBeNull();
    expect(await connect(one.url).config('GET', 'save')).toEqual(['save', '']);
    expect(await connect(one.url).config('GET', 'appendonly')).toEqual(['appendonly', 'no']);
    expect(await connect(one.url).config('GET', 'bind')).toEqual(['bind', '127.0.0.1']);
  });

  test('takes further arguments', async () => {
    const server = await ownRedis(['--maxmemory', '32mb']);
    expect(await connect(server.url).config('GET', 'maxmemory')).toEqual(['maxmemory', `${32 * 1024 * 1024}`]);
  });

  test('says why it does not start', async () => {
    await expect(startRedis({ args: ['--no-such-setting', '1'] })).rejects.toThrow(/no-such-setting/);
  });

  test('freezes and goes on', async () => {
    const server = await ownRedis();
    const client = connect(server.url);
    await client.set('key', 'value');
    server.pause();
    const answer = client.get('key');
    const first = await Promise.race([answer, new Promise(resolve => setTimeout(resolve, 300, 'silence'))]);
    expect(first).toBe('silence');
    server.resume();
    expect(await answer).toBe('value');
  });

  test('dies and comes back empty on the same port', async () => {
    const server = await ownRedis();
    const client = connect(server.url);
    await client.set('key', 'value');
    const before = server.process;
    const cut = once(client, 'close');
    await server.kill();
    await cut;
    expect(before.signalCode).toBe('SIGKILL');
    await server.restart();
    expect(server.process.pid).not.toBe(before.pid);
    expect(await client.get('key')).toBeNull();
  });

  test('restarts while it runs', async () => {
    const server = await ownRedis();
    const client = connect(server.url);
    const id = await client.info('server');
    await server.restart();
    expect(await connect(server.url).info('server')).not.toBe(id);
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

test('Chromium opens a page of a local server', async () => {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end('<title>Here</title>');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanups.push(() => server.close());
  const browser = await launchChromium();
  cleanups.push(() => browser.close());
  const page = await openPage(browser);
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  expect(await page.title()).toBe('Here');
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

  test('are found on the path', async () => {
    const programs = { 'redis-server': '', chromium: '', ...others };
    const folder = await folderWith(programs);
    expect(ensureTools(systemTools, { PATH: `/nowhere:${folder}` }, false)).toEqual(
      Object.fromEntries(Object.keys(programs).map(command => [command, join(folder, command)])),
    );
  });

  test('are taken from the variable before the path', async () => {
    const folder = await folderWith({ 'redis-server': '', chromium: '', mine: '', ...others });
    const env = { PATH: folder, CHROME_PATH: join(folder, 'mine') };
    expect(ensureTools(systemTools, env, false)).toHaveProperty('chromium', join(folder, 'mine'));
  });

  test('named by a variable that is wrong end the run in one line, and nothing is installed', async () => {
    const folder = await folderWith({ 'redis-server': '', 'apt-get': 'touch "$0.called"' });
    expect(() => ensureTools(systemTools, { PATH: folder, CHROME_PATH: '/nowhere/chrome' }, true)).toThrow(
      /^CHROME_PATH names no program that can be run: \/nowhere\/chrome$/,
    );
    expect(existsSync(join(folder, 'apt-get.called'))).toBe(false);
  });

  test('missing where nothing may be installed end a run of CI in one line that says what to do', async () => {
    const folder = await folderWith({ ...others, 'apt-get': 'touch "$0.called"' });
    expect(() => ensureTools(systemTools, { PATH: folder, CI: '1' }, false)).toThrow(
      /^The tests need redis-server, which is not on this machine: install redis-server$/,
    );
    const withRedis = await folderWith({ 'redis-server': '' });
    expect(() => ensureTools(systemTools, { PATH: withRedis, CI: '1' }, false)).toThrow(
      /^The tests need chromium, which is not on this machine: install chromium or set CHROME_PATH$/,
    );
    expect(ensureTools(['redis-server'], { PATH: withRedis, CI: '1' }, false)).toEqual({
      'redis-server': join(withRedis, 'redis-server'),
    });
    expect(existsSync(join(folder, 'apt-get.called'))).toBe(false);
  });

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

  test('that cannot be installed end the run in one line with the reason', async () => {
    silenceStderr();
    const folder = await folderWith({ ...others, 'apt-get': 'echo "first" >&2; echo "E: no network" >&2; exit 100' });
    expect(() => ensureTools(systemTools, { PATH: folder }, true)).toThrow(
      /^The tests could not install redis-server and chromium \(apt-get update: E: no network\)$/,
    );
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
