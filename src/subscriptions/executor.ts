import type { ApolloServer } from '@apollo/server';
import {
  createSourceEventStream,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLFormattedError,
  Kind,
} from 'graphql';
import { type Context, createContext, type RequestIdentity } from '../context.js';
import { UpstreamTimeout } from '../errors.js';
import type { GraphqlRouteDeps } from '../http/graphql/route.js';
import { maskError, withoutSuggestions } from '../http/mask-error.js';
import type { Claim } from '../lib/memory-budget.js';
import { newOperationInfo, type OperationInfo } from '../observability/operation-info.js';
import { addResponseMetadata } from '../observability/response-metadata.js';
import { type Operation, RefusedOperation, withCode } from './operations.js';

/** What executing needs: the dependencies of the GraphQL route, and its Apollo server. */
export interface ExecutorDeps extends Pick<GraphqlRouteDeps, 'schema' | 'services' | 'deadlineMs' | 'introspection'> {
  readonly apollo: ApolloServer<Context>;
  /** Receives errors that clients do not see. */
  readonly report: (error: unknown, requestId?: string) => void;
}

/** The result of an operation: a response with data, or errors from before the execution. */
export type Outcome = { readonly answer: ExecutionOutcome } | { readonly errors: readonly GraphQLFormattedError[] };

type ExecutionOutcome = Pick<ExecutionResult, 'data' | 'extensions'> & {
  errors?: readonly GraphQLFormattedError[] | undefined;
};

/** Executes operations by the rules of the GraphQL route: the same masking, response metadata and deadline. */
export interface Executor {
  /** A query or a mutation. */
  single(
    operation: Operation,
    requestIdentity: RequestIdentity,
    signal: AbortSignal,
    operationInfo: OperationInfo,
    claim: Claim,
  ): Promise<Outcome>;
  /** The source stream of a subscription, which ends when the signal aborts. @throws RefusedOperation, GatewayError if the subscription cannot start. */
  source(operation: Operation, requestIdentity: RequestIdentity, signal: AbortSignal): Promise<AsyncIterable<unknown>>;
  /** The response to one event of a subscription, with loaders of its own. */
  event(
    operation: Operation,
    event: unknown,
    requestIdentity: RequestIdentity,
    signal: AbortSignal,
    claim: Claim,
  ): Promise<ExecutionOutcome>;
  /** Errors as a client may see them. */
  masked(error: unknown): readonly GraphQLFormattedError[];
}

export function createExecutor({
  schema,
  services,
  deadlineMs,
  introspection,
  apollo,
  report,
}: ExecutorDeps): Executor {
  const mask = (error: GraphQLError, requestId?: string) => {
    const masked = maskError(error.toJSON(), error, cause => report(cause, requestId));
    return introspection ? masked : withoutSuggestions(masked);
  };

  /** Runs a function with a context whose signal aborts at the deadline or with `signal`. */
  async function within<T>(
    requestIdentity: RequestIdentity,
    signal: AbortSignal,
    operationInfo: OperationInfo,
    claim: Claim,
    run: (context: Context) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    const abort = () => controller.abort(signal.reason);
    const late = () => controller.abort(new UpstreamTimeout(`The request took longer than ${deadlineMs} ms`));
    const timer = setTimeout(late, deadlineMs);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await run(createContext(services, requestIdentity, controller, operationInfo, claim));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  return {
    single: ({ query, operationName, variables }, requestIdentity, signal, operationInfo, claim) =>
      within(requestIdentity, signal, operationInfo, claim, async contextValue => {
        const request = {
          query,
          ...(operationName != null && { operationName }),
          ...(variables != null && { variables }),
        };
        const { body } = await apollo.executeOperation(request, { contextValue });
        if (body.kind !== 'single') throw new Error('Incremental responses are not supported here');
        const { singleResult } = body;
        return singleResult.data === undefined ? { errors: singleResult.errors ?? [] } : { answer: singleResult };
      }),

    async source({ document, operationName, variables }, requestIdentity, signal) {
      const source = await createSourceEventStream({
        schema,
        document,
        contextValue: createContext(services, requestIdentity, { signal }),
        variableValues: variables,
        operationName,
      });
      if (Symbol.asyncIterator in source) return source;
      throw new RefusedOperation((source.errors ?? []).map(asBadUserInput));
    },

    event: ({ document, operationName, variables }, event, requestIdentity, signal, claim) =>
      within(requestIdentity, signal, newOperationInfo(), claim, async contextValue => {
        const { data, errors } = await execute({
          schema,
          document,
          rootValue: event,
          contextValue,
          variableValues: variables,
          operationName,
        });
        const answer: ExecutionOutcome = {
          data: data ?? null,
          ...(errors && { errors: errors.map(error => mask(error, contextValue.metadata.operation.id)) }),
        };
        addResponseMetadata(answer, contextValue.metadata, false);
        return answer;
      }),

    masked(error) {
      if (error instanceof RefusedOperation) return error.errors.map(each => mask(each));
      const message = error instanceof Error ? error.message : 'Unknown';
      return [
        mask(error instanceof GraphQLError ? error : new GraphQLError(message, { originalError: error as Error })),
      ];
    },
  };
}

/** Gives wrong variables the code that the GraphQL route gives them. */
function asBadUserInput(error: GraphQLError): GraphQLError {
  const isVariable = error.nodes?.[0]?.kind === Kind.VARIABLE_DEFINITION && error.message.startsWith('Variable "$');
  return isVariable ? withCode(error, 'BAD_USER_INPUT') : error;
}
