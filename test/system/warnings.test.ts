import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer as createTlsServer } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createServer as createSecureServer } from 'node:tls';
import { describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { createWarnings, failureInWords } from '../../src/observability/warnings.js';
import { expiredCertificate, privateKey, selfSignedCertificate } from '../support/certificates.js';
import { cleanups, forTest, listening, temporaryFolder } from '../support/cleanups.js';
import { freeAddress } from '../support/free-address.js';
import { ask, startGateway } from '../support/gateway.js';
import { takeLog } from '../support/log.js';
import { counted } from '../support/metrics.js';
import { buildProgram } from '../support/program.js';
import { startRedis } from '../support/redis.js';
import { reply, startStubService } from '../support/stub-service.js';
import { until } from '../support/until.js';

describe('a warning', () => {
  /** Warnings and recoveries with their counts, over a clock that only moves when a test says so. */
  function warnings() {
    jest.useFakeTimers();
    cleanups.push(() => jest.useRealTimers());
    const lines: unknown[] = [];
    const write = (counts: object, line: string) => lines.push([line, counts]);
    return { lines, ...createWarnings({ warn: write } as never) };
  }

  test('is written once a minute for each cause with a count, whatever the wall clock says', () => {
    const { lines, warn } = warnings();
    warn('A', 'is away');
    jest.setSystemTime(Date.now() + 3_600_000);
    warn('A', 'is away');
    warn('A', 'is full');
    jest.advanceTimersByTime(59_000);
    warn('A', 'is away', 'another part');
    expect(lines).toEqual([
      ['A: is away', { times: 1 }],
      ['A: is full', { times: 1 }],
    ]);
    jest.advanceTimersByTime(1_000);
    warn('A', 'is away');
    expect(lines.slice(2)).toEqual([['A: is away', { times: 3 }]]);
    jest.advanceTimersByTime(3_600_000);
    warn('A', 'is full');
    expect(lines.slice(3)).toEqual([['A: is full', { times: 1 }]]);
  });

  test('is followed by one line as soon as nothing of its subject has failed for ten seconds', () => {
    const { lines, warn, works } = warnings();
    works('A');
    for (const part of ['x', 'y']) warn('A', 'is away', part);
    works('A', 'x');
    jest.advanceTimersByTime(20_000);
    works('A', 'y');
    jest.advanceTimersByTime(9_000);
    warn('A', 'is away', 'x');
    works('A', 'x');
    jest.advanceTimersByTime(9_000);
    works('A', 'x');
    expect(lines).toHaveLength(1);
    jest.advanceTimersByTime(1_000);
    expect(lines.slice(1)).toEqual([['A: back to normal', { times: 3, seconds: 29 }]]);
    jest.advanceTimersByTime(3_600_000);
    works('A', 'x');
    expect(lines).toHaveLength(2);
    warn('A', 'is away');
    expect(lines.slice(2)).toEqual([['A: is away', { times: 1 }]]);
  });

  test('comes again after a recovery, but not within its minute', () => {
    const { lines, warn, works } = warnings();
    warn('A', 'is away');
    works('A');
    jest.advanceTimersByTime(10_000);
    warn('A', 'is away');
    works('A');
    jest.advanceTimersByTime(10_000);
    warn('A', 'is away');
    jest.advanceTimersByTime(35_000);
    warn('A', 'is away');
    jest.advanceTimersByTime(5_000);
    expect(lines).toEqual([
      ['A: is away', { times: 1 }],
      ['A: back to normal', { times: 1, seconds: 0 }],
    ]);
    warn('A', 'is away');
    expect(lines.slice(2)).toEqual([['A: is away', { times: 4 }]]);
  });

  test('is not repeated while its subject may have recovered', () => {
    const { lines, warn, works } = warnings();
    warn('A', 'is away');
    jest.advanceTimersByTime(55_000);
    warn('A', 'is away');
    works('A');
    jest.advanceTimersByTime(8_000);
    expect(lines).toEqual([['A: is away', { times: 1 }]]);
    warn('A', 'is away');
    expect(lines.slice(1)).toEqual([['A: is away', { times: 2 }]]);
  });

  test('ends although a part of its subject is no longer used', () => {
    const { lines, warn, works } = warnings();
    warn('A', 'is away', 'not used again');
    jest.advanceTimersByTime(60_000);
    works('A', 'x');
    jest.advanceTimersByTime(10_001);
    expect(lines).toHaveLength(1);
    works('A', 'x');
    jest.advanceTimersByTime(10_000);
    expect(lines).toHaveLength(2);
  });

  test('never shows the message of an error', () => {
    const reply = Object.assign(new Error("ERR unknown command 'HELLO', with args beginning with: 'the-password'"), {
      name: 'ReplyError',
    });
    expect(failureInWords(reply, 'all is lost')).toBe(
      'Redis does not know a command, or refuses it (ERR); all is lost. Allow the command, or use a server that has it',
    );
    const refused = Object.assign(new Error("NOPERM User a has no permissions to run the 'eval' command"), {
      name: 'ReplyError',
      command: { name: 'eval', args: ['the-password'] },
    });
    expect(failureInWords(refused, 'all is lost')).toBe(
      "the user may not do what the gateway needs (NOPERM, EVAL); all is lost. Extend the user's rights in Redis",
    );
    expect(failureInWords(new Error('the-password'), 'all is lost')).toBe('it failed (Error); all is lost');
  });
});

const selfSigned =
  'the TLS certificate is of an unknown authority (DEPTH_ZERO_SELF_SIGNED_CERT); requests that need it fail. Set NODE_EXTRA_CA_CERTS to the certificate of the authority';
const expired =
  'the TLS certificate is not valid now (CERT_HAS_EXPIRED); requests that need it fail. Renew it, and check the clocks';
const otherName =
  'the TLS certificate is for another name (ERR_TLS_CERT_ALTNAME_INVALID); requests that need it fail. Use a host name that is in the certificate';

const isLate = (line: string) => line.startsWith('REDIS_URL: no answer in time');

/** The messages of a log: all of it, its warnings, and its recoveries. On a busy machine, Redis may answer later than a gateway waits: these are apart. */
function messagesOf(log: () => string) {
  const messages = () =>
    log()
      .split('\n')
      .filter(line => line.endsWith('}'))
      .map(line => JSON.parse(line))
      .filter(({ level }) => level === 'warn')
      .map(({ msg }): string => msg);
  return {
    log,
    warnings: () => messages().filter(line => !/normal$|^Node /.test(line) && !isLate(line)),
    late: () => messages().filter(isLate),
    recoveries: () => messages().filter(line => /normal$/.test(line)),
  };
}

/** Starts a gateway in this process, and gives back its address and its log. */
async function started(env: Record<string, string>) {
  const log = takeLog();
  const gateway = forTest(await startGateway({ env: { LOG_LEVEL: 'warn', ...env }, seams: { log } }));
  return { url: gateway.url, ...messagesOf(() => log.lines.join('')) };
}

/**
 * The same in a process of its own: for what Node or OpenTelemetry read once for each process, and for errors of Node, which are not of the class
 * `Error` that Jest gives its tests.
 */
async function startedAlone(env: Record<string, string>) {
  const program = await buildProgram();
  const running = forTest(await program.start(env));
  return { url: running.url, ...messagesOf(running.stderr) };
}

test('warns once of a wrong Redis password, without it, and once of rate limits that are not shared', async () => {
  const redis = forTest(await startRedis({ args: ['--requirepass', 'the-right-one'] }));
  const service = forTest(await startStubService((_, response) => reply(response, 200, {})));
  const gateway = await started({
    UPSTREAM_BASE_URL: service.origin,
    REDIS_URL: `redis://:the-wrong-one@127.0.0.1:${redis.port}`,
  });
  await ask(`${gateway.url}/graphql`, '{ viewer { authentication } }');
  await until(async () => (await counted(gateway.url, 'gateway_redis_faults_total', { command: 'connect' })) >= 3);
  expect(await counted(gateway.url, 'gateway_rate_limit_unenforced_total')).toBeGreaterThan(0);
  expect(gateway.warnings()).toEqual([
    'REDIS_URL: the user or the password is wrong (WRONGPASS); until Redis is there, nothing is shared and exports are refused. Correct them in the address',
    'Rate limits: not shared, because Redis fails: each gateway allows every client the whole limit',
  ]);
  expect(gateway.log()).not.toContain('the-wrong-one');
});

const refused = ['connections are refused (ECONNREFUSED)', 'Check host and port, and that the server runs'] as const;
const unknown = ['the name cannot be resolved (ENOTFOUND)', 'Check the host name and the DNS'] as const;

test.each([
  ['one Redis', 'redis://:a-password@127.0.0.1:1', refused],
  ['a Redis that has no such name', 'redis://:a-password@nowhere.invalid', unknown],
  ['a Redis Cluster', 'redis://:a-password@127.0.0.1:1,redis://127.0.0.1:2', refused],
  ['a Redis Cluster without such names', 'redis://:a-password@nowhere.invalid,redis://nowhere.invalid', unknown],
])('%s that is not there is one warning', async (_, REDIS_URL, [words, advice]) => {
  const gateway = await startedAlone({ UPSTREAM_BASE_URL: 'http://127.0.0.1:1', REDIS_URL });
  await until(async () => (await counted(gateway.url, 'gateway_redis_faults_total', { command: 'connect' })) >= 2);
  expect(gateway.warnings()).toEqual([
    `REDIS_URL: ${words}; until Redis is there, nothing is shared and exports are refused. ${advice}`,
  ]);
  expect(gateway.log()).not.toContain('a-password');
});

test('warns of a Redis that expects TLS', async () => {
  const server = createSecureServer({ key: privateKey, cert: selfSignedCertificate });
  const port = await listening(server);
  const gateway = await started({ UPSTREAM_BASE_URL: 'http://127.0.0.1:1', REDIS_URL: `redis://127.0.0.1:${port}` });
  await until(() => gateway.warnings().length > 0);
  // It depends on the moment whether the client reads the end of the connection first, or fails to write.
  expect(gateway.warnings()[0]).toMatch(
    /^REDIS_URL: (cannot connect \(CLOSED\)|the connection was closed \((ECONNRESET|EPIPE)\)); until .*(redis:\/\/ or rediss:\/\/|expects TLS)$/,
  );
});

test('a Redis Cluster over TLS is connected to by its name, also where its nodes have only addresses, and what is wrong with its certificate is one warning', async () => {
  const folder = await temporaryFolder();
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const made = spawnSync('openssl', ['req', ...kind, ...name, '-keyout', key, '-out', certificate]);
  expect(made.status).toBe(0);
  const port = (await freeAddress()).split(':')[1] ?? '';
  const node = forTest(
    await startRedis({
      args: [
        ...['--tls-port', port, '--tls-cert-file', certificate, '--tls-key-file', key, '--tls-auth-clients', 'no'],
        ...['--tls-ca-cert-file', certificate, '--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'],
        ...['--tls-cluster', 'yes'],
        ...['--cluster-announce-hostname', 'localhost', '--cluster-announce-ip', '127.0.0.1'],
      ],
    }),
  );
  const admin = forTest(new Redis(node.url));
  await admin.cluster('ADDSLOTSRANGE', 0, 16_383);
  await until(async () => (await admin.cluster('INFO')).includes('cluster_state:ok'));
  const env = (host: string) => ({
    UPSTREAM_BASE_URL: 'http://127.0.0.1:1',
    REDIS_URL: `rediss://${host}:${port},rediss://${host}:${port}`,
  });
  for (const named of ['hostname', 'ip']) {
    await admin.config('SET', 'cluster-preferred-endpoint-type', named);
    const trusting = await startedAlone({ ...env('localhost'), NODE_EXTRA_CA_CERTS: certificate });
    await ask(`${trusting.url}/graphql`, '{ viewer { authentication } }');
    expect(trusting.warnings().filter(warning => warning.startsWith('REDIS_URL'))).toEqual([]);
  }
  for (const [host, given, words] of [
    ['localhost', {}, 'the TLS certificate is of an unknown authority (DEPTH_ZERO_SELF_SIGNED_CERT)'],
    ['127.0.0.1', { NODE_EXTRA_CA_CERTS: certificate }, 'the TLS certificate is for another name'],
  ] as const) {
    const gateway = await startedAlone({ ...env(host), ...given });
    // Before, a slow node may have said nothing in time.
    await until(() => gateway.warnings().some(warning => warning.includes(`REDIS_URL: ${words}`)));
  }
});

test('a Redis that is still reading its data, or has no INFO, is called so', async () => {
  const redis = forTest(
    await startRedis({
      args: ['--enable-debug-command', 'yes', '--loading-process-events-interval-bytes', '1024'],
    }),
  );
  const admin = forTest(new Redis(redis.url));
  await admin.call('DEBUG', 'POPULATE', '20000');
  await admin.config('SET', 'key-load-delay', '2000');
  admin.call('DEBUG', 'RELOAD').catch(() => {});
  const withoutInfo = forTest(await startRedis({ args: ['--rename-command', 'INFO', ''] }));
  for (const [url, words] of [
    [redis.url, 'Redis is still reading its data (LOADING)'],
    [withoutInfo.url, 'Redis does not know a command, or refuses it (ERR, INFO)'],
  ] as const) {
    const gateway = await started({ UPSTREAM_BASE_URL: 'http://127.0.0.1:1', REDIS_URL: url });
    await until(() => gateway.warnings().length > 0);
    const faults = () => counted(gateway.url, 'gateway_redis_faults_total', { command: 'connect' });
    const before = await faults();
    await until(async () => (await faults()) > before);
    expect(gateway.warnings()).toEqual([expect.stringContaining(`REDIS_URL: ${words}; until Redis is there,`)]);
  }
});

test.each([
  ['ERR max number of clients reached', 'Redis has as many clients as it takes (MAXCLIENTS)'],
  [
    'DENIED Redis is running in protected mode because protected mode is enabled',
    'Redis is in protected mode (DENIED)',
  ],
])('a Redis that refuses each connection is called so: %s', async (refusal, words) => {
  const port = await listening(createServer(socket => void socket.on('error', () => {}).end(`-${refusal}\r\n`)));
  const gateway = await started({ UPSTREAM_BASE_URL: 'http://127.0.0.1:1', REDIS_URL: `redis://127.0.0.1:${port}` });
  await until(async () => (await counted(gateway.url, 'gateway_redis_faults_total', { command: 'connect' })) >= 2);
  expect(gateway.warnings()).toEqual([expect.stringContaining(`REDIS_URL: ${words}; until Redis is there,`)]);
});

/** A gateway without rate limits over a Redis of its own and a service that always sends `body`. */
async function startedOverRedis(body: object) {
  const redis = forTest(await startRedis());
  const service = forTest(await startStubService((_, response) => reply(response, 200, body)));
  const gateway = await started({
    UPSTREAM_BASE_URL: service.origin,
    REDIS_URL: redis.url,
    RATE_LIMIT_PER_ADDRESS: '0',
    RATE_LIMIT_PER_CREDENTIAL: '0',
  });
  return { redis, gateway };
}

test.each([
  [
    'is full',
    ['config', 'set', 'maxmemory', '1'],
    'Redis is full and can evict nothing (OOM)',
    'Raise maxmemory, or set maxmemory-policy',
  ],
  [
    'is a replica',
    ['replicaof', '127.0.0.1', '1'],
    'this Redis is a replica and takes no writes (READONLY)',
    'Use the address of the primary',
  ],
])('a Redis that %s is one warning', async (_, command, words, advice) => {
  const { redis, gateway } = await startedOverRedis({});
  const client = forTest(new Redis(redis.url));
  // What the gateway tries at its start ends with this.
  await until(async () => (await client.info('commandstats')).includes('cmdstat_unsubscribe'));
  await client.call(...(command as [string, ...string[]]));
  let asked = 0;
  await until(async () => {
    asked += 1;
    await ask(`${gateway.url}/graphql`, `{ market(id: ${asked}) { name } }`);
    return asked > 1 && gateway.warnings().length > 0;
  });
  expect(gateway.warnings()).toEqual([
    `REDIS_URL: ${words}; until commands succeed again, less is shared and exports may be refused. ${advice}`,
  ]);
});

test('warns once of a Redis that does not answer, and only the first requests wait for it', async () => {
  const { redis, gateway } = await startedOverRedis({
    meta: { totalItems: 0, totalPages: 0, currentPage: 1, pageSize: 10 },
    data: [],
  });
  cleanups.push(() => redis.resume());
  redis.pause();
  // It would be tried again after a second, which never passes.
  const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  cleanups.push(() => clock.mockRestore());
  const requests = 24;
  for (let first = 1; first <= requests; first += 1) {
    await ask(`${gateway.url}/graphql`, `{ events(first: ${first}) { totalCount } }`);
  }
  // A request that waits for Redis sees its command fail.
  expect(await counted(gateway.url, 'gateway_redis_faults_total')).toBeLessThan(requests);
  const [first, ...later] = gateway.late();
  expect(first).toBe(
    'REDIS_URL: no answer in time (TIMEOUT); until commands succeed again, less is shared and exports may be refused. Check the load of the server, the network, and whether the server expects TLS',
  );
  // After each second and a half, of which a busy machine may need some for the requests, the connection is replaced.
  for (const line of later) expect(line).toMatch(/^REDIS_URL: no answer in time \(TIMEOUT\); until Redis is there,/);
});

test('warns once for each unreachable address of the service, with the cause', async () => {
  const service = forTest(await startStubService((_, response) => reply(response, 200, {})));
  const gateway = await startedAlone({
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
      /^UPSTREAM_API_URL: the name cannot be resolved \((ENOTFOUND|EAI_AGAIN)\); requests that need it fail\. Check the host name and the DNS$/,
    ),
    expect.stringMatching(
      /^UPSTREAM_BASE_URL: the TLS handshake failed \(\w+\); requests that need it fail\. Check that this port uses TLS$/,
    ),
    'UPSTREAM_DEV_URL: connections are refused (ECONNREFUSED); requests that need it fail. Check host and port, and that the server runs',
  ]);
});

