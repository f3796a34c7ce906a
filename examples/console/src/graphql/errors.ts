import { CombinedGraphQLErrors, type ErrorLike } from '@apollo/client';

/** What failed without a network is tried again after this time. */
export const RETRY_MS = 10_000;

/** Whether there is no response of the gateway at all. */
export function isUnreachable(error: ErrorLike | undefined): boolean {
  return error !== undefined && !CombinedGraphQLErrors.is(error);
}

/** The code of the first error (docs/reference.md of the gateway). Undefined if there is none. */
export function errorCode(error: ErrorLike | undefined): unknown {
  return CombinedGraphQLErrors.is(error) ? error.errors[0]?.extensions?.code : undefined;
}

/** Whether the gateway says that the same request may succeed later. */
export function isRetryable(error: ErrorLike): boolean {
  return CombinedGraphQLErrors.is(error) && error.errors.some(({ extensions }) => extensions?.retryable === true);
}
