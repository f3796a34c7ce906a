import type { Dispatcher } from 'undici';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Tracing } from '../../observability/tracing.js';
import type { CallAuth } from '../request-auth.js';
import { Breaker } from './breaker.js';
import { Call, RetryBudget } from './call.js';
import { createOrigins, type UpstreamOptions } from './origins.js';
import type { Reply } from './reply.js';
import type { UpstreamRequest } from './request.js';

/** The upstream service, as the domains see it. */
export interface Upstream {
  /**
   * Makes one call: it waits in the bulkhead, has one deadline over everything, is guarded by the circuit breaker of its endpoint family,
   * and is retried once if the request is safe.
   * @param signal aborts when the caller no longer needs the reply. Without one the call runs to its end.
   * @returns a reply of status 200-299.
   * @throws GatewayError: the service's refusal, or UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE, UPSTREAM_INVALID_RESPONSE, NOT_CONFIGURED; Abandoned if the signal aborted.
   */
  send(request: UpstreamRequest, auth: CallAuth, signal?: AbortSignal): Promise<Reply>;
  close(): Promise<void>;
}

/**
 * @param wire takes the place of the connection pools: the seam where a test fakes the service.
 * @param tracing undefined turns tracing off.
 */
export function createUpstream(
  options: UpstreamOptions,
  telemetry: Telemetry,
  wire?: Dispatcher,
  tracing?: Tracing,
): Upstream {
  const origins = createOrigins(options, wire);
  const breakers = new Map<string, Breaker>();
  const deps = { retryBudget: new RetryBudget(), telemetry, tracing, timeoutMs: options.timeoutMs };

  function breakerOf(family: string): Breaker {
    const found = breakers.get(family);
    if (found !== undefined) return found;
    const breaker = new Breaker();
    breakers.set(family, breaker);
    return breaker;
  }

  return {
    async send(request, auth, signal) {
      const origin = origins.to(request.address);
      const breaker = breakerOf(request.family).of(auth.scope);
      return new Promise((resolve, reject) => {
        new Call(deps, { request, auth, origin, breaker, signal }, resolve, reject).begin();
      });
    },
    close: origins.close,
  };
}
