import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { AcceptedScopes } from '../src/auth/accepted-scopes.js';
import { type Credential, hashOfKey, type Scope } from '../src/auth/credentials.js';
import type { Config } from '../src/config/config.js';
import { Secret } from '../src/config/values.js';
import { connectRedis, createRedisCounter } from '../src/data/redis.js';
import { createSignInAttempts } from '../src/domains/sessions/attempts.js';
import { createClients } from '../src/http/limits/clients.js';
import { createRateLimits } from '../src/http/limits/rate-limits.js';
import { MemoryBudget } from '../src/lib/memory-budget.js';
import { startSandbox } from '../src/sandbox/server.js';
import { cleanups, forSuite, forTest } from './support/cleanups.js';
import { type RedisValue, startFakeRedis } from './support/fake-redis.js';
import { ask, demoHeaders, startGateway, type TestGateway } from './support/gateway.js';
import { takeLog } from './support/log.js';
import { counted } from './support/metrics.js';
import { type RedisPlace, redisPlaces } from './support/redis-cluster.js';
import { startRedis } from './support/redis-server.mjs';
import { acceptedScopes } from './support/shared-store.js';
import { silentTelemetry } from './support/silent-telemetry.js';
import { overSse, rawSocket } from './support/streams.js';
import { until } from './support/until.js';
import { fakeWire } from './support/wire.js';

const viewer = '{ viewer { authentication } }';
/** After this, the service has accepted the credential. */
const suggestions = '{ suggestMarkets(keyword: "a") }';
const telemetry = silentTelemetry;
const none = { perCredential: 0, perAddress: 0 };

const sandbox = forSuite(await startSandbox());

const statuses = async (times: number, send: () => Promise<{ status: number }>) => {
  const found: number[] = [];
  for (let index = 0; index < times; index += 1) found.push((await send()).status);
  return found;
};

describe('a client that an operator blocks', () => {
  const order = { requestsPerMinute: 0, minutes: 1, reason: 'r' };
  const clientsOf = () => {
    const clients = createClients({
      redis: undefined,
      limits: createRateLimits(none, undefined, telemetry, acceptedScopes),
      teams: { current: { teamOf: () => null }, onReload: () => {} },
      acceptedScopes: new AcceptedScopes(),
      budget: new MemoryBudget(),
      connections: { open: new Set() },
      telemetry,
      log: { warn: () => {} },
    });
    cleanups.push(clients.close);
    return clients;
  };

  test.each(['ADA@team.example', 'ad\u00ada@team.example', 'ada\u200b@team.example', '\uff41da@team.example'])(
    'is the same one when it signs in as %j',
    email => {
      const clients = clientsOf();
      const credential: Credential = { kind: 'cookie', secret: new Secret('[]'), email, name: null, session: 's' };
      expect(clients.isBlocked({ scope: 's' as Scope, credential })).toBe(false);
      clients.restrict('member:Ada@team.example', order);
      expect(clients.isBlocked({ scope: 's' as Scope, credential })).toBe(true);
    },
  );

  test('may have an IPv6 address, and is shown by one', () => {
    const clients = clientsOf();
    const client = { address: '2001:db8::1', scope: undefined, credential: undefined };
    clients.count(client);
    const [shown] = clients.view().clients;
    expect(shown?.id).toBe('address:2001:db8::');
    expect(clients.restrict(shown?.id ?? '', order)).toMatchObject({ id: shown?.id });
    expect(clients.view().restrictions).toMatchObject([{ id: shown?.id }]);
    expect(() => clients.check(client)).toThrow('r (try again in 60 seconds)');
    expect(() => clients.check({ ...client, address: '2001:db8:0:1::1' })).not.toThrow();
  });
});

