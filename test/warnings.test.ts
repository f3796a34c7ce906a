import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { createWarnOncePerMinute, failureInWords } from '../src/observability/warnings.js';
import { ask } from './support/gateway.js';
import { counted } from './support/metrics.js';
import { buildProgram } from './support/program.js';
import { startRedis } from './support/redis.js';
import { reply, startStubService } from './support/stub-service.js';
import { until } from './support/until.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe('a warning', () => {
  test('is written once a minute for each cause, whatever the wall clock says', () => {
    jest.useFakeTimers();
    cleanups.push(() => jest.useRealTimers());
    // The clock that is faked begins at 0, which the cache takes for no time at all.
    jest.advanceTimersByTime(1);
    const written: string[] = [];
    const warn = createWarnOncePerMinute(message => written.push(message));
    warn('one', 'first');
    jest.setSystemTime(Date.now() + 3_600_000);
    warn('one', 'second');
    warn('other', 'third');
    jest.advanceTimersByTime(59_000);
    warn('one', 'fourth');
    jest.advanceTimersByTime(1_001);
    warn('one', 'fifth');
    expect(written).toEqual(['first', 'third', 'fifth']);
  });

  test('never shows the message of an error', () => {
    const reply = Object.assign(new Error("ERR unknown command 'HELLO', with args beginning with: 'the-password'"), {
      name: 'ReplyError',
    });
    expect(failureInWords(reply)).toBe('it failed (ERR)');
    expect(failureInWords(new Error('the-password'))).toBe('it failed (Error)');
  });
});

/** Starts a gateway, and gives back its address and the warnings in its log. */
async function started(env: Record<string, string>) {
  const program = await buildProgram();
  const running = await program.start(env);
  cleanups.push(() => running.stop());
  const warnings = () =>
    running
      .stderr()
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line))
      .filter(({ level }) => level === 40)
      .map(({ msg }): string => msg);
  return { ...running, warnings };
}

test('warns once of a wrong Redis password, without it, and once of rate limits that are not shared', async () => {
  const redis = await startRedis({ args: ['--requirepass', 'the-right-one'] });
  cleanups.push(() => redis.stop());
  const service = await startStubService((_, response) => reply(response, 200, {}));
  cleanups.push(() => service.close());
  const gateway = await started({
    UPSTREAM_BASE_URL: service.origin,
    REDIS_URL: `redis://:the-wrong-one@127.0.0.1:${redis.port}`,
  });
  await ask(`${gateway.url}/graphql`, '{ viewer { authentication } }');
  await until(async () => (await counted(gateway.url, 'gateway_redis_faults_total', { command: 'connect' })) >= 3);
  expect(await counted(gateway.url, 'gateway_rate_limit_unenforced_total')).toBeGreaterThan(0);
  expect(gateway.warnings()).toEqual([
    'REDIS_URL: the user or the password is wrong (WRONGPASS); until Redis is there, nothing is shared and exports are refused',
    'Rate limits are not shared: Redis does not answer, and each gateway allows every client the whole limit',
  ]);
  expect(gateway.stderr()).not.toContain('the-wrong-one');
});

test.each([
  ['one Redis', 'redis://:a-password@127.0.0.1:1', 'connections are refused (ECONNREFUSED)'],
  ['a Redis Cluster', 'redis://:a-password@127.0.0.1:1,redis://127.0.0.1:2', 'cannot connect (CLOSED)'],
])('%s that is not there is one warning', async (_, REDIS_URL, words) => {
  const gateway = await started({ UPSTREAM_BASE_URL: 'http://127.0.0.1:1', REDIS_URL });
  await until(async () => (await counted(gateway.url, 'gateway_redis_faults_total', { command: 'connect' })) >= 2);
  expect(gateway.warnings()).toEqual([
    `REDIS_URL: ${words}; until Redis is there, nothing is shared and exports are refused`,
  ]);
  expect(gateway.stderr()).not.toContain('a-password');
});

/** A gateway without rate limits over a Redis of its own and a service that always sends `body`. */
async function startedOverRedis(body: object) {
  const redis = await startRedis();
  cleanups.push(() => redis.stop());
  const service = await startStubService((_, response) => reply(response, 200, body));
  cleanups.push(() => service.close());
  const gateway = await started({
    UPSTREAM_BASE_URL: service.origin,
    REDIS_URL: redis.url,
    RATE_LIMIT_PER_ADDRESS: '0',
    RATE_LIMIT_PER_CREDENTIAL: '0',
  });
  return { redis, gateway };
}

test.each([
  ['is full', ['config', 'set', 'maxmemory', '1'], 'Redis is full and can evict nothing (OOM)'],
  ['is a replica', ['replicaof', '127.0.0.1', '1'], 'this Redis is a replica and takes no writes (READONLY)'],
])('a Redis that %s is one warning', async (_, command, words) => {
  const { redis, gateway } = await startedOverRedis({});
  const client = new Redis(redis.url);
  cleanups.push(() => client.disconnect());
  await client.call(...(command as [string, ...string[]]));
  for (const first of [1, 2]) {
    await ask(`${gateway.url}/graphql`, `{ market(id: ${first}) { name } }`);
  }
  await until(() => gateway.warnings().length > 0);
  expect(gateway.warnings()).toEqual([
    `REDIS_URL: ${words}; until commands succeed again, less is shared and exports may be refused`,
  ]);
});

