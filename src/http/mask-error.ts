// What a client may see of an error.
import { unwrapResolverError } from '@apollo/server/errors';
import type { FastifyBaseLogger } from 'fastify';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { Abandoned, GatewayError } from '../errors.js';
import { withoutValue } from '../graphql/argument-errors.js';
import { RefusedOperation } from '../graphql/limits/documents.js';

/** Codes of errors that GraphQL itself finds in the document or its variables, where the request is well-formed otherwise. */
export const documentErrors: ReadonlySet<string> = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'OPERATION_RESOLUTION_FAILURE',
  'BAD_USER_INPUT',
]);

/** Codes of errors from before the execution. Their messages describe only the request. */
const requestErrors: ReadonlySet<string> = new Set([...documentErrors, 'BAD_REQUEST', 'PERSISTED_QUERY_NOT_FOUND']);

export type ErrorMask = ReturnType<typeof createErrorMask>;

/**
 * Every error that a client sees on any transport passes this function. The gateway's own errors show their message and code, and GraphQL's
 * errors their message. Any other error shows only that it happened, and is logged.
 * @param introspection whether messages may suggest names of the schema.
 */
export const createErrorMask =
  (introspection: boolean, log: Pick<FastifyBaseLogger, 'error'>) =>
  (
    error: GraphQLError,
    requestId?: string,
    formatted: GraphQLFormattedError = error.toJSON(),
  ): GraphQLFormattedError => {
    const { locations, path } = formatted;
    const place = { ...(locations && { locations }), ...(path && { path }) };
    const cause = causeOf(error);
    if (cause instanceof GatewayError) return { message: cause.message, ...place, extensions: cause.extensions };

    const known = withoutValue(formatted.message);
    const message = introspection ? known : known.replace(/ Did you mean .*\?$/s, '');
    const code = formatted.extensions?.code;
    if (cause instanceof GraphQLError && typeof code === 'string' && requestErrors.has(code)) {
      const { argument } = formatted.extensions ?? {};
      return { message, ...place, extensions: { code, ...(argument !== undefined && { argument }) } };
    }
    if (!(cause instanceof Abandoned)) log.error({ err: cause, requestId }, 'Unexpected');
    return { message: 'Internal server error', ...place, extensions: { code: 'INTERNAL_SERVER_ERROR' } };
  };

/** The error that a resolver threw, or that ended the whole request. */
export function causeOf(error: unknown): unknown {
  const cause = unwrapResolverError(error);
  const original = cause instanceof GraphQLError ? cause.originalError : undefined;
  return original instanceof GatewayError || original instanceof Abandoned ? original : cause;
}

/** The errors for which an operation is not executed, as GraphQL errors with their HTTP status, except those of a document: 400. */
export function errorsIn(error: unknown): readonly GraphQLError[] {
  if (error instanceof RefusedOperation) return error.errors;
  const known = toGraphqlError(error);
  if (known instanceof GraphQLError) return [known];
  const originalError = error as Error;
  return [new GraphQLError(originalError.message, { originalError, extensions: { http: { status: 500 } } })];
}

/** An error of the gateway that refuses a whole request, as a GraphQL error with its HTTP status. Other errors stay as they are. */
export function toGraphqlError(error: unknown): unknown {
  if (!(error instanceof GatewayError)) return error;
  const extensions = { ...error.extensions, http: { status: error.httpStatus } };
  return new GraphQLError(error.message, { originalError: error, extensions });
}