describe('a client past its limit', () => {
  test('is told so with the code, the time to wait and the count, and other clients go on', async () => {
    const log = takeLog();
    const env = { RATE_LIMIT_PER_CREDENTIAL: '3', LOG_LEVEL: 'warn' };
    const gateway = forTest(await startGateway({ sandbox, env, seams: { log } }));
    const remaining: (string | null)[] = [];
    for (let index = 0; index < 3; index += 1) {
      const { status, headers } = await gateway.query(viewer);
      expect(status).toBe(200);
      expect(headers.get('ratelimit-limit')).toBe('3');
      remaining.push(headers.get('ratelimit-remaining'));
    }
    expect(remaining).toEqual(['2', '1', '0']);

    const { status, headers, errors, data } = await gateway.query(viewer);
    expect({ status, data }).toEqual({ status: 429, data: undefined });
    const wait = Number(headers.get('retry-after'));
    const extensions = { code: 'RATE_LIMITED', retryAfterSeconds: wait, retryable: true };
    expect(errors).toEqual([{ message: expect.stringMatching(/^More than 3 requests/), extensions }]);
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
    expect(headers.get('ratelimit-reset')).toBe(String(wait));

    expect((await gateway.query(viewer)).status).toBe(429);
    await until(() => log.lines.length > 0);
    const [refused, ...others] = log.lines
      .map(line => JSON.parse(line))
      .filter(({ msg }) => msg === 'A client is refused');
    expect(refused).toMatchObject({
      address: '127.0.0.1',
      member: hashOfKey(demoHeaders['x-api-key']).slice(0, 15),
      outcome: 'RATE_LIMITED',
    });
    expect(others).toEqual([]);

    expect((await gateway.query(viewer, {}, { 'x-api-key': 'another-key' })).status).toBe(200);
    expect((await gateway.query(viewer, {}, { authorization: 'Bearer a-token' })).status).toBe(200);
  });

  test('reads its usage with the numbers of the headers, new with each request, and null where nothing is limited', async () => {
    const usage = '{ viewer { usage { limit remaining resetAt } } }';
    const gateway = forTest(await startGateway({ sandbox, env: { RATE_LIMIT_PER_CREDENTIAL: '3' } }));
    for (const remaining of [2, 1]) {
      const before = Date.now();
      const { headers, data } = await gateway.query(usage);
      const after = Date.now();
      expect(data.viewer.usage).toEqual({ limit: 3, remaining, resetAt: expect.any(String) });
      expect(headers.get('ratelimit-remaining')).toBe(String(remaining));
      const wait = Number(headers.get('ratelimit-reset')) * 1_000;
      const resetAt = Date.parse(data.viewer.usage.resetAt);
      expect(resetAt).toBeGreaterThanOrEqual(before + wait);
      expect(resetAt).toBeLessThanOrEqual(after + wait);
    }
    const env = { RATE_LIMIT_PER_CREDENTIAL: '0', RATE_LIMIT_PER_ADDRESS: '0' };
    const unlimited = forTest(await startGateway({ sandbox, env }));
    expect((await unlimited.query(usage)).data).toEqual({ viewer: { usage: null } });
  });

  test('is turned away where its answer is kept, and each answer has its own count', async () => {
    const gateway = forTest(await startGateway({ sandbox, env: { RATE_LIMIT_PER_CREDENTIAL: '4' } }));
    const kept = '{ events(first: 1) { totalCount } }';
    const remaining: (string | null)[] = [];
    for (let index = 0; index < 4; index += 1)
      remaining.push((await gateway.query(kept)).headers.get('ratelimit-remaining'));
    expect(remaining).toEqual(['3', '2', '1', '0']);
    sandbox.calls.clear();
    expect((await gateway.query(kept)).status).toBe(429);
    expect(sandbox.calls.count()).toBe(0);
  });

  test('cannot talk itself out of it with a header', async () => {
    const gateway = forTest(await startGateway({ sandbox, env: { RATE_LIMIT_PER_ADDRESS: '3' } }));
    let asked = 0;
    const send = () => {
      asked += 1;
      const other = `10.0.0.${asked}`;
      return gateway.query(
        viewer,
        {},
        {
          'x-api-key': `key-${asked}`,
          'x-forwarded-for': other,
          'x-real-ip': other,
          forwarded: `for=${other}`,
          'x-client-ip': other,
        },
      );
    };
    expect(await statuses(5, send)).toEqual([200, 200, 200, 429, 429]);
  });

  test('is known by the address that a trusted proxy names, and by no other', async () => {
    const gateway = forTest(
      await startGateway({ sandbox, env: { RATE_LIMIT_PER_ADDRESS: '2', TRUST_PROXY: '127.0.0.1' } }),
    );
    const from = (forwarded: string) => () =>
      gateway.query(viewer, {}, { ...demoHeaders, 'x-forwarded-for': forwarded });
    expect(await statuses(3, from('192.0.2.1'))).toEqual([200, 200, 429]);
    // What the client itself wrote stands further left.
    expect(await statuses(3, from('203.0.113.9, 192.0.2.2'))).toEqual([200, 200, 429]);
    expect(await statuses(1, from('203.0.113.10, 192.0.2.2'))).toEqual([429]);
  });

  test('is known by the address that a trusted proxy names, with or without a port; without a valid address, by that of the proxy', async () => {
    const gateway = forTest(
      await startGateway({ sandbox, env: { RATE_LIMIT_PER_ADDRESS: '1', TRUST_PROXY: '127.0.0.1, 10.0.0.0/8' } }),
    );
    const from = (forwarded: string) =>
      statuses(1, () => gateway.query(viewer, {}, { ...demoHeaders, 'x-forwarded-for': forwarded }));
    expect(await from('192.0.2.1:4711')).toEqual([200]);
    expect(await from('192.0.2.1:4712, 10.0.0.1:4713')).toEqual([429]);
    expect(await from('[2001:db8::1]:4711')).toEqual([200]);
    expect(await from('2001:db8::1')).toEqual([429]);
    expect(await from('unknown')).toEqual([200]);
    expect(await from('made-up')).toEqual([429]);
  });

  test('is one client in its whole IPv6 network', async () => {
    const limits = createRateLimits({ ...none, perAddress: 2 }, undefined, telemetry, acceptedScopes);
    const isOver = async (address: string) => (await limits.count(address, undefined))?.isOver;
    expect(await isOver('2001:db8:1:2::1')).toBe(false);
    expect(await isOver('2001:db8:1:2:ffff::2')).toBe(false);
    expect(await isOver('2001:db8:1:2:3::3')).toBe(true);
    expect(await isOver('2001:db8:1:3::1')).toBe(false);
    expect(await isOver('::ffff:192.0.2.7')).toBe(false);
    expect(await isOver('192.0.2.7')).toBe(false);
    expect(await isOver('::ffff:192.0.2.7')).toBe(true);
  });

  test.each([
    ['NAT64', '64:ff9b::198.51.100.1', '64:ff9b::198.51.100.2'],
    ['NAT64 within a site', '64:ff9b:1::198.51.100.1', '64:ff9b:1::198.51.100.2'],
    ['NAT64 with a prefix of 48 bits', '64:ff9b:1:c633:64:100::', '64:ff9b:1:c633:64:200::'],
    ['NAT64 with a prefix of 56 bits', '64:ff9b:1:2ac6:33:6401::', '64:ff9b:1:2ac6:33:6402::'],
    ['NAT64 with a prefix of 64 bits', '64:ff9b:1:2a2a:c6:3364:100::', '64:ff9b:1:2a2a:c6:3364:200::'],
    ['SIIT', '::ffff:0:198.51.100.1', '::ffff:0:198.51.100.2'],
    ['6to4', '2002:c633:6401:1::1', '2002:c633:6402:1::1'],
  ])('is its IPv4 address, where an address of %s embeds that', async (_, address, another) => {
    const limits = createRateLimits({ ...none, perAddress: 1 }, undefined, telemetry, acceptedScopes);
    const isOver = async (from: string) => (await limits.count(from, undefined))?.isOver;
    expect(await isOver(address)).toBe(false);
    expect(await isOver('198.51.100.1')).toBe(true);
    expect(await isOver(another)).toBe(false);
    expect(await isOver('2002:c633:6401:2::1')).toBe(true);
  });

  test('may still be asked about by those who watch over the gateway', async () => {
    const { url } = forTest(await startGateway({ sandbox, env: { RATE_LIMIT_PER_ADDRESS: '1' } }));
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      expect(await statuses(3, () => fetch(url + path))).toEqual([200, 200, 200]);
    }
    expect(await statuses(2, () => fetch(`${url}/schema.graphql`))).toEqual([200, 429]);
  });

  test('is told so on an open WebSocket, for each operation past it, and the connection stays', async () => {
    const gateway = forTest(await startGateway({ sandbox, env: { RATE_LIMIT_PER_CREDENTIAL: '3' } }));
    const raw = rawSocket(gateway.url);
    await raw.introduce();
    const outcomeOf = async (id: string, query: string) => {
      raw.send({ id, type: 'subscribe', payload: { query } });
      await until(() => raw.messages.some(message => message.id === id));
      return raw.messages.find(message => message.id === id);
    };
    const listen = 'subscription { jobProgress(marketId: 5) { finished } }';
    for (const [id, query] of [
      ['a', viewer],
      ['b', listen],
      ['c', viewer],
    ] as const) {
      expect(await outcomeOf(id, query)).toMatchObject({ type: 'next' });
    }
    for (const [id, query] of [
      ['d', viewer],
      ['e', listen],
      ['f', '{ broken'],
    ] as const) {
      expect(await outcomeOf(id, query)).toMatchObject({
        type: 'error',
        payload: [
          {
            message: expect.stringMatching(/^More than 3 requests/),
            extensions: { code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number), retryable: true },
          },
        ],
      });
    }
    // What came by the socket counts with what comes by requests.
    expect((await gateway.query(viewer)).status).toBe(429);
    expect(raw.socket.readyState).toBe(raw.socket.OPEN);
    raw.socket.terminate();
  });

  test('is not limited where the limit is 0', async () => {
    const gateway = forTest(
      await startGateway({ sandbox, env: { RATE_LIMIT_PER_ADDRESS: '0', RATE_LIMIT_PER_CREDENTIAL: '0' } }),
    );
    const { status, headers } = await gateway.query(viewer);
    expect(status).toBe(200);
    expect(headers.get('ratelimit-limit')).toBeNull();
  });
});