test.each([
  ['is signed by itself', selfSignedCertificate, undefined, selfSigned],
  ['expired', expiredCertificate, expiredCertificate, expired],
  ['is for another name', selfSignedCertificate, selfSignedCertificate, otherName],
])('a service whose certificate %s is one warning, with what to do', async (_, cert, trusted, words) => {
  const server = createTlsServer({ key: privateKey, cert }, (_, response) => response.end('{}'));
  const port = await listening(server);
  const folder = await temporaryFolder();
  const file = join(folder, 'trusted.pem');
  await writeFile(file, trusted ?? '');
  const host = words === otherName ? 'localhost' : '127.0.0.1';
  const gateway = await startedAlone({
    UPSTREAM_BASE_URL: `https://${host}:${port}`,
    ...(trusted !== undefined && { NODE_EXTRA_CA_CERTS: file }),
  });
  for (const first of [1, 2]) await ask(`${gateway.url}/graphql`, `{ events(first: ${first}) { totalCount } }`);
  expect(gateway.warnings()).toEqual([`UPSTREAM_BASE_URL: ${words}`]);
});

const contract = 'If no request succeeds, check the address, and the contract with the service';
const noRecord = 'The service has no such record, or hides it from this credential';

test.each([
  [401, 'The service does not accept the credential', contract],
  [403, 'The credential has no permission for this', contract],
  [404, noRecord, contract],
  [410, noRecord, contract],
  [429, 'The service limits the rate of requests', 'Check the rate limit of the service'],
])('warns once of an address that answers %d without an error code of the service', async (status, message, advice) => {
  const other = await startStubService((_, response) => reply(response, status, { message: 'Not here' }));
  const service = await startStubService((_, response) => reply(response, 403, { errorCode: 'FORBIDDEN' }));
  cleanups.push(() => Promise.all([other.close(), service.close()]));
  const gateway = await started({ UPSTREAM_BASE_URL: other.origin, UPSTREAM_API_URL: service.origin });
  for (const first of [1, 2]) {
    await ask(
      `${gateway.url}/graphql`,
      `{ events(first: ${first}) { totalCount } market(id: ${first}) { topics { id } } }`,
    );
  }
  expect(gateway.warnings()).toEqual([
    `UPSTREAM_BASE_URL: ${message} (HTTP ${status}, without a known errorCode); requests that need it fail. ${advice}`,
  ]);
});

