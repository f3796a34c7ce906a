import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
// @ts-expect-error the simulation is plain JavaScript
import { RedisData } from './simulation/redis-data.mjs';
import { forSuite } from './support/cleanups.js';
import { startRedis } from './support/redis.js';
import { type Draw, drawFrom } from './support/seeded.js';

// The Redis of the simulation answers as a real one does: commands by chance, on few keys, so that types, expiries and absent keys mix.

const server = forSuite(await startRedis());
const redis = forSuite(new Redis(server.url));

/** The scripts that gateways run, and one with what Lua makes of each kind of reply. */
const scripts = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .flatMap(file => [...readFileSync(join('src', file), 'utf8').matchAll(/= `\n([^`]*redis\.call[^`$]*)`/g)])
  .flatMap(([, script = '']) => script)
  .concat(
    "return { redis.call('GET', KEYS[1]), 1.7, true, 'text', redis.call('SET', KEYS[1], ARGV[1]), false, 'unseen' }",
  );

function commandBy({ pick, below, chance }: Draw): string[] {
  const key = () => pick(['a', 'b', 'c', 'd']);
  const text = () => pick(['0', '1', '17', 'text', 'é', '']);
  const field = () => pick(['version', 'state', 'other']);
  const life = () => pick([['EX', '100'], ['PX', '100000'], ['KEEPTTL'], []]);
  const commands: (() => string[])[] = [
    () => ['GET', key()],
    () => ['SET', key(), text(), ...life(), ...pick([[], ['NX'], ['XX'], ['NX', 'GET'], ['GET']])],
    () => ['MGET', key(), key()],
    () => [pick(['DEL', 'UNLINK', 'EXISTS']), key(), key()],
    () => [pick(['INCR', 'TTL', 'TYPE', 'HGETALL', 'HKEYS', 'SMEMBERS', 'PTTL']), key()],
    () => ['INCRBY', key(), String(below(20) - 10)],
    () => [pick(['EXPIRE', 'PEXPIRE']), key(), pick(['100000', '0'])],
    () => ['HSET', key(), field(), text(), field(), text()],
    () => [pick(['HGET', 'HMGET', 'HDEL']), key(), field()],
    () => ['SADD', key(), text(), text()],
    () => ['ZADD', key(), String(below(5)), text()],
    () => ['ZSCORE', key(), text()],
    () => ['ZREMRANGEBYSCORE', key(), '-inf', String(below(5))],
    () => [
      'EVAL',
      pick(scripts),
      '1',
      key(),
      text(),
      pick(['true', 'false', '600000', 'id']),
      pick(['60', 'none']),
      pick(['60', '+x']),
      '60',
      '60',
    ],
  ];
  return chance(0.02) ? ['FLUSHALL'] : pick(commands)();
}

/** A reply as text; sets and hashes in one order, remaining times in steps of a minute, errors without what a script adds. */
function shown(command: readonly string[], reply: unknown): string {
  if (reply instanceof Error)
    return `error ${reply.message.replace(/ERR (user_script.*?: |Error running script.*?: )?| script: .*/g, '').slice(0, 40)}`;
  const ok = reply as { ok?: string } | null;
  if (typeof ok === 'object' && ok?.ok !== undefined) return JSON.stringify(ok.ok);
  if (command[0] === 'PTTL' || Number(reply) > 60_000) return String(Math.ceil(Number(reply) / 60_000));
  if (Array.isArray(reply)) {
    const each = reply.map(one => shown([], one));
    return JSON.stringify(command[0] === 'SMEMBERS' ? each.sort() : each);
  }
  return JSON.stringify(reply);
}

test.each(Array.from({ length: 10 }, (_, seed) => seed))(
  'the simulated Redis answers as a real one does: %i',
  async seed => {
    expect(scripts.length).toBeGreaterThan(4);
    const draw = drawFrom(`redis ${seed}`);
    const simulated = new RedisData(Date.now);
    await redis.flushall();
    for (let left = 400; left > 0; left -= 1) {
      const command = commandBy(draw);
      const latin = command.map(text => Buffer.from(text).toString('latin1'));
      const [real, own] = [
        await redis.call(command[0] as string, ...command.slice(1)).catch(error => error),
        (() => {
          try {
            return JSON.parse(Buffer.from(JSON.stringify(simulated.call(...latin)), 'latin1').toString());
          } catch (error) {
            return error;
          }
        })(),
      ];
      expect([command, shown(command, own)]).toEqual([command, shown(command, real)]);
    }
  },
);
