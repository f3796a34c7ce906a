import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { addressesOn, demoHeaders } from '../support/gateway.js';
import { type Inspector, inspect, inspected } from '../support/inspector.js';
import { buildProgram, type Program, type Running } from '../support/program.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { rawSocket } from '../support/streams.js';
import { until } from '../support/until.js';

/** `npm run test:streams` asks for more. */
const rounds = Number(process.env.ROUNDS ?? 300);
/** Before the first look, so that what is made once, or grows to a bound, is there. */
const warmUp = Math.min(rounds, 2_000);
const atOnce = 20;
/** More than this and something stays: one connection alone takes several kilobytes. */
const maxGrowth = 1_000_000;

jest.setTimeout(180_000 + rounds * 60);

let sandbox: Sandbox;
let redis: RedisServer;
let store: Redis;
let program: Program;
let gateway: Running;
let inspector: Inspector;

beforeAll(async () => {
  [sandbox, redis, program] = await Promise.all([startSandbox({ discoveryMs: 10 }), startRedis(), buildProgram()]);
  store = new Redis(redis.url);
  gateway = await program.start({
    ...inspected,
    ...addressesOn(sandbox.origin),
    EVENTS_SEARCH_PARAM: sandbox.eventsSearchParam,
    REDIS_URL: redis.url,
    SESSION_SECRET: 's'.repeat(32),
    POLL_INTERVAL_MS: '1000',
    RATE_LIMIT_PER_ADDRESS: '0',
    RATE_LIMIT_PER_CREDENTIAL: '0',
  });
  inspector = await inspect(gateway);
});
afterAll(async () => {
  inspector?.close();
  await gateway?.kill();
  store?.disconnect();
  await Promise.all([sandbox?.close(), redis?.stop()]);
});

/** Market 4 has ended, 5 goes on, and no one can read 999. */
const subscriptions = [
  'subscription { jobProgress(marketId: 5) { finished observedAt } }',
  'subscription { jobProgress(marketId: 4) { finished jobs { progress } } }',
  'subscription { jobProgress(marketId: 6, phase: PUBLISH) { finished } }',
  'subscription { jobProgress(marketId: 999) { finished } }',
  'subscription { eventUpdates { event { id title } } }',
];
const talkative = subscriptions[0] ?? '';

type Way = (query: string) => Promise<void>;

const overWebsocket = (way: (raw: ReturnType<typeof rawSocket>, query: string) => Promise<void>): Way => {
  return async query => {
    const raw = rawSocket(gateway.url);
    await way(raw, query);
    await raw.closed;
  };
};
const introduce = { type: 'connection_init', payload: demoHeaders };
const subscribe = (query: string) => ({ id: 'a', type: 'subscribe', payload: { query } });

const overSse = (way: (response: Response, abort: () => void) => Promise<void>): Way => {
  return async query => {
    const aborting = new AbortController();
    const response = await post(query, aborting.signal);
    await way(response, () => aborting.abort()).catch(() => {});
    aborting.abort();
  };
};
const post = (query: string, signal: AbortSignal) =>
  fetch(`${gateway.url}/graphql/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...demoHeaders },
    body: JSON.stringify({ query }),
    signal,
  });

const ways: Readonly<Record<string, Way>> = {
  'a socket that ends its subscription and closes': overWebsocket(async raw => {
    await raw.introduce();
    raw.send(subscribe(talkative));
    await until(() => raw.messages.some(({ id }) => id === 'a'));
    raw.send({ id: 'a', type: 'complete' });
    raw.socket.close(1000);
  }),
  'a socket that closes over its subscription': overWebsocket(async (raw, query) => {
    await raw.introduce();
    raw.send(subscribe(query));
    raw.socket.close(1000);
  }),
  'a socket that is cut after its first message': overWebsocket(async raw => {
    await raw.introduce();
    raw.send(subscribe(talkative));
    await until(() => raw.messages.some(({ id }) => id === 'a'));
    raw.socket.terminate();
  }),
  'a socket that is cut as it subscribes': overWebsocket(async (raw, query) => {
    await raw.introduce();
    raw.socket.send(JSON.stringify(subscribe(query)), () => raw.socket.terminate());
  }),
  'a socket that is cut before the acknowledgement': overWebsocket(async raw => {
    await raw.opened();
    raw.socket.send(JSON.stringify(introduce), () => raw.socket.terminate());
  }),
  'a socket that is cut before it says anything': overWebsocket(async raw => {
    await raw.opened();
    raw.socket.terminate();
  }),
  'a stream that is left after its first event': overSse(async (response, abort) => {
    await response.body?.getReader().read();
    abort();
  }),
  'a stream that is read for a while': overSse(async (response, abort) => {
    const left = setTimeout(abort, 50);
    await response.text().finally(() => clearTimeout(left));
  }),
  'a stream that is cut before its head': async query => {
    const aborting = new AbortController();
    const response = post(query, aborting.signal);
    await sleep(Math.random() * 5);
    aborting.abort();
    await response.then(({ body }) => body?.cancel()).catch(() => {});
  },
};

async function run(count: number): Promise<void> {
  const all = Object.values(ways);
  let begun = 0;
  const runner = async () => {
    while (begun < count) {
      const round = begun;
      begun += 1;
      await all[round % all.length]?.(subscriptions[Math.floor(round / all.length) % subscriptions.length] ?? '');
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runner));
}

async function isQuiet(): Promise<boolean> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const lines = text.split('\n').filter(line => /^gateway_live_(pollers|listeners)/.test(line));
  const [channels, locks] = await Promise.all([store.pubsub('CHANNELS', '*'), store.keys('mig:live:*:lock')]);
  return lines.every(line => line.endsWith(' 0')) && channels.length === 0 && locks.length === 0;
}

test(`${rounds} rounds of connecting, subscribing and leaving, whichever way, leave nothing behind`, async () => {
  await run(warmUp);
  await until(isQuiet);
  const before = await inspector.holdings();
  await run(rounds);
  await until(isQuiet);
  await until(async () => (await inspector.holdings()).timers <= before.timers);
  const { heap } = await inspector.holdings();
  if (process.env.ROUNDS !== undefined)
    process.stdout.write(`heap: ${before.heap} bytes before, ${heap} after ${rounds} rounds\n`);
  expect(heap - before.heap).toBeLessThan(maxGrowth);
  const clients = String(await store.client('LIST'));
  expect(clients.split('\n').filter(line => / sub=[1-9]/.test(line))).toEqual([]);
});
