import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { forTest, listening } from '../support/cleanups.js';
import { startFakeRedis } from '../support/fake-redis.js';
import { buildProgram } from '../support/program.js';
import { startRedis } from '../support/redis.js';
import { until } from '../support/until.js';
import { wrongEnvironment } from '../support/wrong-environment.js';

const program = await buildProgram();
const folder = await mkdtemp(join(tmpdir(), 'check-config-'));

afterAll(() => rm(folder, { recursive: true }));

const check = (env: Record<string, string>, ...args: string[]) => program.run(env, 'check-config.js', args);

test('a configuration that is right is printed with the source of each value, and without secrets', async () => {
  const secret = join(folder, 'secret');
  await writeFile(secret, 'a secret that must not be printed at all');
  const env = {
    NODE_ENV: 'production',
    SANDBOX: 'true',
    SESSION_SECRET_FILE: secret,
    DATA_DIR: join(folder, 'a', 'b'),
  };
  const { code, stdout, stderr } = await check({ ...env, ADMIN_TOKEN: 'not to be printed' });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^PORT +default +4000$/m);
  expect(stdout).toMatch(/^SANDBOX +environment +true$/m);
  expect(stdout).toMatch(/^SESSION_SECRET +file +\[secret\]$/m);
  expect(stdout).toMatch(/^ADMIN_TOKEN +environment +\[secret\]$/m);
  expect(stdout).toMatch(/^REDIS_URL +default$/m);
  expect(stdout).not.toContain('printed');
  expect(await readdir(folder)).toEqual(['secret']);
  const json = JSON.parse((await check(env, '--json')).stdout);
  expect(json).toMatchObject({ valid: true, faults: [] });
  expect(json.settings).toContainEqual({ name: 'PORT', value: 4000, source: 'default' });
});

test('what an operator may not expect is a warning', async () => {
  const { code, stderr } = await check({ SANDBOX: 'true', ADMIN_TOKEN: 'short' });
  expect([code, stderr]).toEqual([0, 'ADMIN_TOKEN can be guessed: it has fewer than 16 characters\n']);
});

