import { beforeEach, expect, test } from '@jest/globals';
import { startSandbox } from '../../src/sandbox/server.js';
import { cleanups, forSuite, forTest } from '../support/cleanups.js';
import { addressesOn, ask, type TestGateway } from '../support/gateway.js';
import { market, publishMarket, recordCallsOf, startPair } from '../support/market-pair.js';
import { moves } from '../support/moving-redis.js';
import { buildProgram } from '../support/program.js';
import { startRedis } from '../support/redis.js';
import { reply, startStubService } from '../support/stub-service.js';
import { until } from '../support/until.js';

let one: TestGateway;
let other: TestGateway;
const sandbox = forSuite(await startSandbox({ publishMs: 60_000 }));

beforeEach(() => sandbox.reset());

const recordCalls = () => recordCallsOf(sandbox);

test('after a gateway was killed in the middle of a write, no other one answers from before it', async () => {
  let name = 'before';
  const service = await startStubService(({ method }, response) => {
    if (method === 'GET') reply(response, 200, { id: Number(market), name });
    // The answer never comes.
    else name = 'after';
  });
  forTest(service);
  const [redis, program] = await Promise.all([startRedis(), buildProgram()]);
  forTest(redis);
  const settings = { ...addressesOn(service.origin), REDIS_URL: redis.url, SESSION_SECRET: 's'.repeat(32) };
  const [killed, survivor] = await Promise.all([program.start(settings), program.start(settings)]);
  for (const { kill } of [killed, survivor]) cleanups.push(kill);
  const answerOf = async ({ url }: { url: string }, text: string) =>
    (await ask(`${url}/graphql`, text, {}, { 'x-api-key': 'k' })).data;
  const read = `{ market(id: ${market}) { name } }`;
  for (const gateway of [killed, survivor])
    expect(await answerOf(gateway, read)).toEqual({ market: { name: 'before' } });
  const writing = expect(answerOf(killed, publishMarket)).rejects.toThrow();
  await until(() => name === 'after');
  await killed.kill();
  await writing;
  expect(await answerOf(survivor, read)).toEqual({ market: { name: 'after' } });
});

test.each(moves)(
  'while a primary of Redis is %s, each read is fresh after a write, and soon Redis is used again',
  async (_, start) => {
    const redis = forTest(await start());
    [one, other] = await startPair(sandbox, redis.urls.join());
    const name = `{ market(id: ${market}) { name } }`;
    const review = `mutation { reviewCompanies(input: { marketId: ${market}, reviewStatus: INCLUDE, target: { all: true } }) { marketId } }`;
    /** How often the service is asked for the market when it is read. */
    async function callsOfRead(gateway: TestGateway): Promise<number> {
      sandbox.calls.clear();
      expect((await gateway.query(name)).errors).toBeUndefined();
      return recordCalls();
    }
    /** Whether what one gateway has read after a write through the other, the other has not to read. */
    async function writeAndRead(): Promise<boolean> {
      [one, other] = [other, one];
      expect((await one.query(review)).errors).toBeUndefined();
      expect(await callsOfRead(other)).toBe(1);
      return (await callsOfRead(one)) + (await callsOfRead(other)) === 0;
    }
    cleanups.push(() => Promise.all([one.close(), other.close()]));
    await until(writeAndRead);
    await redis.move();
    await until(writeAndRead);
    await until(writeAndRead);
  },
);
