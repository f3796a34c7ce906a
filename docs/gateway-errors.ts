// For TypeScript clients, to copy: what the errors of the gateway carry. docs/reference.md says when each code occurs.

/** The value of `extensions.code`. */
export type GatewayErrorCode =
  | 'BAD_REQUEST'
  | 'BAD_USER_INPUT'
  | 'CONFLICT'
  | 'FORBIDDEN'
  | 'GRAPHQL_PARSE_FAILED'
  | 'GRAPHQL_VALIDATION_FAILED'
  | 'INTERNAL_SERVER_ERROR'
  | 'NOT_CONFIGURED'
  | 'NOT_FOUND'
  | 'NOT_QUERYABLE'
  | 'OPERATION_RESOLUTION_FAILURE'
  | 'PERSISTED_QUERY_NOT_FOUND'
  | 'QUERY_TOO_COMPLEX'
  | 'RATE_LIMITED'
  | 'SIGN_IN_FAILED'
  | 'UNAUTHENTICATED'
  | 'UPSTREAM_INVALID_RESPONSE'
  | 'UPSTREAM_TIMEOUT'
  | 'UPSTREAM_UNAVAILABLE';

/** `extensions` of an entry in `errors`. A later release may add codes and members. */
export interface GatewayErrorExtensions {
  readonly code: GatewayErrorCode;
  /** Which argument is wrong: a path within the arguments of the field, such as `input.searchCriteria.count`. */
  readonly argument?: string;
  /** When to try again, in seconds. */
  readonly retryAfterSeconds?: number;
  /** Whether the same request may succeed if it is sent again. If it is false for a mutation, check its effect first. */
  readonly retryable?: boolean;
  /** How the service answered, if it caused the error: the HTTP status, and its own code. */
  readonly upstream?: { readonly status: number | null; readonly errorCode: string | null };
  /** With `QUERY_TOO_COMPLEX`: what exceeds its limit, by how much, and the limit. */
  readonly measure?: string;
  readonly value?: number;
  readonly limit?: number;
  /** With `UPSTREAM_INVALID_RESPONSE`: the type of a record that was left out, its identifier if it is known, its place in the list, and its invalid fields. */
  readonly record?: string;
  readonly id?: string | null;
  readonly index?: number;
  readonly fields?: readonly string[];
}
