// One call to the service, as states from the queue to its end.
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import type { Scope } from '../../auth/credentials.js';
import {
  Forbidden,
  type GatewayError,
  Unauthenticated,
  UpstreamError,
  UpstreamFailure,
  UpstreamInvalidResponse,
} from '../../errors.js';
import { andThen, type MaybePromise, runYielding, type Waiter } from '../../lib/run.js';
import type { Span, Tracing } from '../../observability/operation-info.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { failureInWords } from '../../observability/warnings.js';
import type { Breaker, RetryBudget } from './breaker.js';
import { callOutcome, errorOfCall, errorOfReply, reportRefusal, requestsFail } from './call-errors.js';
import { type BrokenExchange, Exchange, type ExchangeListener, type ReplyLimits } from './exchange.js';
import { addressVariables, type Destination } from './origins.js';
import { type CallAuth, marketOf, type Receiver, type Reply, type UpstreamRequest } from './request.js';

/** Some calls that are made together, under one credential. */
export interface Calls<T> {
  readonly requests: readonly UpstreamRequest[];
  readonly auth: CallAuth;
  /**
   * Reads a reply of status 200-299. Replies that take long to read wait for each other, and clients take turns, so that each turn of the event loop
   * stays short. Meanwhile the call keeps its slot of the bulkhead. If it throws because the body is not what the service documents, that is logged and
   * counted.
   */
  read(index: number, reply: Reply): MaybePromise<T>;
  readonly receiver: Receiver<T>;
}

export interface Batch<T> {
  readonly deps: {
    readonly acceptedScopes: AcceptedScopes;
    readonly telemetry: Telemetry;
    readonly tracing: Tracing | undefined;
  };
  readonly calls: Calls<T>;
  readonly retryBudget: RetryBudget;
  /** Whose turn its calls take: that of their scope, or that of all scopes that the service has not accepted yet, because anyone can make up keys. */
  readonly client: Scope | 'unknown' | undefined;
  /** In milliseconds of `performance.now()`. */
  readonly deadlineAt: number;
  /** Whether the latest call that tells it shows that the service accepts the credential, and that is counted. */
  isAccepted: boolean;
  /** A call has ended: its reply has come, or will not. */
  leave(): void;
}

/** What the calls of a batch to one endpoint family share. */
export interface Target extends Destination, Pick<UpstreamRequest, 'family' | 'address'> {
  readonly breaker: Breaker;
  readonly limits: ReplyLimits;
  /** Under which a refusal of the credential is known: a service may accept it for some endpoints only. */
  readonly refusalKey: string;
  /** How long the calls took that were answered with 200, in milliseconds. */
  readonly times: number[];
  /** Whether its latest call succeeded. */
  works: boolean;
}

/** An attempt that holds a slot of the bulkhead. */
interface Sending {
  readonly name: 'sending';
  readonly exchange: Exchange;
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
  | { readonly name: 'reading'; readonly exchange: Exchange; readonly reply: Reply }
  | { readonly name: 'ended' };

const queued: State = { name: 'queued' };
const ended: State = { name: 'ended' };

/**
 * One call of a batch: it waits in the bulkhead, passes the breaker, and is sent, up to two times. The wire reports to it; no promise or signal is made
 * for a call.
 */
export class Call<T> implements Waiter, ExchangeListener {
  readonly #batch: Batch<T>;
  readonly #target: Target;
  readonly #index: number;
  readonly #request: UpstreamRequest;
  #state: State = queued;
  #mayRetry: boolean;

  constructor(batch: Batch<T>, target: Target, index: number, request: UpstreamRequest) {
    this.#batch = batch;
    this.#target = target;
    this.#index = index;
    this.#request = request;
    this.#mayRetry = request.safe;
  }

  get client(): string | undefined {
    return this.#batch.client;
  }

  abort(reason: Error): void {
    const state = this.#state;
    const { bulkhead } = this.#target.origin;
    switch (state.name) {
      case 'ended':
        return;
      case 'sending':
        // Comes back through `onBroken`.
        state.exchange.abort(reason);
        return;
      case 'queued':
        bulkhead.withdraw(this);
        break;
      case 'pausing':
        clearTimeout(state.timer);
        break;
      case 'reading':
        state.exchange.release();
        bulkhead.leave();
        break;
      default:
        state satisfies never;
    }
    this.#end(reason);
  }

  enterBulkhead(): void {
    this.#state = queued;
    try {
      this.#target.origin.bulkhead.enter(this);
    } catch (error) {
      this.#end(error);
    }
  }