test.each([401, 403])(
  'a service that refuses all credentials that it accepted, with %d, is one warning',
  async status => {
    const page = { meta: { totalItems: 0, totalPages: 0, currentPage: 1, pageSize: 10 }, data: [] };
    const code = status === 401 ? 'UNAUTHORISED' : 'FORBIDDEN';
    let refuses = (key: unknown): boolean => key === 'made up';
    const service = forTest(
      await startStubService(({ headers }, response) =>
        refuses(headers['x-api-key']) ? reply(response, status, { errorCode: code }) : reply(response, 200, page),
      ),
    );
    const gateway = await started({ UPSTREAM_BASE_URL: service.origin, LOG_LEVEL: 'info' });
    let first = 0;
    const askAll = async () => {
      first = (first % 100) + 1;
      for (const key of ['a', 'b', 'made up']) {
        await ask(`${gateway.url}/graphql`, `{ events(first: ${first}) { totalCount } }`, {}, { 'x-api-key': key });
      }
    };
    const latest = (outcome: string) => counted(gateway.url, 'gateway_credentials', { latest: outcome });
    await askAll();
    refuses = key => key === 'made up' || key === 'a';
    await askAll();
    expect([await latest('accepted'), await latest('refused')]).toEqual([1, 1]);
    expect(gateway.warnings()).toEqual([]);
    refuses = () => true;
    await askAll();
    expect([await latest('accepted'), await latest('refused')]).toEqual([0, 2]);
    await until(() => gateway.warnings().length > 0);
    expect(gateway.warnings()).toEqual([
      'Credentials: the service refuses (401 or 403) nearly all that it accepted before; requests that need it fail. Check the contract with the service, and by what it knows the gateway: its certificate and its address',
    ]);
    refuses = () => false;
    await askAll();
    await until(() => gateway.recoveries().includes('Credentials: back to normal'));
  },
);