test('warns once of a Redis that does not answer, and only the first request waits for it', async () => {
  const { redis, gateway } = await startedOverRedis({
    meta: { totalItems: 0, totalPages: 0, currentPage: 1, pageSize: 10 },
    data: [],
  });
  cleanups.push(() => redis.resume());
  redis.pause();
  const times: number[] = [];
  for (let first = 1; first <= 12; first += 1) {
    const begunAt = performance.now();
    await ask(`${gateway.url}/graphql`, `{ events(first: ${first}) { totalCount } }`);
    times.push(performance.now() - begunAt);
  }
  // A request that waited for Redis would take longer than this. A busy machine delays some that do not.
  expect(Math.min(...times)).toBeLessThan(200);
  expect(gateway.warnings()).toEqual([
    'REDIS_URL: no answer in time (TIMEOUT); until commands succeed again, less is shared and exports may be refused',
  ]);
});

test('warns once for each unreachable address of the service, with the cause', async () => {
  const service = await startStubService((_, response) => reply(response, 200, {}));
  cleanups.push(() => service.close());
  const gateway = await started({
    UPSTREAM_BASE_URL: service.origin.replace('http:', 'https:'),
    UPSTREAM_API_URL: 'http://nowhere.invalid',
    UPSTREAM_DEV_URL: 'http://127.0.0.1:1',
  });
  for (const first of [1, 2, 3]) {
    await ask(
      `${gateway.url}/graphql`,
      `{ events(first: ${first}) { totalCount } market(id: ${first}) { name topics { id } } }`,
    );
  }
  expect(gateway.warnings().sort()).toEqual([
    expect.stringMatching(
      /^UPSTREAM_API_URL: the name cannot be resolved \((ENOTFOUND|EAI_AGAIN)\); requests that need it fail$/,
    ),
    expect.stringMatching(/^UPSTREAM_BASE_URL: the TLS handshake failed \(\w+\); requests that need it fail$/),
    'UPSTREAM_DEV_URL: connections are refused (ECONNREFUSED); requests that need it fail',
  ]);
});

test('warns once for each cause of failure of the service, and counts bodies that cannot be parsed', async () => {
  const maintenance = await startStubService((_, response) => reply(response, 503, { message: 'at https://inside' }));
  const redirecting = await startStubService((_, response) => reply(response, 302, {}));
  const login = await startStubService((_, response) => response.end('<html>Welcome'));
  const garbled = createServer(socket => socket.on('error', () => {}).end('no HTTP at all\r\n\r\n'));
  await once(garbled.listen(0, '127.0.0.1'), 'listening');
  cleanups.push(() => Promise.all([maintenance.close(), redirecting.close(), login.close(), garbled.close()]));
  const gateway = await started({
    UPSTREAM_BASE_URL: login.origin,
    UPSTREAM_API_URL: maintenance.origin,
    UPSTREAM_DEV_URL: redirecting.origin,
  });
  const other = await started({ UPSTREAM_BASE_URL: `http://127.0.0.1:${(garbled.address() as AddressInfo).port}` });
  for (const first of [1, 2]) {
    const query = `{ events(first: ${first}) { totalCount } market(id: ${first}) { name topics { id } } }`;
    await ask(`${gateway.url}/graphql`, query);
    await ask(`${other.url}/graphql`, `{ events(first: ${first}) { totalCount } }`);
  }
  expect(gateway.warnings().sort()).toEqual([
    'UPSTREAM_API_URL: The service failed (HTTP 503); requests that need it fail',
    'UPSTREAM_BASE_URL: The service answered with a body that is not JSON; requests that need it fail',
    'UPSTREAM_DEV_URL: The service answered with a status that it does not document (HTTP 302); requests that need it fail',
  ]);
  expect(other.warnings()).toEqual([
    'UPSTREAM_BASE_URL: the answer is not HTTP (HTTPParserError); requests that need it fail',
  ]);
  expect(await counted(gateway.url, 'gateway_upstream_drift_total', { field: 'events' })).toBe(2);
});

test.each([
  ['is not there', 0, 'connections are refused (ECONNREFUSED)'],
  ['refuses the credentials', 401, 'the credentials are not accepted (HTTP 401)'],
])('a collector that %s is one warning, without its headers', async (_, status, words) => {
  const service = await startStubService((_, response) => reply(response, 200, {}));
  const collector = await startStubService((_, response) => reply(response, status, {}));
  cleanups.push(() => Promise.all([service.close(), collector.close()]));
  const gateway = await started({
    UPSTREAM_BASE_URL: service.origin,
    OTEL_EXPORTER_OTLP_ENDPOINT: status === 0 ? 'http://127.0.0.1:1' : collector.origin,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=the-secret',
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    OTEL_BSP_SCHEDULE_DELAY: '20',
    OTEL_TRACES_SAMPLER: 'nothing-known',
  });
  for (let times = 0; times < 3; times += 1) {
    await ask(`${gateway.url}/graphql`, '{ viewer { authentication } }');
    await until(() => gateway.warnings().some(line => line.includes('traces are lost')));
  }
  const warnings = gateway.warnings();
  expect(warnings.filter(line => line.startsWith('OTEL_'))).toEqual([
    `OTEL_EXPORTER_OTLP_ENDPOINT: ${words}; traces are lost`,
  ]);
  expect(warnings).toContain('OpenTelemetry: unknown OTEL_TRACES_SAMPLER value');
  expect(gateway.stderr()).not.toContain('the-secret');
});