  start(): void {
    const { calls, deps } = this.#batch;
    const { origin, prefix, breaker, limits, refusalKey } = this.#target;
    const { operation, refusals } = calls.auth.metadata;
    if (this.#state.name === 'ended') {
      // It was aborted when its slot was already on the way.
      origin.bulkhead.leave();
      return;
    }
    let isTrial = false;
    try {
      // The service has refused this credential to another call of the response: it would refuse all the others too.
      const refusal = refusals.get(refusalKey);
      if (refusal !== undefined) throw refusal;
      isTrial = breaker.enter();
      const span = (operation.span ?? deps.tracing)?.begin('client');
      const exchange = new Exchange(limits, this);
      this.#state = { name: 'sending', exchange, isTrial, span, startedAt: performance.now() };
      origin.send(prefix, this.#request, calls.auth, span, exchange);
    } catch (error) {
      this.#failAttempt(isTrial, error);
    }
  }

  onReply(reply: Reply): void {
    const state = this.#state;
    const { telemetry } = this.#batch.deps;
    const target = this.#target;
    if (state.name !== 'sending') return;
    const now = performance.now();
    this.#record(state, now, reply.status);
    const ahead = target.origin.clockDifference(reply.headers, now, now - state.startedAt);
    if (ahead !== undefined) telemetry.clockOf('the service', ahead);
    if (reply.status >= 200 && reply.status <= 299) {
      target.works = true;
      target.breaker.leave(state.isTrial, undefined, now);
      this.#state = { name: 'reading', exchange: state.exchange, reply };
      // The outcome of a write does not wait.
      if (this.#request.safe) void runYielding(this.client, () => this.#read());
      else this.#read();
      return;
    }
    state.exchange.release();
    target.works = false;
    const refusal = errorOfReply(reply, this.#request);
    this.#noteRefusal(refusal);
    this.#report(refusal, reply.status);
    this.#failAttempt(state.isTrial, refusal);
  }

  #read(): void {
    const state = this.#state;
    if (state.name !== 'reading') return;
    const { read } = this.#batch.calls;
    this.#state = ended;
    this.#batch.leave();
    state.exchange.release();
    this.#target.origin.bulkhead.leave();
    try {
      const ending = andThen(read(this.#index, state.reply), value => this.#succeed(value));
      if (ending instanceof Promise) ending.catch(error => this.#failToRead(error));
    } catch (error) {
      this.#failToRead(error);
    }
  }

  #failToRead(error: unknown): void {
    this.#noteRefusal(error);
    if (error instanceof UpstreamError) this.#report(error, 200);
    this.#fail(error as Error);
  }

  /** Only now is it known that the reply is no refusal: a status of success may have a body that says so. */
  #succeed(value: T): void {
    const { calls, deps, isAccepted } = this.#batch;
    const { scope } = calls.auth;
    if (!isAccepted && scope !== undefined) {
      this.#batch.isAccepted = true;
      deps.acceptedScopes.countCall(scope, false);
    }
    const market = marketOf(this.#request);
    if (scope !== undefined && market !== undefined) deps.acceptedScopes.countMarket(scope, market);
    calls.receiver.resolve(this.#index, value);
  }

  /** Logs what a reply says about the service, and counts it where its status does not show that the service failed. */
  #report(refusal: GatewayError, status: number): void {
    const { telemetry } = this.#batch.deps;
    if (refusal instanceof UpstreamFailure && status < 500) telemetry.unreadable(this.#request.family);
    if (!cannotBeRead(refusal)) reportRefusal(telemetry, this.#request, refusal);
  }

  /** A sign-in has no scope yet: its next attempt may have the right password. */
  #noteRefusal(refusal: unknown): void {
    const { calls, deps } = this.#batch;
    const { scope, metadata } = calls.auth;
    if (scope === undefined || !(refusal instanceof Unauthenticated || refusal instanceof Forbidden)) return;
    if (refusal instanceof Unauthenticated) metadata.refusals.set(this.#target.refusalKey, refusal);
    this.#batch.isAccepted = false;
    deps.acceptedScopes.countCall(scope, true);
  }

  onBroken(error: BrokenExchange): void {
    const state = this.#state;
    if (state.name !== 'sending') return;
    this.#target.works = false;
    this.#record(state, performance.now(), null, error);
    this.#failAttempt(state.isTrial, error);
  }

  #failAttempt(isTrial: boolean, error: unknown): void {
    const { deadlineAt, retryBudget } = this.#batch;
    const { breaker, origin } = this.#target;
    breaker.leave(isTrial, error);
    origin.bulkhead.leave();
    const pauseMs = this.#mayRetry ? retryBudget.pauseAfter(error, deadlineAt) : undefined;
    if (pauseMs === undefined) {
      this.#end(error);
      return;
    }
    this.#mayRetry = false;
    this.#state = { name: 'pausing', timer: setTimeout(() => this.enterBulkhead(), pauseMs) };
  }

  #end(error: unknown): void {
    this.#state = ended;
    this.#batch.leave();
    this.#fail(errorOfCall(error, this.#request.safe));
  }

  #fail(error: Error): void {
    const { calls, deps } = this.#batch;
    const { address, family } = this.#request;
    if (cannotBeRead(error))
      deps.telemetry.warn(addressVariables[address], `${error.message}; ${requestsFail}`, family);
    calls.receiver.reject(this.#index, error);
  }

  #record({ span, startedAt }: Sending, now: number, status: number | null, failure?: BrokenExchange): void {
    const { telemetry } = this.#batch.deps;
    const { address, method, path, family } = this.#request;
    const milliseconds = now - startedAt;
    const outcome = failure === undefined ? 'answered' : callOutcome(failure);
    if (status === 200 && span === undefined) this.#target.times.push(milliseconds);
    else telemetry.upstreamCalls({ family, status, outcome, span }, [milliseconds]);
    if (span !== undefined) {
      const attributes = {
        ...this.#target.origin.attributesOf(this.#target.prefix, this.#request),
        'http.response.status_code': status ?? undefined,
        'http.request.resend_count': this.#request.safe && !this.#mayRetry ? 1 : undefined,
      };
      const error = status === null ? outcome : status >= 400 ? String(status) : undefined;
      span.end(`${method} ${family}`, attributes, error);
    }
    this.#batch.calls.auth.metadata.noteCall({ method, path, status, milliseconds, source: 'network' }, family);
    const isTooLarge = failure?.cause instanceof UpstreamInvalidResponse;
    if ((outcome === 'broken' && !isTooLarge) || outcome === 'timeout') {
      telemetry.warn(addressVariables[address], failureInWords(failure?.cause, requestsFail), family);
    }
  }
}

/** Whether an answer could not be read, or was too large, which has words of its own. Any other says by its status or its code what it is. */
const cannotBeRead = (error: Error): boolean =>
  error instanceof UpstreamInvalidResponse && error.upstream?.status == null;
