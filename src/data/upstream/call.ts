import { UpstreamFailure, UpstreamTimeout } from '../../errors.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Span, Tracing } from '../../observability/tracing.js';
import { failureInWords } from '../../observability/warnings.js';
import type { CallAuth } from '../request-auth.js';
import type { ScopeBreaker } from './breaker.js';
import type { Turn, Waiter } from './bulkhead.js';
import type { Cancellation, Stage } from './cancellation.js';
import type { BrokenExchange, Ending } from './exchange.js';
import { faultOf, mayPass, outcomeOf } from './fault.js';
import { type Origin, warnOfService } from './origins.js';
import { refusalOf } from './refusal.js';
import type { Reply } from './reply.js';
import { pathAndQuery, type UpstreamRequest } from './request.js';
import type { RetryBudget } from './retry-budget.js';

/** What every call needs of the house. */
export interface CallDeps {
  readonly budget: RetryBudget;
  readonly telemetry: Telemetry;
  readonly tracing: Tracing | undefined;
  readonly timeoutMs: number;
}

/** What is asked of whom, and under whose breaker. */
export interface Asked {
  readonly request: UpstreamRequest;
  readonly auth: CallAuth;
  readonly origin: Origin;
  readonly breaker: ScopeBreaker;
  readonly cancellation: Cancellation;
}

const retryPauseMs = { least: 20, most: 120 };

/**
 * One call: its turn in the bulkhead, the breaker, the wire, and perhaps all of it once more. An object that each of them tells how it
 * went, since hundreds wait at a time, and every collection of garbage copies what promises and closures for each step would hold.
 */
export class Call implements Waiter, Stage, Ending {
  readonly #parts: CallDeps;
  readonly #asked: Asked;
  readonly #resolve: (reply: Reply) => void;
  readonly #reject: (error: Error) => void;
  #isLast: boolean;
  #deadline: NodeJS.Timeout | undefined;
  #turn: Turn | undefined;
  #pause: NodeJS.Timeout | undefined;
  /** Whether it is the breaker's trial; undefined while the breaker does not know of it. */
  #isTrial: boolean | undefined;
  #span: Span | undefined;
  #startedAt = 0;

  /** @param resolve takes a reply of status 200-299. @param reject takes what `Upstream.send` throws. */
  constructor(parts: CallDeps, asked: Asked, resolve: (reply: Reply) => void, reject: (error: Error) => void) {
    this.#parts = parts;
    this.#asked = asked;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#isLast = !asked.request.safe;
  }

  start(): void {
    const { budget, timeoutMs } = this.#parts;
    this.#deadline = setTimeout(expire, timeoutMs, this.#asked.cancellation, timeoutMs);
    budget.earn();
    this.#attempt();
  }

  #attempt(): void {
    const { origin, cancellation } = this.#asked;
    try {
      cancellation.throwIfCancelled();
      cancellation.enter(this);
      this.#turn = origin.bulkhead.enter(this);
    } catch (error) {
      this.#end(error);
    }
  }

  /** Its turn has come. */
  go(): void {
    const { request, auth, origin, breaker, cancellation } = this.#asked;
    try {
      this.#isTrial = breaker.enter();
      this.#span = this.#parts.tracing?.call(auth.metadata.operation.span);
      this.#startedAt = performance.now();
      origin.exchange(request, auth, this.#span, cancellation, this);
    } catch (error) {
      this.#fail(error);
    }
  }

  replied(reply: Reply): void {
    const { origin, breaker, request } = this.#asked;
    this.#record(reply.status);
    if (reply.status < 200 || reply.status > 299) {
      const refusal = refusalOf(reply, request);
      if (refusal instanceof UpstreamFailure) {
        warnOfService(this.#parts.telemetry, request.address, `${refusal.message} (HTTP ${reply.status})`);
      }
      this.#fail(refusal);
      return;
    }
    if (this.#isTrial !== undefined) breaker.leave(this.#isTrial);
    origin.bulkhead.leave();
    clearTimeout(this.#deadline);
    this.#resolve(reply);
  }

  broke(error: BrokenExchange): void {
    this.#record(null, error);
    this.#fail(error);
  }

  /** Nobody waits any more, or the time is over, while it waits for its turn or for its second try. */
  cancelled(): void {
    const { origin, cancellation } = this.#asked;
    clearTimeout(this.#pause);
    if (this.#turn === undefined || origin.bulkhead.withdraw(this.#turn)) this.#end(cancellation.reason);
  }

  /** The attempt failed. */
  #fail(error: unknown): void {
    const { origin, breaker, cancellation } = this.#asked;
    if (this.#isTrial !== undefined) breaker.leave(this.#isTrial, error);
    this.#isTrial = undefined;
    origin.bulkhead.leave();
    if (this.#isLast || !mayPass(error) || !this.#parts.budget.spend()) {
      this.#end(error);
      return;
    }
    this.#isLast = true;
    this.#turn = undefined;
    cancellation.enter(this);
    const milliseconds = retryPauseMs.least + Math.random() * (retryPauseMs.most - retryPauseMs.least);
    this.#pause = setTimeout(() => this.#attempt(), milliseconds);
  }

  #end(error: unknown): void {
    const { cancellation, request } = this.#asked;
    cancellation.enter(undefined);
    clearTimeout(this.#deadline);
    this.#reject(faultOf(error, request.safe));
  }

  /** Writes the exchange onto the request's metadata, and into the metrics and the trace. */
  #record(status: number | null, failure?: BrokenExchange): void {
    const { telemetry } = this.#parts;
    const { request, auth } = this.#asked;
    const { method, family } = request;
    const milliseconds = performance.now() - this.#startedAt;
    const outcome = outcomeOf(failure);
    telemetry.upstreamCall({ family, status, milliseconds, outcome });
    if (outcome === 'broken' || outcome === 'timeout') {
      warnOfService(telemetry, request.address, failureInWords(failure?.cause));
    }
    const attributes = { 'http.request.method': method, 'http.response.status_code': status ?? undefined };
    const error = status === null ? outcome : status >= 400 ? String(status) : undefined;
    this.#span?.end(`${method} ${family}`, attributes, error);
    auth.metadata.upstreamCalls.push({ method, path: pathAndQuery(request), status, milliseconds, source: 'network' });
  }
}

function expire(cancellation: Cancellation, milliseconds: number): void {
  cancellation.cancel(new UpstreamTimeout(`The service did not answer within ${milliseconds} ms`));
}
