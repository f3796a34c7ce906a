import type { FastifyInstance } from 'fastify';
import type { GraphqlDoor } from '../apollo/graphql.js';
import type { Connections } from '../connections.js';
import type { Gate } from '../gate/gate.js';
import type { StreamTimes } from './connection.js';
import { createExecutor, type ExecutorParts } from './executor.js';
import { createOperationReader } from './operations.js';
import { registerSse } from './sse.js';
import { createStreams, type StreamLimits } from './streams.js';
import { registerWebsocket } from './websocket.js';

/** What the doors for streams need; limits and times may be other than these in a test. */
export type StreamDoors = Pick<
  GraphqlDoor,
  'schema' | 'services' | 'deadlineMs' | 'reception' | 'admission' | 'introspection' | 'visits' | 'budget'
> &
  Pick<ExecutorParts, 'apollo'> & {
    readonly gate: Pick<Gate, 'countOperation'>;
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
export function registerStreams(app: FastifyInstance, doors: StreamDoors): void {
  const { schema, services, reception, admission, visits } = doors;
  const bounds = { ...defaults, ...doors.bounds };
  const executor = createExecutor({
    ...doors,
    report: (error, requestId) => app.log.error({ err: error, requestId }, 'Unexpected'),
  });
  const streams = createStreams(executor, createOperationReader(schema, admission), {
    limits: bounds,
    telemetry: services.telemetry,
    gate: doors.gate,
    visits,
    budget: doors.budget,
    scopeOf: services.scopeOf,
  });
  const partings = [
    registerWebsocket(app, '/graphql', doors.connections, streams, reception, bounds),
    registerSse(app, '/graphql/stream', streams, reception, bounds.heartbeatMs),
  ];
  app.addHook('preClose', async () => {
    const spreadMs = Math.min(streams.open * drain.eachMs, drain.mostMs);
    await Promise.all(partings.map(part => part(spreadMs)));
  });
}
