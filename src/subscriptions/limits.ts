/** How much one client may have open at a time, and how long it may take, in milliseconds. */
export interface SubscriptionBounds {
  /** Connections that one credential may hold at a time in one process, over all transports. */
  readonly connections: number;
  /** Operations that may run or wait on one connection at a time. */
  readonly operations: number;
  /** Queries and mutations that are executed for one connection at a time. */
  readonly executions: number;
  /** How long a client may take to send `connection_init`. */
  readonly initMs: number;
  /** Between two heartbeats. A client that does not answer one before the next is disconnected, unless it still has much to read. */
  readonly heartbeatMs: number;
  /** How long a connection may have no operation. */
  readonly idleMs: number;
}

/** The bounds unless a test sets others. */
export const defaultBounds: SubscriptionBounds = {
  // The API key of an application may have many users behind it, each with a connection.
  connections: 20_000,
  operations: 100,
  executions: 16,
  initMs: 3_000,
  heartbeatMs: 15_000,
  idleMs: 300_000,
};
