import { createServer } from 'node:net';
import { expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  connectRedis,
  createRedisGuard,
  disconnect,
  faultsOfRedis,
  firstContact,
  followClock,
  type RedisClient,
  subscriberOf,
} from '../../src/data/redis.js';
import { failureInWords } from '../../src/observability/warnings.js';
import { cleanups, forTest, listening } from '../support/cleanups.js';
import { startFakeRedis } from '../support/fake-redis.js';
import { freeAddress } from '../support/free-address.js';
import { moves, namedMoves } from '../support/moving-redis.js';
import { startNetwork } from '../support/network.mjs';
import { startRedis } from '../support/redis.js';
import { allRedisPlaces } from '../support/redis-cluster.js';
import { silentTelemetry } from '../support/silent-telemetry.js';
import { until } from '../support/until.js';

function connected(urls: readonly string[]): RedisClient {
  return forTest(connectRedis(urls, () => {}));
}

/** The time after which a first contact is over is up when the test aborts this. */
function takeTimeout() {
  const controller = new AbortController();
  const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(controller.signal);
  cleanups.push(() => timeout.mockRestore());
  return { timeout, abort: () => controller.abort() };
}

test.each([1, 2])('a connection to %i addresses that is closed while it waits to reconnect has ended', async count => {
  const client = connectRedis(Array(count).fill(`redis://${await freeAddress()}`), () => {});
  const states: string[] = [];
  client.on('end', () => states.push(client.status));
  await until(() => client.status === 'reconnecting');
  disconnect(client);
  await until(() => states.length > 0);
  // Nothing of it goes on.
  await new Promise(resolve => setTimeout(resolve, 600));
  expect(states).toEqual(['end']);
});

test.each(allRedisPlaces)('the first contact with %s lasts until commands can be sent', async (_, startPlace) => {
  const place = forTest(await startPlace());
  const client = connected(place.urls);
  await firstContact(client);
  expect(await client.set('a', '1')).toBe('OK');
  await firstContact(client);
});

test.each(allRedisPlaces)(
  'gateways go by one clock over %s, whatever those of its nodes say',
  async (_, startPlace) => {
    const place = forTest(await startPlace());
    const gateways = Array.from({ length: 8 }, () => connected(place.urls));
    const clocks = gateways.map(client => followClock(client, silentTelemetry));
    await Promise.all(gateways.map(firstContact));
    const admins = place.nodes.map(({ url }) => new Redis(url));
    for (const admin of admins) cleanups.push(() => admin.disconnect());
    const asked = async () => {
      await Promise.all(clocks.map(read => read()));
      const stats = await Promise.all(admins.map(admin => admin.info('commandstats')));
      return stats.filter(each => each.includes('cmdstat_time:')).length;
    };
    await until(asked);
    expect(await asked()).toBe(1);
  },
);

test.each([
  ['one Redis', ['redis://127.0.0.1:1']],
  ['a Redis Cluster', ['redis://127.0.0.1:1', 'redis://127.0.0.1:2']],
])('the first contact with %s that refuses is over at once', async (_, urls) => {
  takeTimeout();
  await firstContact(connected(urls));
});

test('a database that Redis does not have is never replaced by another', async () => {
  const server = forTest(await startRedis());
  const errors: string[] = [];
  const client = forTest(connectRedis([`${server.url}/99`], error => errors.push(failureInWords(error, 'it fails'))));
  let isReady = false;
  client.on('ready', () => {
    isReady = true;
  });
  await until(() => errors.length > 2);
  await expect(client.set('a', '1')).rejects.toThrow();
  expect(isReady).toBe(false);
  expect(new Set(errors)).toEqual(
    new Set([
      'there is no such database, or the user may not use it (SELECT); it fails. Check the number at the end of the address',
    ]),
  );
});

