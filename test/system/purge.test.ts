import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { hashOfKey } from '../../src/auth/credentials.js';
import { startSandbox } from '../../src/sandbox/server.js';
import { freeAddress } from '../support/free-address.js';
import { addressesOn, demoHeaders, startGateway, type TestGateway } from '../support/gateway.js';
import { buildProgram } from '../support/program.js';
import { allRedisPlaces, type RedisPlace } from '../support/redis-cluster.js';
import { until } from '../support/until.js';

const secret = 'a secret that all gateways of these tests share';
/** Of a credential that may not read events. */
const otherHeaders = { 'x-api-key': 'demo-key-markets-only' };

const [program, sandbox] = await Promise.all([buildProgram(), startSandbox()]);

afterAll(() => sandbox.close());

const purgeScript = 'data/cache/purge-command.js';
const purgeEnv = (env: Record<string, string>) => ({
  PATH: process.env.PATH ?? '',
  ...addressesOn(sandbox.origin),
  ...env,
});

/** Runs the command with the environment of a gateway. */
const purge = (env: Record<string, string>, ...args: string[]) => program.run(purgeEnv(env), purgeScript, args);

describe.each(allRedisPlaces)('over %s, after npm run purge', (_, startPlace) => {
  let place: RedisPlace;
  let gateways: TestGateway[];
  beforeAll(async () => {
    place = await startPlace();
    const env = { SESSION_SECRET: secret, RESPONSE_CACHE: 'true' };
    gateways = await Promise.all([1, 2].map(() => startGateway({ sandbox, redisUrl: place.url, env })));
  });
  afterAll(async () => {
    await Promise.all(gateways.map(gateway => gateway.close()));
    await place.stop();
  });

  const queries = { events: '{ events(first: 2) { nodes { title } } }', market1: marketOf(1), market2: marketOf(2) };

  const readable = (headers: Record<string, string>) =>
    Object.entries(queries).filter(([name]) => headers === demoHeaders || name !== 'events');

  /** What each gateway has to read from the service, which knows nothing any more: a gateway that serves anything has kept it. */
  async function readAgain(headers: Record<string, string>): Promise<string[][]> {
    const ended = sandbox.tell({ path: /./, status: 404, errorCode: 'NOT_FOUND' });
    const again: string[][] = [];
    for (const gateway of gateways) {
      const names: string[] = [];
      for (const [name, query] of readable(headers)) {
        const { errors } = await gateway.query(query, {}, headers);
        if (errors?.[0].extensions.code === 'NOT_FOUND') names.push(name);
      }
      again.push(names);
    }
    ended();
    return again;
  }

  beforeEach(async () => {
    // Writes to Redis are not waited for.
    await until(async () => {
      sandbox.calls.clear();
      for (const headers of [demoHeaders, otherHeaders]) {
        for (const [, query] of readable(headers)) {
          for (const gateway of gateways) expect((await gateway.query(query, {}, headers)).errors).toBeUndefined();
        }
      }
      return sandbox.calls.count(/./) === 0;
    });
  });

  const settings = () => ({ REDIS_URL: place.url, SESSION_SECRET: secret });
  const run = (...args: string[]) => purge(settings(), ...args);

  test('--all, no gateway serves anything from before it', async () => {
    const { stdout, ended } = program.launch(purgeEnv(settings()), purgeScript, ['--all']);
    await until(() => stdout().endsWith('\n'));
    expect(await readAgain(demoHeaders)).toEqual(both(Object.keys(queries)));
    expect(await readAgain(otherHeaders)).toEqual(both(['market1', 'market2']));
    const line =
      /^Purged everything that was cached: [1-9]\d* entries in Redis, and the memory of each gateway that reaches Redis\.\n$/;
    expect(await ended).toEqual({ code: 0, stdout: expect.stringMatching(line), stderr: '' });
  });

  test('--credential-hash, none serves this credential anything from before it, and others keep theirs', async () => {
    const hash = (await program.run({}, 'auth/hash-key.js', [demoHeaders['x-api-key']])).stdout.trim();
    const { code, stdout } = await run('--credential-hash', hash);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Purged what was cached for this credential: [1-9]\d* entries in Redis/);
    expect(await readAgain(demoHeaders)).toEqual(both(Object.keys(queries)));
    expect(await readAgain(otherHeaders)).toEqual(both([]));
  });

  test('--market, none serves this market from before it, to any credential', async () => {
    expect(await run('--market', '1')).toEqual({
      code: 0,
      stdout: 'Purged market 1: each gateway reads it from the service again.\n',
      stderr: '',
    });
    for (const headers of [demoHeaders, otherHeaders]) expect(await readAgain(headers)).toEqual(both(['market1']));
  });

  test('--market, with zeros in front of its id', async () => {
    expect((await run('--market', '001')).code).toBe(0);
    expect(await readAgain(otherHeaders)).toEqual(both(['market1']));
  });

  test('--all, a call that was running at the time brings nothing that is served later', async () => {
    const slow = '{ market(id: 3) { companies(first: 1) { totalCount } } events(first: 7) { totalCount } }';
    sandbox.calls.clear();
    const ended = sandbox.tell({ path: /./, delayMs: 4_000 });
    const [gateway] = gateways;
    const running = gateway?.query(slow);
    await until(() => sandbox.calls.count(/./) >= 2);
    expect((await run('--all')).code).toBe(0);
    ended();
    expect((await running)?.errors).toBeUndefined();
    sandbox.calls.clear();
    await gateway?.query(slow);
    expect(sandbox.calls.count(/./)).toBe(2);
  });
});

const both = (names: string[]) => [names, names];

function marketOf(id: number): string {
  return `{ market(id: ${id}) { companies(first: 1) { totalCount } } }`;
}

describe('npm run purge does nothing, and one line says why,', () => {
  const hash = hashOfKey('a key');

  test('without Redis', async () => {
    expect(await purge({}, '--all')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'REDIS_URL is not set: each gateway has a cache of its own, in memory. Restart a gateway to purge it\n',
    });
  });

  test.each([
    [[]],
    [['--market']],
    [['--market', 'x']],
    [['--all', '--market', '1']],
    [['--credential-hash', 'a key']],
    [['1']],
  ])('with %j', async args => {
    const { code, stdout, stderr } = await purge({ REDIS_URL: 'redis://127.0.0.1:1' }, ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^Usage: npm run purge -- [^\n]+\n$/);
  });

  test('if it cannot reach Redis, is not told the upstream, or does not know the secret', async () => {
    const redis = { REDIS_URL: `redis://${await freeAddress()}` };
    const runs = await Promise.all([
      purge(redis, '--all'),
      purge({ ...redis, UPSTREAM_BASE_URL: '', UPSTREAM_API_URL: '', UPSTREAM_DEV_URL: '' }, '--all'),
      purge(redis, '--credential-hash', hash),
    ]);
    expect(runs.map(({ code, stderr }) => [code, stderr.split(':')[0]])).toEqual([
      [1, 'REDIS_URL'],
      [1, 'UPSTREAM_BASE_URL is not set'],
      [1, 'SESSION_SECRET'],
    ]);
  });
});
