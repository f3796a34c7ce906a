import { unwrapResolverError } from '@apollo/server/errors';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { Abandoned, GatewayError } from '../errors.js';

/** Codes of errors that GraphQL itself makes before it executes anything; their text speaks of the document alone. */
const documentErrors = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'OPERATION_RESOLUTION_FAILURE',
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

/**
 * The one boundary that every error of every door passes: an error of ours shows its text and code, one of GraphQL's own its text,
 * and anything else nothing but that it happened.
 * @param report hears of what is not shown.
 */
export function maskError(
  formatted: GraphQLFormattedError,
  error: unknown,
  report: (error: unknown) => void,
): GraphQLFormattedError {
  const { locations, path } = formatted;
  const place = { ...(locations && { locations }), ...(path && { path }) };
  const cause = causeOf(error);
  if (cause instanceof GatewayError) return { message: cause.message, ...place, extensions: cause.extensions };

  const code = formatted.extensions?.code;
  if (cause instanceof GraphQLError && typeof code === 'string' && documentErrors.has(code)) {
    return { message: formatted.message, ...place, extensions: { code, ...argumentOf(code, formatted.message) } };
  }
  const argument = unfitArgument(cause);
  if (argument !== undefined) {
    return { message: formatted.message, ...place, extensions: { code: 'BAD_USER_INPUT', argument } };
  }
  if (!(cause instanceof Abandoned)) report(cause);
  return { message: 'Internal server error', ...place, extensions: { code: 'INTERNAL_SERVER_ERROR' } };
}

/** The same without the names of the schema that GraphQL proposes for one that is not in it. */
export function withoutSuggestions(error: GraphQLFormattedError): GraphQLFormattedError {
  return { ...error, message: error.message.replace(/ Did you mean .*\?$/s, '') };
}

/** What was thrown: by a resolver, or by a door that refused the whole request. */
export function causeOf(error: unknown): unknown {
  const cause = unwrapResolverError(error);
  const refused = cause instanceof GraphQLError && cause.originalError instanceof GatewayError;
  return refused ? cause.originalError : cause;
}

/** An error of ours for a door that must refuse a whole request, with its HTTP status. */
export function refusal(error: unknown): unknown {
  if (!(error instanceof GatewayError)) return error;
  const extensions = { ...error.extensions, http: { status: error.httpStatus } };
  return new GraphQLError(error.message, { originalError: error, extensions });
}

/** The argument that GraphQL itself finds at fault when it executes a field: it is null by way of a variable that has a default. */
function unfitArgument(cause: unknown): string | undefined {
  if (!(cause instanceof GraphQLError) || cause.originalError !== undefined) return undefined;
  return /^Argument "(\w+)" (?:of|has) /.exec(cause.message)?.[1];
}

/** A variable that does not fit its type is bad input like any other: the client is told which. */
function argumentOf(code: string, message: string): { argument?: string } {
  const [, variable] = /^Variable "\$(\w+)"/.exec(message) ?? [];
  return code === 'BAD_USER_INPUT' && variable !== undefined ? { argument: variable } : {};
}
