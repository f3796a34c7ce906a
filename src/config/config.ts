import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { ConfigurationError, closestName, faultsIn, reasonOf } from './configuration-error.js';
import { readText } from './files.js';
import { Secret } from './secret.js';

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number, ${min} or more`)
    .transform(Number)
    .refine(value => value >= min && value <= max, `must be between ${min} and ${max}`);

const text = z.string();

const flag = z.enum(['true', 'false'], 'must be true or false').transform(value => value === 'true');

const urlOf = (text: string) => (URL.canParse(text) ? new URL(text) : undefined);

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

const httpAddress = z
  .string()
  .refine(text => {
    const url = urlOf(text);
    return url !== undefined && /^https?:$/.test(url.protocol) && !url.username && !url.search && !url.hash;
  }, 'must be an http or https address without user, query or fragment')
  .transform(text => text.replace(/\/+$/, ''));

const list = z.string().transform(text => text.split(',').map(part => part.trim()));

const redisAddress = (text: string) => {
  const { protocol = '', username = '', password = '', pathname = '' } = urlOf(text) ?? {};
  const isDatabase = /^(\/\d*)?$/.test(pathname);
  return /^rediss?:$/.test(protocol) && isEncoded(username) && isEncoded(password) && isDatabase;
};

const asSecrets = (all: readonly string[]) => all.map(each => new Secret(each));

const redisAddresses = list
  .refine(
    urls => urls.every(redisAddress),
    'must be redis:// or rediss:// addresses, percent-encoded where they need it, ending with nothing or the number of a database, with commas between the nodes of a Cluster',
  )
  .transform(asSecrets);

/** Secrets that have been published in this repository: anyone could seal cookies with them. */
const publicSecrets = new Set(['for-trying-out-only-set-your-own-secret']);

const secretList = list
  .refine(all => all.every(secret => secret.length >= 32), 'each secret must have at least 32 characters')
  .refine(all => !all.some(secret => publicSecrets.has(secret)), 'must not be the public example of docker-compose.yml')
  .transform(asSecrets);

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

const proxies = z
  .string()
  .transform((text): boolean | string[] => (text === 'true' ? true : text === 'false' ? false : text.split(/ *, */)))
  .refine(
    value => typeof value === 'boolean' || value.every(each => network.safeParse(each).success && !each.endsWith('/0')),
    'must be true, false, or addresses and networks with commas between them (true trusts every address)',
  );

const origins = list.refine(
  all => all.every(origin => urlOf(origin)?.origin === origin && /^https?:/.test(origin)),
  'must be origins such as https://app.example, with commas between them',
);

const oneOf = <const T extends readonly string[]>(...values: T) =>
  z.enum(values, `must be one of ${values.join(', ')}`);

/** Least to most verbose. */
const logLevel = oneOf('silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace');

const trustMode = oneOf('off', 'allow', 'log', 'only');

const executor = oneOf('plan', 'graphql-js');

const parameterName = z.string().regex(/^[\w.-]+$/, 'must be the name of a query parameter');

const absolutePath = z.string().regex(/^(\/[\w.-]+)+$/, 'must be a path that begins with /');

/** `auto` is one for each core that this process may use. */
const workers = z.union(
  [z.literal('auto').transform(() => availableParallelism()), wholeNumber(1, 256)],
  'must be auto, or a whole number from 1 to 256',
);

const environmentName = z
  .string()
  .refine(
    value => value === 'production' || !/^\s*prod/i.test(value),
    'is probably meant to be "production": write exactly that, or a name that does not begin with "prod"',
  );

/** Environment variables. */
type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a variable. An empty one counts as absent. */
function valueIn(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value?.trim() === '' ? undefined : value;
}

/** The settings whose values are secrets. Each NAME can also be set by `NAME_FILE`, the path of a file that contains the value. */
const secretNames: ReadonlySet<string> = new Set(['REDIS_URL', 'SESSION_SECRET']);

const fileNameOf = (name: string) => `${name}_FILE`;

/** The time between two polls, in milliseconds: the sandbox's jobs run for seconds, the service's for minutes (docs/upstream-api.md: Discovery workflow). */
const pollMs = { sandbox: 1_000, service: 30_000 };

/** Names with these prefixes belong to the gateway: an unknown one is a mistake. */
const ownPrefixes = /^(UPSTREAM|SESSION|EXPORT|MCP)_/;
/** Names of other programs with such a prefix: X11's session manager sets this one on every Linux desktop. */
const namesOfOthers = new Set(['SESSION_MANAGER']);

/** OpenTelemetry's own variables, which say where traces go. Those for its metrics and logs do not count: the gateway sends none. */
const tracingNames = /^OTEL_(EXPORTER_OTLP_(?!METRICS_|LOGS_)|TRACES_EXPORTER$)/;

/** Whether traces are sent. One variable of OpenTelemetry is enough; two can turn tracing off again. */
function isTraced(env: Environment): boolean {
  const isNamed = Object.keys(env).some(name => tracingNames.test(name) && valueIn(env, name) !== undefined);
  const isOff = env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER?.trim() === 'none';
  return isNamed && !isOff;
}

/** Faults for variables that look like the gateway's but have no effect. @param known the names of its own. */
function unknownNames(env: Environment, known: readonly string[]): string[] {
  return Object.keys(env)
    .filter(name => ownPrefixes.test(name) && valueIn(env, name) !== undefined)
    .filter(name => !known.includes(name) && !namesOfOthers.has(name))
    .map(name => {
      const meant = closestName(name, known);
      return `${name}: unknown variable${meant === undefined ? '' : ` (did you mean ${meant}?)`}`;
    });
}

/** Faults where one variable requires another. A secret may be set by its file, too. */
function disagreements(env: Environment): string[] {
  const faults: string[] = [];
  const isSet = (name: string) =>
    valueIn(env, name) !== undefined || (secretNames.has(name) && valueIn(env, fileNameOf(name)) !== undefined);
  const require = (name: string, where: string) => {
    if (!isSet(name)) faults.push(`${name}: must be set where ${where}`);
  };
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
  if ((valueIn(env, 'WORKERS')?.trim() ?? '1') !== '1') {
    for (const name of ['REDIS_URL', 'SESSION_SECRET', 'UPSTREAM_BASE_URL']) require(name, 'WORKERS is not 1');
  }
  const mode = env.PERSISTED_DOCUMENTS_MODE?.trim() ?? '';
  if (/^(allow|log|only)$/.test(mode)) require('PERSISTED_DOCUMENTS', `PERSISTED_DOCUMENTS_MODE is ${mode}`);
  return faults;
}

/** The typed configuration. Names and defaults of the variables are in the table in docs/configuration.md. */
export type Config = Readonly<ReturnType<typeof readConfig>>;

/**
 * The configuration that an environment and the files of its secrets describe.
 * @throws ConfigurationError that names every wrong variable, not only the first.
 */
export function readConfig(env: Environment) {
  const known: string[] = [];
  const faults: string[] = [];

  function textOf(name: string): string | undefined {
    known.push(name);
    return valueIn(env, name);
  }

  /** A newline at the end of a file does not matter: lists are trimmed. */
  function secretOf(name: string): string | undefined {
    const fileName = fileNameOf(name);
    const [text, file] = [textOf(name), textOf(fileName)];
    if (file === undefined) return text;
    try {
      const content = readText(file);
      if (text !== undefined) faults.push(`${fileName}: must not be set where ${name} is set`);
      else if (content.trim() === '') faults.push(`${fileName}: ${file} is empty`);
      else return content;
    } catch (error) {
      faults.push(`${fileName}: ${file} cannot be read: ${reasonOf(error)}`);
    }
    return undefined;
  }

  /** The value of a variable; `preset` where it is not set. What an invalid one gives is never used, because it is a fault. */
  function read<T extends z.ZodType>(name: string, type: T): z.output<T> | undefined;
  function read<T extends z.ZodType>(name: string, type: T, preset: z.output<T>): z.output<T>;
  function read(name: string, type: z.ZodType, preset?: unknown): unknown {
    const text = secretNames.has(name) ? secretOf(name) : textOf(name);
    if (text === undefined) return preset;
    const { data, error } = type.safeParse(text);
    if (error !== undefined) faults.push(...faultsIn(error).map(fault => `${name}: ${fault}`));
    return data;
  }

  read('SANDBOX', flag);
  read('OTEL_EXPORTER_OTLP_ENDPOINT', httpAddress);
  const isProduction = read('NODE_ENV', environmentName) === 'production';
  const base = read('UPSTREAM_BASE_URL', httpAddress);
  const secrets = read('SESSION_SECRET', secretList);
  const [first = new Secret(randomBytes(32).toString('base64url')), ...rest] = secrets ?? [];
  const sessionSecrets: readonly [Secret, ...Secret[]] = [first, ...rest];
  const config = {
    host: read('HOST', text, '127.0.0.1'),
    port: read('PORT', wholeNumber(0, 65_535), 4000),
    /** The service's three addresses, without a slash at the end. Where `base` is undefined, the sandbox runs. */
    upstream: {
      base,
      api: read('UPSTREAM_API_URL', httpAddress),
      dev: read('UPSTREAM_DEV_URL', httpAddress),
      timeoutMs: read('UPSTREAM_TIMEOUT_MS', wholeNumber(1, 600_000), 10_000),
      connections: read('UPSTREAM_CONNECTIONS', wholeNumber(1, 10_000), 128),
      connectionMaxAgeMs: read('UPSTREAM_CONNECTION_MAX_AGE_MS', wholeNumber(1, 86_400_000), 60_000),
    },
    /** One address, or the nodes of a Cluster. */
    redis: read('REDIS_URL', redisAddresses),
    /** The first one seals cookies and derives scopes; all of them open cookies. */
    sessionSecrets,
    /** Whether `SESSION_SECRET` is set. If not, its value is random, and nothing sealed or signed outlives the process. */
    isSecretSet: secrets !== undefined,
    eventsSearchParam: read('EVENTS_SEARCH_PARAM', parameterName),
    keywordSuggestionPath: read('KEYWORD_SUGGESTION_PATH', absolutePath),
    teamsFile: read('TEAMS_FILE', text),
    /** The folder of the export registry where there is no Redis. */
    dataDir: read('DATA_DIR', text, './data'),
    /** The folder of a built front end, served from `/`. */
    staticDir: read('STATIC_DIR', text),
    /** The folder of the operations that agents can call as tools at `/mcp`. Undefined: only where the sandbox runs. */
    mcp: { operations: read('MCP_OPERATIONS', text), allowMutations: read('MCP_ALLOW_MUTATIONS', flag, false) },
    exports: {
      /** Undefined: only where the sandbox runs. Never undefined in production, because anyone knows the sandbox's key. */
      allowPrivateAddresses: read('EXPORT_ALLOW_PRIVATE_ADDRESSES', flag) ?? (isProduction ? false : undefined),
      httpsOnly: isProduction,
    },
    logLevel: read('LOG_LEVEL', logLevel, 'warn'),
    /** Whether traces are exported. OpenTelemetry reads its own variables for where and how. */
    traces: isTraced(env),
    trustProxy: read('TRUST_PROXY', proxies, false),
    pollIntervalMs: read(
      'POLL_INTERVAL_MS',
      wholeNumber(100, 3_600_000),
      base === undefined ? pollMs.sandbox : pollMs.service,
    ),
    /** Origins, besides the gateway's own, whose pages may send cookies and open WebSockets. */
    corsOrigins: read('CORS_ORIGINS', origins, []),
    /** Whether the header `x-explain: 1` is honored; undefined: only where the sandbox runs. */
    explain: read('EXPLAIN', flag),
    responseCache: read('RESPONSE_CACHE', flag, true),
    executor: read('GRAPHQL_EXECUTOR', executor, 'plan'),
    introspection: read('INTROSPECTION', flag, true),
    eventStatisticsLimit: read('EVENT_STATISTICS_LIMIT', wholeNumber(100, 100_000), 2_000),
    queryCallLimit: read('QUERY_CALL_LIMIT', wholeNumber(1, 1_000_000), 2_000),
    /** Requests a minute; 0 means no limit. */
    rateLimits: {
      perCredential: read('RATE_LIMIT_PER_CREDENTIAL', wholeNumber(0, 1_000_000_000), 600_000),
      perAddress: read('RATE_LIMIT_PER_ADDRESS', wholeNumber(0, 1_000_000_000), 1_200_000),
    },
    loadShedding: {
      requestsInFlight: read('MAX_REQUESTS_IN_FLIGHT', wholeNumber(1, 1_000_000), 5_000),
      eventLoopDelayMs: read('MAX_EVENT_LOOP_DELAY_MS', wholeNumber(1, 60_000), 25),
    },
    /** The port of the listener for probes and metrics. Undefined: the port for clients serves them. */
    adminPort: read('ADMIN_PORT', wholeNumber(0, 65_535)),
    workers: read('WORKERS', workers, 1),
    /** How long the gateway still serves after SIGTERM while it is no longer ready. */
    shutdownNoticeMs: read('SHUTDOWN_NOTICE_MS', wholeNumber(0, 600_000), 0),
    /** The manifest of trusted documents, and whether other documents may run. */
    persistedDocuments: {
      file: read('PERSISTED_DOCUMENTS', text),
      mode: read('PERSISTED_DOCUMENTS_MODE', trustMode, 'off'),
    },
  };
  faults.push(...unknownNames(env, known), ...disagreements(env));
  if (faults.length > 0) throw new ConfigurationError(...faults);
  return config;
}
