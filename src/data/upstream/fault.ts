import { BrokenCircuitError } from 'cockatiel';
import { Abandoned, GatewayError, UpstreamError, UpstreamTimeout, UpstreamUnavailable } from '../../errors.js';
import type { CallOutcome } from '../../observability/telemetry.js';
import { BulkheadFull } from './bulkhead.js';
import { BrokenExchange } from './exchange.js';

/** The client's error for whatever ended a call; the text names no address. */
export function faultOf(error: unknown, safe: boolean): Error {
  if (error instanceof GatewayError || error instanceof Abandoned) return error;
  if (error instanceof BulkheadFull) return new UpstreamUnavailable('Too many calls to the service are under way');
  if (error instanceof BrokenCircuitError) {
    return new UpstreamUnavailable('The service keeps failing; it is asked again in a few seconds');
  }
  if (!(error instanceof BrokenExchange)) return new UpstreamUnavailable('The call to the service failed');
  if (error.sent && !safe) return unknownOutcome(error);
  if (error.cause instanceof GatewayError || error.cause instanceof Abandoned) return error.cause;
  if (error.cause instanceof BulkheadFull)
    return new UpstreamUnavailable('Too much of the service is arriving at once');
  return new UpstreamUnavailable(
    error.sent ? 'The connection to the service broke' : 'The service could not be reached',
  );
}

/** A write that may or may not have been carried out must not be repeated blindly. */
function unknownOutcome(error: BrokenExchange): Error {
  const ErrorClass = error.cause instanceof UpstreamTimeout ? UpstreamTimeout : UpstreamUnavailable;
  return new ErrorClass(
    'The request was sent, but its outcome is unknown: look before you repeat it',
    undefined,
    false,
  );
}

/** How the exchange ended, in the words of the metrics. */
export function outcomeOf(error: unknown): CallOutcome {
  if (!(error instanceof BrokenExchange)) return 'answered';
  if (error.cause instanceof Abandoned) return 'abandoned';
  return error.cause instanceof UpstreamTimeout ? 'timeout' : 'broken';
}

/** Whether a second try may find the service well: a broken connection, or 502, 503, 504. */
export function mayPass(error: unknown): boolean {
  if (error instanceof BrokenExchange) return !finalCauses.some(cause => error.cause instanceof cause);
  return error instanceof UpstreamError && [502, 503, 504].includes(error.upstream?.status ?? 0);
}

/** What ends an exchange for good: nobody waits any more, no time is left, the answer would be as large again, or there is no room for it. */
const finalCauses = [Abandoned, GatewayError, BulkheadFull] as const;
