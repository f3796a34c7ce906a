import type { Scope } from '../auth/credentials.js';

/** How much one client may have open at a time. */
export interface SubscriptionLimits {
  /** Connections that one credential may hold at a time in one process, over all transports. */
  readonly connections: number;
  /** Operations that may run or wait on one connection at a time. */
  readonly operations: number;
  /** Queries and mutations that are executed for one connection at a time. */
  readonly executions: number;
}

/** Timeouts of the subscription transports, in milliseconds. */
export interface SubscriptionTimes {
  /** How long a client may take to send `connection_init`. */
  readonly initMs: number;
  /** Between two heartbeats. A client that does not answer one before the next is disconnected, unless it still has much to read. */
  readonly heartbeatMs: number;
  /** How long a connection may have no operation. */
  readonly idleMs: number;
}

/** The limits and timeouts unless a test sets others. */
export const defaultLimits: SubscriptionLimits & SubscriptionTimes = {
  // The API key of an application may have many users behind it, each with a connection.
  connections: 20_000,
  operations: 100,
  executions: 16,
  initMs: 3_000,
  heartbeatMs: 15_000,
  idleMs: 300_000,
};

/** Counts the open connections of each credential, over all transports. */
export class ConnectionCounts {
  readonly #max: number;
  readonly #counts = new Map<Scope, number>();
  #open = 0;

  /** @param most how many connections one credential may hold. */
  constructor(max: number) {
    this.#max = max;
  }

  /** How many connections are open. */
  get open(): number {
    return this.#open;
  }

  /** Counts a connection. Returns a function that ends the count, or undefined if the credential has too many. */
  enter(scope: Scope): (() => void) | undefined {
    const count = this.#counts.get(scope) ?? 0;
    if (count >= this.#max) return undefined;
    this.#change(scope, 1);
    return () => this.#change(scope, -1);
  }

  #change(scope: Scope, by: 1 | -1): void {
    const count = (this.#counts.get(scope) ?? 0) + by;
    this.#open += by;
    if (count === 0) this.#counts.delete(scope);
    else this.#counts.set(scope, count);
  }
}
