import type { ApolloServer } from '@apollo/server';
import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLFormattedError,
  getOperationAST,
  Kind,
  type OperationTypeNode,
} from 'graphql';
import { z } from 'zod';
import { type Context, createContext, type RequestIdentity } from '../context.js';
import type { Feed } from '../data/polling/topic.js';
import { BadUserInput, UpstreamTimeout } from '../errors.js';
import type { Admission } from '../graphql/limits/admission.js';
import { RefusedOperation, withCode } from '../graphql/limits/documents.js';
import { executeRead } from '../http/graphql/apollo.js';
import type { GraphqlRouteDeps } from '../http/graphql/route.js';
import { maskError, toGraphqlError, withoutSuggestions } from '../http/mask-error.js';
import type { Claim } from '../lib/memory-budget.js';
import { newOperationInfo, type OperationInfo } from '../observability/operation-info.js';
import { addResponseMetadata } from '../observability/response-metadata.js';

/** A member of JSON that is an object. */
export const members = z.record(z.string(), z.unknown()).nullish();

/** The members of GraphQL over HTTP (request parameters). */
export const operationRequest = z.object({
  query: z.string().nullish(),
  documentId: z.string().nullish(),
  operationName: z.string().nullish(),
  variables: members,
  extensions: members,
});

/** The operation that a client wants executed. It has no `query` if a hash names the document. */
export type OperationRequest = z.output<typeof operationRequest>;

/** An operation that may be executed. */
export interface Operation extends Pick<OperationRequest, 'operationName' | 'variables'> {
  readonly query: string;
  readonly document: DocumentNode;
  readonly name: string | undefined;
  readonly type: OperationTypeNode;
  /** See `OperationInfo`. */
  readonly untrusted: string | undefined;
  /** The cursor behind which an EventSource continues after it has reconnected. */
  readonly lastEventId?: string | undefined;
}

/** Reads and admits the operation of a client, in its turn. Every error has a code. */
export type OperationReader = (
  client: string | undefined,
  operationRequest: OperationRequest,
) => Promise<Operation | RefusedOperation>;

export function createOperationReader(admission: Admission): OperationReader {
  const admitted: OperationReader = async (client, operationRequest) => {
    const { operationName, variables } = operationRequest;
    const query = admission.documentText(operationRequest);
    if (query === undefined) throw new BadUserInput('query', 'is missing');
    const document = await admission.read(client, query);
    if (document instanceof RefusedOperation) return document;
    const operation = getOperationAST(document, operationName);
    if (operation != null) {
      await admission.checkOperation(client, document, operationName, variables ?? undefined);
      const untrusted = admission.untrustedHash(operationRequest, query);
      const name = operation.name?.value;
      return { query, operationName, variables, document, type: operation.operation, name, untrusted };
    }
    return new RefusedOperation([
      withCode(new GraphQLError('Unable to identify the operation'), 'OPERATION_RESOLUTION_FAILURE'),
    ]);
  };

  return async (client, operationRequest) => {
    try {
      return await admitted(client, operationRequest);
    } catch (error) {
      const refused = toGraphqlError(error);
      if (refused instanceof GraphQLError) return new RefusedOperation([refused]);
      throw error;
    }
  };
}

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
  source(operation: Operation, requestIdentity: RequestIdentity, signal: AbortSignal): Promise<Feed<unknown>>;
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
    single: (operation, requestIdentity, signal, operationInfo, claim) =>
      within(requestIdentity, signal, operationInfo, claim, async contextValue => {
        const { body } = await executeRead(apollo, operation, contextValue);
        if (body.kind !== 'single') throw new Error('Incremental responses are not supported here');
        const { singleResult } = body;
        return singleResult.data === undefined ? { errors: singleResult.errors ?? [] } : { answer: singleResult };
      }),

    async source({ document, operationName, variables, lastEventId }, requestIdentity, signal) {
      const source = await createSourceEventStream({
        schema,
        document,
        contextValue: createContext(services, { ...requestIdentity, lastEventId }, { signal }),
        variableValues: variables,
        operationName,
      });
      // Every field of the schema's Subscription returns a feed.
      if (Symbol.asyncIterator in source) return source as Feed<unknown>;
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
