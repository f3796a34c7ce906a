import type { AcceptedScopes } from '../auth/accepted-scopes.js';
import type { Scope } from '../auth/credentials.js';
import type { Services } from '../context.js';
import type { Admission } from '../graphql/limits/admission.js';
import type { RequestAdmission } from '../http/admission.js';
import type { Identity } from '../http/authentication.js';
import type { RequestState } from '../http/request-state.js';
import type { RequestTelemetry } from '../http/request-telemetry.js';
import type { MemoryBudget } from '../lib/memory-budget.js';
import type { OperationInfo } from '../observability/operation-info.js';
import type { Telemetry } from '../observability/telemetry.js';
import type { Executor } from './executor.js';
import type { SubscriptionBounds } from './limits.js';
import { type Operation, type OperationRequest, readOperation } from './operations.js';
import { type Listener, SharedExecution } from './shared-execution.js';

interface SubscriptionsDeps {
  readonly bounds: SubscriptionBounds;
  readonly executor: Executor;
  readonly budget: MemoryBudget;
  readonly telemetry: Pick<Telemetry, 'listeners'>;
  readonly requestTelemetry: RequestTelemetry;
  readonly admission: Admission;
  readonly services: Pick<Services, 'teams'>;
  readonly requestAdmission: Pick<RequestAdmission, 'countOperation'>;
  readonly acceptedScopes: Pick<AcceptedScopes, 'add'>;
  /** Whether the header `x-explain: 1` is honored. */
  readonly explains: boolean;
}

/** What the transports share: connections are counted here, and equal subscriptions meet. */
export class Subscriptions {
  readonly deps: SubscriptionsDeps;
  readonly #executions = new Map<string, SharedExecution>();
  readonly #connections = new Map<Scope, number>();

  constructor(deps: SubscriptionsDeps) {
    this.deps = deps;
  }

  /** Counts a connection. Returns a function that ends the count, to be called once; undefined if the credential has too many. */
  enter({ scope }: Identity): (() => void) | undefined {
    const connections = this.#connections;
    const count = connections.get(scope) ?? 0;
    if (count >= this.deps.bounds.connections) return undefined;
    connections.set(scope, count + 1);
    return () => {
      const left = (connections.get(scope) ?? 0) - 1;
      if (left > 0) connections.set(scope, left);
      else connections.delete(scope);
    };
  }

  /** Applies the rate limit to an operation that came over an open connection. @throws RateLimited, Overloaded */
  async count(identity: Identity): Promise<void> {
    const refusal = await this.deps.requestAdmission.countOperation(identity);
    if (refusal !== undefined) throw refusal;
  }

  /** Reads the operation of a client. @throws as `readOperation` does. */
  async read(
    { scope, credential }: Pick<RequestState, 'scope' | 'credential'>,
    request: OperationRequest,
    operationInfo: OperationInfo,
  ): Promise<Operation> {
    const { admission, services } = this.deps;
    const { upstreamCalls } = services.teams.current.limitsOf(credential);
    return readOperation(admission, scope, request, operationInfo, upstreamCalls);
  }

  /** Lets a listener join the execution that all equal subscriptions share. Never rejects. */
  async subscribe(
    operation: Operation,
    identity: Identity,
    listener: Listener,
    operationInfo: OperationInfo,
  ): Promise<void> {
    const executions = this.#executions;
    const { query, operationName, variables, lastEventId } = operation;
    operationInfo.scope = identity.scope;
    const key = JSON.stringify([identity.scope, query, operationName ?? null, variables ?? null, lastEventId]);
    for (let running = executions.get(key); running !== undefined; running = executions.get(key)) {
      await running.refresh();
      if (listener.isOver) return;
      // It may have ended meanwhile.
      if (executions.get(key) === running) return running.join(listener);
    }
    const execution: SharedExecution = new SharedExecution(operation, identity, this.deps, () => {
      if (executions.get(key) === execution) executions.delete(key);
    });
    executions.set(key, execution);
    execution.join(listener);
  }
}
