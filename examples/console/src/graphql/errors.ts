import { CombinedGraphQLErrors, type ErrorLike } from '@apollo/client';
import type { GatewayErrorCode, GatewayErrorExtensions } from '../../../../docs/gateway-errors';

/** What failed for something that may pass is tried again after this time. */
export const RETRY_MS = 10_000;

/** The errors of a response, each with what the gateway says about it, and the request that `requestIds` in `links.ts` adds. Empty without a response. */
export function errorsIn(error: ErrorLike | undefined) {
  if (!CombinedGraphQLErrors.is(error)) return [];
  return error.errors.map(({ message, extensions }) => ({
    message,
    ...(extensions as Partial<GatewayErrorExtensions> & { requestId?: string }),
  }));
}

export function hasCode(error: ErrorLike | undefined, code: GatewayErrorCode): boolean {
  return errorsIn(error).some(each => each.code === code);
}

export function isRetryable(error: ErrorLike): boolean {
  const errors = errorsIn(error);
  return errors.length === 0 || errors.some(({ retryable }) => retryable);
}
