import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { RequestAdmission } from '../http/admission.js';
import type { Connections } from '../http/connections.js';
import type { GraphqlRouteDeps } from '../http/graphql/route.js';
import type { RequestTelemetry } from '../http/request-telemetry.js';
import { createHttpStreams } from './http-stream.js';
import { registerMultipart, registerSse } from './http-transports.js';
import { defaultLimits, type SubscriptionLimits, type SubscriptionTimes } from './limits.js';
import { createExecutor, createOperationReader, type ExecutorDeps } from './operations.js';
import { createSubscriptions, type Subscriptions } from './subscriptions.js';
import { registerWebsocket } from './websocket.js';

/** What the subscription transports are made with. Tests may set other limits and timeouts. */
export type SubscriptionOptions = Pick<
  GraphqlRouteDeps,
  'schema' | 'services' | 'deadlineMs' | 'authentication' | 'admission' | 'introspection' | 'acceptedScopes' | 'budget'
> &
  Pick<ExecutorDeps, 'apollo'> & {
    readonly requestAdmission: Pick<RequestAdmission, 'countOperation' | 'beginOperation' | 'admitUpgrade'>;
    readonly requestTelemetry: RequestTelemetry;
    readonly connections: Pick<Connections, 'claimUpgrades'>;
    readonly bounds?: Partial<SubscriptionLimits & SubscriptionTimes> | undefined;
  };

/** Connections are closed over at most this time, faster if there are few. */
const drain = { maxMs: 5_000, eachMs: 20 };

/** GraphQL over WebSocket and multipart responses at `/graphql`, and over Server-Sent Events at `/graphql/stream`, which share executions, rules and limits. Returns what they share. */
export function registerSubscriptions(app: FastifyInstance, options: SubscriptionOptions): Subscriptions {
  const { services, authentication, admission, requestTelemetry } = options;
  const bounds = { ...defaultLimits, ...options.bounds };
  const executor = createExecutor({
    ...options,
    report: (error, requestId) => app.log.error({ err: error, requestId }, 'Unexpected'),
  });
  const subscriptions = createSubscriptions(executor, createOperationReader(admission), {
    limits: bounds,
    telemetry: services.telemetry,
    requestAdmission: options.requestAdmission,
    requestTelemetry,
    acceptedScopes: options.acceptedScopes,
    budget: options.budget,
    scopeOf: services.scopeOf,
  });
  const streams = createHttpStreams(app, subscriptions, authentication, bounds.heartbeatMs);
  registerSse(app, '/graphql/stream', subscriptions, streams);
  registerMultipart(app, '/graphql', subscriptions, streams);
  const connectionsOf = [registerWebsocket(app, '/graphql', options, subscriptions, bounds), streams.list];
  app.addHook('preClose', async () => {
    const spreadMs = Math.min(subscriptions.open * drain.eachMs, drain.maxMs);
    const open = connectionsOf.map(list => list());
    await Promise.all(open.map(connections => drainGradually(connections, spreadMs)));
  });
  return subscriptions;
}

const tickMs = 50;

/** Lets all connections end in order, evenly spread over `overMs` milliseconds; the first one at once. */
async function drainGradually(connections: readonly { leave(): void }[], overMs: number): Promise<void> {
  const { length } = connections;
  const ticks = Math.max(Math.min(length, Math.floor(overMs / tickMs)), 1);
  for (let tick = 0; tick < ticks; tick += 1) {
    if (tick > 0) await sleep(overMs / ticks);
    const from = Math.floor((length * tick) / ticks);
    const to = Math.floor((length * (tick + 1)) / ticks);
    for (const connection of connections.slice(from, to)) connection.leave();
  }
}
