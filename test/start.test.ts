import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { buildProgram, type Program } from './support/program.js';
import { until } from './support/until.js';

let program: Program;
beforeAll(async () => {
  program = await buildProgram();
});

const moduleOf = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`;

/** For a gateway whose modules take for ever to load. */
const hooks = moduleOf(`
  import { writeSync } from 'node:fs';
  export async function load(url, context, next) {
    if (!url.endsWith('/app.js')) return next(url, context);
    writeSync(2, 'Loading');
    await new Promise(() => {});
  }
`);
const loadedForEver = `--import=${moduleOf(`
  import { register } from 'node:module';
  register(${JSON.stringify(hooks)});
  setInterval(() => {}, 1_000);
`)}`;

describe('a signal while the gateway starts ends it at once, and says so', () => {
  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('%s, while its modules are loaded', async (name, code) => {
    const starting = program.launch({ NODE_OPTIONS: loadedForEver });
    await until(() => starting.stderr().includes('Loading'));
    starting.signal(name);
    const stderr = expect.stringContaining(`${name}: the gateway ended before it was ready\n`);
    expect(await starting.ended).toEqual({ code, stdout: '', stderr });
  });

  test('SIGTERM, while it waits for its Redis', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const connected = once(silent, 'connection');
    const starting = program.launch({ REDIS_URL: `redis://127.0.0.1:${(silent.address() as AddressInfo).port}` });
    await connected;
    starting.signal('SIGTERM');
    expect(await starting.ended).toMatchObject({ code: 143, stdout: '' });
    silent.close();
  });
});

describe('without Redis', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'start-'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  /** Runs the program as somebody whom a folder's mode binds, as it does not bind root. */
  function runBound(env: Record<string, string>) {
    const bound = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override'] : [];
    const [command = '', ...args] = [...bound, process.execPath, join(program.folder, 'main.js')];
    return spawnSync(command, args, { env: { PATH: process.env.PATH, ...env }, encoding: 'utf8', timeout: 45_000 });
  }

  test('the start makes the folder for exports', async () => {
    const DATA_DIR = join(folder, 'made', 'at the start');
    const running = await program.start({ DATA_DIR });
    expect((await stat(DATA_DIR)).mode & 0o777).toBe(0o700);
    await running.stop();
  });

  test('an address that is taken ends it with one clear line', async () => {
    const running = await program.start({ DATA_DIR: join(folder, 'data') });
    const { port } = new URL(running.url);
    const { code, stderr } = await program.run({
      PATH: process.env.PATH ?? '',
      PORT: port,
      DATA_DIR: join(folder, 'data'),
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^HOST, PORT: nothing can listen at 127\.0\.0\.1, port \d+: [^\n]+\n$/);
    await running.stop();
  });

  test.each([
    ['is not the gateway’s', '.'],
    ['cannot be made', 'data'],
    ['is a file', 'file'],
  ])('a folder that %s ends it with one clear line', async (_, place) => {
    await writeFile(join(folder, 'file'), '');
    await chmod(folder, 0o500);
    const DATA_DIR = join(folder, place);
    const { status, stdout, stderr } = runBound({ PORT: '0', DATA_DIR });
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^DATA_DIR: [^\n]+ must be a folder that can be written to[^\n]+\n$/);
    expect(stderr).toContain(DATA_DIR);
  });
});
