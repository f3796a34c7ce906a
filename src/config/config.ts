// Every setting of the gateway, read from the environment.
import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { readTextFile } from '../lib/read-file.js';
import { ConfigurationError, faultsIn, reasonOf } from './configuration-error.js';
import { type Environment, unknownNames, valueIn } from './names.js';
import * as types from './value-types.js';
import { Secret } from './values.js';

/** The settings whose values are secrets. Each NAME can also be set by `NAME_FILE`, the path of a file that contains the value. */
const secretNames: ReadonlySet<string> = new Set(['REDIS_URL', 'SESSION_SECRET', 'ADMIN_TOKEN']);

const fileNameOf = (name: string) => `${name}_FILE`;

/** The time between two polls, in milliseconds: the sandbox's jobs run for seconds, the service's for minutes (docs/upstream-api.md: Discovery workflow). */
const pollMs = { sandbox: 1_000, service: 30_000 };

/** OpenTelemetry's own variables, which say where traces go. Those for its metrics and logs do not count: the gateway sends none. */
const tracingNames = /^OTEL_(EXPORTER_OTLP_(?!METRICS_|LOGS_)|TRACES_EXPORTER$)/;

/** Whether traces are sent. One variable of OpenTelemetry is enough; two can turn tracing off again. */
function isTraced(env: Environment): boolean {
  const isNamed = Object.keys(env).some(name => tracingNames.test(name) && valueIn(env, name) !== undefined);
  const isOff = env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER?.trim() === 'none';
  return isNamed && !isOff;
}

/** Faults where one variable requires another. A secret may be set by its file, too. */
function disagreements(env: Environment): string[] {
  const faults: string[] = [];
  const isSet = (name: string) =>
    valueIn(env, name) !== undefined || (secretNames.has(name) && valueIn(env, fileNameOf(name)) !== undefined);
  const require = (name: string, where: string) => {
    if (!isSet(name)) faults.push(`${name}: must be set where ${where}`);
  };
  if (isSet('UPSTREAM_COOKIE_HOST')) require('UPSTREAM_BASE_URL', 'UPSTREAM_COOKIE_HOST is set');
  const addresses = ['UPSTREAM_BASE_URL', 'UPSTREAM_API_URL', 'UPSTREAM_DEV_URL'].filter(isSet);
  for (const name of addresses) {
    require('UPSTREAM_BASE_URL', `${name} is set`);
    if (env.SANDBOX === 'true') faults.push(`SANDBOX: must not be true where ${name} is set`);
  }
  if (env.NODE_ENV === 'production') {
    const orWanted = "NODE_ENV is production, or set SANDBOX=true to serve the sandbox's invented data";
    if (addresses.length === 0 && env.SANDBOX !== 'true') require('UPSTREAM_BASE_URL', orWanted);
    require('SESSION_SECRET', 'NODE_ENV is production');
  }
  if (env.REUSE_PORT === 'true') {
    for (const name of ['REDIS_URL', 'SESSION_SECRET', 'UPSTREAM_BASE_URL']) require(name, 'REUSE_PORT is true');
    const { platform, versions } = process;
    if (platform !== 'linux' || Number.parseInt(versions.node, 10) < 24) {
      faults.push(`REUSE_PORT: needs Linux and Node 24, and this is Node ${versions.node} on ${platform}`);
    }
  }
  const mode = env.PERSISTED_DOCUMENTS_MODE?.trim() ?? '';
  if (/^(allow|log|only)$/.test(mode)) require('PERSISTED_DOCUMENTS', `PERSISTED_DOCUMENTS_MODE is ${mode}`);
  return faults;
}

/** A variable as the gateway uses it. A secret is in it as `[secret]`. */
export interface Setting {
  readonly name: string;
  /** Null where it is not set and has no default. */
  readonly value: unknown;
  /** `admin`: it was changed at `ADMIN_PORT`. */
  readonly source: 'default' | 'environment' | 'file' | 'admin';
}

/** The typed configuration. Names and defaults of the variables are in the table in docs/configuration.md. */
export type Config = Readonly<ReturnType<typeof readConfig>>;

