import { setTimeout as pause } from 'node:timers/promises';
import { printSchemaWithDirectives } from '@graphql-tools/utils';
import type { FastifyInstance } from 'fastify';
import type { Dispatcher } from 'undici';
import { Cache } from './cache/cache.js';
import { localGenerations, sharedGenerations } from './cache/generations.js';
import { MemoryTier } from './cache/memory-tier.js';
import { RedisTier } from './cache/redis-tier.js';
import type { Config } from './config.js';
import type { Services } from './context.js';
import { createScoper } from './credentials.js';
import { createEventsClient } from './events/client.js';
import { createAddressGuard, type Resolve, systemResolve } from './exports/address-guard.js';
import { type After, realAfter } from './exports/delivery.js';
import { createExports } from './exports/exports.js';
import { openFileStore } from './exports/file-store.js';
import { createRedisStore } from './exports/redis-store.js';
import { createKeptAnswers } from './http/answers/kept-answers.js';
import { createAnswerStore } from './http/answers/store.js';
import { examples } from './http/examples.js';
import { createGate } from './http/gate.js';
import { registerGraphiql } from './http/graphiql.js';
import { registerGraphql } from './http/graphql.js';
import { registerHealth } from './http/health.js';
import { createLogger } from './http/logger.js';
import { createMetrics, registerMetrics } from './http/metrics.js';
import { createOperationNames } from './http/operation-names.js';
import { createPressure } from './http/pressure.js';
import { createRateLimits } from './http/rate-limits.js';
import { createRequestScope } from './http/request-scope.js';
import { createServer, dropIdleConnections, largestBody } from './http/server.js';
import { registerStreams, type StreamDoors } from './http/streams/doors.js';
import { createReception } from './http/visitor.js';
import { createVisits } from './http/visits.js';
import { registerWebSafety } from './http/web-safety.js';
import { lifetimesOf } from './lifetimes.js';
import { createAdmission } from './limits/admission.js';
import { createTrustedDocuments, readManifest } from './limits/trusted-documents.js';
import { timesFor } from './live/board.js';
import { createLive } from './live/live.js';
import { localBoard } from './live/local-board.js';
import { redisBoard } from './live/redis-board.js';
import { connectRedis } from './redis.js';
import { type Sandbox, startSandbox } from './sandbox/server.js';
import { createSchema } from './schema.js';
import { createSealer } from './seal.js';
import { Secret } from './secret.js';
import { createSignInAttempts } from './sessions/attempts.js';
import { createSessions } from './sessions/sessions.js';
import { createTeams, hashOfKey, readTeams } from './teams.js';
import { createUpstream } from './upstream/upstream.js';

/** What a test may put in the place of the world outside. */
export interface Seams {
  /** The wire to the service. */
  readonly wire?: Dispatcher;
  /** What names resolve to for exports. */
  readonly resolve?: Resolve;
  /** What ends an attempt of an export. */
  readonly after?: After;
  /** Other limits and times for streams. */
  readonly streams?: StreamDoors['bounds'];
}

/** A gateway that is built and does not listen yet. */
export interface Gateway {
  /** Its HTTP server; closing it closes everything. */
  readonly app: FastifyInstance;
  /** The service's double, where none is configured. */
  readonly sandbox: Sandbox | undefined;
  /** Closes everything. For `noticeMs` before the server goes, it turns new requests down with 503, so that a balancer can look elsewhere. */
  close(noticeMs?: number): Promise<void>;
}

/** For what was read, and as much again for whole answers. */
const memoryBytes = 64 * 1024 * 1024;
/** A request may need one call after another, and each may use its whole time. */
const callsInARow = 3;

