// The HTTP server: its pipeline, its routes, and the transports of subscriptions.
import { printSchemaWithDirectives } from '@graphql-tools/utils';
import type { GraphQLSchema } from 'graphql';
import type { Base, BuiltComponents } from './components.js';
import { Reloadable } from './config/values.js';
import { shortHash } from './data/shared-store.js';
import { createPlanExecutor } from './graphql/executor/execute.js';
import { createDocumentChecks } from './graphql/limits/document-checks.js';
import { createTrustedDocuments, prepareTrustedDocuments } from './graphql/limits/documents.js';
import { createRequestAdmission } from './http/admission.js';
import { createAuthentication } from './http/authentication.js';
import { createConnections } from './http/connections.js';
import { createHttpApp } from './http/fastify.js';
import { readExamples, redirectToGraphiql, registerGraphiql } from './http/graphiql/graphiql.js';
import { registerGraphql } from './http/graphql/apollo.js';
import { createClients } from './http/limits/clients.js';
import { createConcurrencyLimit } from './http/limits/concurrency-limit.js';
import { createRateLimits } from './http/limits/rate-limits.js';
import { createErrorMask } from './http/mask-error.js';
import { readToolOperations } from './http/mcp/operations.js';
import { registerMcp } from './http/mcp/route.js';
import { type Readiness, registerMonitoring, withReadiness } from './http/monitoring/readiness.js';
import { createRequestTelemetry } from './http/request-telemetry.js';
import { createResponseCache } from './http/response-cache/response-cache.js';
import { createResponseCacheStore } from './http/response-cache/store.js';
import { registerStaticFiles } from './http/static-files.js';
import { cacheBytes, memoryLimit } from './lib/heap.js';
import type { Lifecycle } from './lib/lifecycle.js';
import { createProxyHeaders } from './lib/network.js';
import { most, oncePerValue, sharedRun } from './lib/run.js';
import { createOperationNames } from './observability/operation-info.js';
import { registerSubscriptions } from './subscriptions/transports.js';

interface ServerDeps extends Base, Omit<BuiltComponents, 'close'> {
  readonly lifecycle: Pick<Lifecycle, 'unready'>;
  /** The API key of requests without a credential; undefined: they have none. */
  readonly demoKey: string | undefined;
}

/** A request may need this many upstream calls in sequence, each of which may take the whole `UPSTREAM_TIMEOUT_MS`. */
export const callsInARow = 3;

/** The SDL of a schema. Programs that are older than `@oneOf` cannot read one that uses it and does not declare it. */
const sdlOf = oncePerValue(
  (schema: GraphQLSchema) =>
    `${printSchemaWithDirectives(schema)}\n\n"Exactly one member is given."\ndirective @oneOf on INPUT_OBJECT\n`,
);

/** What requests go through: who sends them, whether they are admitted, what they may execute, and whether a cached response answers them. */
function createPipeline(deps: ServerDeps, sdl: string) {
  const { config, schema, documents, components, log, shared } = deps;
  const { telemetry, acceptedScopes, teams } = components;
  const { introspection } = config;
  const parts = {
    ...deps,
    ...components,
    introspection,
    mask: createErrorMask(introspection, log),
    explains: config.explain ?? false,
    deadlineMs: config.upstream.timeoutMs * callsInARow,
    concurrency: createConcurrencyLimit(config.loadShedding),
    connections: createConnections(telemetry, components.upstream.maxConnections),
    proxyHeaders: createProxyHeaders(config.trustProxy),
    executePlanned: config.executor === 'plan' ? createPlanExecutor(schema) : undefined,
  };
  const authentication = createAuthentication(parts);
  const requestTelemetry = createRequestTelemetry({
    ...parts,
    names: createOperationNames(documents, acceptedScopes, telemetry.forgetOperation, telemetry.forgetClient),
    teamOf: credential => teams.current.teamOf(credential)?.name,
    slowOperationMs: config.slowOperationMs,
  });
  const documentChecks = createDocumentChecks({
    ...parts,
    documentText: createTrustedDocuments(config.persistedDocuments.mode, documents),
    callLimit: config.queryCallLimit,
    statisticsLimit: config.eventStatisticsLimit,
  });
  const { operations, allowMutations } = config.mcp;
  const tools =
    operations === undefined ? undefined : readToolOperations(operations, { schema, documentChecks, allowMutations });
  const isPrepared =
    config.persistedDocuments.mode === 'off'
      ? () => true
      : prepareTrustedDocuments(documents, documentChecks, line => log.warn(line));
  const limits = createRateLimits(config.rateLimits, shared?.redis, telemetry, acceptedScopes);
  const clients = createClients({ ...parts, redis: shared?.redis, limits });
  const requestAdmission = createRequestAdmission({ ...parts, authentication, limits, clients });
  const store = config.responseCache ? createResponseCacheStore({ ...parts, bytes: cacheBytes }) : undefined;
  const responseCache = store && createResponseCache({ ...parts, store, version: responseVersion(deps, sdl) });
  return {
    ...parts,
    authentication,
    requestTelemetry,
    documentChecks,
    tools,
    isPrepared,
    clients,
    requestAdmission,
    responseCache,
  };
}