/** Reads variables one by one, and keeps what they are, and what is wrong with them. */
function settingsIn(env: Environment) {
  const settings: Setting[] = [];
  const faults: string[] = [];

  /** A newline at the end of a file does not matter: lists are trimmed. */
  function secretOf(name: string): string | undefined {
    const fileName = fileNameOf(name);
    const [text, file] = [valueIn(env, name), valueIn(env, fileName)];
    if (file === undefined) return text;
    try {
      const content = readTextFile(file);
      if (content.trim() === '') faults.push(`${fileName}: ${file} is empty`);
      else if (text !== undefined && text.trim() !== content.trim())
        faults.push(`${fileName}: is not what ${name} says`);
      else return content;
    } catch (error) {
      faults.push(`${fileName}: ${file} cannot be read: ${reasonOf(error)}`);
    }
    return undefined;
  }

  /** The value of a variable; `preset` where it is not set. What an invalid one gives is never used, because it is a fault. */
  function read<T, P extends T | undefined = undefined>(name: string, type: z.ZodType<T>, preset?: P): T | P {
    const text = secretNames.has(name) ? secretOf(name) : valueIn(env, name);
    const { data, error } = text === undefined ? { data: preset } : type.safeParse(text);
    if (error !== undefined) faults.push(...faultsIn(error).map(fault => `${name}: ${fault}`));
    const source = text === undefined ? 'default' : valueIn(env, name) === undefined ? 'file' : 'environment';
    settings.push({ name, value: data ?? null, source });
    return data as T | P;
  }

  return { read, settings, faults };
}

type ReadSetting = ReturnType<typeof settingsIn>['read'];

/** The service's three addresses, without a slash at the end, and how they are called. Where `base` is undefined, the sandbox runs. */
const upstreamIn = (read: ReadSetting, base: string | undefined) => ({
  base,
  api: read('UPSTREAM_API_URL', types.httpAddress),
  dev: read('UPSTREAM_DEV_URL', types.httpAddress),
  /** For one call, including waiting and retry. */
  timeoutMs: read('UPSTREAM_TIMEOUT_MS', types.wholeNumber(1, 600_000), 10_000),
  /** For each origin. */
  connections: read('UPSTREAM_CONNECTIONS', types.wholeNumber(1, 10_000), 128),
  /** After this time, new calls get new connections, so that a name that moves is followed. */
  connectionMaxAgeMs: read('UPSTREAM_CONNECTION_MAX_AGE_MS', types.wholeNumber(1, 86_400_000), 60_000),
});

function orRandom(secrets: readonly Secret[] | undefined): readonly [Secret, ...Secret[]] {
  const [first = new Secret(randomBytes(32).toString('base64url')), ...rest] = secrets ?? [];
  return [first, ...rest];
}