test('warns once of requests that are refused because there are too many', async () => {
  const service = forTest(await startStubService(() => {}));
  const gateway = await started({ UPSTREAM_BASE_URL: service.origin, MAX_REQUESTS_IN_FLIGHT: '1' });
  const running = ask(`${gateway.url}/graphql`, '{ events(first: 1) { totalCount } }').catch(() => {});
  await service.arrived(1);
  for (let sent = 0; sent < 3; sent += 1) await ask(`${gateway.url}/graphql`, '{ viewer { team } }');
  expect(gateway.warnings()).toEqual(['Too much at once: requests are refused (share)', 'A client is refused']);
  await until(() => gateway.recoveries().includes('Too much at once: back to normal'));
  await service.close();
  await running;
});

test('warns once for each cause of failure of the service, and counts bodies that cannot be parsed', async () => {
  const maintenance = await startStubService((_, response) => reply(response, 503, { message: 'at https://inside' }));
  const redirecting = await startStubService((_, response) => reply(response, 302, {}));
  const login = await startStubService((_, response) => response.end('<html>Welcome'));
  const garbled = createServer(socket => socket.on('error', () => {}).end('no HTTP at all\r\n\r\n'));
  const port = await listening(garbled);
  cleanups.push(() => Promise.all([maintenance.close(), redirecting.close(), login.close()]));
  const gateway = await started({
    UPSTREAM_BASE_URL: login.origin,
    UPSTREAM_API_URL: maintenance.origin,
    UPSTREAM_DEV_URL: redirecting.origin,
  });
  const other = await started({ UPSTREAM_BASE_URL: `http://127.0.0.1:${port}` });
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
    'UPSTREAM_BASE_URL: the answer is not HTTP (HTTPParserError); requests that need it fail. Check host and port, and whether the server expects https',
  ]);
  expect(await counted(gateway.url, 'gateway_upstream_unreadable_total', { family: 'events' })).toBe(2);
  expect(await counted(gateway.url, 'gateway_upstream_drift_total')).toBe(0);
});

