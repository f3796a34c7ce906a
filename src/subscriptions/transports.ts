import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { sharedRun } from '../lib/run.js';
import { createExecutor } from './executor.js';
import { registerMultipart, registerSse } from './http-transports.js';
import { inSlices } from './shared-execution.js';
import { defaultBounds, type SubscriptionOptions, Subscriptions } from './subscriptions.js';
import { registerWebsocket } from './websocket.js';

/** GraphQL over WebSocket and multipart responses at `/graphql`, and Server-Sent Events at `/graphql/stream`. Returns what all of them share. */
export function registerSubscriptions(app: FastifyInstance, options: SubscriptionOptions): Subscriptions {
  const bounds = { ...defaultBounds, ...options.bounds };
  const subscriptions = new Subscriptions({ ...options, executor: createExecutor(options), bounds });
  registerSse(app, subscriptions);
  registerMultipart(app, subscriptions);
  registerWebsocket(app, subscriptions);
  const beat = sharedRun(() => inSlices([...subscriptions.open], connection => connection.heartbeat()));
  const heartbeat = setInterval(beat, bounds.heartbeatMs);
  app.addHook('onClose', () => clearInterval(heartbeat));
  app.addHook('preClose', () => {
    subscriptions.isDraining = true;
    return drainGradually([...subscriptions.open]);
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