test.each([
  ['allkeys-lru', '100mb', true],
  ['volatile-ttl', '100mb', true],
  ['noeviction', '100mb', true],
  ['volatile-lru', '100mb', false],
  ['noeviction', '0', false],
])('a Redis with %s and a memory of %s is warned of at the start: %s', async (policy, memory, isWarned) => {
  const own = forTest(await startRedis({ args: ['--maxmemory', memory, '--maxmemory-policy', policy] }));
  const lines: string[] = [];
  const log = { write: (line: string) => void lines.push(line) };
  const env = { LOG_LEVEL: 'warn' };
  forTest(await startGateway({ sandbox, env, redisUrl: own.url, seams: { log } }));
  const found = lines.filter(line => line.includes(`maxmemory-policy is ${policy}`));
  expect(found).toHaveLength(isWarned ? 1 : 0);
});

test('a Redis that is there later than the gateway is warned of, too', async () => {
  const own = forTest(await startRedis({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] }));
  await own.kill();
  const log = takeLog();
  forTest(await startGateway({ sandbox, env: { LOG_LEVEL: 'warn' }, redisUrl: own.url, seams: { log } }));
  expect(log.lines.join()).not.toContain('maxmemory-policy');
  await own.restart();
  await until(() => log.lines.join().includes('maxmemory-policy is allkeys-lru'));
});

