import type { RequestListener } from 'node:http';
import { printSchemaWithDirectives } from '@graphql-tools/utils';
import type { FastifyInstance } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import type { Generations } from '../cache/generations.js';
import { type SharedStore, shortHash } from '../cache/namespace.js';
import type { Config } from '../config.js';
import type { Services } from '../context.js';
import { createAdmission } from '../limits/admission.js';
import { createTrustedDocuments, readManifest } from '../limits/trusted-documents.js';
import { type MemoryBounds, MemoryBudget } from '../memory-budget.js';
import { Secret } from '../secret.js';
import type { Tracing } from '../tracing.js';
import { createKeptAnswers } from './answers/kept-answers.js';
import { createAnswerStore } from './answers/store.js';
import { registerGraphql } from './apollo/graphql.js';
import type { Connections } from './connections.js';
import { setEarlyHeaders } from './early-headers.js';
import { createGate } from './gate/gate.js';
import { createPressure } from './gate/pressure.js';
import { createRateLimits } from './gate/rate-limits.js';
import { examples } from './graphiql/examples.js';
import { registerGraphiql } from './graphiql/graphiql.js';
import { registerHealth } from './health.js';
import { type Metrics, registerMetrics } from './observability/metrics.js';
import { createOperationNames } from './observability/operation-names.js';
import { createVisits } from './observability/visits.js';
import { createPeers } from './peers.js';
import { createReception } from './reception.js';
import { createRequestScope } from './request-scope.js';
import { createServer, largestBody } from './server.js';
import { registerStreams, type StreamDoors } from './streams/doors.js';
import { registerWebSafety } from './web-safety.js';

/** What stands behind the doors, and what they are made with. */
export interface DoorsParts {
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
  readonly streams: StreamDoors['bounds'];
  /** Other bounds for what answers take, in tests. */
  readonly memory: MemoryBounds | undefined;
}

/** For whole answers. */
const answerBytes = 32 * 1024 * 1024;
/** A request may need one call after another, and each may use its whole time. */
export const callsInARow = 3;

/** The server with all its doors, which does not listen yet. */
export async function createDoors(parts: DoorsParts): Promise<FastifyInstance> {
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
  const visits = createVisits({
    log,
    telemetry,
    tracing,
    names: createOperationNames(trusted, telemetry.forgetOperation),
  });

  const peers = createPeers(config.trustProxy);
  const reception = createReception({
    sessions: services.sessions,
    peers,
    fallback: demoKey === undefined ? undefined : { kind: 'apiKey', secret: new Secret(demoKey) },
    origins: config.corsOrigins,
  });
  const requestScope = createRequestScope(reception, services.scopeOf);
  const answers = !config.keepAnswers
    ? undefined
    : createKeptAnswers({
        telemetry,
        visits,
        budget,
        store: createAnswerStore({
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
        scopeOf: requestScope,
      });

  const admission = createAdmission({
    schema,
    documents: createTrustedDocuments(mode, trusted),
    introspection,
    callLimit: config.queryCallLimit,
  });

  const pressure = createPressure(config.pressure, undefined, budget);
  metrics.gauge(
    'gateway_requests_in_flight',
    'Requests that are being answered, streams aside',
    () => pressure.inFlight,
  );
  const gate = createGate({
    connections,
    pressure,
    budget,
    limits: createRateLimits(config.rateLimits, shared?.redis, telemetry),
    peers,
    scopeOf: requestScope,
  });

  const app = await createServer({
    log,
    visits,
    connections,
    trustProxy: config.trustProxy,
    before(handler) {
      const door: RequestListener = (request, response) => {
        setEarlyHeaders(request, response);
        handler(request, response);
      };
      return visits.listener(connections.listener(gate.listener(answers?.listener(door) ?? door, door)));
    },
  });
  await registerWebSafety(app, config.corsOrigins);
  gate.guard(app);
  registerHealth(app, pressure);
  registerMetrics(app, metrics);
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
    reception,
    scopeOf: requestScope,
    answers,
    admission,
    visits,
    budget,
    introspection,
  });
  registerStreams(app, {
    schema,
    services,
    deadlineMs,
    reception,
    admission,
    visits,
    budget,
    introspection,
    apollo,
    gate,
    connections,
    bounds: parts.streams,
  });
  app.addHook('onClose', async () => pressure.close());
  return app;
}