/** Assembles the HTTP server with its pipeline, its routes and the subscription transports. It does not listen yet. */
export async function createServer(deps: ServerDeps) {
  const { config, schema, metrics, demoKey, lifecycle } = deps;
  const sdl = sdlOf(schema);
  const pipeline = createPipeline(deps, sdl);
  addGauges(deps, pipeline);
  const { requestTelemetry, requestAdmission, responseCache, connections, concurrency, clients, tools, explains } =
    pipeline;
  const app = await createHttpApp({
    ...pipeline,
    origins: config.corsOrigins,
    stages(fastify) {
      const last = requestAdmission.executionStage(fastify);
      return requestTelemetry.stage(requestAdmission.stage(responseCache?.stage(last) ?? last));
    },
  });
  app.addHook('preClose', async () => requestAdmission.close());
  const readiness = (): Readiness => {
    const status = requestAdmission.isOverloaded ? 'overloaded' : pipeline.isPrepared() ? 'ready' : 'starting';
    return { status: lifecycle.unready ?? status, silentMs: 0 };
  };
  // Those that ask at once get the same.
  const readMetrics = sharedRun(async () => withReadiness(await metrics.read(), readiness()));
  registerMonitoring(app, readiness, config.adminPort === undefined ? readMetrics : undefined);
  if (config.introspection) {
    const bytes = Buffer.from(sdl);
    app.get('/schema.graphql', async (_, reply) => reply.type('text/plain; charset=utf-8').send(bytes));
    const headers = { ...(demoKey && { 'x-api-key': demoKey }), ...(explains && { 'x-explain': '1' }) };
    registerGraphiql(app, { tabs: readExamples(), headers });
  }
  await registerGraphql(app, pipeline);
  const subscriptions = registerSubscriptions(app, { ...pipeline, bounds: deps.seams.streams });
  if (tools !== undefined) {
    const { authorizationServers } = config.mcp;
    registerMcp(app, '/mcp', { ...pipeline, tools, subscriptions, authorizationServers });
  }
  if (config.staticDir !== undefined) await registerStaticFiles(app, config.staticDir);
  else if (config.introspection) redirectToGraphiql(app);
  app.addHook('onClose', async () => concurrency.close());
  app.addHook('onClose', async () => clients.close());
  // After every other hook of this kind.
  app.addHook('preClose', async () => connections.drain());
  app.addHook('onClose', async () => connections.close());
  await clients.follow();
  deps.components.watches.start(clients.isBlocked);
  return { app, readiness, clients };
}

/** The version of responses. It changes with the schema, and with every setting and file that changes responses. */
function responseVersion({ config, documents, components }: ServerDeps, sdl: string): Reloadable<string> {
  const { capabilities, teams } = components;
  const version = new Reloadable(() => {
    // The order of trusted documents does not matter.
    const sorted = [...documents.current].map(entry => JSON.stringify(entry)).sort();
    const { corsOrigins, eventsSearchParam, eventStatisticsLimit, introspection, persistedDocuments } = config;
    const settings = [corsOrigins, eventsSearchParam, eventStatisticsLimit, introspection, persistedDocuments.mode];
    return shortHash(sdl, JSON.stringify([capabilities, settings, teams.current.list]), ...sorted);
  });
  documents.onReload(() => version.reload());
  teams.onReload(() => version.reload());
  return version;
}

function addGauges(
  { metrics: { readGauge }, components: { upstream, sessions, exports, acceptedScopes }, budget }: ServerDeps,
  { requestAdmission, concurrency, connections }: ReturnType<typeof createPipeline>,
): void {
  readGauge('gateway_memory_ratio', () => process.memoryUsage.rss() / memoryLimit);
  readGauge('gateway_held_bytes', () => budget.held);
  readGauge('gateway_requests_in_flight', () => requestAdmission.inFlight);
  readGauge('gateway_connections', connections.byKind, 'kind');
  readGauge('gateway_connections_of_top_client', connections.ofTopClient);
  const ofTopClient = () => ({
    requestsInFlight: requestAdmission.inFlightOfTopClient,
    heldBytes: most(budget.owners.values()),
    upstreamCalls: most([...acceptedScopes.calls()].map(([, calls]) => calls)),
  });
  readGauge('gateway_top_client', ofTopClient, 'measure');
  readGauge('gateway_connections_limit', () => connections.max);
  readGauge('gateway_operations_running', () => concurrency.running);
  readGauge('gateway_operations_limit', () => concurrency.limit);
  readGauge('gateway_breaker_open', upstream.openBreakers, 'family');
  readGauge('gateway_credentials', () => ({ ...acceptedScopes.recent() }), 'latest');
  const outdated = async () => ({
    session: sessions.outdated(),
    endpoint: await exports.outdated().catch(() => undefined),
  });
  readGauge('gateway_sealed_under_old_secret', outdated, 'kind');
}