test('a Redis that is too old for SET with NX and GET is called so', async () => {
  const answer = (command: readonly string[]) => (command.includes('GET') ? new Error('ERR syntax error') : 'OK');
  const fake = forTest(await startFakeRedis(answer));
  const client = connected([fake.url]);
  await until(() => client.status === 'ready');
  expect(await faultsOfRedis(client)).toEqual([
    'it is older than version 7: watches cannot begin, and each gateway polls for itself',
  ]);
});

test('the first contact with a Redis that is still reading what it holds is over after a second', async () => {
  const state = 'loading:1\r\nloading_eta_seconds:1\r\n';
  let answered = 0;
  const loading = createServer(socket => {
    socket.on('error', () => {});
    socket.on('data', data => {
      const commands = String(data).match(/^\*\d+$/gm) ?? [];
      answered += commands.length;
      socket.write(`$${state.length}\r\n${state}\r\n`.repeat(commands.length));
    });
  });
  const port = await listening(loading);
  const { timeout, abort } = takeTimeout();
  let isOver = false;
  const contact = firstContact(connected([`redis://127.0.0.1:${port}`])).then(() => {
    isOver = true;
  });
  // ioredis has asked whether it still reads, and asks again.
  await until(() => answered > 1);
  expect(isOver).toBe(false);
  abort();
  await contact;
  expect(timeout.mock.calls).toEqual([[1_000]]);
});

test('after three faults in a row a guard sends nothing for a second, then one command, whatever the wall clock says', async () => {
  jest.useFakeTimers();
  cleanups.push(() => jest.useRealTimers());
  const guard = createRedisGuard(silentTelemetry);
  const works = async () => 'sent';
  const fails = () => Promise.reject(new Error('a fault'));
  for (let faults = 0; faults < 2; faults += 1) await guard('GET', fails);
  expect(await guard('GET', works)).toBe('sent');
  for (let faults = 0; faults < 3; faults += 1) await guard('GET', fails);
  jest.setSystemTime(Date.now() + 3_600_000);
  expect(await guard('GET', works)).toBeUndefined();
  jest.setSystemTime(Date.now() - 7_200_000);
  jest.advanceTimersByTime(1_000);
  await guard('GET', fails);
  expect(await guard('GET', works)).toBeUndefined();
  jest.advanceTimersByTime(1_000);
  let answer: (value: string) => void = () => {};
  const trial = guard('GET', () => new Promise<string>(resolve => (answer = resolve)));
  expect(await guard('GET', works)).toBeUndefined();
  answer('answered');
  expect(await trial).toBe('answered');
  expect(await guard('GET', works)).toBe('sent');
});

test.each(moves)(
  'a primary that is %s is left by the connections for commands and for subscriptions',
  async (_, start) => {
    const redis = forTest(await start());
    const client = connected(redis.urls);
    const subscriber = forTest(subscriberOf(client));
    const heard: string[] = [];
    subscriber.on('message', (_, text) => heard.push(text));
    subscriber.on('ready', () => void subscriber.subscribe('news').catch(() => {}));
    const writes = (text: string) => client.set('a', text).then(Boolean, () => false);
    await until(() => writes('before'));
    await redis.move();
    await until(() => writes('after'));
    expect(await redis.admin.get('a')).toBe('after');
    await until(async () => {
      await redis.admin.publish('news', 'published');
      return heard.includes('published');
    });
  },
);

test.each(namedMoves)('a primary that is %s is left by connections on which nothing is sent', async (_, start) => {
  const redis = forTest(await start());
  const client = connected(redis.urls);
  forTest(subscriberOf(client));
  await firstContact(client);
  await redis.move();
  await until(async () => String(await redis.admin.client('LIST')).match(/ cmd=unlink /g)?.length === 2);
});

test('a server that says for ever that it reads its data is left', async () => {
  let connections = 0;
  const redis = await startFakeRedis(() => 'OK', 'loading:1\r\nloading_eta_seconds:3600\r\n');
  const name = await startNetwork(() => {
    connections += 1;
    return Number(new URL(redis.url).port);
  });
  cleanups.push(() => name.close(), redis.close);
  connected([name.url.replace('http', 'redis')]);
  await until(() => connections > 1);
});
