import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';
import { GraphQLSchema } from 'graphql';
import { readTeams } from '../src/auth/teams.js';
import { readConfig } from '../src/config/config.js';
import { ConfigurationError } from '../src/config/configuration-error.js';
import { readManifest } from '../src/graphql/limits/documents.js';
import { readToolOperations } from '../src/http/mcp/operations.js';
import { temporaryFolder } from './support/cleanups.js';

const secretOf = (letter: string) => letter.repeat(32);

/** What is said of an environment that is not right. */
function faultsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    const { message } = error as ConfigurationError;
    expect(message).toMatch(/^Invalid configuration: [^\n]+$/);
    return message.replace('Invalid configuration: ', '').split('; ');
  }
  throw new Error('The environment was taken for right');
}

test('an empty environment starts the sandbox on loopback with a random secret', () => {
  const { settings: _, ...config } = readConfig({});
  expect(config).toEqual({
    host: '127.0.0.1',
    port: 4000,
    logLevel: 'warn',
    traces: false,
    upstream: {
      base: undefined,
      api: undefined,
      dev: undefined,
      timeoutMs: 10_000,
      connections: expect.any(Number),
      connectionMaxAgeMs: 60_000,
    },
    cookieHost: undefined,
    redis: undefined,
    sessionSecrets: [expect.anything()],
    isSecretSet: false,
    eventsSearchParam: undefined,
    keywordSuggestionPath: undefined,
    teamsFile: undefined,
    trustProxy: false,
    pollIntervalMs: 1_000,
    corsOrigins: [],
    responseCache: true,
    executor: 'plan',
    explain: undefined,
    dataDir: './data',
    staticDir: undefined,
    mcp: { operations: undefined, allowMutations: false, authorizationServers: [] },
    exports: { allowPrivateAddresses: undefined, httpsOnly: false },
    introspection: true,
    eventStatisticsLimit: 2_000,
    queryCallLimit: 2_000,
    rateLimits: { perCredential: 600_000, perAddress: 1_200_000 },
    loadShedding: { requestsInFlight: 5_000, eventLoopDelayMs: 25 },
    adminPort: undefined,
    reusePort: false,
    adminToken: undefined,
    shutdown: { noticeMs: 0, graceMs: 10_000 },
    slowOperationMs: 5_000,
    persistedDocuments: { file: undefined, mode: 'off' },
  });
  const secrets = [config, readConfig({})].map(({ sessionSecrets }) => sessionSecrets[0].reveal());
  expect(secrets[0]).not.toBe(secrets[1]);
  for (const secret of secrets) expect(secret.length).toBeGreaterThanOrEqual(32);
});

test.each([
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, true],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'key=value' }, true],
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, false],
  [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://collector:4318' }, false],
  [{ OTEL_SERVICE_NAME: 'gateway' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SDK_DISABLED: 'true' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_TRACES_EXPORTER: 'none' }, false],
])('with %j, tracing is %s', (variables, traces) => {
  expect(readConfig(variables).traces).toBe(traces);
});

