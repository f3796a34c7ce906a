import { Abandoned, GatewayError, UpstreamError } from '../../errors.js';
import { BulkheadFull } from '../../lib/bulkhead.js';
import { BrokenExchange } from './exchange.js';

const maxTokens = 10;
const pausesMs = { min: 20, max: 120 };

/** Lets at most one retry through for every ten calls of a scope, so that retries cannot multiply the load on a failing service. */
export class RetryBudget {
  #tokens = maxTokens;

  /** Counts so many calls. */
  earn(calls: number): void {
    this.#tokens = Math.min(maxTokens, this.#tokens + calls / 10);
  }

  /**
   * The pause before a second attempt, in milliseconds; undefined if there must be none. An attempt that is allowed is paid for.
   * @param deadlineAt in milliseconds of `performance.now()`.
   */
  pauseAfter(error: unknown, deadlineAt: number): number | undefined {
    const askedMs = error instanceof GatewayError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
    const pauseMs = askedMs + pausesMs.min + Math.random() * (pausesMs.max - pausesMs.min);
    const hasTime = performance.now() + pauseMs < deadlineAt;
    if (!isTransient(error) || !hasTime || this.#tokens < 1) return undefined;
    this.#tokens -= 1;
    return pauseMs;
  }
}

/** Whether a second attempt may succeed: after a broken connection, or 502, 503, 504. */
function isTransient(error: unknown): boolean {
  if (error instanceof BrokenExchange) return !permanentCauses.some(cause => error.cause instanceof cause);
  return error instanceof UpstreamError && [502, 503, 504].includes(error.upstream?.status ?? 0);
}

/** The caller has gone, no time is left, the body would be too large again, or there is no memory for it. */
const permanentCauses = [Abandoned, GatewayError, BulkheadFull] as const;
