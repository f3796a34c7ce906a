import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { ConfigurationError, closestName, faultsIn, reasonOf } from './configuration-error.js';
import { readText } from './files.js';
import { Secret } from './secret.js';

const blankIsAbsent = (value: unknown) => (typeof value === 'string' && value.trim() === '' ? undefined : value);
const optional = <T extends z.ZodType>(schema: T) => z.preprocess(blankIsAbsent, schema.optional());
const withDefault = <T extends z.ZodType>(schema: T, value: z.output<T>) =>
  z.preprocess(
    blankIsAbsent,
    schema.optional().transform(given => given ?? value),
  );

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number, ${min} or more`)
    .transform(Number)
    .refine(value => value >= min && value <= max, `must be between ${min} and ${max}`);

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

const secrets = list
  .refine(all => all.every(secret => secret.length >= 32), 'each secret must have at least 32 characters')
  .refine(all => !all.some(secret => publicSecrets.has(secret)), 'must not be the public example of docker-compose.yml')
  .transform(asSecrets);

/** The settings whose values are secrets. Each NAME can also be set by `NAME_FILE`, the path of a file that contains the value. */
const secretSettings = {
  REDIS_URL: optional(redisAddresses),
  SESSION_SECRET: optional(secrets),
} satisfies Record<string, z.ZodType<readonly Secret[] | undefined>>;

const fileNameOf = (name: string) => `${name}_FILE`;

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

/** Least to most verbose. */
const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

const trustModes = ['off', 'allow', 'log', 'only'] as const;

/** `auto` is one for each core that this process may use. */
const workers = z.union(
  [z.literal('auto').transform(() => availableParallelism()), wholeNumber(1, 256)],
  'must be auto, or a whole number from 1 to 256',
);

const environment = z.object({
  ...secretSettings,
  HOST: withDefault(z.string(), '127.0.0.1'),
  PORT: withDefault(wholeNumber(0, 65_535), 4000),
  UPSTREAM_BASE_URL: optional(httpAddress),
  UPSTREAM_API_URL: optional(httpAddress),
  UPSTREAM_DEV_URL: optional(httpAddress),
  UPSTREAM_TIMEOUT_MS: withDefault(wholeNumber(1, 600_000), 10_000),
  UPSTREAM_CONNECTIONS: withDefault(wholeNumber(1, 10_000), 128),
  UPSTREAM_CONNECTION_MAX_AGE_MS: withDefault(wholeNumber(1, 86_400_000), 60_000),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(httpAddress),
  EVENTS_SEARCH_PARAM: optional(z.string().regex(/^[\w.-]+$/, 'must be the name of a query parameter')),
  KEYWORD_SUGGESTION_PATH: optional(z.string().regex(/^(\/[\w.-]+)+$/, 'must be a path that begins with /')),
  TEAMS_FILE: optional(z.string()),
  DATA_DIR: withDefault(z.string(), './data'),
  STATIC_DIR: optional(z.string()),
  MCP_OPERATIONS: optional(z.string()),
  MCP_ALLOW_MUTATIONS: withDefault(flag, false),
  EXPORT_ALLOW_PRIVATE_ADDRESSES: optional(flag),
  NODE_ENV: optional(
    z
      .string()
      .refine(
        value => value === 'production' || !/^\s*prod/i.test(value),
        'is probably meant to be "production": write exactly that, or a name that does not begin with "prod"',
      ),
  ),
  SANDBOX: withDefault(flag, false),
  LOG_LEVEL: withDefault(z.enum(logLevels, `must be one of ${logLevels.join(', ')}`), 'warn'),
  TRUST_PROXY: withDefault(proxies, false),
  POLL_INTERVAL_MS: optional(wholeNumber(100, 3_600_000)),
  CORS_ORIGINS: withDefault(origins, []),
  EXPLAIN: optional(flag),
  RESPONSE_CACHE: withDefault(flag, true),
  GRAPHQL_EXECUTOR: withDefault(z.enum(['plan', 'graphql-js'], 'must be plan or graphql-js'), 'plan'),
  INTROSPECTION: withDefault(flag, true),
  EVENT_STATISTICS_LIMIT: withDefault(wholeNumber(100, 100_000), 2_000),
  QUERY_CALL_LIMIT: withDefault(wholeNumber(1, 1_000_000), 2_000),
  RATE_LIMIT_PER_CREDENTIAL: withDefault(wholeNumber(0, 1_000_000_000), 600_000),
  RATE_LIMIT_PER_ADDRESS: withDefault(wholeNumber(0, 1_000_000_000), 1_200_000),
  MAX_REQUESTS_IN_FLIGHT: withDefault(wholeNumber(1, 1_000_000), 5_000),
  MAX_EVENT_LOOP_DELAY_MS: withDefault(wholeNumber(1, 60_000), 25),
  ADMIN_PORT: optional(wholeNumber(0, 65_535)),
  WORKERS: withDefault(workers, 1),
  SHUTDOWN_NOTICE_MS: withDefault(wholeNumber(0, 600_000), 0),
  PERSISTED_DOCUMENTS: optional(z.string()),
  PERSISTED_DOCUMENTS_MODE: withDefault(z.enum(trustModes, `must be one of ${trustModes.join(', ')}`), 'off'),
});

/** Environment variables. An empty one counts as absent. */
type Environment = Readonly<Record<string, string | undefined>>;

/** The time between two polls, in milliseconds: the sandbox's jobs run for seconds, the service's for minutes (docs/upstream-api.md: Discovery workflow). */
const pollMs = { sandbox: 1_000, service: 30_000 };

/** Names with these prefixes belong to the gateway: an unknown one is a mistake. */
const ownPrefixes = /^(UPSTREAM|SESSION|EXPORT|MCP)_/;
/** Names of other programs with such a prefix: X11's session manager sets this one on every Linux desktop. */
const namesOfOthers = new Set(['SESSION_MANAGER']);

/** The values of secrets that are in files, and a fault for each file that cannot be used. A newline at the end does not matter: lists are trimmed. */
function readSecretFiles(env: Environment): { readonly values: Environment; readonly faults: readonly string[] } {
  const values: Record<string, string> = {};
  const faults: string[] = [];
  for (const name of Object.keys(secretSettings)) {
    const file = blankIsAbsent(env[fileNameOf(name)]);
    if (typeof file !== 'string') continue;
    if (blankIsAbsent(env[name]) !== undefined) {
      faults.push(`${fileNameOf(name)}: must not be set where ${name} is set`);
      continue;
    }
    try {
      const value = readText(file);
      if (blankIsAbsent(value) === undefined) faults.push(`${fileNameOf(name)}: ${file} is empty`);
      else values[name] = value;
    } catch (error) {
      faults.push(`${fileNameOf(name)}: ${file} cannot be read: ${reasonOf(error)}`);
    }
  }
  return { values, faults };
}

/** OpenTelemetry's own variables, which say where traces go. Those for its metrics and logs do not count: the gateway sends none. */
const tracingNames = /^OTEL_(EXPORTER_OTLP_(?!METRICS_|LOGS_)|TRACES_EXPORTER$)/;

/** Whether traces are sent. One variable of OpenTelemetry is enough; two can turn tracing off again. */
function isTraced(env: Environment): boolean {
  const isNamed = Object.keys(env).some(name => tracingNames.test(name) && blankIsAbsent(env[name]) !== undefined);
  const isOff = env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER?.trim() === 'none';
  return isNamed && !isOff;
}

/** Faults for variables that look like the gateway's but have no effect. */
function unknownNames(env: Environment): string[] {
  const known = [...Object.keys(environment.shape), ...Object.keys(secretSettings).map(fileNameOf)];
  return Object.keys(env)
    .filter(name => ownPrefixes.test(name) && blankIsAbsent(env[name]) !== undefined)
    .filter(name => !known.includes(name) && !namesOfOthers.has(name))
    .map(name => {
      const meant = closestName(name, known);
      return `${name}: unknown variable${meant === undefined ? '' : ` (did you mean ${meant}?)`}`;
    });
}

const addressNames = ['UPSTREAM_BASE_URL', 'UPSTREAM_API_URL', 'UPSTREAM_DEV_URL'];

/** Faults where one variable requires another. */
function disagreements(env: Environment): string[] {
  const faults: string[] = [];
  const isSet = (name: string) => blankIsAbsent(env[name]) !== undefined;
  /** A secret may be set by its file, too. */
  const isSecretSet = (name: keyof typeof secretSettings) => isSet(name) || isSet(fileNameOf(name));
  const isProduction = env.NODE_ENV === 'production';
  const addresses = addressNames.filter(isSet);
  for (const name of addresses) {
    if (!isSet('UPSTREAM_BASE_URL')) faults.push(`UPSTREAM_BASE_URL: must be set where ${name} is set`);
    if (env.SANDBOX === 'true') faults.push(`SANDBOX: must not be true where ${name} is set`);
  }
  if (isProduction && addresses.length === 0 && env.SANDBOX !== 'true') {
    faults.push(
      "UPSTREAM_BASE_URL: must be set where NODE_ENV is production, or set SANDBOX=true to serve the sandbox's invented data",
    );
  }
  if (isProduction && !isSecretSet('SESSION_SECRET')) {
    faults.push('SESSION_SECRET: must be set where NODE_ENV is production');
  }
  const isOne = (env.WORKERS?.trim() || '1') === '1';
  for (const name of ['REDIS_URL', 'SESSION_SECRET'] as const) {
    if (!isOne && !isSecretSet(name)) faults.push(`${name}: must be set where WORKERS is not 1`);
  }
  if (!isOne && !isSet('UPSTREAM_BASE_URL')) faults.push('UPSTREAM_BASE_URL: must be set where WORKERS is not 1');
  const mode = env.PERSISTED_DOCUMENTS_MODE?.trim();
  if (mode !== undefined && /^(allow|log|only)$/.test(mode) && !env.PERSISTED_DOCUMENTS?.trim()) {
    faults.push(`PERSISTED_DOCUMENTS: must be set where PERSISTED_DOCUMENTS_MODE is ${mode}`);
  }
  return faults;
}

/** The typed configuration. Names and defaults of the variables are in the table in docs/configuration.md. */
export type Config = Readonly<ReturnType<typeof readConfig>>;

/**
 * The configuration that an environment and the files of its secrets describe.
 * @throws ConfigurationError that names every wrong variable, not only the first.
 */
export function readConfig(env: Environment) {
  const files = readSecretFiles(env);
  const given = Object.keys(environment.shape).map(name => [name, files.values[name] ?? env[name]]);
  const result = environment.safeParse(Object.fromEntries(given));
  const faults = [
    ...(result.success ? [] : faultsIn(result.error)),
    ...files.faults,
    ...unknownNames(env),
    ...disagreements(env),
  ];
  if (!result.success || faults.length > 0) {
    throw new ConfigurationError(...faults);
  }
  const values = result.data;
  const isProduction = values.NODE_ENV === 'production';
  const [first = new Secret(randomBytes(32).toString('base64url')), ...rest] = values.SESSION_SECRET ?? [];
  const sessionSecrets: readonly [Secret, ...Secret[]] = [first, ...rest];
  return {
    host: values.HOST,
    port: values.PORT,
    /** The service's three addresses, without a slash at the end. Where `base` is undefined, the sandbox runs. */
    upstream: {
      base: values.UPSTREAM_BASE_URL,
      api: values.UPSTREAM_API_URL,
      dev: values.UPSTREAM_DEV_URL,
      timeoutMs: values.UPSTREAM_TIMEOUT_MS,
      connections: values.UPSTREAM_CONNECTIONS,
      connectionMaxAgeMs: values.UPSTREAM_CONNECTION_MAX_AGE_MS,
    },
    /** One address, or the nodes of a Cluster. */
    redis: values.REDIS_URL,
    /** The first one seals cookies and derives scopes; all of them open cookies. */
    sessionSecrets,
    /** Whether `SESSION_SECRET` is set. If not, its value is random, and nothing sealed or signed outlives the process. */
    isSecretSet: values.SESSION_SECRET !== undefined,
    eventsSearchParam: values.EVENTS_SEARCH_PARAM,
    keywordSuggestionPath: values.KEYWORD_SUGGESTION_PATH,
    teamsFile: values.TEAMS_FILE,
    /** The folder of the export registry where there is no Redis. */
    dataDir: values.DATA_DIR,
    /** The folder of a built front end, served from `/`. */
    staticDir: values.STATIC_DIR,
    /** The folder of the operations that agents can call as tools at `/mcp`. Undefined: only where the sandbox runs. */
    mcp: { operations: values.MCP_OPERATIONS, allowMutations: values.MCP_ALLOW_MUTATIONS },
    exports: {
      /** Undefined: only where the sandbox runs. Never undefined in production, because anyone knows the sandbox's key. */
      allowPrivateAddresses: values.EXPORT_ALLOW_PRIVATE_ADDRESSES ?? (isProduction ? false : undefined),
      httpsOnly: isProduction,
    },
    logLevel: values.LOG_LEVEL,
    /** Whether traces are exported. OpenTelemetry reads its own variables for where and how. */
    traces: isTraced(env),
    trustProxy: values.TRUST_PROXY,
    pollIntervalMs:
      values.POLL_INTERVAL_MS ?? (values.UPSTREAM_BASE_URL === undefined ? pollMs.sandbox : pollMs.service),
    /** Origins, besides the gateway's own, whose pages may send cookies and open WebSockets. */
    corsOrigins: values.CORS_ORIGINS,
    /** Whether the header `x-explain: 1` is honored; undefined: only where the sandbox runs. */
    explain: values.EXPLAIN,
    responseCache: values.RESPONSE_CACHE,
    executor: values.GRAPHQL_EXECUTOR,
    introspection: values.INTROSPECTION,
    eventStatisticsLimit: values.EVENT_STATISTICS_LIMIT,
    queryCallLimit: values.QUERY_CALL_LIMIT,
    /** Requests a minute; 0 means no limit. */
    rateLimits: { perCredential: values.RATE_LIMIT_PER_CREDENTIAL, perAddress: values.RATE_LIMIT_PER_ADDRESS },
    loadShedding: { requestsInFlight: values.MAX_REQUESTS_IN_FLIGHT, eventLoopDelayMs: values.MAX_EVENT_LOOP_DELAY_MS },
    /** The port of the listener for probes and metrics. Undefined: the port for clients serves them. */
    adminPort: values.ADMIN_PORT,
    workers: values.WORKERS,
    /** How long the gateway still serves after SIGTERM while it is no longer ready. */
    shutdownNoticeMs: values.SHUTDOWN_NOTICE_MS,
    /** The manifest of trusted documents, and whether other documents may run. */
    persistedDocuments: { file: values.PERSISTED_DOCUMENTS, mode: values.PERSISTED_DOCUMENTS_MODE },
  };
}