/** Builds everything that lives as long as the process, in the order of need. */
export async function buildApp(configured: Config, seams: Seams = {}): Promise<Gateway> {
  const sandbox = configured.upstream.base === undefined ? await startSandbox() : undefined;
  const config = sandbox === undefined ? configured : pointedAt(sandbox, configured);
  const demoKey = sandbox && demoKeyOf(sandbox);
  const log = createLogger(config.logLevel);
  const explains = config.explain ?? sandbox !== undefined;
  const metrics = createMetrics();
  const { telemetry } = metrics;

  const tracing = config.traces ? (await import('./open-telemetry.js')).startTracing() : undefined;
  const upstream = createUpstream(config.upstream, telemetry, seams.wire, tracing);
  const redis = config.redis && connectRedis(config.redis, () => telemetry.redisFault('connect'));
  const generations = redis === undefined ? localGenerations() : sharedGenerations(redis, telemetry);
  const tiers = { memory: new MemoryTier(memoryBytes), redis: redis && new RedisTier(redis, telemetry) };
  const cache = new Cache(tiers, generations, telemetry);
  const sealer = createSealer(config.sessionSecrets);
  const times = timesFor(config.pollIntervalMs);
  const board = redis === undefined ? localBoard(times) : redisBoard(redis, times);
  const live = createLive({ board, intervalMs: config.pollIntervalMs, telemetry });
  const sessions = createSessions({
    upstream,
    sealer,
    attempts: createSignInAttempts(redis),
  });
  const schema = createSchema();
  const exports = createExports({
    store: redis === undefined ? await openFileStore(config.dataDir) : createRedisStore(redis, telemetry),
    sealer,
    guard: createAddressGuard(
      config.exports.allowPrivateAddresses ?? sandbox !== undefined,
      seams.resolve ?? systemResolve,
    ),
    after: seams.after ?? realAfter,
    httpsOnly: config.exports.httpsOnly,
    telemetry,
    report: error => log.error({ err: error }, 'The outcome of an export could not be recorded'),
  });
  const services: Services = {
    upstream,
    cache,
    telemetry,
    scopeOf: createScoper(config.sessionSecrets[0]),
    events: createEventsClient(config.eventsSearchParam),
    lifetimes: lifetimesOf(schema),
    sessions,
    exports,
    keywordSuggestionPath: config.keywordSuggestionPath,
    live,
    teams: createTeams(config.teamsFile === undefined ? sandbox && demoTeams(sandbox) : readTeams(config.teamsFile)),
  };

  const { file: manifest, mode } = config.persistedDocuments;
  const trusted = manifest === undefined ? new Map<string, string>() : readManifest(manifest);
  const visits = createVisits({ log, telemetry, tracing, nameOf: createOperationNames(trusted) });

  const reception = createReception({
    sessions,
    behindProxy: config.trustProxy !== false,
    fallback: demoKey === undefined ? undefined : { kind: 'apiKey', secret: new Secret(demoKey) },
    origins: config.corsOrigins,
  });
  const requestScope = createRequestScope(reception, services.scopeOf);
  const answers = !config.keepAnswers
    ? undefined
    : createKeptAnswers({
        telemetry,
        visits,
        store: createAnswerStore({ bytes: memoryBytes, redis, generations, telemetry }),
        largestBody,
        scopeOf: requestScope,
      });

  const { introspection } = config;
  const admission = createAdmission({
    schema,
    documents: createTrustedDocuments(mode, trusted),
    introspection,
    callLimit: config.queryCallLimit,
  });

  const pressure = createPressure(config.pressure);
  const gate = createGate({
    pressure,
    limits: createRateLimits(config.rateLimits, redis, telemetry),
    trustProxy: config.trustProxy,
    scopeOf: requestScope,
  });

  const app = await createServer({
    log,
    visits,
    trustProxy: config.trustProxy,
    before: door => visits.listener(gate.listener(answers?.listener(door) ?? door, door)),
  });
  await registerWebSafety(app, config.corsOrigins);
  gate.guard(app);
  registerHealth(app, pressure);
  registerMetrics(app, metrics);
  if (introspection) {
    const sdl = printSchemaWithDirectives(schema);
    app.get('/schema.graphql', async (_, reply) => reply.type('text/plain; charset=utf-8').send(sdl));
  }
  registerGraphiql(app, {
    path: '/graphql',
    tabs: [...examples],
    defaultHeaders: JSON.stringify(
      { ...(demoKey && { 'x-api-key': demoKey }), ...(explains && { 'x-explain': '1' }) },
      null,
      2,
    ),
  });
  const deadlineMs = config.upstream.timeoutMs * callsInARow;
  const apollo = await registerGraphql(app, {
    schema,
    services,
    deadlineMs,
    explains,
    reception,
    answers,
    admission,
    visits,
    introspection,
  });
  registerStreams(app, {
    schema,
    services,
    deadlineMs,
    reception,
    admission,
    visits,
    introspection,
    apollo,
    gate,
    bounds: seams.streams,
  });
  let notice = 0;
  app.addHook('preClose', () => pause(notice));
  dropIdleConnections(app);

  app.addHook('onClose', async () => {
    await exports.idle();
    await live.close();
    pressure.close();
    await upstream.close();
    redis?.disconnect();
    await sandbox?.close();
    await tracing?.close();
  });
  return {
    app,
    sandbox,
    close(noticeMs = 0) {
      notice = noticeMs;
      return app.close();
    },
  };
}

function pointedAt(sandbox: Sandbox, config: Config): Config {
  return {
    ...config,
    upstream: { ...config.upstream, ...sandbox.addresses },
    eventsSearchParam: config.eventsSearchParam ?? sandbox.eventsSearchParam,
    keywordSuggestionPath: config.keywordSuggestionPath ?? sandbox.keywordSuggestionPath,
  };
}

/** The sandbox's key for everything, which whoever sends no credential is taken to have. */
function demoKeyOf({ demo }: Sandbox): string {
  return demo.keys.find(({ eventsMonitor }) => eventsMonitor)?.key ?? '';
}

function demoTeams({ demo }: Sandbox) {
  const { name, keys, emails, admins } = demo.team;
  const listed = (member: string) => (keys.includes(member) ? hashOfKey(member) : member);
  return [{ name, keys: keys.map(hashOfKey), emails, admins: admins.map(listed) }];
}