test.each([
  ['is not there', 'OTEL_EXPORTER_OTLP_ENDPOINT', 0, ...refused],
  [
    'refuses the credentials',
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    401,
    'the credentials are not accepted (HTTP 401)',
    'Check the headers that are configured for it',
  ],
])('a collector that %s is one warning, without its headers', async (_, variable, status, words, advice) => {
  const service = await startStubService((_, response) => reply(response, 200, {}));
  const collector = await startStubService((_, response) => reply(response, status, {}));
  cleanups.push(() => Promise.all([service.close(), collector.close()]));
  const gateway = await startedAlone({
    UPSTREAM_BASE_URL: service.origin,
    [variable]: status === 0 ? 'http://127.0.0.1:1' : `${collector.origin}/v1/traces`,
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
    `${variable}: ${words}; traces are lost. ${advice}`,
  ]);
  expect(warnings).toContain('OpenTelemetry: unknown OTEL_TRACES_SAMPLER value');
  expect(gateway.log()).not.toContain('the-secret');
});

test('a circuit breaker, the service and Redis are logged when they fail, and when they recover', async () => {
  const redis = forTest(await startRedis({ args: ['--requirepass', 'the-right-one'] }));
  const failing = forTest(await startStubService((_, response) => reply(response, 500, {})));
  const gateway = await started({
    UPSTREAM_BASE_URL: failing.origin,
    REDIS_URL: `redis://:another@127.0.0.1:${redis.port}`,
    RATE_LIMIT_PER_ADDRESS: '1000000',
    RATE_LIMIT_PER_CREDENTIAL: '1000000',
  });
  const askOne = (first: number) => ask(`${gateway.url}/graphql`, `{ events(first: ${first}) { totalCount } }`);
  const warnings = () => gateway.warnings().filter(line => !line.startsWith('R'));
  let first = 0;
  await until(async () => {
    first += 1;
    await askOne(first);
    return warnings().length > 1;
  });
  expect(warnings()).toEqual([
    'UPSTREAM_BASE_URL: The service failed (HTTP 500); requests that need it fail',
    'Circuit breaker of events: it opened for one credential, because more than half of its calls failed; for 5 seconds it refuses calls. The warning about the address has the cause',
  ]);
  const admin = forTest(new Redis(`redis://:the-right-one@127.0.0.1:${redis.port}`));
  await admin.config('SET', 'requirepass', 'another');
  failing.handle = (_, response) =>
    reply(response, 200, { meta: { totalItems: 0, totalPages: 0, currentPage: 1, pageSize: 10 }, data: [] });
  await until(async () => {
    first = (first % 100) + 1;
    await askOne(first);
    return gateway.recoveries().length >= 4;
  });
  expect(gateway.recoveries().sort()).toEqual([
    'Circuit breaker of events: back to normal',
    'REDIS_URL: back to normal',
    'Rate limits: back to normal',
    'UPSTREAM_BASE_URL: back to normal',
  ]);
});
