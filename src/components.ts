// What lives as long as the process, below the server.
import type { GraphQLSchema } from 'graphql';
import type { DestinationStream } from 'pino';
import type { Dispatcher } from 'undici';
import { AcceptedScopes } from './auth/accepted-scopes.js';
import { createScoper, type Scope } from './auth/credentials.js';
import { createSealer } from './auth/seal.js';
import { createTeams, readTeams, type TeamList, type Teams } from './auth/teams.js';
import type { Config } from './config/config.js';
import { ConfigurationError, reasonOf } from './config/configuration-error.js';
import { countOf, describeChange, Reloadable, type Secret } from './config/values.js';
import type { Components } from './context.js';
import { Cache } from './data/cache/cache.js';
import { localGenerations, sharedGenerations } from './data/cache/generations.js';
import { sharedScopes } from './data/fleet-scopes.js';
import { createPolling } from './data/polling/polling.js';
import {
  connectRedis,
  databaseOf,
  disconnect,
  faultsOfRedis,
  firstContact,
  followClock,
  patient,
} from './data/redis.js';
import { fleetNamespace, type SharedStore, serviceName } from './data/shared-store.js';
import { createSigner } from './data/signer.js';
import { createStartedRuns } from './data/started-runs.js';
import { createUpstream } from './data/upstream/upstream.js';
import { watchedJob } from './domains/discovery/feed.js';
import { createEventsClient } from './domains/events/client.js';
import { createFeedLimits, watchedEvents } from './domains/events/feed.js';
import { type Exports, type ExportsDeps, openExports } from './domains/exports/exports.js';
import { createSignInAttempts } from './domains/sessions/attempts.js';
import { createRevocations } from './domains/sessions/revocations.js';
import { createSessions } from './domains/sessions/sessions.js';
import { localWatchStore, redisWatchStore } from './domains/watches/store.js';
import { Watches } from './domains/watches/watches.js';
import { type Manifest, readManifest } from './graphql/limits/documents.js';
import { followHost } from './lib/clock.js';
import { cacheBytes } from './lib/heap.js';
import { type MemoryBounds, MemoryBudget } from './lib/memory-budget.js';
import { createLogger } from './observability/logger.js';
import { createMetrics } from './observability/metrics.js';
import { createTelemetry, type Telemetry } from './observability/telemetry.js';
import { createWarnings } from './observability/warnings.js';
import { createSchema } from './schema.js';
import type { SubscriptionOptions } from './subscriptions/subscriptions.js';

/** What a test may replace of the outside world, and of limits. */
export interface BaseSeams extends Pick<ExportsDeps, 'resolve'> {
  /** The HTTP connection to the service. */
  readonly wire?: Dispatcher;
  readonly memory?: MemoryBounds;
  /** Stands in for that of `schema/`. */
  readonly schema?: GraphQLSchema;
  /** Takes the lines of the log in place of stderr. */
  readonly log?: DestinationStream;
  /** Limits and times of the subscription transports. */
  readonly streams?: SubscriptionOptions['bounds'];
}

/** What all parts of a gateway are built on. */
export type Base = Awaited<ReturnType<typeof createBase>>;

/** Reads the files of the operator, and makes the log and the metrics. @param demoTeams those where there is no teams file; undefined: each API key is a team of its own. @throws ConfigurationError */
export async function createBase(config: Config, seams: BaseSeams, demoTeams: TeamList | undefined) {
  const { teamsFile, persistedDocuments } = config;
  const log = createLogger(config.logLevel, seams.log);
  const metrics = createMetrics();
  const telemetry = createTelemetry(metrics, createWarnings(log));
  return {
    config,
    seams,
    log,
    metrics,
    telemetry,
    teams: new Reloadable<Teams>(() => createTeams(teamsFile === undefined ? demoTeams : readTeams(teamsFile))),
    /** The trusted documents; empty without a manifest. */
    documents: new Reloadable<Manifest>(() =>
      persistedDocuments.file === undefined ? new Map() : readManifest(persistedDocuments.file),
    ),
    schema: seams.schema ?? createSchema(),
    tracing: config.traces ? (await loadTracing()).startTracing(telemetry) : undefined,
  };
}

export type BuiltComponents = Awaited<ReturnType<typeof createComponents>>;

