import { mkdtempSync, symlinkSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { copyWithOtherModels } from '../../bench/faults/other-models.mjs';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { addressesOn, ask, demoHeaders } from '../support/gateway.js';
import { buildProgram, type Program, type Running } from '../support/program.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { until } from '../support/until.js';

let sandbox: Sandbox;
let server: RedisServer;
let redis: Redis;
let gateways: readonly Running[] = [];

beforeAll(async () => {
  let program: Program;
  [sandbox, server, program] = await Promise.all([startSandbox(), startRedis(), buildProgram()]);
  redis = new Redis(server.url);
  const own = mkdtempSync(join(process.env.TEST_PROGRAM_FOLDER ?? '', 'other-models-'));
  for (const name of ['schema', 'operations', 'package.json']) symlinkSync(resolve(name), join(own, name));
  copyWithOtherModels(program.folder, join(own, 'src'));
  const env = {
    ...addressesOn(sandbox.origin),
    REDIS_URL: server.url,
    SESSION_SECRET: 'one secret for the old and the new program',
  };
  const other = relative(program.folder, join(own, 'src/main.js'));
  gateways = await Promise.all([program.start(env), program.start(env, other)]);
});
afterAll(async () => {
  redis.disconnect();
  await Promise.all(gateways.map(gateway => gateway.kill()));
  await Promise.all([sandbox.close(), server.stop()]);
});

test('gateways with two shapes of one model work side by side, and what one writes voids what the other keeps', async () => {
  // Not one whole answer for two requests: each reads the record.
  let asked = 0;
  const read = async ({ url }: Running) => {
    asked += 1;
    const { data, errors } = await ask(`${url}/graphql`, `query Q${asked} { market(id: 4) { name reviewStatus } }`);
    expect(errors).toBeUndefined();
    return data.market;
  };
  const records = async () => (await redis.keys('mig:cache:*')).length;
  const [one, two] = gateways as [Running, Running];
  for (const order of [
    [one, two],
    [two, one],
  ]) {
    await redis.flushall();
    const [first, second] = order as [Running, Running];
    const right = await read(first);
    expect(right).toEqual({ name: expect.any(String), reviewStatus: expect.any(String) });
    await until(async () => (await records()) === 1);
    expect(await read(second)).toEqual(right);
    await until(async () => (await records()) === 2);

    sandbox.calls.clear();
    expect([await read(first), await read(second)]).toEqual([right, right]);
    expect(sandbox.calls.list()).toEqual([]);
    const review = 'reviewCompanies(input: { marketId: 4, reviewStatus: INCLUDE, target: { all: true } }) { marketId }';
    const written = await ask(`${first.url}/graphql`, `mutation { ${review} }`, {}, demoHeaders);
    expect(written.errors).toBeUndefined();
    sandbox.calls.clear();
    expect([await read(second), await read(first)]).toEqual([right, right]);
    expect(sandbox.calls.count(/markets\/4$/)).toBe(2);
  }
});