describe('a Redis that answers a count with something else', () => {
  const answers: [string, RedisValue][] = [
    ['nothing', [null, null]],
    ['text', ['many', 'soon']],
    ['a count without a time', [1, null]],
    ['a time that is over', [1, -2]],
    ['a time that never ends', [1, 1e15]],
    ['a negative count', [-5, 1_000]],
    ['no list', 'OK'],
    ['an empty list', []],
  ];

  test.each(answers)('(%s) is a fault of Redis: this gateway counts for itself', async (_, answer) => {
    const fake = forTest(await startFakeRedis(() => answer));
    const client = forTest(connectRedis([fake.url], () => {}));
    await until(() => client.status === 'ready');
    const faults: string[] = [];
    const counting = { ...silentTelemetry, redisFault: (command: string) => faults.push(command) };
    const limits = createRateLimits({ ...none, perCredential: 2 }, client, counting, acceptedScopes);
    const isOver = async () => (await limits.count('192.0.2.1', 'scope'))?.isOver;
    expect([await isOver(), await isOver(), await isOver()]).toEqual([false, false, true]);
    expect(faults).toEqual(['rate limit']);

    const attempts = createSignInAttempts(client);
    for (let index = 0; index < 10; index += 1) await attempts.count('ada@team.example', '192.0.2.1');
    await expect(attempts.count('ada@team.example', '192.0.2.1')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  });
});

test('a count that is read in the last millisecond of its window is no fault of Redis', async () => {
  const fake = forTest(await startFakeRedis(() => [5, 0]));
  const storeClient = forTest(connectRedis([fake.url], () => {}));
  await until(() => storeClient.status === 'ready');
  const counter = createRedisCounter(storeClient, 'mig:count', 60);
  expect(await counter.add('client', 1)).toEqual({ consumed: 5, milliseconds: 1 });
});

describe.each(redisPlaces)('over %s', (name, startPlace) => {
  let place: RedisPlace;
  const clients: (Redis | Cluster)[] = [];
  beforeAll(async () => {
    place = await startPlace();
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });
  afterAll(() => place.stop());

  /** Without the time limit on commands, which a busy machine may miss. */
  function connected(): Redis | Cluster {
    const [url = '', ...others] = place.urls;
    const client = others.length === 0 ? new Redis(url) : new Cluster([...place.urls]);
    clients.push(client);
    return client;
  }

  /** How many of `times` requests are let in by gateways that share a Redis. */
  async function letIn(bounds: Config['rateLimits'], times: number, gateways: number, key: string): Promise<number> {
    const all = Array.from({ length: gateways }, () =>
      createRateLimits(bounds, connected(), telemetry, acceptedScopes),
    );
    const verdicts = await Promise.all(
      Array.from({ length: times }, (_, index) => all[index % gateways]?.count('192.0.2.1', key)),
    );
    return verdicts.filter(verdict => verdict?.isOver === false).length;
  }

  test.each([
    [1, 20],
    [7, 50],
    [100, 400],
    [1_000, 3_000],
  ])('three gateways together let exactly %d of %d requests in', async (perCredential, times) => {
    expect(await letIn({ ...none, perCredential }, times, 3, `scope-${perCredential}`)).toBe(perCredential);
  });

  test('two gateways count the attempts to sign in together, and forgive them together', async () => {
    const [one, other] = [createSignInAttempts(connected()), createSignInAttempts(connected())];
    const email = `${name}@team.example`;
    for (let index = 0; index < 5; index += 1) {
      await one.count(email, '192.0.2.1');
      await other.count(email, '192.0.2.1');
    }
    const limited = { code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) };
    await expect(one.count(email, '192.0.2.1')).rejects.toMatchObject(limited);
    await expect(other.count(email, '192.0.2.1')).rejects.toMatchObject(limited);
    await one.forgive(email, '192.0.2.1');
    await other.count(email, '192.0.2.1');
    // Ten of the hundred for strangers were spent before the network was known.
    for (let network = 2; network < 92; network += 1) await one.count(email, `192.0.2.${network}`);
    await expect(one.count(email, '192.0.2.100')).rejects.toMatchObject(limited);
    await other.count(email, '192.0.2.1');
  });

  test('attempts to sign in are limited although Redis evicts their counts', async () => {
    const client = connected();
    const attempts = createSignInAttempts(client);
    const evict = async () => {
      const nodes = client instanceof Cluster ? client.nodes('master') : [client];
      for (const node of nodes) for (const key of await node.keys('mig:sign-in:*')) await node.unlink(key);
    };
    for (let index = 0; index < 10; index += 1) {
      await attempts.count(`evicted-${name}`, '198.51.100.1');
      await evict();
    }
    await expect(attempts.count(`evicted-${name}`, '198.51.100.1')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  });

  test('a client with a high limit costs Redis a round trip in a hundred requests', async () => {
    const client = connected();
    const before = await scriptsRun();
    const limits = createRateLimits({ ...none, perCredential: 10_000 }, client, telemetry, acceptedScopes);
    let promises = 0;
    for (let index = 0; index < 5_000; index += 1) {
      const verdict = limits.count('192.0.2.1', 'scope-busy');
      if (verdict instanceof Promise) promises += 1;
      expect((await verdict)?.remaining).toBe(10_000 - index - 1);
    }
    expect(promises).toBe(50);
    expect((await scriptsRun()) - before).toBe(50);
  });

  test('what is left is told alike by each gateway, also by one that has taken nothing for a while', async () => {
    const [one, other] = [connected(), connected()].map(client =>
      createRateLimits({ ...none, perCredential: 10_000 }, client, telemetry, acceptedScopes),
    );
    await other?.count('192.0.2.1', 'scope-moves');
    for (let index = 0; index < 5_000; index += 1) await one?.count('192.0.2.1', 'scope-moves');
    // Within what the other one has taken already: it takes nothing more.
    const told: (number | undefined)[] = [];
    await until(async () => {
      if (told.length < 98) told.push((await other?.count('192.0.2.1', 'scope-moves'))?.remaining);
      return (told.at(-1) ?? 10_000) < 5_100;
    });
    expect(told.length).toBeLessThan(98);
  });

  /** Accepts each key but those that somebody made up, which it refuses with the status in them, or 401. */
  const guardedWire = () =>
    fakeWire(({ headers }) => {
      const [isMadeUp, status] = /^made-up-?(\d+)?/.exec(headers['x-api-key'] ?? '') ?? [];
      return isMadeUp ? { status: Number(status ?? 401), body: { success: false } } : { body: { id: 1, name: 'One' } };
    });
  const market = '{ market(id: 1) { name } }';

  test('two gateways count one client together, and neither address nor credential is in Redis in clear', async () => {
    const env = { RATE_LIMIT_PER_CREDENTIAL: '5', SESSION_SECRET: 's'.repeat(32) };
    const { wire } = guardedWire();
    const [one, two] = await Promise.all([1, 2].map(() => startGateway({ wire, env, redisUrl: place.url })));
    cleanups.push(() => Promise.all([one?.close(), two?.close()]));
    const headers = { 'x-api-key': 'a-key-that-is-secret' };
    await counting(one as TestGateway);
    await counting(two as TestGateway);
    expect(await statuses(3, () => ask(`${one?.url}/graphql`, market, {}, headers))).toEqual([200, 200, 200]);
    expect(await statuses(3, () => ask(`${two?.url}/graphql`, market, {}, headers))).toEqual([200, 200, 429]);
    expect((await ask(`${one?.url}/graphql`, market, {}, headers)).status).toBe(429);
    expect((await keysLike('*')).join()).not.toContain('a-key-that-is-secret');
  });

  test('what a made-up key asks for leaves nothing in Redis but the count of its address', async () => {
    const own = forTest(await startPlace());
    const { wire, calls } = guardedWire();
    const gateway = forTest(await startGateway({ wire, redisUrl: own.url, env: { QUERY_CALL_LIMIT: '200' } }));
    const markets = Array.from({ length: 100 }, (_, id) => `m${id}: market(id: ${id + 1}) { name }`);
    const headers = (key: string) => ({ 'x-api-key': key });
    for (let attempt = 0; attempt < 3; attempt += 1)
      await gateway.query(`{ ${markets.join(' ')} events { totalCount } }`, {}, headers('made-up'));
    for (const subscription of ['jobProgress(marketId: 1) { finished }', 'eventUpdates { kind }']) {
      const query = `subscription { ${subscription} }`;
      await overSse(gateway.url, { query }, headers('made-up')).ended;
    }
    for (const key of ['made-up-403', 'made-up-500', 'made-up-503', 'made-up-302', 'made-up-200'])
      await gateway.query('mutation { publishMarket(input: { marketId: 1 }) { marketId } }', {}, headers(key));
    expect(calls.filter(({ method }) => method === 'POST')).toHaveLength(5);
    expect(calls.length).toBeGreaterThan(5);
    expect((await keysLike('*', own)).filter(key => !key.startsWith('mig:rate:address'))).toEqual([]);
  });

  test('that comes back counts again, and what was let in meanwhile is not let in twice by one gateway', async () => {
    const own = forTest(await startPlace());
    const client = connectRedis(own.urls, () => {});
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now');
    cleanups.push(() => client.disconnect());
    cleanups.push(() => clock.mockRestore());
    await until(() => client.status === 'ready');
    const limits = createRateLimits({ ...none, perCredential: 300 }, client, telemetry, acceptedScopes);
    const count = async () => (await limits.count('192.0.2.1', 'scope'))?.remaining;
    for (const node of own.nodes) node.pause();
    expect(await count()).toBe(299);
    for (let index = 0; index < 100; index += 1) await count();
    // From here on, Redis is tried again.
    clock.mockImplementation(() => now() + 1_100);
    expect(await count()).toBe(198);
    for (const node of own.nodes) node.resume();
    await until(async () => ((await count()) ?? 0) >= 250);
    expect(await keysLike('mig:rate:*', own)).toHaveLength(1);
  });

  test('each gateway counts for itself, counts that it does, and keeps answering, when Redis dies', async () => {
    const own = await startPlace();
    const gateway = forTest(
      await startGateway({ sandbox, redisUrl: own.url, env: { RATE_LIMIT_PER_CREDENTIAL: '3' } }),
    );
    const unenforced = () => counted(gateway.url, 'gateway_rate_limit_unenforced_total');
    expect((await gateway.query(suggestions)).status).toBe(200);
    expect(await unenforced()).toBe(0);
    await own.stop();
    expect(await statuses(3, () => gateway.query(suggestions))).toEqual([200, 200, 429]);
    expect(await unenforced()).toBeGreaterThanOrEqual(3);
    expect((await ask(`${gateway.url}/graphql`, viewer, {}, { 'x-api-key': 'other' })).status).toBe(200);
  });

  /** Waits until a gateway counts in Redis: one that has just begun counts for itself. */
  async function counting({ url }: TestGateway): Promise<void> {
    const known = async () => (await keysLike('mig:rate:scope*')).length;
    const before = await known();
    for (let index = 0; (await known()) === before; index += 1) {
      for (let time = 0; time < 2; time += 1)
        await ask(`${url}/graphql`, market, {}, { 'x-api-key': `probe-${index}-${url}` });
    }
  }

  const keysLike = async (pattern: string, at = place) => (await onEachNode(at, node => node.keys(pattern))).flat();

  /** How often the script of the counter ran. */
  const scriptsRun = async () =>
    (await onEachNode(place, node => node.info('commandstats'))).reduce((sum, info) => sum + commandsIn(info), 0);
});

/** Asks each server itself. */
async function onEachNode<T>({ urls }: RedisPlace, question: (node: Redis) => Promise<T>): Promise<T[]> {
  const nodes = urls.map(url => new Redis(url));
  try {
    return await Promise.all(nodes.map(question));
  } finally {
    for (const node of nodes) node.disconnect();
  }
}

/** How often the script of the counter ran, by its name in `INFO commandstats`. */
function commandsIn(info: string): number {
  return [...info.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}
