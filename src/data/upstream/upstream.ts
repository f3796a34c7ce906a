import type { Dispatcher } from 'undici';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import type { MaybePromise } from '../../lib/maybe-promise.js';
import type { OpenBreakers } from '../../observability/metrics.js';
import type { Tracing } from '../../observability/operation-info.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { Breakers, perScope, RetryBudget } from './breaker.js';
import { CallBatch, type Calls } from './call-batch.js';
import { createOrigins, type UpstreamOptions } from './origins.js';
import type { Reply } from './reply.js';
import type { CallAuth, UpstreamRequest } from './request.js';

/** The upstream service, as the domains see it. */
export interface Upstream {
  /**
   * Makes the calls of a batch. Each waits in the bulkhead, is guarded by the circuit breaker of its scope at its endpoint family, and is retried once if
   * its request is safe. One deadline is over all of them. The receiver learns of each GatewayError: the service's refusal, or UPSTREAM_TIMEOUT,
   * UPSTREAM_UNAVAILABLE, UPSTREAM_INVALID_RESPONSE, NOT_CONFIGURED; of Abandoned if the signal aborted; and of what `read` throws.
   * @param signal aborts when the caller no longer needs the replies. Without one the calls run to their end.
   */
  sendBatch<T>(calls: Calls<T>, signal?: AbortSignal): Pick<CallBatch<T>, 'abort'>;
  /** Makes one call, as a batch of one. @returns what `read` returns @throws what the receiver of a batch learns */
  send<T>(
    request: UpstreamRequest,
    auth: CallAuth,
    read: (reply: Reply) => MaybePromise<T>,
    signal?: AbortSignal,
  ): Promise<T>;
  /** The open circuit breakers of each endpoint family that was called. */
  openBreakers(): OpenBreakers[];
  close(): Promise<void>;
}

/**
 * @param acceptedScopes learns under which scopes the service answers.
 * @param wire takes the place of the connection pools: the seam where a test fakes the service.
 * @param tracing undefined turns tracing off.
 */
export function createUpstream(
  options: UpstreamOptions,
  telemetry: Telemetry,
  acceptedScopes: AcceptedScopes,
  wire?: Dispatcher,
  tracing?: Tracing,
): Upstream {
  const origins = createOrigins(options, wire);
  const families = new Map<string, Breakers>();
  const retryBudgets = perScope(() => new RetryBudget());

  function breakersOf(family: string): Breakers {
    let breakers = families.get(family);
    if (breakers === undefined) {
      breakers = new Breakers(family, telemetry);
      families.set(family, breakers);
    }
    return breakers;
  }

  const deps = { acceptedScopes, telemetry, tracing, timeoutMs: options.timeoutMs, origins, retryBudgets, breakersOf };

  function sendBatch<T>(calls: Calls<T>, signal?: AbortSignal) {
    const batch = new CallBatch(deps, calls, signal);
    batch.begin();
    return batch;
  }

  return {
    sendBatch,
    send: (request, auth, read, signal) =>
      new Promise((resolve, reject) => {
        const receiver = {
          resolve: (_: number, value: never) => resolve(value),
          reject: (_: number, error: Error) => reject(error),
        };
        sendBatch({ requests: [request], auth, read: (_, reply) => read(reply), receiver }, signal);
      }),
    openBreakers: () => [...families].map(([family, { open }]) => ({ family, credentials: open })),
    close: origins.close,
  };
}
