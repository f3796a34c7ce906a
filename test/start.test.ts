import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { beforeAll, describe, expect, test } from '@jest/globals';
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
