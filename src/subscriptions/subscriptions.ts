import type { AcceptedScopes } from '../auth/accepted-scopes.js';
import type { Credential, Scope } from '../auth/credentials.js';
import type { RequestIdentity } from '../context.js';
import { Forbidden, Overloaded } from '../errors.js';
import { RefusedOperation } from '../graphql/limits/documents.js';
import { responseText } from '../graphql/response-text.js';
import type { RequestAdmission } from '../http/admission.js';
import type { Identity } from '../http/authentication.js';
import { causeOf } from '../http/mask-error.js';
import type { RequestTelemetry } from '../http/request-telemetry.js';
import type { Claim, MemoryBudget } from '../lib/memory-budget.js';
import {
  type OperationInfo,
  operationName,
  outcomeOfErrors,
  overloadedOutcome,
} from '../observability/operation-info.js';
import type { Telemetry } from '../observability/telemetry.js';
import { ConnectionCounts, type SubscriptionLimits } from './limits.js';
import type { Executor, Operation, OperationReader, OperationRequest, Outcome } from './operations.js';
import { type Listener, SharedExecution } from './shared-execution.js';

/** What the WebSocket and SSE transports share. */
export interface Subscriptions {
  readonly limits: SubscriptionLimits;
  readonly telemetry: Telemetry;
  readonly requestTelemetry: RequestTelemetry;
  /** How many connections are open. */
  readonly open: number;
  /** Counts a connection. Returns a function that ends the count, or undefined if the credential has too many. */
  enter(identity: Identity): (() => void) | undefined;
  /** Applies the rate limit to an operation that came over an open connection. @throws RateLimited, Overloaded */
  count(identity: Identity): Promise<void>;
  /** A claim on the memory budget of a client. */
  claim(identity: Identity): Claim;
  /** The same for a client that is not authenticated yet. */
  claimOf(address: string): Claim;
  scopeOf(identity: Identity): Scope;
  /** @param client whose turn it is. @throws RefusedOperation */
  read(
    client: string | undefined,
    operationRequest: OperationRequest,
    operationInfo: OperationInfo,
  ): Promise<Operation>;
  /** Executes a query or a mutation. */
  single(
    operation: Operation,
    identity: Identity,
    signal: AbortSignal,
    operationInfo: OperationInfo,
    claim: Claim,
  ): Promise<Outcome>;
  /** Lets a listener join the execution that all equal subscriptions share. */
  subscribe(operation: Operation, identity: Identity, listener: Listener, operationInfo: OperationInfo): void;
  /** Errors as JSON, as a client may see them. Notes their code as the outcome of the operation. */
  formatErrors(error: unknown, operationInfo: OperationInfo): string;
}

export function createSubscriptions(
  executor: Executor,
  read: OperationReader,
  deps: {
    readonly limits: SubscriptionLimits;
    readonly telemetry: Telemetry;
    readonly requestAdmission: Pick<RequestAdmission, 'countOperation' | 'beginOperation'>;
    readonly requestTelemetry: RequestTelemetry;
    readonly acceptedScopes: Pick<AcceptedScopes, 'add'>;
    readonly budget: MemoryBudget;
    scopeOf(credential: Credential): Scope;
  },
): Subscriptions {
  const executions = new Map<string, SharedExecution>();
  const { limits, telemetry, requestAdmission, requestTelemetry, acceptedScopes, budget, scopeOf } = deps;
  const connections = new ConnectionCounts(limits.connections);
  const claim = (identity: Identity) => budget.claim(scopeOf(identity.credential));

  function begin(key: string, operation: Operation, identity: Identity): SharedExecution {
    const scope = scopeOf(identity.credential);
    const requestIdentity = { ...requestIdentityOf(identity), scope };
    // Counts the newest text, which is kept for listeners that join later.
    const newest = claim(identity);
    const execution: SharedExecution = new SharedExecution(
      {
        open: signal => executor.source(operation, requestIdentity, signal),
        async render(value, signal) {
          const rendering = claim(identity);
          try {
            const answer = await executor.event(operation, value, requestIdentity, signal, rendering);
            if (answer.errors === undefined) acceptedScopes.add(scope);
            const text = responseText(answer, rendering);
            newest.force(text.length);
            return text;
          } finally {
            rendering.release();
          }
        },
        errors: error => JSON.stringify(executor.masked(error)),
      },
      () => {
        newest.release();
        if (executions.get(key) === execution) executions.delete(key);
      },
    );
    executions.set(key, execution);
    return execution;
  }

  async function joinExecution(
    key: string,
    operation: Operation,
    identity: Identity,
    listener: Listener,
  ): Promise<void> {
    for (let running = executions.get(key); running !== undefined; running = executions.get(key)) {
      await running.refresh();
      if (listener.isOver) return;
      if (executions.get(key) === running) return running.join(listener);
    }
    begin(key, operation, identity).join(listener);
  }

  return {
    limits,
    telemetry,
    requestTelemetry,
    get open() {
      return connections.open;
    },
    enter: ({ credential }) => connections.enter(scopeOf(credential)),
    async count({ address, credential }) {
      const refusal = await requestAdmission.countOperation(address, scopeOf(credential));
      if (refusal !== undefined) throw refusal;
    },
    claim,
    claimOf: address => budget.claim(address),
    scopeOf: ({ credential }) => scopeOf(credential),
    async read(client, operationRequest, operationInfo) {
      const operation = await read(client, operationRequest);
      if (operation instanceof RefusedOperation) throw operation;
      operationInfo.name = operationName(operation.name);
      operationInfo.type = operation.type;
      operationInfo.untrusted = operation.untrusted;
      return operation;
    },
    async single(operation, identity, signal, operationInfo, counted) {
      const scope = scopeOf(identity.credential);
      operationInfo.scope = scope;
      const end = requestAdmission.beginOperation(identity.address, scope);
      try {
        const requestIdentity = { ...requestIdentityOf(identity), scope };
        return await executor.single(operation, requestIdentity, signal, operationInfo, counted);
      } finally {
        end();
      }
    },
    subscribe(operation, identity, listener, operationInfo) {
      const { query, operationName, variables, lastEventId } = operation;
      const scope = scopeOf(identity.credential);
      operationInfo.scope = scope;
      const key = JSON.stringify([scope, query, operationName ?? null, variables ?? null, lastEventId]);
      void joinExecution(key, operation, identity, listener);
    },
    formatErrors(error, operationInfo) {
      const errors = executor.masked(error);
      operationInfo.outcome = causeOf(error) instanceof Overloaded ? overloadedOutcome : outcomeOfErrors(errors);
      return JSON.stringify(errors);
    },
  };
}

/** The response headers have been sent when an operation runs on a stream: it cannot set a cookie. */
function requestIdentityOf({ credential, address }: Identity): RequestIdentity {
  return {
    credential,
    address,
    requireCookies() {
      throw new Forbidden('Sign in over HTTP: a stream cannot set the cookie');
    },
    setSession() {},
    async endSession() {
      throw new Forbidden('Sign out over HTTP: a stream cannot clear the cookie');
    },
    // The cookie of an ended session stays until the client sends its next request over HTTP.
    clearSession() {},
  };
}
