import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { RequestAdmission } from '../http/admission.js';
import type { Connections } from '../http/connections.js';
import type { GraphqlRouteDeps } from '../http/graphql/apollo.js';
import type { RequestTelemetry } from '../http/request-telemetry.js';
import { sharedRun } from '../lib/run.js';
import { createExecutor, type ExecutorDeps } from './executor.js';
import { createHttpStreams } from './http-stream.js';
import { registerMultipart, registerSse } from './http-transports.js';
import { inSlices } from './shared-execution.js';
import { defaultBounds, type SubscriptionBounds, Subscriptions } from './subscriptions.js';
import { registerWebsocket } from './websocket.js';

/** What the subscription transports are made with. Tests may set other bounds. */
export type SubscriptionOptions = Omit<ExecutorDeps, 'report'> &
  Pick<GraphqlRouteDeps, 'authentication' | 'documentChecks' | 'budget' | 'explains'> & {
    readonly requestAdmission: Pick<RequestAdmission, 'countOperation' | 'beginOperation' | 'admitUpgrade'>;
    readonly requestTelemetry: RequestTelemetry;
    readonly connections: Pick<Connections, 'claimUpgrades'>;
    readonly bounds?: Partial<SubscriptionBounds> | undefined;
  };

/** GraphQL over WebSocket and multipart responses at `/graphql`, and Server-Sent Events at `/graphql/stream`. Returns what all of them share. */
export function registerSubscriptions(app: FastifyInstance, options: SubscriptionOptions): Subscriptions {
  const { services, authentication } = options;
  const bounds = { ...defaultBounds, ...options.bounds };
  const executor = createExecutor({
    ...options,
    report: (error, requestId) => app.log.error({ err: error, requestId }, 'Unexpected'),
  });
  const { telemetry, acceptedScopes } = services;
  const subscriptions = new Subscriptions({ ...options, executor, bounds, telemetry, acceptedScopes });
  const streams = createHttpStreams(subscriptions, authentication);
  registerSse(app, '/graphql/stream', subscriptions, streams);
  registerMultipart(app, '/graphql', subscriptions, streams);
  const sockets = registerWebsocket(app, '/graphql', options, subscriptions);
  const open = () => [...sockets, ...streams.open];
  const beat = sharedRun(() => inSlices(open(), connection => connection.heartbeat()));
  const heartbeat = setInterval(beat, bounds.heartbeatMs);
  app.addHook('onClose', () => clearInterval(heartbeat));
  app.addHook('preClose', () => {
    subscriptions.isDraining = true;
    return drainGradually(open());
  });
  return subscriptions;
}

/** In milliseconds: connections are closed over at most `maxMs`, faster if there are few. */
const drain = { maxMs: 5_000, eachMs: 20, tickMs: 50 };

/** Lets all connections end in order, evenly spread over a time; the first one at once. */
async function drainGradually(connections: readonly { leave(): void }[]): Promise<void> {
  const eachMs = Math.min(drain.eachMs, drain.maxMs / connections.length);
  const startedAt = performance.now();
  for (const [index, connection] of connections.entries()) {
    if (performance.now() - startedAt < index * eachMs) await sleep(drain.tickMs);
    connection.leave();
  }
}
