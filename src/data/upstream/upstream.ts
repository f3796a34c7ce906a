import { LRUCache } from 'lru-cache';
import type { Dispatcher } from 'undici';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import type { Scope } from '../../auth/credentials.js';
import { Abandoned, Forbidden, GatewayError, Unauthenticated, UpstreamTimeout } from '../../errors.js';
import type { Waiter } from '../../lib/bulkhead.js';
import { runYielding } from '../../lib/run-yielding.js';
import type { OpenBreakers } from '../../observability/metrics.js';
import type { Span, Tracing } from '../../observability/operation-info.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { failureInWords } from '../../observability/warnings.js';
import { type Breaker, Breakers, maxScopes, type ScopeOrNone } from './breaker.js';
import {
  callOutcome,
  errorOfCall,
  errorOfReply,
  isTransient,
  reportRefusal,
  requestsFail,
  serviceWorks,
  warnOfService,
} from './call-errors.js';
import { type BrokenExchange, Exchange, type ExchangeListener } from './exchange.js';
import { createOrigins, type Origin, type UpstreamOptions } from './origins.js';
import type { Reply } from './reply.js';
import { type CallAuth, pathAndQuery, type UpstreamRequest } from './request.js';

/** The upstream service, as the domains see it. */
export interface Upstream {
  /**
   * Makes one call: it waits in the bulkhead, has one deadline over everything, is guarded by the circuit breaker of its scope at its endpoint
   * family, and is retried once if the request is safe.
   * @param read reads a reply of status 200-299. Replies that take long to read wait for each other, and clients take turns, so that each turn of the event
   *   loop stays short. Meanwhile the call keeps its slot of the bulkhead.
   * @param signal aborts when the caller no longer needs the reply. Without one the call runs to its end.
   * @returns what `read` returns.
   * @throws GatewayError: the service's refusal, or UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE, UPSTREAM_INVALID_RESPONSE, NOT_CONFIGURED; Abandoned if the signal
   *   aborted; and what `read` throws.
   */
  send<T>(request: UpstreamRequest, auth: CallAuth, read: (reply: Reply) => T, signal?: AbortSignal): Promise<T>;
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
  const breakers = new Map<string, Breakers>();
  const retryBudgets = new LRUCache<ScopeOrNone, RetryBudget>({ max: maxScopes, memoMethod: () => new RetryBudget() });
  const deps = {
    acceptedScopes,
    telemetry,
    tracing,
    timeoutMs: options.timeoutMs,
  };

  function breakersOf(family: string): Breakers {
    const found = breakers.get(family);
    if (found !== undefined) return found;
    const created = new Breakers(family, telemetry);
    breakers.set(family, created);
    return created;
  }

  return {
    async send(request, auth, read, signal) {
      const origin = origins.to(request.address);
      const scope = auth.scope ?? 'none';
      const breaker = breakersOf(request.family).of(scope);
      const retryBudget = retryBudgets.memo(scope);
      return new Promise((resolve, reject) => {
        new Call(deps, { request, auth, read, origin, breaker, retryBudget, signal }, resolve, reject).begin();
      });
    },
    openBreakers: () => [...breakers].map(([family, { open }]) => ({ family, credentials: open })),
    close: origins.close,
  };
}

/** What every call needs from the process. */
interface CallDeps {
  readonly acceptedScopes: AcceptedScopes;
  readonly telemetry: Telemetry;
  /** Undefined turns tracing off. */
  readonly tracing: Tracing | undefined;
  readonly timeoutMs: number;
}

/** What one call is about. */
interface CallTarget<T> {
  readonly request: UpstreamRequest;
  readonly auth: CallAuth;
  readonly read: (reply: Reply) => T;
  readonly origin: Origin;
  readonly breaker: Breaker;
  readonly retryBudget: RetryBudget;
  /** Aborts when the caller no longer needs the reply. */
  readonly signal: AbortSignal | undefined;
}

/** An attempt that holds a slot of the bulkhead. */
interface Sending {
  readonly name: 'sending';
  readonly exchange: Exchange;
  /** Whether it is the breaker's trial. */
  readonly isTrial: boolean;
  readonly span: Span | undefined;
  readonly startedAt: number;
}

type State =
  /** Waits for a slot of the bulkhead. */
  | { readonly name: 'queued' }
  | Sending
  /** Waits before its second attempt. */
  | { readonly name: 'pausing'; readonly timer: NodeJS.Timeout }
  /** Has its reply, which waits for its turn to be read. */
  | { readonly name: 'reading' }
  | { readonly name: 'ended' };

