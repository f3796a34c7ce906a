import type { Credential, Scope } from '../auth/credentials.js';
import type { RequestIdentity } from '../context.js';
import { Forbidden } from '../errors.js';
import { responseText } from '../graphql/response-text.js';
import type { Identity } from '../http/authentication.js';
import type { RequestLimits } from '../http/rate-limit/request-limits.js';
import type { Claim, MemoryBudget } from '../lib/memory-budget.js';
import { type OperationInfo, operationName, outcomeOfErrors } from '../observability/operation-info.js';
import type { RequestTelemetry } from '../observability/request-telemetry.js';
import type { Telemetry } from '../observability/telemetry.js';
import type { Executor, Outcome } from './executor.js';
import type { Asked } from './messages.js';
import { type Operation, Refused } from './operations.js';
import { SharedExecution } from './shared-execution.js';
import type { Subscriber } from './subscriber.js';

/** How much one client may have open. */
export interface StreamLimits {
  /** Connections that one credential may hold at a time in one process, at all doors together. */
  readonly connections: number;
  /** Operations that may run on one connection at a time, or wait for their turn. */
  readonly operations: number;
  /** Queries and mutations that are executed for one connection at a time. */
  readonly executions: number;
}

/** What every door for streams shares. */
export interface Subscriptions {
  readonly limits: StreamLimits;
  readonly telemetry: Telemetry;
  readonly requestTelemetry: RequestTelemetry;
  /** How many connections were admitted and have not gone. */
  readonly open: number;
  /** Counts a connection; undefined where the credential has too many. Returns what ends it. */
  enter(guest: Identity): (() => void) | undefined;
  /** Counts an operation that came by a connection, and not by a request of its own. @throws RateLimited, Overloaded */
  count(guest: Identity): Promise<void>;
  /** What counts the memory that something takes for a guest. */
  claim(guest: Identity): Claim;
  /** The same for whoever has not said yet who it is. */
  claimOf(address: string): Claim;
  /** @throws Refused */
  read(asked: Asked, trail: OperationInfo): Operation;
  /** Executes a query or a mutation. */
  single(
    operation: Operation,
    guest: Identity,
    signal: AbortSignal,
    trail: OperationInfo,
    claim: Claim,
  ): Promise<Outcome>;
  /** Listens to a subscription, which whoever asked for the same shares. Returns what ends it. */
  subscribe(operation: Operation, guest: Identity, subscriber: Subscriber, trail: OperationInfo): () => void;
  /** What is told of an error: JSON of errors as a client may see them. */
  worded(error: unknown, trail: OperationInfo): string;
}

/** Where a subscriber is: on its way to a seat, in one, or gone. */
interface Place {
  hasLeft: boolean;
  leave(): void;
}

export function createSubscriptions(
  executor: Executor,
  read: (asked: Asked) => Operation | Refused,
  parts: {
    readonly limits: StreamLimits;
    readonly telemetry: Telemetry;
    readonly requestLimits: Pick<RequestLimits, 'countOperation'>;
    readonly requestTelemetry: RequestTelemetry;
    readonly budget: MemoryBudget;
    scopeOf(credential: Credential): Scope;
  },
): Subscriptions {
  const broadcasts = new Map<string, SharedExecution>();
  const connections = new Map<Scope, number>();
  const { limits, telemetry, requestLimits, requestTelemetry, budget, scopeOf } = parts;
  const claim = (guest: Identity) => budget.claim(scopeOf(guest.credential));

  function begin(key: string, operation: Operation, guest: Identity): SharedExecution {
    const scope = scopeOf(guest.credential);
    const visitor = { ...visitorOf(guest), scope };
    // Counts the newest text, which is there for whoever joins next.
    const newest = claim(guest);
    const broadcast: SharedExecution = new SharedExecution(
      {
        open: signal => executor.source(operation, visitor, signal),
        async render(value, signal) {
          const rendering = claim(guest);
          try {
            const answer = await executor.event(operation, value, visitor, signal, rendering);
            if (answer.errors === undefined) requestTelemetry.accept(scope);
            const text = responseText(answer, rendering);
            newest.set(text.length);
            return text;
          } finally {
            rendering.release();
          }
        },
        errors: error => JSON.stringify(executor.masked(error)),
      },
      () => {
        newest.release();
        if (broadcasts.get(key) === broadcast) broadcasts.delete(key);
      },
    );
    broadcasts.set(key, broadcast);
    void broadcast.run();
    return broadcast;
  }

  /** A function of its own: what is kept for each subscriber must not hold what it asked with. */
  async function findSeat(
    place: Place,
    key: string,
    operation: Operation,
    guest: Identity,
    subscriber: Subscriber,
  ): Promise<void> {
    for (let running = broadcasts.get(key); running !== undefined; running = broadcasts.get(key)) {
      await running.refresh();
      if (place.hasLeft) return;
      if (broadcasts.get(key) !== running) continue;
      place.leave = running.join(subscriber);
      return;
    }
    place.leave = begin(key, operation, guest).join(subscriber);
  }

  return {
    limits,
    telemetry,
    requestTelemetry,
    get open() {
      return [...connections.values()].reduce((sum, count) => sum + count, 0);
    },
    enter({ credential }) {
      const scope = scopeOf(credential);
      const open = connections.get(scope) ?? 0;
      if (open >= limits.connections) return undefined;
      connections.set(scope, open + 1);
      return () => {
        const left = (connections.get(scope) ?? 1) - 1;
        if (left === 0) connections.delete(scope);
        else connections.set(scope, left);
      };
    },
    async count({ address, credential }) {
      const refusal = await requestLimits.countOperation(address, scopeOf(credential));
      if (refusal !== undefined) throw refusal;
    },
    claim,
    claimOf: address => budget.claim(address),
    read(asked, trail) {
      const operation = read(asked);
      if (operation instanceof Refused) throw operation;
      trail.name = operationName(operation.name);
      return operation;
    },
    single(operation, guest, signal, trail, counted) {
      const scope = scopeOf(guest.credential);
      trail.scope = scope;
      return executor.single(operation, { ...visitorOf(guest), scope }, signal, trail, counted);
    },
    subscribe(operation, guest, subscriber, trail) {
      const { query, operationName, variables } = operation;
      const scope = scopeOf(guest.credential);
      trail.scope = scope;
      const key = JSON.stringify([scope, query, operationName ?? null, variables ?? null]);
      const place: Place = { hasLeft: false, leave() {} };
      void findSeat(place, key, operation, guest, subscriber);
      return () => {
        place.hasLeft = true;
        place.leave();
      };
    },
    worded(error, trail) {
      const errors = executor.masked(error);
      trail.outcome = outcomeOfErrors(errors);
      return JSON.stringify(errors);
    },
  };
}

/** A stream's headers have been sent when its operations run: no cookie can be set any more. */
function visitorOf({ credential, address }: Identity): RequestIdentity {
  return {
    credential,
    address,
    setSession() {
      throw new Forbidden('Sign in over HTTP: a stream cannot set the cookie');
    },
    async endSession() {
      throw new Forbidden('Sign out over HTTP: a stream cannot clear the cookie');
    },
    clearSession() {
      throw new Forbidden('Sign out over HTTP: a stream cannot clear the cookie');
    },
  };
}
