// What protects a failing service: a circuit breaker, and a budget of retries, for each scope.
import { BrokenCircuitError } from 'cockatiel';
import type { ScopeOrNone } from '../../auth/credentials.js';
import { GatewayError, retryAfterMs, UpstreamError } from '../../errors.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { isFailureOfService, isOurOwn } from './call-errors.js';
import { BrokenExchange } from './exchange.js';

/** Calls count for ten seconds. With fewer than twenty, the failure rate means nothing. */
const sampleMs = 10_000;
const minCalls = 20;
const openMs = 5_000;

const openedWords = `it opened for one credential, because more than half of its calls failed; for ${openMs / 1_000} seconds it refuses calls. The warning about the address has the cause`;

/**
 * Opens for five seconds when more than half of a scope's calls fail. When its open time is over, one trial call goes through; the scope's other calls
 * are refused until the trial ends. If nobody calls for ten seconds more, it closes. It uses the monotonic clock, which cannot be set. The log says when
 * it opens, and when no breaker of its family has opened for a while.
 */
export class Breaker {
  readonly #telemetry: Pick<Telemetry, 'warn' | 'works'>;
  /** The subject of its warnings, and whose part of it this is. */
  readonly #subject: string;
  readonly #scope: ScopeOrNone;
  /** The calls since `#sampledFrom`, in milliseconds of `performance.now()`. */
  #calls = 0;
  #failures = 0;
  #sampledFrom = 0;
  /** In milliseconds of `performance.now()`; undefined while the breaker is closed. */
  #openUntil: number | undefined;
  #hasTrial = false;
  #hasOpened = false;

  constructor(family: string, scope: ScopeOrNone, telemetry: Pick<Telemetry, 'warn' | 'works'>) {
    this.#subject = `Circuit breaker of ${family}`;
    this.#scope = scope;
    this.#telemetry = telemetry;
  }

  get isOpen(): boolean {
    return this.#openUntil !== undefined && (this.#hasTrial || performance.now() < this.#openUntil);
  }

  /** Admits a call. @returns whether it is the trial @throws BrokenCircuitError while the breaker is open */
  enter(): boolean {
    if (this.#openUntil === undefined) return false;
    if (this.isOpen) throw new BrokenCircuitError();
    // What failed before does not count any more.
    if (performance.now() > this.#openUntil + sampleMs) {
      this.#openUntil = undefined;
      return false;
    }
    this.#hasTrial = true;
    return true;
  }

  /** Counts how a call ended. @param isTrial what `enter` returned @param error undefined if the call succeeded */
  leave(isTrial: boolean, error?: unknown, now = performance.now()): void {
    if (isTrial) this.#hasTrial = false;
    const hasFailed = error !== undefined;
    if (hasFailed && isOurOwn(error)) return;
    if (isTrial) this.#openUntil = undefined;
    const isRefusal = hasFailed && !isFailureOfService(error);
    if (now - this.#sampledFrom > sampleMs || (isTrial && (!hasFailed || isRefusal))) {
      this.#sampledFrom = now;
      this.#calls = 0;
      this.#failures = 0;
    }
    if (isRefusal) return;
    this.#calls += 1;
    if (!hasFailed) {
      if (this.#hasOpened) this.#telemetry.works(this.#subject, this.#scope);
      return;
    }
    this.#failures += 1;
    const failsTooOften = this.#calls >= minCalls && this.#failures > this.#calls / 2;
    if (this.#openUntil === undefined && (isTrial || failsTooOften)) {
      this.#openUntil = now + openMs;
      this.#hasOpened = true;
      this.#telemetry.warn(this.#subject, openedWords, this.#scope);
    }
  }
}

const maxTokens = 10;
const pausesMs = { min: 20, max: 120 };

/** Lets at most one retry through for every ten calls of a scope, so that retries cannot multiply the load on a failing service. */
export class RetryBudget {
  #tokens = maxTokens;

  earn(calls: number): void {
    this.#tokens = Math.min(maxTokens, this.#tokens + calls / 10);
  }

  /** The pause before a second attempt, in milliseconds, which is then paid for; undefined if there must be none. @param deadlineAt by `performance.now()`. */
  pauseAfter(error: unknown, deadlineAt: number): number | undefined {
    const pauseMs = retryAfterMs(error) + pausesMs.min + Math.random() * (pausesMs.max - pausesMs.min);
    const hasTime = performance.now() + pauseMs < deadlineAt;
    if (!isTransient(error) || !hasTime || this.#tokens < 1) return undefined;
    this.#tokens -= 1;
    return pauseMs;
  }
}

/** Whether a second attempt may succeed: after a broken connection, or 502, 503, 504. */
function isTransient(error: unknown): boolean {
  // A GatewayError as the cause: no time is left, or the body would be too large again.
  if (error instanceof BrokenExchange) return !isOurOwn(error) && !(error.cause instanceof GatewayError);
  return error instanceof UpstreamError && [502, 503, 504].includes(error.upstream?.status ?? 0);
}
