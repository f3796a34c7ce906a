import type { CircuitState } from 'cockatiel';
import type { Dispatcher } from 'undici';
import { Cancellation } from '../cancellation.js';
import { UpstreamTimeout } from '../errors.js';
import type { Telemetry } from '../telemetry.js';
import type { Tracing } from '../tracing.js';
import type { Asker } from './asker.js';
import { Breaker } from './breaker.js';
import type { Reply } from './exchange.js';
import { faultOf, mayPass, outcomeOf } from './fault.js';
import { createOrigins, type Origin, type UpstreamOptions } from './origins.js';
import { refusalOf } from './refusal.js';
import { pathAndQuery, type UpstreamRequest } from './request.js';
import { RetryBudget } from './retry-budget.js';

/** The whole of the service, as seen from a room. */
export interface Upstream {
  /**
   * One call under the policy of the house: a place in the bulkhead, one deadline over everything, a circuit breaker for its family,
   * one retry for a safe request. Resolves with a reply of status 200-299.
   * @param cancellation of its own: ends the call when nobody waits for it any more, and is told of the deadline. Without one the call goes on to its end.
   * @throws GatewayError: the service's refusal, or UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE, UPSTREAM_INVALID_RESPONSE, NOT_CONFIGURED; Abandoned where it was cancelled.
   */
  send(request: UpstreamRequest, asker: Asker, cancellation?: Cancellation): Promise<Reply>;
  close(): Promise<void>;
}

const retryPauseMs = { least: 20, most: 120 };

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
  const budget = new RetryBudget();
  const expire = (cancellation: Cancellation) =>
    cancellation.cancel(new UpstreamTimeout(`The service did not answer within ${options.timeoutMs} ms`));

  function breakerOf(family: string): Breaker {
    const found = breakers.get(family);
    if (found !== undefined) return found;
    const breaker = new Breaker();
    breakers.set(family, breaker);
    return breaker;
  }

  /** One exchange, written onto the asker's receipt and into the metrics and the trace. @throws the service's refusal; BrokenExchange */
  function call(origin: Origin, request: UpstreamRequest, asker: Asker, cancellation: Cancellation): Promise<Reply> {
    const span = tracing?.call(asker.receipt.trail.span);
    const startedAt = performance.now();
    const record = (status: number | null, failure?: unknown) => {
      const { method, family } = request;
      const milliseconds = performance.now() - startedAt;
      const outcome = outcomeOf(failure);
      telemetry.upstreamCall({ family, status, milliseconds, outcome });
      const attributes = { 'http.request.method': method, 'http.response.status_code': status ?? undefined };
      const error = status === null ? outcome : status >= 400 ? String(status) : undefined;
      span?.end(`${method} ${family}`, attributes, error);
      asker.receipt.lines.push({ method, path: pathAndQuery(request), status, milliseconds, source: 'network' });
    };
    return origin.exchange(request, asker, span, cancellation).then(
      reply => {
        record(reply.status);
        if (reply.status < 200 || reply.status > 299) throw refusalOf(reply, request);
        return reply;
      },
      error => {
        record(null, error);
        throw error;
      },
    );
  }

  return {
    // One function, since each that waits costs a kilobyte for as long as it does, and most calls wait for their turn.
    async send(request, asker, cancellation = new Cancellation()) {
      const timer = setTimeout(expire, options.timeoutMs, cancellation);
      budget.earn();
      try {
        cancellation.throwIfCancelled();
        const origin = origins.to(request.address);
        const breaker = breakerOf(request.family);
        for (let isLast = !request.safe; ; isLast = true) {
          const turn = origin.bulkhead.enter(cancellation);
          if (turn !== undefined) await turn;
          let enteredAs: CircuitState | undefined;
          try {
            enteredAs = breaker.enter();
            const reply = await call(origin, request, asker, cancellation);
            breaker.leave(enteredAs);
            return reply;
          } catch (error) {
            if (enteredAs !== undefined) breaker.leave(enteredAs, error);
            if (isLast || !mayPass(error) || !budget.spend()) throw error;
          } finally {
            origin.bulkhead.leave();
          }
          await pause(retryPauseMs.least + Math.random() * (retryPauseMs.most - retryPauseMs.least), cancellation);
        }
      } catch (error) {
        throw faultOf(error, request.safe);
      } finally {
        clearTimeout(timer);
      }
    },
    close: origins.close,
  };
}

function pause(milliseconds: number, cancellation: Cancellation): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    cancellation.onCancel(() => {
      clearTimeout(timer);
      reject(cancellation.reason);
    });
  });
}