/** The configuration that an environment and the files of its secrets describe. @throws ConfigurationError that names every wrong variable. */
export function readConfig(env: Environment) {
  const { read, settings, faults } = settingsIn(env);
  read('SANDBOX', types.flag);
  read('OTEL_EXPORTER_OTLP_ENDPOINT', types.httpAddress);
  read('OTEL_TRACES_EXPORTER', types.text);
  read('OTEL_SDK_DISABLED', types.text);
  const isProduction = read('NODE_ENV', types.environmentName) === 'production';
  const base = read('UPSTREAM_BASE_URL', types.httpAddress);
  const pollIntervalMs = base === undefined ? pollMs.sandbox : pollMs.service;
  const secrets = read('SESSION_SECRET', types.secretList);
  const config = {
    host: read('HOST', types.text, '127.0.0.1'),
    port: read('PORT', types.wholeNumber(0, 65_535), 4000),
    reusePort: read('REUSE_PORT', types.flag, false),
    upstream: upstreamIn(read, base),
    /** The host that the service's cookies are for, where the gateway reaches it by another name than its users. */
    cookieHost: read('UPSTREAM_COOKIE_HOST', types.hostName),
    /** One address, or the nodes of a Cluster. */
    redis: read('REDIS_URL', types.redisAddresses),
    /** The first one seals cookies and derives scopes; all of them open cookies. */
    sessionSecrets: orRandom(secrets),
    /** Whether `SESSION_SECRET` is set. If not, its value is random, and nothing sealed or signed outlives the process. */
    isSecretSet: secrets !== undefined,
    eventsSearchParam: read('EVENTS_SEARCH_PARAM', types.parameterName),
    keywordSuggestionPath: read('KEYWORD_SUGGESTION_PATH', types.absolutePath),
    teamsFile: read('TEAMS_FILE', types.text),
    dataDir: read('DATA_DIR', types.text, './data'),
    staticDir: read('STATIC_DIR', types.text),
    /** The folder of the operations that agents can call as tools at `/mcp`. Undefined: only where the sandbox runs. */
    mcp: {
      operations: read('MCP_OPERATIONS', types.text),
      allowMutations: read('MCP_ALLOW_MUTATIONS', types.flag, false),
      authorizationServers: read('MCP_AUTHORIZATION_SERVERS', types.issuers, []),
    },
    exports: {
      /** Undefined: only where the sandbox runs. Never undefined in production, because anyone knows the sandbox's key. */
      allowPrivateAddresses: read('EXPORT_ALLOW_PRIVATE_ADDRESSES', types.flag) ?? (isProduction ? false : undefined),
      httpsOnly: isProduction,
    },
    logLevel: read('LOG_LEVEL', types.logLevel, 'warn'),
    /** Whether traces are exported. OpenTelemetry reads its own variables for where and how. */
    traces: isTraced(env),
    trustProxy: read('TRUST_PROXY', types.proxies, false),
    pollIntervalMs: read('POLL_INTERVAL_MS', types.wholeNumber(100, 3_600_000), pollIntervalMs),
    /** Origins, besides the gateway's own, whose pages may send cookies and open WebSockets. */
    corsOrigins: read('CORS_ORIGINS', types.origins, []),
    /** Whether the header `x-explain: 1` is honored; undefined: only where the sandbox runs. */
    explain: read('EXPLAIN', types.flag),
    responseCache: read('RESPONSE_CACHE', types.flag, true),
    executor: read('GRAPHQL_EXECUTOR', types.executor, 'plan'),
    introspection: read('INTROSPECTION', types.flag, true),
    eventStatisticsLimit: read('EVENT_STATISTICS_LIMIT', types.wholeNumber(100, 100_000), 2_000),
    queryCallLimit: read('QUERY_CALL_LIMIT', types.wholeNumber(1, 1_000_000), 2_000),
    /** Requests a minute; 0 means no limit. */
    rateLimits: {
      perCredential: read('RATE_LIMIT_PER_CREDENTIAL', types.wholeNumber(0, 1_000_000_000), 600_000),
      perAddress: read('RATE_LIMIT_PER_ADDRESS', types.wholeNumber(0, 1_000_000_000), 1_200_000),
    },
    loadShedding: {
      requestsInFlight: read('MAX_REQUESTS_IN_FLIGHT', types.wholeNumber(1, 1_000_000), 5_000),
      eventLoopDelayMs: read('MAX_EVENT_LOOP_DELAY_MS', types.wholeNumber(1, 60_000), 25),
    },
    /** The port of the listener for probes and metrics. Undefined: the port for clients serves them. */
    adminPort: read('ADMIN_PORT', types.wholeNumber(0, 65_535)),
    /** Allows what changes something at `adminPort`. Undefined: nothing may. */
    adminToken: read('ADMIN_TOKEN', types.secret),
    shutdown: {
      noticeMs: read('SHUTDOWN_NOTICE_MS', types.wholeNumber(0, 600_000), 0),
      graceMs: read('SHUTDOWN_GRACE_MS', types.wholeNumber(1, 600_000), 10_000),
    },
    /** From this duration on, an operation is logged; 0: none is. */
    slowOperationMs: read('SLOW_OPERATION_MS', types.wholeNumber(0, 600_000), 5_000),
    persistedDocuments: {
      file: read('PERSISTED_DOCUMENTS', types.text),
      mode: read('PERSISTED_DOCUMENTS_MODE', types.trustMode, 'off'),
    },
  };
  const known = [...settings.map(({ name }) => name), ...[...secretNames].map(fileNameOf)];
  faults.push(...unknownNames(env, known), ...disagreements(env));
  if (faults.length > 0) throw new ConfigurationError(...faults);
  return { ...config, settings: settings as readonly Setting[] };
}
