import type { Dispatcher } from 'undici';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import type { Scope } from '../../auth/credentials.js';
import {
  Abandoned,
  Forbidden,
  GatewayError,
  Unauthenticated,
  UpstreamInvalidResponse,
  UpstreamTimeout,
} from '../../errors.js';
import type { Waiter } from '../../lib/bulkhead.js';
import type { MaybePromise } from '../../lib/maybe-promise.js';
import { runYielding } from '../../lib/run-yielding.js';
import type { OpenBreakers } from '../../observability/metrics.js';
import type { Span, Tracing } from '../../observability/operation-info.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { failureInWords } from '../../observability/warnings.js';
import { type Breaker, Breakers, perScope, RetryBudget } from './breaker.js';
import {
  callOutcome,
  errorOfCall,
  errorOfReply,
  isTransient,
  reportRefusal,
  requestsFail,
  warnOfService,
} from './call-errors.js';
import { type BrokenExchange, Exchange, type ExchangeListener } from './exchange.js';
import { addressVariables, createOrigins, type Origin, type UpstreamOptions } from './origins.js';
import { bodyBoundsOf, type Reply } from './reply.js';
import type { CallAuth, UpstreamRequest } from './request.js';

/** The upstream service, as the domains see it. */
export interface Upstream {
  /**
   * Makes one call: it waits in the bulkhead, has one deadline over everything, is guarded by the circuit breaker of its scope at its endpoint
   * family, and is retried once if the request is safe.
   * @param read reads a reply of status 200-299. Replies that take long to read wait for each other, and clients take turns, so that each turn of the event
   *   loop stays short. Meanwhile the call keeps its slot of the bulkhead.
   * @param signal aborts when the caller no longer needs the reply. Without one the call runs to its end.
   * @returns what `read` returns. If the body is not what the service documents, that is logged and counted.
   * @throws GatewayError: the service's refusal, or UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE, UPSTREAM_INVALID_RESPONSE, NOT_CONFIGURED; Abandoned if the signal
   *   aborted; and what `read` throws.
   */
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
  const breakers = new Map<string, Breakers>();
  const retryBudgets = perScope(() => new RetryBudget());
  const deps = { acceptedScopes, telemetry, tracing, timeoutMs: options.timeoutMs };

  function addBreakers(family: string): Breakers {
    const created = new Breakers(family, telemetry);
    breakers.set(family, created);
    return created;
  }

  return {
    async send(request, auth, read, signal) {
      const origin = origins.to(request.address);
      const scope = auth.scope ?? 'none';
      const breaker = (breakers.get(request.family) ?? addBreakers(request.family)).byScope.memo(scope);
      const retryBudget = retryBudgets.memo(scope);
      return new Promise((resolve, reject) => {
        new Call({ ...deps, request, auth, read, origin, breaker, retryBudget, signal }, resolve, reject).begin();
      });
    },
    openBreakers: () => [...breakers].map(([family, { open }]) => ({ family, credentials: open })),
    close: origins.close,
  };
}

/** What one call is about, and what it needs from the process. */
interface CallOptions<T> {
  readonly acceptedScopes: AcceptedScopes;
  readonly telemetry: Telemetry;
  /** Undefined turns tracing off. */
  readonly tracing: Tracing | undefined;
  readonly timeoutMs: number;
  readonly request: UpstreamRequest;
  readonly auth: CallAuth;
  readonly read: (reply: Reply) => MaybePromise<T>;
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
class Call<T> implements Waiter, ExchangeListener {
  readonly #options: CallOptions<T>;
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
  constructor(options: CallOptions<T>, resolve: (result: T) => void, reject: (error: unknown) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#mayRetry = options.request.safe;
    const { scope } = options.auth;
    this.client = scope === undefined || options.acceptedScopes.has(scope) ? scope : 'unknown';
  }

