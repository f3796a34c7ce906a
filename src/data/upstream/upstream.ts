import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { Abandoned, UpstreamFailure, UpstreamTimeout } from '../../errors.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Tracing } from '../../observability/tracing.js';
import { failureInWords } from '../../observability/warnings.js';
import type { CallAuth } from '../request-auth.js';
import { Breaker, type ScopeBreaker } from './breaker.js';
import { callOutcome, errorOfCall, errorOfReply, isTransient, warnOfService } from './call-errors.js';
import type { BrokenExchange } from './exchange.js';
import { createOrigins, type Origin, type UpstreamOptions } from './origins.js';
import type { Reply } from './reply.js';
import { pathAndQuery, type UpstreamRequest } from './request.js';

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

/** One call, which may take two attempts. */
interface Call {
  readonly request: UpstreamRequest;
  readonly auth: CallAuth;
  readonly origin: Origin;
  readonly breaker: ScopeBreaker;
  /** Aborts at the deadline, or when the caller no longer needs the reply. */
  readonly signal: AbortSignal;
}

const retryPauseMs = { min: 20, max: 120 };
const maxRetryTokens = 10;

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
  const retryBudget = new RetryBudget();

  function breakerOf(family: string): Breaker {
    const found = breakers.get(family);
    if (found !== undefined) return found;
    const breaker = new Breaker();
    breakers.set(family, breaker);
    return breaker;
  }

  /** Retries a safe request once, after a failure that may pass. */
  async function sendWithRetry(call: Call): Promise<Reply> {
    try {
      return await attempt(call);
    } catch (error) {
      if (!call.request.safe || !isTransient(error) || !retryBudget.spend()) throw error;
    }
    const pauseMs = retryPauseMs.min + Math.random() * (retryPauseMs.max - retryPauseMs.min);
    // If the signal aborts the pause, the attempt throws its reason.
    await sleep(pauseMs, undefined, { signal: call.signal }).catch(() => {});
    return attempt(call);
  }

  async function attempt(call: Call): Promise<Reply> {
    const { origin, breaker, signal } = call;
    await origin.bulkhead.enter(signal);
    try {
      signal.throwIfAborted();
      return await breaker.run(() => exchange(call));
    } finally {
      origin.bulkhead.leave();
    }
  }

  /** Sends the request, and records how that ended. @throws the error for a reply outside 200-299; BrokenExchange */
  async function exchange({ request, auth, origin, signal }: Call): Promise<Reply> {
    const span = tracing?.call(auth.metadata.operation.span);
    const startedAt = performance.now();
    const record = (status: number | null, failure?: BrokenExchange) => {
      const { method, family } = request;
      const milliseconds = performance.now() - startedAt;
      const outcome = callOutcome(failure);
      telemetry.upstreamCall({ family, status, milliseconds, outcome });
      const attributes = { 'http.request.method': method, 'http.response.status_code': status ?? undefined };
      const error = status === null ? outcome : status >= 400 ? String(status) : undefined;
      span?.end(`${method} ${family}`, attributes, error);
      auth.metadata.upstreamCalls.push({
        method,
        path: pathAndQuery(request),
        status,
        milliseconds,
        source: 'network',
      });
      if (outcome === 'broken' || outcome === 'timeout') {
        warnOfService(telemetry, request.address, failureInWords(failure?.cause));
      }
    };
    const reply = await origin.exchange(request, auth, span, signal).catch((failure: BrokenExchange) => {
      record(null, failure);
      throw failure;
    });
    record(reply.status);
    if (reply.status >= 200 && reply.status <= 299) return reply;
    const refusal = errorOfReply(reply, request);
    if (refusal instanceof UpstreamFailure) {
      warnOfService(telemetry, request.address, `${refusal.message} (HTTP ${reply.status})`);
    }
    throw refusal;
  }

  return {
    async send(request, auth, signal) {
      const origin = origins.to(request.address);
      const breaker = breakerOf(request.family).of(auth.scope);
      const { timeoutMs } = options;
      const controller = new AbortController();
      const expire = () => controller.abort(new UpstreamTimeout(`The service did not answer within ${timeoutMs} ms`));
      const abandon = () => controller.abort(new Abandoned('The caller no longer needs the reply'));
      if (signal?.aborted) abandon();
      signal?.addEventListener('abort', abandon);
      const deadline = setTimeout(expire, timeoutMs);
      retryBudget.earn();
      try {
        return await sendWithRetry({ request, auth, origin, breaker, signal: controller.signal });
      } catch (error) {
        throw errorOfCall(error, request.safe);
      } finally {
        clearTimeout(deadline);
        signal?.removeEventListener('abort', abandon);
      }
    },
    close: origins.close,
  };
}

/** Lets at most one retry through for every ten calls, so that retries cannot multiply the load on a failing service. */
class RetryBudget {
  #tokens = maxRetryTokens;

  /** Counts a call. */
  earn(): void {
    this.#tokens = Math.min(maxRetryTokens, this.#tokens + 0.1);
  }

  /** Whether a retry may go. If so, it is paid for. */
  spend(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
