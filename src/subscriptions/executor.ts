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
import { type Operation, Refused, withCode } from './operations.js';

/** What the doors for streams need: what the door for requests needs, and its server. */
export interface ExecutorDeps extends Pick<GraphqlRouteDeps, 'schema' | 'services' | 'deadlineMs' | 'introspection'> {
  readonly apollo: ApolloServer<Context>;
  /** Hears of errors that no client is shown. */
  readonly report: (error: unknown, requestId?: string) => void;
}

/** What came of an operation: an answer, or errors before there could be one. */
export type Outcome = { readonly answer: ExecutionOutcome } | { readonly errors: readonly GraphQLFormattedError[] };

type ExecutionOutcome = Pick<ExecutionResult, 'data' | 'extensions'> & {
  errors?: readonly GraphQLFormattedError[] | undefined;
};

/** Executes operations under the rules of the door for requests: the same masking, the same receipts, the same deadline. */
export interface Executor {
  /** A query or a mutation. */
  single(
    operation: Operation,
    visitor: RequestIdentity,
    signal: AbortSignal,
    trail: OperationInfo,
    claim: Claim,
  ): Promise<Outcome>;
  /** The source of a subscription, which ends when the signal aborts. @throws what the source is refused for. */
  source(operation: Operation, visitor: RequestIdentity, signal: AbortSignal): Promise<AsyncIterable<unknown>>;
  /** The answer to one event of a subscription, with loaders of its own. */
  event(
    operation: Operation,
    event: unknown,
    visitor: RequestIdentity,
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

  /** Runs something with a context whose signal ends with the deadline or with `signal`. */
  async function within<T>(
    visitor: RequestIdentity,
    signal: AbortSignal,
    trail: OperationInfo,
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
      return await run(createContext(services, visitor, controller, trail, claim));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  return {
    single: ({ query, operationName, variables }, visitor, signal, trail, claim) =>
      within(visitor, signal, trail, claim, async contextValue => {
        const request = {
          query,
          ...(operationName != null && { operationName }),
          ...(variables != null && { variables }),
        };
        const { body } = await apollo.executeOperation(request, { contextValue });
        if (body.kind !== 'single') throw new Error('Nothing here answers in parts');
        const { singleResult } = body;
        return singleResult.data === undefined ? { errors: singleResult.errors ?? [] } : { answer: singleResult };
      }),

    async source({ document, operationName, variables }, visitor, signal) {
      const source = await createSourceEventStream({
        schema,
        document,
        contextValue: createContext(services, visitor, { signal }),
        variableValues: variables,
        operationName,
      });
      if (Symbol.asyncIterator in source) return source;
      throw new Refused((source.errors ?? []).map(asBadInput));
    },

    event: ({ document, operationName, variables }, event, visitor, signal, claim) =>
      within(visitor, signal, newOperationInfo(), claim, async contextValue => {
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
      if (error instanceof Refused) return error.errors.map(each => mask(each));
      const message = error instanceof Error ? error.message : 'Unknown';
      return [
        mask(error instanceof GraphQLError ? error : new GraphQLError(message, { originalError: error as Error })),
      ];
    },
  };
}

/** Variables that do not fit are told apart as the door for requests does. */
function asBadInput(error: GraphQLError): GraphQLError {
  const isVariable = error.nodes?.[0]?.kind === Kind.VARIABLE_DEFINITION && error.message.startsWith('Variable "$');
  return isVariable ? withCode(error, 'BAD_USER_INPUT') : error;
}