const retryPauseMs = { min: 20, max: 120 };

/**
 * One upstream call: it waits in the bulkhead, passes the breaker, and is sent, up to two times. It is an object with callbacks because
 * hundreds of calls are in progress at a time, and promises, closures and signals for each step cost too much (docs/decisions/0055-upstream-call.md).
 */
export class Call<T> implements Waiter, ExchangeListener {
  readonly #deps: CallDeps;
  readonly #target: CallTarget<T>;
  readonly #resolve: (result: T) => void;
  readonly #reject: (error: unknown) => void;
  #state: State = { name: 'queued' };
  /** Whose turn it takes: that of its scope, or that of all scopes that the service has not accepted yet, because anyone can make up keys. */
  readonly client: Scope | 'unknown' | undefined;
  #mayRetry: boolean;
  #deadline: NodeJS.Timeout | undefined;
  /** In milliseconds of `performance.now()`. */
  #deadlineAt = 0;

  /** @param resolve takes what `read` returns. @param reject takes what `Upstream.send` throws. */
  constructor(deps: CallDeps, target: CallTarget<T>, resolve: (result: T) => void, reject: (error: unknown) => void) {
    this.#deps = deps;
    this.#target = target;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#mayRetry = target.request.safe;
    const { scope } = target.auth;
    this.client = scope === undefined || deps.acceptedScopes.has(scope) ? scope : 'unknown';
  }

  begin(): void {
    const { timeoutMs } = this.#deps;
    const { retryBudget, signal } = this.#target;
    retryBudget.earn();
    this.#deadlineAt = performance.now() + timeoutMs;
    this.#deadline = setTimeout(expire, timeoutMs, this, timeoutMs);
    signal?.addEventListener('abort', this);
    if (signal?.aborted) this.handleEvent();
    else this.#enterBulkhead();
  }

  /** The signal has aborted. */
  handleEvent(): void {
    this.abort(new Abandoned('The caller no longer needs the reply'));
  }

  /** Ends the call early, in whatever state it is. */
  abort(reason: Error): void {
    const state = this.#state;
    switch (state.name) {
      case 'queued':
        this.#target.origin.bulkhead.withdraw(this);
        this.#end(reason);
        break;
      case 'sending':
        // Comes back through `onBroken`.
        state.exchange.abort(reason);
        break;
      case 'pausing':
        clearTimeout(state.timer);
        this.#end(reason);
        break;
      case 'reading':
        this.#target.origin.bulkhead.leave();
        this.#end(reason);
        break;
      case 'ended':
        break;
      default:
        state satisfies never;
    }
  }