/** Builds everything that lives as long as the process, below the server, in the order of dependence. */
export async function createComponents({ config, log, teams, telemetry, tracing, seams }: Base) {
  const connections = config.redis && openRedis(config.redis, telemetry);
  const { redis, patientRedis } = connections ?? {};
  const fleet = fleetNamespace(redis === undefined ? 0 : databaseOf(redis), config.upstream);
  const acceptedScopes = new AcceptedScopes(redis && sharedScopes({ redis, namespace: fleet, telemetry }));
  const budget = new MemoryBudget(
    seams.memory,
    () => telemetry.shed('memory'),
    undefined,
    scope => acceptedScopes.has(scope as Scope),
  );
  const { base } = config.upstream;
  const upstream = createUpstream(config.upstream, telemetry, acceptedScopes, seams.wire, tracing);
  const signer = createSigner(config.sessionSecrets);
  const shared: SharedStore | undefined = redis && { redis, namespace: fleet, signer, telemetry, acceptedScopes };
  const generations = shared === undefined ? localGenerations() : sharedGenerations(shared);
  const sealer = createSealer(config.sessionSecrets);
  const intervalMs = config.pollIntervalMs;
  const polling = createPolling(shared, { intervalMs, telemetry, acceptedScopes, budget });
  const report = (error: unknown) => log.error({ err: error }, 'The outcome of an export could not be recorded');
  const exports = await openExports(config, { ...seams, redis: patientRedis, signer, sealer, telemetry, report });
  const scopeOf = createScoper(config.sessionSecrets[0]);
  const watches = new Watches({
    store: shared && patientRedis ? redisWatchStore({ ...shared, redis: patientRedis }, sealer) : localWatchStore(),
    teams,
    scopeOf,
    hasEnded: credential => components.sessions.hasEnded(credential),
    follow: (subject, after, credential) =>
      subject.kind === 'events'
        ? watchedEvents(components, subject.query, after, credential)
        : watchedJob(components, subject.marketId, subject.phase, after),
    prepare: (...endpoint) => exports.sender.prepare(...endpoint),
    report: (error, watch) =>
      log.warn({ err: error, watch: watch?.id, endpoint: watch?.endpointName }, 'A watch ended before its lease'),
  });
  const components: Components = {
    upstream,
    cache: new Cache(cacheBytes, shared, generations, telemetry),
    telemetry,
    startedRuns: createStartedRuns(shared, telemetry),
    scopeOf,
    acceptedScopes,
    events: createEventsClient(config.eventsSearchParam),
    ...createFeedLimits(budget, acceptedScopes),
    eventStatisticsLimit: config.eventStatisticsLimit,
    sessions: createSessions({
      upstream,
      sealer,
      attempts: createSignInAttempts(redis),
      revocations: createRevocations(redis, telemetry),
      telemetry,
      cookieHost: base === undefined ? undefined : (config.cookieHost ?? new URL(base).host),
      service: serviceName(config.upstream),
      onEnd: credential => watches.endOf(credential),
    }),
    exports,
    watches,
    keywordSuggestionPath: config.keywordSuggestionPath,
    capabilities: {
      eventSearch: config.eventsSearchParam !== undefined,
      keywordSuggestion: config.keywordSuggestionPath !== undefined,
      marketRecords: config.upstream.dev !== undefined,
      marketData: config.upstream.api !== undefined,
      exports: config.upstream.dev !== undefined,
    },
    polling,
    teams,
  };
  const checking = startChecks(telemetry, acceptedScopes, redis === undefined ? exports.sender : undefined);
  // The first request should already see what the fleet has cached.
  await connections?.firstContact();
  await generations.refresh();
  await connections?.warnOfFaults();
  return {
    components,
    shared,
    generations,
    budget,
    async close(): Promise<void> {
      clearInterval(checking);
      await watches.close();
      await exports.sender.idle();
      await polling.close();
      await upstream.close();
      connections?.disconnect();
    },
  };
}

/**
 * The connections to Redis. One is of its own, so that nothing waits behind the exports of a team, or the deliveries of a watch; its errors are those of the
 * other.
 */
