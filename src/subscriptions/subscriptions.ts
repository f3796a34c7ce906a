// What all transports of subscriptions share: the open connections, and the executions that equal subscriptions join.
import { createHash } from 'node:crypto';
import type { Components } from '../context.js';
import { BadUserInput } from '../errors.js';
import type { OperationRequest } from '../graphql/limits/documents.js';
import type { RequestAdmission } from '../http/admission.js';
import type { Connections } from '../http/connections.js';
import type { GraphqlRouteDeps } from '../http/graphql/apollo.js';
import type { RequestState } from '../http/request-state.js';
import type { RequestTelemetry } from '../http/request-telemetry.js';
import type { Claim } from '../lib/memory-budget.js';
import type { OperationInfo } from '../observability/operation-info.js';
import type { Caller, Executor, ExecutorDeps, Operation } from './executor.js';
import { createSharedExecution, type Listener, type SharedExecution } from './shared-execution.js';

/** How much one client may have open at a time, and how long it may take, in milliseconds; unless a test sets others. */
export const defaultBounds = {
  /** Operations that may run or wait on one connection at a time. */
  operations: 100,
  /** Queries and mutations that are executed for one connection at a time. */
  executions: 16,
  /** How long a client may take to send `connection_init`. */
  initMs: 3_000,
  /** Between two heartbeats. A client that does not answer one before the next is disconnected, unless it still has much to read. */
  heartbeatMs: 15_000,
  /** How long a connection may have no operation. */
  idleMs: 300_000,
};

export type SubscriptionBounds = Readonly<typeof defaultBounds>;

/** What the transports are made with. Tests may set other bounds. */
export interface SubscriptionOptions
  extends ExecutorDeps,
    Pick<GraphqlRouteDeps, 'authentication' | 'documentChecks' | 'explains'>,
    Pick<Components, 'telemetry' | 'acceptedScopes'> {
  readonly requestAdmission: Pick<RequestAdmission, 'countOperation' | 'beginOperation' | 'stage'>;
  readonly requestTelemetry: RequestTelemetry;
  readonly connections: Pick<Connections, 'takeUpgrades'>;
  readonly bounds?: Partial<SubscriptionBounds> | undefined;
}

interface SubscriptionsDeps extends SubscriptionOptions {
  readonly executor: Executor;
  readonly bounds: SubscriptionBounds;
}

/** A connection or a response, while results can go to its client. */
interface OpenConnection {
  /** Lets its client know that the connection is alive, and finds out whether the client is. */
  heartbeat(): void;
  /** Ends it, once its queries and mutations have ended. */
  leave(): void;
}

export class Subscriptions {
  readonly deps: SubscriptionsDeps;
  /** Whether the gateway ends: then each connection that opens leaves at once. */
  isDraining = false;
  readonly open = new Set<OpenConnection>();
  readonly #executions = new Map<string, SharedExecution>();

  constructor(deps: SubscriptionsDeps) {
    this.deps = deps;
  }

  /**
   * Reads and admits the operation of a client, in its turn.
   * @param info gets what is found out about it.
   * @param claim counts its document.
   * @throws RefusedOperation, GraphQLError or GatewayError, each of which has a code.
   */
  async read(
    client: Pick<RequestState, 'scope' | 'credential'>,
    request: OperationRequest,
    info: OperationInfo,
    claim: Claim,
  ): Promise<Operation> {
    const { documentChecks } = this.deps;
    const { variables } = request;
    // An empty one is as good as none, as in a query string.
    const operationName = request.operationName || undefined;
    const query = documentChecks.documentText(request, info);
    if (query === undefined) throw new BadUserInput('query', 'is missing');
    const turn = this.deps.acceptedScopes.turnOf(client.scope);
    const document = await documentChecks.read(turn, query, claim);
    const checked = await documentChecks.checkOperation(
      { credential: client.credential, scope: turn },
      { document, operationName, variables },
      info,
    );
    return { query, operationName, variables, document, type: checked.operation };
  }

  /** Lets a listener join the execution that all equal subscriptions share. Never rejects. */
  async subscribe(operation: Operation, { identity, info }: Caller, listener: Listener): Promise<void> {
    const executions = this.#executions;
    const { query, operationName, variables, lastEventId } = operation;
    info.scope = identity.scope;
    const asked = [identity.scope, query, operationName ?? null, variables ?? null, lastEventId];
    const key = createHash('sha256').update(JSON.stringify(asked)).digest('base64url');
    for (let running = executions.get(key); running !== undefined; running = executions.get(key)) {
      await running.refresh();
      if (listener.isOver) return;
      // It may have ended meanwhile.
      if (executions.get(key) === running) return running.join(listener);
    }
    const execution: SharedExecution = createSharedExecution(operation, identity, this.deps, () => {
      if (executions.get(key) === execution) executions.delete(key);
    });
    executions.set(key, execution);
    execution.join(listener);
  }
}