  #enterBulkhead(): void {
    this.#state = { name: 'queued' };
    try {
      this.#target.origin.bulkhead.enter(this);
    } catch (error) {
      this.#end(error);
    }
  }

  /** The bulkhead has a slot for the call. */
  start(): void {
    const { request, auth, origin, breaker } = this.#target;
    if (this.#state.name === 'ended') {
      // It was aborted when its slot was already on the way.
      origin.bulkhead.leave();
      return;
    }
    try {
      // The service has refused this credential to another call of the response: it would refuse all the others too.
      const refusal = auth.metadata.refusals.get(this.#refusalKey);
      if (refusal !== undefined) throw refusal;
      const isTrial = breaker.enter();
      const span = (auth.metadata.operation.span ?? this.#deps.tracing)?.begin('client');
      const exchange = new Exchange(origin.limitsOf(request), this);
      this.#state = { name: 'sending', exchange, isTrial, span, startedAt: performance.now() };
      origin.dispatch(request, auth, span, exchange);
    } catch (error) {
      if (this.#state.name === 'sending') {
        this.#failAttempt(this.#state, error);
      } else {
        origin.bulkhead.leave();
        this.#end(error);
      }
    }
  }

  /** A service may accept a credential for some endpoints only. */
  get #refusalKey(): string {
    const { auth, request } = this.#target;
    return `${auth.scope} ${request.family}`;
  }

  onReply(reply: Reply): void {
    const [state, { request, auth, breaker }, { telemetry }] = [this.#state, this.#target, this.#deps];
    if (state.name !== 'sending') return;
    this.#record(state, reply.status);
    if (reply.status >= 200 && reply.status <= 299) {
      serviceWorks(telemetry, request);
      if (auth.scope !== undefined) this.#deps.acceptedScopes.countCall(auth.scope, false);
      breaker.leave(state.isTrial);
      this.#readSoon(reply);
      return;
    }
    const refusal = errorOfReply(reply, request);
    // A sign-in has no scope yet: its next attempt may have the right password.
    if (refusal instanceof Unauthenticated && auth.scope !== undefined) {
      auth.metadata.refusals.set(this.#refusalKey, refusal);
    }
    if (auth.scope !== undefined && (refusal instanceof Unauthenticated || refusal instanceof Forbidden)) {
      this.#deps.acceptedScopes.countCall(auth.scope, true);
    }
    reportRefusal(telemetry, request, refusal);
    this.#failAttempt(state, refusal);
  }

  /** Reads a reply when it is its turn. The outcome of a write does not wait, and neither does a body for which there is no memory. */
  #readSoon(reply: Reply): void {
    const { request, auth, origin } = this.#target;
    const bytes = reply.body.length;
    if (!request.safe || !origin.unreadBytes.take(bytes)) {
      this.#read(reply);
      return;
    }
    this.#state = { name: 'reading' };
    void runYielding(auth.scope, () => {
      origin.unreadBytes.giveBack(bytes);
      if (this.#state.name === 'reading') this.#read(reply);
    });
  }

  #read(reply: Reply): void {
    const { read, origin } = this.#target;
    this.#release();
    origin.bulkhead.leave();
    try {
      this.#resolve(read(reply));
    } catch (error) {
      this.#reject(error);
    }
  }

  onBroken(error: BrokenExchange): void {
    const state = this.#state;
    if (state.name !== 'sending') return;
    this.#record(state, null, error);
    this.#failAttempt(state, error);
  }

  #failAttempt({ isTrial }: Sending, error: unknown): void {
    const { breaker, retryBudget, origin } = this.#target;
    breaker.leave(isTrial, error);
    origin.bulkhead.leave();
    const jitterMs = retryPauseMs.min + Math.random() * (retryPauseMs.max - retryPauseMs.min);
    const askedMs = error instanceof GatewayError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
    const pauseMs = askedMs + jitterMs;
    const hasTime = performance.now() + pauseMs < this.#deadlineAt;
    if (!this.#mayRetry || !isTransient(error) || !hasTime || !retryBudget.spend()) {
      this.#end(error);
      return;
    }
    this.#mayRetry = false;
    this.#state = { name: 'pausing', timer: setTimeout(() => this.#enterBulkhead(), pauseMs) };
  }

  #end(error: unknown): void {
    this.#release();
    this.#reject(errorOfCall(error, this.#target.request.safe));
  }

  #release(): void {
    this.#state = { name: 'ended' };
    clearTimeout(this.#deadline);
    this.#target.signal?.removeEventListener('abort', this);
  }

  /** Records an exchange in the metadata of the response, in the metrics and in the trace. */
  #record({ span, startedAt }: Sending, status: number | null, failure?: BrokenExchange): void {
    const { telemetry } = this.#deps;
    const { request, auth, origin } = this.#target;
    const { method, family } = request;
    const milliseconds = performance.now() - startedAt;
    const outcome = callOutcome(failure);
    telemetry.upstreamCall({ family, status, milliseconds, outcome });
    if (span !== undefined) {
      const attributes = {
        ...origin.attributesOf(request),
        'http.response.status_code': status ?? undefined,
        'http.request.resend_count': request.safe && !this.#mayRetry ? 1 : undefined,
      };
      const error = status === null ? outcome : status >= 400 ? String(status) : undefined;
      span.end(`${method} ${family}`, attributes, error);
    }
    auth.metadata.upstreamCalls.push({ method, path: pathAndQuery(request), status, milliseconds, source: 'network' });
    if (outcome === 'broken' || outcome === 'timeout') {
      warnOfService(telemetry, request, failureInWords(failure?.cause, requestsFail));
    }
  }
}

function expire(call: Pick<Call<unknown>, 'abort'>, timeoutMs: number): void {
  call.abort(new UpstreamTimeout(`The service did not answer within ${timeoutMs} ms`));
}

const maxRetryTokens = 10;

/** Lets at most one retry through for every ten calls of a scope, so that retries cannot multiply the load on a failing service. */
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