test('reads every variable', () => {
  const config = readConfig({
    HOST: '0.0.0.0',
    ADMIN_PORT: '0',
    PORT: '0',
    UPSTREAM_BASE_URL: 'https://service.test/v1/',
    UPSTREAM_API_URL: 'https://api.service.test',
    UPSTREAM_DEV_URL: 'http://10.0.0.1:8080//',
    UPSTREAM_TIMEOUT_MS: '2500',
    UPSTREAM_CONNECTIONS: '64',
    UPSTREAM_CONNECTION_MAX_AGE_MS: '30000',
    REDIS_URL: 'redis://user:word@one:6379/2, rediss://two:6380',
    SESSION_SECRET: `${secretOf('a')}, ${secretOf('b')}`,
    EVENTS_SEARCH_PARAM: 'search.text',
    KEYWORD_SUGGESTION_PATH: '/v2/discovery/keywords',
    TEAMS_FILE: '/etc/teams.json',
    STATIC_DIR: '/srv/console',
    MCP_OPERATIONS: '/etc/operations',
    MCP_ALLOW_MUTATIONS: 'true',
    MCP_AUTHORIZATION_SERVERS: 'https://id.example, https://other.example/tenant',
    POLL_INTERVAL_MS: '45000',
    CORS_ORIGINS: 'https://app.example, http://localhost:3000, capacitor://localhost',
    LOG_LEVEL: 'info',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    EXPLAIN: 'false',
    RESPONSE_CACHE: 'false',
    GRAPHQL_EXECUTOR: 'graphql-js',
    TRUST_PROXY: 'true',
    INTROSPECTION: 'false',
    QUERY_CALL_LIMIT: '300',
    RATE_LIMIT_PER_CREDENTIAL: '0',
    RATE_LIMIT_PER_ADDRESS: '100',
    MAX_REQUESTS_IN_FLIGHT: '10',
    MAX_EVENT_LOOP_DELAY_MS: '50',
    PERSISTED_DOCUMENTS: '/etc/documents.json',
    PERSISTED_DOCUMENTS_MODE: 'only',
    NODE_ENV: 'production',
    SOMETHING_ELSE: 'that is not ours',
  });
  expect(config).toMatchObject({
    host: '0.0.0.0',
    adminPort: 0,
    port: 0,
    upstream: {
      base: 'https://service.test/v1',
      api: 'https://api.service.test',
      dev: 'http://10.0.0.1:8080',
      timeoutMs: 2_500,
      connections: 64,
      connectionMaxAgeMs: 30_000,
    },
    eventsSearchParam: 'search.text',
    keywordSuggestionPath: '/v2/discovery/keywords',
    teamsFile: '/etc/teams.json',
    staticDir: '/srv/console',
    mcp: {
      operations: '/etc/operations',
      allowMutations: true,
      authorizationServers: ['https://id.example', 'https://other.example/tenant'],
    },
    pollIntervalMs: 45_000,
    corsOrigins: ['https://app.example', 'http://localhost:3000', 'capacitor://localhost'],
    logLevel: 'info',
    traces: true,
    explain: false,
    responseCache: false,
    executor: 'graphql-js',
    trustProxy: true,
    introspection: false,
    queryCallLimit: 300,
    rateLimits: { perCredential: 0, perAddress: 100 },
    loadShedding: { requestsInFlight: 10, eventLoopDelayMs: 50 },
    persistedDocuments: { file: '/etc/documents.json', mode: 'only' },
  });
  expect(config.sessionSecrets.map(secret => secret.reveal())).toEqual([secretOf('a'), secretOf('b')]);
  expect(config.redis?.map(url => url.reveal())).toEqual(['redis://user:word@one:6379/2', 'rediss://two:6380']);
  expect(readConfig({ EXPLAIN: 'true' }).explain).toBe(true);
  expect(readConfig({ UPSTREAM_BASE_URL: 'https://service.test' }).pollIntervalMs).toBe(30_000);
});

test.each(['', '   '])('an empty variable counts as absent: "%s"', empty => {
  const { settings, ...absent } = readConfig({});
  const sessionSecrets = expect.anything();
  for (const { name } of settings) {
    const { settings: _, ...config } = readConfig({ [name]: empty });
    expect([name, { ...config, sessionSecrets }]).toEqual([name, { ...absent, sessionSecrets }]);
  }
});

test('each setting is named with its value and its source', async () => {
  const file = join(await temporaryFolder(), 'token');
  writeFileSync(file, 'a token');
  const { settings } = readConfig({ PORT: '80', ADMIN_TOKEN_FILE: file, REDIS_URL: ' ' });
  const named = (wanted: string) => settings.find(({ name }) => name === wanted);
  expect(JSON.parse(JSON.stringify(['PORT', 'HOST', 'ADMIN_TOKEN', 'REDIS_URL', 'SESSION_SECRET'].map(named)))).toEqual(
    [
      { name: 'PORT', value: 80, source: 'environment' },
      { name: 'HOST', value: '127.0.0.1', source: 'default' },
      { name: 'ADMIN_TOKEN', value: '[secret]', source: 'file' },
      { name: 'REDIS_URL', value: null, source: 'default' },
      { name: 'SESSION_SECRET', value: null, source: 'default' },
    ],
  );
});