  begin(): void {
    const { timeoutMs, retryBudget, signal } = this.#options;
    retryBudget.earn();
    this.#deadlineAt = performance.now() + timeoutMs;
    this.#deadline = setTimeout(() => {
      this.abort(new UpstreamTimeout(`The service did not answer within ${timeoutMs} ms`));
    }, timeoutMs);
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
        this.#options.origin.bulkhead.withdraw(this);
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
        this.#options.origin.bulkhead.leave();
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
      this.#options.origin.bulkhead.enter(this);
    } catch (error) {
      this.#end(error);
    }
  }

  /** The bulkhead has a slot for the call. */
  start(): void {
    const { request, auth, origin, breaker, tracing } = this.#options;
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
      const span = (auth.metadata.operation.span ?? tracing)?.begin('client');
      const limits = { bodyBytes: bodyBoundsOf(request.family).bytes, budget: origin.budget };
      const exchange = new Exchange(limits, this);
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
    const { auth, request } = this.#options;
    return `${auth.scope} ${request.family}`;
  }

  onReply(reply: Reply): void {
    const state = this.#state;
    const { request, auth, breaker, telemetry, acceptedScopes } = this.#options;
    if (state.name !== 'sending') return;
    this.#record(state, reply.status);
    if (reply.status >= 200 && reply.status <= 299) {
      telemetry.works(addressVariables[request.address], request.family);
      if (auth.scope !== undefined) acceptedScopes.countCall(auth.scope, false);
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
      acceptedScopes.countCall(auth.scope, true);
    }
    reportRefusal(telemetry, request, refusal);
    this.#failAttempt(state, refusal);
  }

  /** Reads a reply when it is its turn. The outcome of a write does not wait, and neither does a body for which there is no memory. */
  #readSoon(reply: Reply): void {
    const { request, auth, origin } = this.#options;
    const bytes = reply.body.length;
    if (!request.safe || !origin.budget.take(bytes)) {
      this.#read(reply);
      return;
    }
    this.#state = { name: 'reading' };
    void runYielding(auth.scope, () => {
      origin.budget.giveBack(bytes);
      if (this.#state.name === 'reading') this.#read(reply);
    });
  }

  #read(reply: Reply): void {
    const { read, origin } = this.#options;
    this.#release();
    origin.bulkhead.leave();
    try {
      const value = read(reply);
      if (value instanceof Promise) value.then(this.#resolve, error => this.#fail(error));
      else this.#resolve(value);
    } catch (error) {
      this.#fail(error);
    }
  }

  onBroken(error: BrokenExchange): void {
    const state = this.#state;
    if (state.name !== 'sending') return;
    this.#record(state, null, error);
    this.#failAttempt(state, error);
  }

  #failAttempt({ isTrial }: Sending, error: unknown): void {
    const { breaker, retryBudget, origin } = this.#options;
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
    this.#fail(errorOfCall(error, this.#options.request.safe));
  }

  #fail(error: unknown): void {
    const { telemetry, request } = this.#options;
    // A status that the service does not document is in the log already.
    if (error instanceof UpstreamInvalidResponse && error.upstream?.status == null) {
      telemetry.drift(request.family);
      warnOfService(telemetry, request, `${error.message}; ${requestsFail}`);
    }
    this.#reject(error);
  }

  #release(): void {
    this.#state = { name: 'ended' };
    clearTimeout(this.#deadline);
    this.#options.signal?.removeEventListener('abort', this);
  }

  /** Records an exchange in the metadata of the response, in the metrics and in the trace. */
  #record({ span, startedAt }: Sending, status: number | null, failure?: BrokenExchange): void {
    const { telemetry, request, auth, origin } = this.#options;
    const { method, path, family } = request;
    const milliseconds = performance.now() - startedAt;
    const outcome = failure === undefined ? 'answered' : callOutcome(failure);
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
    auth.metadata.upstreamCalls.push({ method, path, status, milliseconds, source: 'network' });
    if (outcome === 'broken' || outcome === 'timeout') {
      warnOfService(telemetry, request, failureInWords(failure?.cause, requestsFail));
    }
  }
}