function openRedis(addresses: readonly Secret[], telemetry: Telemetry) {
  const urls = addresses.map(url => url.reveal());
  const redis = connectRedis(urls, error => telemetry.redisFault('connect', error));
  redis.on('ready', () => telemetry.redisWorks('connect'));
  const readClock = followClock(redis, telemetry);
  const patientRedis = connectRedis(urls, () => {}, patient);
  return {
    redis,
    patientRedis,
    async firstContact(): Promise<void> {
      await Promise.all([redis, patientRedis].map(firstContact));
      await readClock();
    },
    /** The log should say at the start, or once this Redis is there, and not at the first write, where it cannot be trusted. */
    async warnOfFaults(): Promise<void> {
      const warn = async () => {
        for (const fault of await faultsOfRedis(redis)) telemetry.warn('Redis', fault);
      };
      if (redis.status === 'ready') await warn();
      else redis.once('ready', warn);
    },
    disconnect: () => [redis, patientRedis].forEach(disconnect),
  };
}

const credentialsRefused =
  'the service refuses (401 or 403) nearly all that it accepted before; requests that need it fail. Check the contract with the service, and by what it knows the gateway: its certificate and its address';

/** How often the gateway judges whether the service still accepts credentials, and looks at its clock, in milliseconds. */
const checkEveryMs = 10_000;

/** @param alone where there is no Redis whose clock counts: while it sends an export, a step of the clock would end the record, and it could be sent again. */
function startChecks(telemetry: Telemetry, acceptedScopes: AcceptedScopes, alone?: Exports['sender']) {
  const check = () => {
    judgeRefusals(telemetry, acceptedScopes.recent());
    if (alone?.isIdle) followHost();
  };
  return setInterval(check, checkEveryMs).unref();
}

/** Warns, as the alert `CredentialsRefused` does, where the service refuses nearly all credentials that it accepted before: no client is the cause. */
function judgeRefusals(telemetry: Telemetry, { accepted, refused }: ReturnType<AcceptedScopes['recent']>): void {
  if (refused < 2 || refused <= 9 * accepted) telemetry.works('Credentials');
  else telemetry.warn('Credentials', credentialsRefused);
}

/** Reads the teams file and the trusted documents again. A file that is invalid changes nothing. */
export function reloadFiles(base: Base): void {
  const { config, log, teams, documents } = base;
  const { teamsFile, persistedDocuments } = config;
  if (teamsFile !== undefined) reload(base, 'TEAMS_FILE', 'team', teams, teamsByName);
  if (persistedDocuments.file !== undefined) {
    reload(base, 'PERSISTED_DOCUMENTS', 'document', documents, manifest => manifest);
  }
  if (teamsFile === undefined && persistedDocuments.file === undefined) {
    log.warn('Nothing was read again: neither TEAMS_FILE nor PERSISTED_DOCUMENTS is set');
  }
}

/** Reads a file again, and logs how many entries it has now. If it is invalid, the value from before stays. */
function reload<T>(
  { log, telemetry }: Base,
  name: string,
  what: string,
  value: Reloadable<T>,
  entriesOf: (value: T) => ReadonlyMap<string, string>,
): void {
  const before = entriesOf(value.current);
  try {
    value.reload();
    log.warn(describeChange(name, what, before, entriesOf(value.current)));
    telemetry.fileRead(name, true);
  } catch (error) {
    telemetry.fileRead(name, false);
    log.warn(`${reasonOf(error)}; ${countOf(before.size, what)} from before stay in use`);
  }
}

const teamsByName = ({ list = [] }: Pick<Teams, 'list'>) =>
  new Map(list.map(team => [team.name, JSON.stringify(team)]));

/** Loads OpenTelemetry. @throws ConfigurationError where a deployment has left it out. */
export async function loadTracing() {
  try {
    return await import('./observability/open-telemetry.js');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new ConfigurationError(
      'OTEL_...: traces need the optional packages, which npm ci --omit=optional leaves out',
    );
  }
}

const guessableLength = 16;

/** Says what an operator may not expect of a configuration that is valid. */
export function warnOfSettings(log: { warn(words: string): void }, config: Config): void {
  const { persistedDocuments, adminToken } = config;
  if (persistedDocuments.file !== undefined && persistedDocuments.mode === 'off') {
    log.warn('PERSISTED_DOCUMENTS has no effect: every document is executed, because PERSISTED_DOCUMENTS_MODE is off');
  }
  if (adminToken !== undefined && adminToken.reveal().length < guessableLength) {
    log.warn(`ADMIN_TOKEN can be guessed: it has fewer than ${guessableLength} characters`);
  }
}