test('secrets print as [secret]', () => {
  const config = readConfig({
    SESSION_SECRET: secretOf('a'),
    REDIS_URL: 'redis://:aaaa@one:6379',
    ADMIN_TOKEN: 'aaaa',
  });
  for (const text of [
    inspect(config, { depth: 9, showHidden: true }),
    JSON.stringify(config),
    `${config.sessionSecrets} ${config.redis}`,
  ]) {
    expect(text).not.toContain('aaaa');
  }
});

describe.each<[string, (file: string) => unknown]>([
  ['the file of a secret', file => readConfig({ SESSION_SECRET_FILE: file })],
  ['the file of teams', readTeams],
  ['the manifest of trusted documents', readManifest],
  [
    'an operation',
    file =>
      readToolOperations(dirname(file), {
        schema: new GraphQLSchema({}),
        documentChecks: {
          parse: () => {
            throw new Error('it was read');
          },
        },
        allowMutations: false,
      }),
  ],
])('%s', (_, read) => {
  test.each(['is larger', 'is a pipe', 'is a device'])('that %s is refused, and not read', async kind => {
    const file = join(await temporaryFolder(), 'one.graphql');
    if (kind === 'is a pipe') execFileSync('mkfifo', [file]);
    else if (kind === 'is a device') symlinkSync('/dev/zero', file);
    else {
      writeFileSync(file, '');
      truncateSync(file, 1.5 * 2 ** 30);
    }
    const reason = kind === 'is larger' ? 'it is larger than 16 MB' : 'it is not a regular file';
    expect(() => read(file)).toThrow(new RegExp(`^Invalid configuration: .*${reason}$`));
  });
});

test('a byte order mark before a file of JSON is no part of it', async () => {
  const file = join(await temporaryFolder(), 'one.json');
  writeFileSync(file, '\ufeff[]');
  expect(() => readTeams(file)).not.toThrow();
});

describe('a secret in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  let files = 0;
  const fileOf = (text: string) => {
    files += 1;
    const path = join(folder, String(files));
    writeFileSync(path, text);
    return path;
  };

  test.each(['', '\n', '\r\n'])('is read without the newline at its end: %j', end => {
    const config = readConfig({
      NODE_ENV: 'production',
      SANDBOX: 'true',
      SESSION_SECRET_FILE: fileOf(`${secretOf('a')},${secretOf('b')}${end}`),
      REDIS_URL_FILE: fileOf(`redis://:word@one:6379${end}`),
    });
    expect(config.sessionSecrets.map(secret => secret.reveal())).toEqual([secretOf('a'), secretOf('b')]);
    expect(config.redis?.map(url => url.reveal())).toEqual(['redis://:word@one:6379']);
  });

  test('is not read if the name of the file is empty', () => {
    expect(readConfig({ REDIS_URL_FILE: ' ', REDIS_URL: 'redis://one' }).redis).toHaveLength(1);
  });

  test('may be in the environment too, such as for the commands of an operator, with the same value', () => {
    const env = (ADMIN_TOKEN: string) => ({ ADMIN_TOKEN_FILE: fileOf('a token\n'), ADMIN_TOKEN });
    expect(readConfig(env('a token')).adminToken?.reveal()).toBe('a token');
    expect(faultsOf(env('another'))).toEqual(['ADMIN_TOKEN_FILE: is not what ADMIN_TOKEN says']);
  });

  test.each(['', '\n', ' \n\n'])('must not be empty: %j', content => {
    const file = fileOf(content);
    const env = { NODE_ENV: 'production', SANDBOX: 'true', SESSION_SECRET_FILE: file };
    expect(faultsOf(env)).toEqual([`SESSION_SECRET_FILE: ${file} is empty`]);
  });

  test.each([
    ['missing', 'ENOENT'],
    ['.', 'EISDIR'],
  ])('must be readable: %s', (name, code) => {
    const [fault, ...others] = faultsOf({ SESSION_SECRET_FILE: join(folder, name) });
    expect([fault, others]).toEqual([
      expect.stringMatching(new RegExp(`^SESSION_SECRET_FILE: .* cannot be read: ${code}`)),
      [],
    ]);
  });

  test('is checked like the variable, and never printed', () => {
    const [fault, ...others] = faultsOf({ SESSION_SECRET_FILE: fileOf('a short secret') });
    expect([fault, others]).toEqual(['SESSION_SECRET: each secret must have at least 32 characters', []]);
  });

  test('is read for secrets only', () => {
    expect(faultsOf({ UPSTREAM_BASE_URL_FILE: fileOf('http://service.test') })).toEqual([
      'UPSTREAM_BASE_URL_FILE: unknown variable (did you mean UPSTREAM_BASE_URL?)',
    ]);
  });
});

