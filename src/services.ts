import type { GraphQLSchema } from 'graphql';
import type { Dispatcher } from 'undici';
import { AcceptedScopes, createScoper, type Scope } from './auth/credentials.js';
import { createSealer } from './auth/seal.js';
import type { Teams } from './auth/teams.js';
import type { Config } from './config/config.js';
import type { Reloadable } from './config/values.js';
import type { Services } from './context.js';
import { Cache } from './data/cache/cache.js';
import { localGenerations, sharedGenerations } from './data/cache/generations.js';
import { createSigner } from './data/cache/signer.js';
import { createMemoryTier, createRedisTier } from './data/cache/tiers.js';
import { localPollStore } from './data/polling/poll-store.js';
import { createPolling } from './data/polling/polling.js';
import { redisPollStore } from './data/polling/redis-poll-store.js';
import { connectRedis, databaseOf, firstContact, followClock, patient } from './data/redis.js';
import { cacheNamespace, fleetNamespace, type SharedStore, serviceName } from './data/shared-store.js';
import { createStartedRuns } from './data/started-runs.js';
import { createUpstream } from './data/upstream/upstream.js';
import { createEventsClient } from './domains/events/client.js';
import { createBackfillLimiter } from './domains/events/feed.js';
import { createAddressGuard, type Resolve, resolveName } from './domains/exports/address-guard.js';
import { realTimer, type StartTimer } from './domains/exports/delivery.js';
import { createExports } from './domains/exports/exports.js';
import { openFileStore } from './domains/exports/file-store.js';
import { createRedisStore } from './domains/exports/redis-store.js';
import { createTeamStore } from './domains/exports/team-store.js';
import { createSignInAttempts } from './domains/sessions/attempts.js';
import { createRevocations } from './domains/sessions/revocations.js';
import { createSessions } from './domains/sessions/sessions.js';
import { lifetimesOf } from './graphql/lifetimes.js';
import { cacheBytes } from './lib/heap.js';
import { type MemoryBounds, MemoryBudget } from './lib/memory-budget.js';
import type { Tracing } from './observability/operation-info.js';
import type { Telemetry } from './observability/telemetry.js';

/** What a test may replace of the outside world. */
export interface WorldSeams {
  /** The HTTP connection to the service. */
  readonly wire?: Dispatcher;
  /** Resolves the names of export endpoints. */
  readonly resolve?: Resolve;
  /** What ends an attempt of an export. */
  readonly startTimer?: StartTimer;
  readonly memory?: MemoryBounds;
}

interface ServicesDeps {
  readonly schema: GraphQLSchema;
  readonly teams: Reloadable<Teams>;
  readonly telemetry: Telemetry;
  /** Undefined: tracing is off. */
  readonly tracing: Tracing | undefined;
  readonly seams: WorldSeams;
  /** Called with errors that no request can report. */
  report(error: unknown, message: string): void;
}

/** The services, and what the server shares with them. */
export type BuiltServices = Awaited<ReturnType<typeof createServices>>;

/** Builds everything that lives as long as the process, below the server, in the order of dependence. */
export async function createServices(config: Config, deps: ServicesDeps) {
  const { schema, teams, telemetry, tracing, seams } = deps;
  const acceptedScopes = new AcceptedScopes();
  const budget = new MemoryBudget(
    seams.memory,
    () => telemetry.shed('memory'),
    undefined,
    scope => acceptedScopes.has(scope as Scope),
  );
  const { base } = config.upstream;
  const upstream = createUpstream(config.upstream, telemetry, acceptedScopes, seams.wire, tracing);
  const urls = config.redis?.map(url => url.reveal());
  const redis = urls && connectRedis(urls, error => telemetry.redisFault('connect', error));
  redis?.on('ready', () => telemetry.redisWorks('connect'));
  const readClock = redis && followClock(redis, telemetry);
  // Of its own, so that nothing waits behind the exports of a team. Its errors are those of the other.
  const exportsRedis = urls && connectRedis(urls, () => {}, patient);
  const fleet = fleetNamespace(redis === undefined ? 0 : databaseOf(redis), config.upstream);
  const signer = createSigner(config.sessionSecrets);
  const shared: SharedStore | undefined = redis && { redis, namespace: cacheNamespace(fleet), signer, telemetry };
  const generations = redis === undefined ? localGenerations() : sharedGenerations(redis, fleet, telemetry);
  const tiers = { memory: createMemoryTier(cacheBytes), redis: shared && createRedisTier(shared) };
  const sealer = createSealer(config.sessionSecrets);
  const intervalMs = config.pollIntervalMs;
  const store = shared === undefined ? localPollStore(intervalMs) : redisPollStore(shared, intervalMs);
  const polling = createPolling({ store, intervalMs, telemetry });
  const exports = createExports({
    store:
      exportsRedis === undefined
        ? createTeamStore(await openFileStore(config.dataDir, telemetry), signer, telemetry, !config.isSecretSet)
        : createTeamStore(createRedisStore(exportsRedis, telemetry), signer, telemetry, false),
    sealer,
    guard: createAddressGuard(config.exports.allowPrivateAddresses ?? false, seams.resolve ?? resolveName),
    startTimer: seams.startTimer ?? realTimer,
    httpsOnly: config.exports.httpsOnly,
    telemetry,
    report: error => deps.report(error, 'The outcome of an export could not be recorded'),
  });
  const services: Services = {
    upstream,
    cache: new Cache(tiers, generations, telemetry),
    telemetry,
    startedRuns: createStartedRuns(shared, telemetry),
    scopeOf: createScoper(config.sessionSecrets[0]),
    acceptedScopes,
    events: createEventsClient(config.eventsSearchParam),
    beginBackfill: createBackfillLimiter(budget),
    eventStatisticsLimit: config.eventStatisticsLimit,
    lifetimes: lifetimesOf(schema),
    sessions: createSessions({
      upstream,
      sealer,
      attempts: createSignInAttempts(redis),
      revocations: createRevocations(redis, telemetry),
      telemetry,
      cookieHost: base === undefined ? undefined : (config.cookieHost ?? new URL(base).host),
      service: serviceName(config.upstream),
    }),
    exports,
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
  const judging = setInterval(() => judgeRefusals(telemetry, acceptedScopes.recent()), judgeEveryMs).unref();
  // The first request should already see what the fleet has cached.
  await Promise.all([redis, exportsRedis].map(each => each && firstContact(each)));
  await readClock?.();
  await generations.refresh();
  // The log should say at the start, not at the first write, where this Redis cannot be trusted.
  if (redis?.status === 'ready') await generations.current('start');
  return {
    services,
    shared,
    generations,
    budget,
    /** Waits for running exports and polls, and closes every connection. */
    async close(): Promise<void> {
      clearInterval(judging);
      await exports.idle();
      await polling.close();
      await upstream.close();
      redis?.disconnect();
      exportsRedis?.disconnect();
    },
  };
}

const credentialsRefused =
  'the service refuses (401 or 403) nearly all that it accepted before; requests that need it fail. Check the contract with the service, and by what it knows the gateway: its certificate and its address';

/** How often the gateway judges whether the service still accepts credentials, in milliseconds. */
const judgeEveryMs = 10_000;

/** Warns, as the alert `CredentialsRefused` does, where the service refuses nearly all credentials that it accepted before: no client is the cause. */
function judgeRefusals(telemetry: Telemetry, { accepted, refused }: ReturnType<AcceptedScopes['recent']>): void {
  if (refused < 2 || refused <= 9 * accepted) telemetry.works('Credentials');
  else telemetry.warn('Credentials', credentialsRefused);
}
