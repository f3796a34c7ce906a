import { printSchemaWithDirectives } from '@graphql-tools/utils';
import type { FastifyInstance } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import type { Config } from './config/config.js';
import { Secret } from './config/secret.js';
import type { Services } from './context.js';
import type { Generations } from './data/cache/generations.js';
import { type SharedStore, shortHash } from './data/cache/keys.js';
import { createAdmission } from './graphql/limits/admission.js';
import { createTrustedDocuments, readManifest } from './graphql/limits/trusted-documents.js';
import { createAuthentication } from './http/authentication.js';
import type { Connections } from './http/connections.js';
import { createHttpApp, largestBody } from './http/fastify.js';
import { examples } from './http/graphiql/examples.js';
import { registerGraphiql } from './http/graphiql/graphiql.js';
import { registerGraphql } from './http/graphql/route.js';
import { registerMonitoring } from './http/monitoring.js';
import { createLoadShedding } from './http/rate-limit/load-shedding.js';
import { createRateLimits } from './http/rate-limit/rate-limits.js';
import { createRequestLimits } from './http/rate-limit/request-limits.js';
import { createResponseCache } from './http/response-cache/response-cache.js';
import { createResponseCacheStore } from './http/response-cache/store.js';
import { registerWebSafety } from './http/web-safety.js';
import { type MemoryBounds, MemoryBudget } from './lib/memory-budget.js';
import { createProxyHeaders } from './lib/network.js';
import type { Metrics } from './observability/metrics.js';
import { createOperationNames } from './observability/operation-names.js';
import { createRequestTelemetry } from './observability/request-telemetry.js';
import type { Tracing } from './observability/tracing.js';
import { registerSubscriptions, type SubscriptionOptions } from './subscriptions/transports.js';

/** What stands behind the doors, and what they are made with. */
export interface ServerDeps {
  readonly config: Config;
  readonly schema: GraphQLSchema;
  readonly services: Services;
  readonly shared: SharedStore | undefined;
  readonly generations: Generations;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly tracing: Tracing | undefined;
  readonly connections: Connections;
  /** The key that whoever sends no credential is taken to have; undefined: none. */
  readonly demoKey: string | undefined;
  /** Other limits and times for streams, in tests. */
  readonly streams: SubscriptionOptions['bounds'];
  /** Other bounds for what answers take, in tests. */
  readonly memory: MemoryBounds | undefined;
}

/** For whole answers. */
const answerBytes = 32 * 1024 * 1024;
/** A request may need one call after another, and each may use its whole time. */
export const callsInARow = 3;

/** The server with all its doors, which does not listen yet. */
export async function createServer(parts: ServerDeps): Promise<FastifyInstance> {
  const { config, schema, services, shared, generations, metrics, log, tracing, connections, demoKey } = parts;
  const { telemetry } = services;
  const { introspection } = config;
  const sdl = printSchemaWithDirectives(schema);
  const explains = config.explain ?? false;
  const { file: manifest, mode } = config.persistedDocuments;
  const trusted = manifest === undefined ? new Map<string, string>() : readManifest(manifest);
  const budget = new MemoryBudget(parts.memory);
  metrics.gauge(
    'gateway_held_bytes',
    'Bytes of records that operations under way have read, of answers not taken yet, and of what clients have sent',
    () => budget.held,
  );
  const requestTelemetry = createRequestTelemetry({
    log,
    telemetry,
    tracing,
    names: createOperationNames(trusted, telemetry.forgetOperation),
  });

  const proxyHeaders = createProxyHeaders(config.trustProxy);
  const authentication = createAuthentication({
    sessions: services.sessions,
    scopeOf: services.scopeOf,
    proxyHeaders,
    fallback: demoKey === undefined ? undefined : { kind: 'apiKey', secret: new Secret(demoKey) },
    origins: config.corsOrigins,
  });
  const responseCache = !config.responseCache
    ? undefined
    : createResponseCache({
        telemetry,
        requestTelemetry,
        budget,
        store: createResponseCacheStore({
          bytes: answerBytes,
          shared,
          // Trusted documents count in any order.
          version: shortHash(
            sdl,
            ...config.corsOrigins,
            mode,
            ...[...trusted].map(entry => JSON.stringify(entry)).sort(),
          ),
          generations,
          telemetry,
        }),
        largestBody,
        scopeOf: authentication.scopeOf,
      });

  const admission = createAdmission({
    schema,
    documents: createTrustedDocuments(mode, trusted),
    introspection,
    callLimit: config.queryCallLimit,
  });

  const loadShedding = createLoadShedding(config.loadShedding, undefined, budget);
  metrics.gauge(
    'gateway_requests_in_flight',
    'Requests that are being answered, streams aside',
    () => loadShedding.inFlight,
  );
  const requestLimits = createRequestLimits({
    connections,
    loadShedding,
    budget,
    limits: createRateLimits(config.rateLimits, shared?.redis, telemetry),
    proxyHeaders,
    scopeOf: authentication.scopeOf,
  });

  const app = await createHttpApp({
    log,
    requestTelemetry,
    connections,
    trustProxy: config.trustProxy,
    stages: fastify => [
      requestTelemetry.stage,
      connections.stage,
      next => requestLimits.stage(next, fastify),
      ...(responseCache === undefined ? [] : [responseCache.stage]),
    ],
  });
  await registerWebSafety(app, config.corsOrigins);
  requestLimits.refuseIn(app);
  registerMonitoring(app, loadShedding, metrics.registry);
  if (introspection) {
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
    authentication,
    responseCache,
    admission,
    executor: config.executor,
    requestTelemetry,
    budget,
    introspection,
  });
  registerSubscriptions(app, {
    schema,
    services,
    deadlineMs,
    authentication,
    admission,
    requestTelemetry,
    budget,
    introspection,
    apollo,
    requestLimits,
    connections,
    bounds: parts.streams,
  });
  app.addHook('onClose', async () => loadShedding.close());
  return app;
}