test('in production, exports from the sandbox reach private addresses only if configured', () => {
  const env = { NODE_ENV: 'production', SANDBOX: 'true', SESSION_SECRET: secretOf('a') };
  expect(readConfig(env).exports.allowPrivateAddresses).toBe(false);
  expect(readConfig({ ...env, EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true' }).exports.allowPrivateAddresses).toBe(true);
});

test('gateways share a port only where they share everything else, with a Node that can', () => {
  const common = { REDIS_URL: 'redis://one', SESSION_SECRET: secretOf('a'), UPSTREAM_BASE_URL: 'http://service.test' };
  const { versions, platform } = process;
  /** Runs it as if with this Node. */
  function on<T>(node: string, system: string, run: () => T): T {
    Object.defineProperty(process, 'versions', { value: { ...versions, node } });
    Object.defineProperty(process, 'platform', { value: system });
    try {
      return run();
    } finally {
      Object.defineProperty(process, 'versions', { value: versions });
      Object.defineProperty(process, 'platform', { value: platform });
    }
  }
  const reusing = { ...common, REUSE_PORT: 'true' };
  expect(on('24.0.0', 'linux', () => readConfig(reusing).reusePort)).toBe(true);
  expect(on('20.19.0', 'win32', () => readConfig({ ...common, REUSE_PORT: 'false' }).reusePort)).toBe(false);
  expect(on('24.0.0', 'linux', () => faultsOf({ REUSE_PORT: 'true' }))).toEqual([
    'REDIS_URL: must be set where REUSE_PORT is true',
    'SESSION_SECRET: must be set where REUSE_PORT is true',
    'UPSTREAM_BASE_URL: must be set where REUSE_PORT is true',
  ]);
  for (const [node, system] of [
    ['22.12.0', 'linux'],
    ['24.0.0', 'darwin'],
  ] as const) {
    expect(on(node, system, () => faultsOf(reusing))).toEqual([
      `REUSE_PORT: needs Linux and Node 24, and this is Node ${node} on ${system}`,
    ]);
  }
});

describe('a configuration is invalid', () => {
  const upstream = { UPSTREAM_BASE_URL: 'http://service.test' };

  test.each<[string, string]>([
    ['PORT', '-1'],
    ['PORT', '65536'],
    ['PORT', '80.5'],
    ['PORT', '0x50'],
    ['PORT', 'http'],
    ['UPSTREAM_COOKIE_HOST', 'https://service.test'],
    ['UPSTREAM_COOKIE_HOST', 'service.test/path'],
    ['UPSTREAM_TIMEOUT_MS', '0'],
    ['UPSTREAM_TIMEOUT_MS', '600001'],
    ['UPSTREAM_TIMEOUT_MS', '1e3'],
    ['UPSTREAM_CONNECTIONS', '0'],
    ['UPSTREAM_CONNECTION_MAX_AGE_MS', '0'],
    ['UPSTREAM_CONNECTIONS', '10001'],
    ['UPSTREAM_BASE_URL', 'service.test'],
    ['UPSTREAM_BASE_URL', 'ftp://service.test'],
    ['UPSTREAM_BASE_URL', 'http://user:word@service.test'],
    ['UPSTREAM_BASE_URL', 'http://:word@service.test'],
    ['UPSTREAM_API_URL', 'http://service.test/?key=1'],
    ['UPSTREAM_DEV_URL', 'http://service.test/#part'],
    ['REDIS_URL', 'http://redis.test'],
    ['REDIS_URL', 'redis://one,'],
    ['REDIS_URL', 'redis://:half%@one'],
    ['REDIS_URL', 'redis://one/zero'],
    ['LOG_LEVEL', 'loud'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['SESSION_SECRET', 'x'.repeat(31)],
    ['SESSION_SECRET', `${'x'.repeat(32)},short`],
    ['EVENTS_SEARCH_PARAM', 'a=b&c'],
    ['EVENTS_SEARCH_PARAM', 'minSeverity'],
    ['EVENTS_SEARCH_PARAM', 'sessionId'],
    ['KEYWORD_SUGGESTION_PATH', 'v2/keywords'],
    ['KEYWORD_SUGGESTION_PATH', '/v2/keywords?x=1'],
    ['KEYWORD_SUGGESTION_PATH', '//elsewhere.test/keywords'],
    ['POLL_INTERVAL_MS', '99'],
    ['CORS_ORIGINS', '*'],
    ['CORS_ORIGINS', 'https://app.example/'],
    ['CORS_ORIGINS', 'https://app.example,app.other'],
    ['CORS_ORIGINS', 'wss://app.example'],
    ['CORS_ORIGINS', 'capacitor://localhost/'],
    ['EXPLAIN', 'yes'],
    ['RESPONSE_CACHE', '1'],
    ['GRAPHQL_EXECUTOR', 'compiled'],
    ['TRUST_PROXY', 'everyone'],
    ['TRUST_PROXY', '10.0.0.0/99'],
    ['TRUST_PROXY', '10.0.0.0/-1'],
  ])('is told by name, without the value: %s=%s', (name, value) => {
    const faults = faultsOf({ ...upstream, [name]: value });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(new RegExp(`^${name}: `));
    if (value.length > 5) expect(faults[0]).not.toContain(value);
  });

  test.each(['UPSTREAM_API_URL', 'UPSTREAM_DEV_URL'])('if %s is set without the base address', name => {
    expect(faultsOf({ [name]: 'http://service.test' })).toEqual([
      `UPSTREAM_BASE_URL: must be set where ${name} is set`,
    ]);
  });

  test.each([undefined, '', '  '])('in production without a secret: %j', secret => {
    const env = { ...upstream, NODE_ENV: 'production', ...(secret !== undefined && { SESSION_SECRET: secret }) };
    const faults = faultsOf(env);
    expect(faults).toEqual(['SESSION_SECRET: must be set where NODE_ENV is production']);
  });

  test.each([{}, { UPSTREAM_BASE_URL: ' ' }, { SANDBOX: 'false' }])(
    'is production without an upstream, unless the sandbox is wanted by name: %j',
    given => {
      const env = { NODE_ENV: 'production', SESSION_SECRET: secretOf('a'), ...given };
      expect(faultsOf(env)).toEqual([
        "UPSTREAM_BASE_URL: must be set where NODE_ENV is production, or set SANDBOX=true to serve the sandbox's invented data",
      ]);
      expect(readConfig({ ...env, SANDBOX: 'true' }).upstream.base).toBeUndefined();
      expect(readConfig({ ...env, ...upstream }).upstream.base).toBe('http://service.test');
    },
  );

  test.each(['UPSTREAM_BASE_URL', 'UPSTREAM_API_URL', 'UPSTREAM_DEV_URL'])(
    'if the sandbox is set together with %s',
    name => {
      const faults = faultsOf({ ...upstream, [name]: 'http://service.test', SANDBOX: 'true' });
      expect(faults).toContain(`SANDBOX: must not be true where ${name} is set`);
    },
  );

  test.each([
    ['UPSTREAM_BASE_ULR', 'UPSTREAM_BASE_URL'],
    ['UPSTREAM_TIMEOUT', 'UPSTREAM_TIMEOUT_MS'],
    ['SESSION_SECRETS', 'SESSION_SECRET'],
    ['EXPORT_ALLOW_PRIVATE_ADRESSES', 'EXPORT_ALLOW_PRIVATE_ADDRESSES'],
    ['RATE_LIMIT_PER_CREDENTAIL', 'RATE_LIMIT_PER_CREDENTIAL'],
    ['REDIS_URLS', 'REDIS_URL'],
    ['TRUSTPROXY', 'TRUST_PROXY'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['CORS_ORIGIN', 'CORS_ORIGINS'],
    ['SNADBOX', 'SANDBOX'],
  ])('is the unknown %s, and the name that was meant is proposed: %s', (name, meant) => {
    const faults = faultsOf({ ...upstream, [name]: 'https://a-value.test' });
    expect(faults).toEqual([`${name}: unknown variable (did you mean ${meant}?)`]);
  });

  test('if an unknown name has a prefix of the gateway', () => {
    expect(faultsOf({ MCP_QQQQQQ: '1' })).toEqual(['MCP_QQQQQQ: unknown variable']);
  });

  test('but not if the name is empty, is unlike each of the gateway, or is set by Linux desktops', () => {
    const others = { PORTS: '1', SORT: '1', REDIS_HOST: 'one', REDIS_PORT: '1', HOSTNAME: 'one', ADMIN_HOST: 'one' };
    const signals = ['TRACES', 'METRICS', 'LOGS'].flatMap(signal =>
      ['ENDPOINT', 'HEADERS', 'PROTOCOL', 'TIMEOUT'].map(member => [`OTEL_EXPORTER_OTLP_${signal}_${member}`, '1']),
    );
    const tracing = { ...Object.fromEntries(signals), OTEL_LOGS_EXPORTER: 'none' };
    const named = { UPSTREAM_PORT: ' ', UPSTREAMS: '2', SESSION_MANAGER: 'local/host:@/tmp' };
    const config = readConfig({ ...upstream, ...named, ...others, ...tracing });
    expect(config.upstream.base).toBe('http://service.test');
  });

  test.each(['', `${secretOf('a')},`])(
    'is a secret that everybody can read in the history of the project: %s',
    before => {
      const known = 'for-trying-out-only-set-your-own-secret';
      const faults = faultsOf({ SESSION_SECRET: before + known });
      expect(faults).toEqual(['SESSION_SECRET: must not be the public example of docker-compose.yml']);
    },
  );

  test('says the least value of a whole number', () => {
    expect(faultsOf({ SHUTDOWN_NOTICE_MS: '-5' })).toEqual(['SHUTDOWN_NOTICE_MS: must be a whole number, 0 or more']);
  });

  test.each(['prod', 'Production', 'production '])('if NODE_ENV is nearly production: "%s"', value => {
    expect(faultsOf({ NODE_ENV: value })).toEqual([
      'NODE_ENV: is probably meant to be "production": write exactly that, or a name that does not begin with "prod"',
    ]);
  });

  test('and reports all faults at once', () => {
    const faults = faultsOf({
      NODE_ENV: 'production',
      PORT: 'x',
      UPSTREAM_API_URL: 'nowhere',
      UPSTREAM_TIMEOUT_MS: '0',
      UPSTREAM_CONNECTIONS: '0',
      REDIS_URL: 'nowhere',
      EVENTS_SEARCH_PARAM: '?',
      KEYWORD_SUGGESTION_PATH: '?',
      EXPLAIN: '?',
      RESPONSE_CACHE: '?',
      TRUST_PROXY: '?',
    });
    expect(faults.map(fault => fault.split(':')[0]).sort()).toEqual([
      'EVENTS_SEARCH_PARAM',
      'EXPLAIN',
      'KEYWORD_SUGGESTION_PATH',
      'PORT',
      'REDIS_URL',
      'RESPONSE_CACHE',
      'SESSION_SECRET',
      'TRUST_PROXY',
      'UPSTREAM_API_URL',
      'UPSTREAM_BASE_URL',
      'UPSTREAM_CONNECTIONS',
      'UPSTREAM_TIMEOUT_MS',
    ]);
  });
});

test.each(['0.0.0.0/0', '10.0.0.1, ::/0'])('TRUST_PROXY=%s is one clear error, because true says the same', text => {
  expect(() => readConfig({ TRUST_PROXY: text })).toThrow(/TRUST_PROXY: .*true trusts every address/);
});
