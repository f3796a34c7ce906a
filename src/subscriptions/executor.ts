// Executes the operations that arrive on streams and sockets, by the rules of the GraphQL route.
import {
  createSourceEventStream,
  type DocumentNode,
  type FormattedExecutionResult,
  type OperationTypeNode,
} from 'graphql';
import { type BrowserSession, Context, type RequestIdentity } from '../context.js';
import type { Feed } from '../data/polling/topic.js';
import { Forbidden, GatewayError } from '../errors.js';
import { type ExecutionInput, executeOperation } from '../graphql/executor/execute.js';
import { bytesOfDocument } from '../graphql/limits/bounds.js';
import { type OperationRequest, RefusedOperation } from '../graphql/limits/documents.js';
import type { Identity } from '../http/authentication.js';
import { type GraphqlRouteDeps, startDeadline } from '../http/graphql/apollo.js';
import { causeOf, errorsIn } from '../http/mask-error.js';
import { bytesOfValue, type Claim, type MemoryBudget, SharedClaims } from '../lib/memory-budget.js';
import { sharedRun, takeTurn } from '../lib/run.js';
import { newOperationInfo, type OperationInfo, outcomeOfErrors } from '../observability/operation-info.js';
import { type Reports, ResponseMetadata, responseExtensions } from '../observability/response-metadata.js';

export interface Operation extends Pick<OperationRequest, 'operationName' | 'variables'> {
  readonly query: string;
  readonly document: DocumentNode;
  readonly type: OperationTypeNode;
  readonly lastEventId?: string | undefined;
  readonly reports?: Reports;
}

/** Who runs an operation, and what logs and metrics will say of it. */
export interface Caller {
  readonly identity: Identity;
  readonly info: OperationInfo;
}

export type ExecutorDeps = Pick<
  GraphqlRouteDeps,
  'schema' | 'components' | 'executePlanned' | 'deadlineMs' | 'mask' | 'budget'
>;

type Outcome = FormattedExecutionResult<unknown>;

export interface Failure {
  /** The errors as a client may see them, as JSON. */
  readonly errors: string;
  readonly outcome: string;
}

export type Executor = ReturnType<typeof createExecutor>;

/** So often is an operation in memory: as it was sent, and in what is polled for it. */
const copies = 2;

/** Counts what running subscriptions hold: each its operation, and all together the documents that they share. */
function createHeldClaims(budget: MemoryBudget) {
  const documents = new SharedClaims();
  const held = new WeakMap<Operation, readonly Claim[]>();
  return {
    /** Counts a subscription until the signal aborts. @throws Overloaded, RateLimited if there is no room for it. */
    hold(operation: Operation, identity: Identity, signal: AbortSignal): void {
      const { query, document, operationName, variables, lastEventId } = operation;
      const claim = budget.claim(identity);
      signal.addEventListener('abort', () => claim.release());
      claim.reserve(copies * bytesOfValue([query, operationName, variables, lastEventId]));
      const ofDocument = documents.hold(document, () => {
        const first = budget.claim(identity);
        first.reserve(bytesOfDocument(query));
        return first;
      });
      signal.addEventListener('abort', ofDocument.letGo);
      held.set(operation, [claim, ofDocument.claim]);
    },

    /** Counts a subscription for its credential, if the service has accepted that meanwhile. */
    moveToOwner(operation: Operation): void {
      for (const claim of held.get(operation) ?? []) claim.moveToOwner();
    },
  };
}

/** Executes one operation, or one event of a subscription. Stops waiting for the service at the deadline, or when the signal aborts. */
async function execute(
  deps: ExecutorDeps,
  { document, operationName, variables }: Operation,
  identity: Identity,
  signal: AbortSignal,
  metadata: ResponseMetadata,
  event?: Pick<ExecutionInput, 'rootValue' | 'turn'>,
): Promise<Outcome> {
  const { components, deadlineMs, mask } = deps;
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  const timer = startDeadline(controller, deadlineMs);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    const { data = null, errors } = await executeOperation(deps, {
      ...event,
      document,
      operationName,
      variables: variables ?? undefined,
      context: new Context(components, requestIdentityOf(identity), controller, metadata),
      client: components.acceptedScopes.turnOf(identity.scope),
    });
    const masked = errors?.map(error => mask(error, metadata.operation.id));
    const extensions = responseExtensions(metadata);
    return { data, ...(masked && { errors: masked }), ...(extensions && { extensions }) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

/** Executes operations by the rules of the GraphQL route: the same masking, response metadata and deadline. */
export function createExecutor(deps: ExecutorDeps) {
  const claims = createHeldClaims(deps.budget);
  return {
    /** Executes a query or a mutation that was checked, and counts as an operation already. */
    async single(operation: Operation, caller: Caller, signal: AbortSignal, claim: Claim): Promise<Outcome> {
      const { identity, info } = caller;
      info.scope = identity.scope;
      const metadata = new ResponseMetadata(info, claim, operation.reports);
      const outcome = await execute(deps, operation, identity, signal, metadata);
      info.outcome = outcomeOfErrors(outcome.errors);
      return outcome;
    },

    /** Begins a subscription that was checked, and counts its memory. Its feed ends when the signal aborts. @throws RefusedOperation, GatewayError if it cannot begin. */
    async feed(operation: Operation, identity: Identity, signal: AbortSignal): Promise<Feed<unknown>> {
      // What is held is given back when it aborts.
      signal.throwIfAborted();
      claims.hold(operation, identity, signal);
      const { document, operationName, variables: variableValues, lastEventId } = operation;
      const { schema, components } = deps;
      const contextValue = new Context(components, { ...requestIdentityOf(identity), lastEventId }, { signal });
      const source = await createSourceEventStream({ schema, document, contextValue, variableValues, operationName });
      // Every field of the schema's `Subscription` returns a feed.
      if (Symbol.asyncIterator in source) return source as Feed<unknown>;
      throw new RefusedOperation(source.errors ?? []);
    },

    /** The response to one value of a feed, with loaders of its own. Values of all feeds take turns. @throws the signal's reason */
    async event(
      operation: Operation,
      rootValue: unknown,
      identity: Identity,
      signal: AbortSignal,
      claim: Claim,
    ): Promise<Outcome> {
      const turn = sharedRun(async () => {
        await takeTurn(deps.components.acceptedScopes.turnOf(identity.scope));
        signal.throwIfAborted();
      });
      // Before its deadline begins.
      await turn();
      // Most likely, the service has accepted the credential since the subscription began.
      claims.moveToOwner(operation);
      const metadata = new ResponseMetadata(newOperationInfo(), claim);
      return execute(deps, operation, identity, signal, metadata, { rootValue, turn });
    },

    failure(error: unknown, requestId?: string): Failure {
      const errors = errorsIn(error).map(each => deps.mask(each, requestId));
      const cause = causeOf(error);
      const outcome = cause instanceof GatewayError ? cause.outcome : outcomeOfErrors(errors);
      return { errors: JSON.stringify(errors), outcome };
    },
  };
}

const requestIdentityOf = (identity: Identity): RequestIdentity => ({ ...identity, session: withoutCookies });

/** The response headers have been sent when an operation runs on a stream: it cannot set a cookie. */
const withoutCookies: BrowserSession = {
  async begin() {
    throw new Forbidden('Sign in over HTTP: a stream cannot set the cookie');
  },
  async end() {
    throw new Forbidden('Sign out over HTTP: a stream cannot clear the cookie');
  },
  // The cookie of an ended session stays until the client sends its next request over HTTP.
  expire() {},
};