test('the faults are those of the start, and the exit code is 1', async () => {
  const started = await program.run(wrongEnvironment);
  const { code, stdout, stderr } = await check(wrongEnvironment);
  expect([code, stdout, stderr]).toEqual([1, '', started.stderr]);
  expect([started.code, started.stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^Invalid configuration: [^\n]+\n$/);
  for (const name of Object.keys(wrongEnvironment)) expect(stderr).toContain(`${name}: `);
  expect(stderr).not.toContain('too short');
  const json = await check(wrongEnvironment, '--json');
  expect([json.code, json.stderr]).toEqual([1, '']);
  const { valid, faults } = JSON.parse(json.stdout);
  expect([valid, `Invalid configuration: ${faults.join('; ')}\n`]).toEqual([false, started.stderr]);
});

test('each file and folder that a setting names is read', async () => {
  const operations = join(folder, 'operations');
  const data = join(folder, 'data');
  await mkdir(operations);
  await mkdir(data);
  await writeFile(join(operations, 'wrong.graphql'), '# Nothing.\nquery Wrong { nothing }');
  await writeFile(join(folder, 'teams.json'), '{');
  await writeFile(join(folder, 'documents.json'), '[]');
  await writeFile(join(data, 'exports.json'), '{');
  const env = {
    TEAMS_FILE: join(folder, 'teams.json'),
    PERSISTED_DOCUMENTS: join(folder, 'documents.json'),
    MCP_OPERATIONS: operations,
    STATIC_DIR: join(folder, 'nothing'),
    DATA_DIR: data,
  };
  const { code, stdout } = await check(env, '--json');
  const faults: string[] = JSON.parse(stdout).faults;
  expect([code, faults.map(fault => fault.split(':')[0])]).toEqual([1, Object.keys(env)]);
  const alone = Object.entries(env).map(async ([name, value]) => {
    const only = { PORT: '0', DATA_DIR: join(folder, 'unused'), [name]: value };
    return [await program.run(only), await check(only)].map(({ code, stderr }) => [code, stderr]);
  });
  for (const [start, checked] of await Promise.all(alone)) expect(checked).toEqual(start);
});

test('traces without their optional packages are one clear line, at the start and here', async () => {
  const moduleOf = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`;
  const hooks = moduleOf(`
    export async function resolve(name, context, next) {
      if (name !== '@opentelemetry/sdk-node') return next(name, context);
      throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
    }`);
  const leftOut = moduleOf(`import { register } from 'node:module'; register(${JSON.stringify(hooks)});`);
  const env = { PORT: '0', DATA_DIR: join(folder, 'traces'), NODE_OPTIONS: `--import=${leftOut}` };
  const traced = { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
  const line =
    'Invalid configuration: OTEL_...: traces need the optional packages, which npm ci --omit=optional leaves out\n';
  for (const { code, stderr } of [await program.run(traced), await check(traced)])
    expect([code, stderr]).toEqual([1, line]);
  expect((await check(env)).code).toBe(0);
});

test('says which commands the user of Redis may not run, and the start says the same', async () => {
  const redis = forTest(await startRedis());
  const admin = new Redis(redis.url);
  const refused = ['-eval', '-zadd', '-sadd', '-scan', '-exists', '-subscribe'];
  await admin.acl('SETUSER', 'limited', 'on', '>word', '~*', '&*', '+@all', ...refused);
  admin.disconnect();
  const env = { UPSTREAM_BASE_URL: 'http://127.0.0.1:1', REDIS_URL: redis.url.replace('//', '//limited:word@') };
  const line =
    'Redis: the user may not run EXISTS, SCAN, SADD, ZADD, EVAL, SUBSCRIBE; less is shared, or exports are refused. Allow them';
  const { code, stderr } = await check(env);
  expect([code, stderr.split('\n')]).toEqual([0, expect.arrayContaining([line])]);
  const gateway = await program.start(env);
  // On a busy machine, Redis is there after the start.
  await until(() => gateway.stderr().includes(line));
  await gateway.stop();
});

test('says that Redis is one node of a Cluster', async () => {
  const redis = await startRedis({ args: ['--cluster-enabled', 'yes'] });
  const { code, stderr } = await check({ UPSTREAM_BASE_URL: 'http://127.0.0.1:1', REDIS_URL: redis.url });
  await redis.stop();
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^Redis: it is one node of a Cluster/m)]);
});

test.each([
  ['a replica', ['--replicaof', '127.0.0.1', '1'], 'this Redis is a replica and takes no writes (READONLY)'],
  ['full', ['--maxmemory', '1', '--maxmemory-policy', 'noeviction'], 'Redis is full and can evict nothing (OOM)'],
])('says that Redis takes no writes, because it is %s', async (_, args, words) => {
  const redis = forTest(await startRedis({ args }));
  const { code, stderr } = await check({ UPSTREAM_BASE_URL: 'http://127.0.0.1:1', REDIS_URL: redis.url });
  expect([code, stderr]).toEqual([0, expect.stringContaining(`Redis: ${words}; nothing is shared`)]);
});

test.each([
  ['is not there', async () => 'redis://127.0.0.1:1', 'connections are refused (ECONNREFUSED)'],
  [
    'still reads its data',
    async () => forTest(await startFakeRedis(() => 'OK', 'loading:1\r\nloading_eta_seconds:3600\r\n')).url,
    'Redis is still reading its data (LOADING)',
  ],
  [
    'never answers',
    async () => `redis://127.0.0.1:${await listening(createServer(() => {}))}`,
    'no answer in time (TIMEOUT)',
  ],
])('says that Redis %s', async (_, start, words) => {
  const { code, stderr } = await check({ UPSTREAM_BASE_URL: 'http://127.0.0.1:1', REDIS_URL: await start() });
  expect([code, stderr]).toEqual([0, expect.stringContaining(`REDIS_URL: ${words}; what it allows was not checked`)]);
});
