import type { Dispatcher } from 'undici';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Tracing } from '../../observability/tracing.js';
import type { CallAuth } from '../request-auth.js';
import { Breaker } from './breaker.js';
import { Call, type CallDeps } from './call.js';
import { Cancellation } from './cancellation.js';
import { createOrigins, type UpstreamOptions } from './origins.js';
import type { Reply } from './reply.js';
import type { UpstreamRequest } from './request.js';
import { RetryBudget } from './retry-budget.js';

/** The whole of the service, as seen from a domain. */
export interface Upstream {
  /**
   * One call under the policy of the house: a place in the bulkhead, one deadline over everything, a circuit breaker for its family,
   * one retry for a safe request. Resolves with a reply of status 200-299.
   * @param cancellation of its own: ends the call when nobody waits for it any more, and is told of the deadline. Without one the call goes on to its end.
   * @throws GatewayError: the service's refusal, or UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE, UPSTREAM_INVALID_RESPONSE, NOT_CONFIGURED; Abandoned where it was cancelled.
   */
  send(request: UpstreamRequest, auth: CallAuth, cancellation?: Cancellation): Promise<Reply>;
  close(): Promise<void>;
}

/**
 * @param wire takes the place of the connection pools: the seam where a test fakes the service.
 * @param tracing undefined: nothing is traced.
 */
export function createUpstream(
  options: UpstreamOptions,
  telemetry: Telemetry,
  wire?: Dispatcher,
  tracing?: Tracing,
): Upstream {
  const origins = createOrigins(options, wire);
  const breakers = new Map<string, Breaker>();
  const parts: CallDeps = { budget: new RetryBudget(), telemetry, tracing, timeoutMs: options.timeoutMs };

  function breakerOf(family: string): Breaker {
    const found = breakers.get(family);
    if (found !== undefined) return found;
    const breaker = new Breaker();
    breakers.set(family, breaker);
    return breaker;
  }

  return {
    send: (request, auth, cancellation = new Cancellation()) =>
      new Promise((resolve, reject) => {
        const origin = origins.to(request.address);
        const breaker = breakerOf(request.family).of(auth.scope);
        new Call(parts, { request, auth, origin, breaker, cancellation }, resolve, reject).start();
      }),
    close: origins.close,
  };
}
