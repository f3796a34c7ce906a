import type { FastifyInstance } from 'fastify';
import type { Connections } from '../http/connections.js';
import type { GraphqlRouteDeps } from '../http/graphql/route.js';
import type { RequestLimits } from '../http/rate-limit/request-limits.js';
import type { StreamTimes } from './connection.js';
import { createExecutor, type ExecutorDeps } from './executor.js';
import { createOperationReader } from './operations.js';
import { registerSse } from './sse.js';
import { createSubscriptions, type StreamLimits } from './subscriptions.js';
import { registerWebsocket } from './websocket.js';

/** What the doors for streams need; limits and times may be other than these in a test. */
export type SubscriptionOptions = Pick<
  GraphqlRouteDeps,
  | 'schema'
  | 'services'
  | 'deadlineMs'
  | 'authentication'
  | 'admission'
  | 'introspection'
  | 'requestTelemetry'
  | 'budget'
> &
  Pick<ExecutorDeps, 'apollo'> & {
    readonly requestLimits: Pick<RequestLimits, 'countOperation'>;
    readonly connections: Pick<Connections, 'claimUpgrades'>;
    readonly bounds?: Partial<StreamLimits & StreamTimes> | undefined;
  };

/** A key of an application may have many users behind it, each with a connection. */
const defaults: StreamLimits & StreamTimes = {
  connections: 20_000,
  operations: 100,
  executions: 16,
  initMs: 3_000,
  heartbeatMs: 15_000,
  idleMs: 300_000,
};

/** Streams are told to come back over this time at most, and sooner where there are few. */
const drain = { mostMs: 5_000, eachMs: 20 };

/** GraphQL over WebSocket at `/graphql` and over Server-Sent Events at `/graphql/stream`, which share executions, rules and limits. */
export function registerSubscriptions(app: FastifyInstance, doors: SubscriptionOptions): void {
  const { schema, services, authentication, admission, requestTelemetry } = doors;
  const bounds = { ...defaults, ...doors.bounds };
  const executor = createExecutor({
    ...doors,
    report: (error, requestId) => app.log.error({ err: error, requestId }, 'Unexpected'),
  });
  const streams = createSubscriptions(executor, createOperationReader(schema, admission), {
    limits: bounds,
    telemetry: services.telemetry,
    requestLimits: doors.requestLimits,
    requestTelemetry,
    budget: doors.budget,
    scopeOf: services.scopeOf,
  });
  const drainGradually = [
    registerWebsocket(app, '/graphql', doors.connections, streams, authentication, bounds),
    registerSse(app, '/graphql/stream', streams, authentication, bounds.heartbeatMs),
  ];
  app.addHook('preClose', async () => {
    const spreadMs = Math.min(streams.open * drain.eachMs, drain.mostMs);
    await Promise.all(drainGradually.map(part => part(spreadMs)));
  });
}
