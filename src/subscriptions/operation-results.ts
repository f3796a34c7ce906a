import { Abandoned } from '../errors.js';
import { responseFrames } from '../graphql/response-text.js';
import type { Identity } from '../http/authentication.js';
import { type OperationInfo, outcomeOfErrors } from '../observability/operation-info.js';
import type { Operation } from './operations.js';
import { type EncodedResult, FailedOperation, type SendBuffer, Subscriber } from './shared-execution.js';
import type { Subscriptions } from './subscriptions.js';

/** The connection or the response that carries the results of an operation. */
export interface OperationHost {
  readonly transport: 'websocket' | 'sse' | 'multipart';
  readonly buffer: SendBuffer;
  /** Calls `start` when the operation may be executed; never if it is stopped before. */
  inTurn(
    results: OperationResults,
    start: () => Promise<EncodedResult | undefined>,
  ): Promise<EncodedResult | undefined>;
  /** Waits until the client has taken enough of what was sent. */
  room(): Promise<void>;
  /** Whether the connection is draining: then it begins no subscription and calls `drop` instead. */
  readonly isDraining: boolean;
  /** Ends results without telling the client that its subscription has ended. */
  drop(results: OperationResults): void;
  /** The operation has ended, or was stopped. @param milliseconds how long a query or mutation took. */
  onEnd(results: OperationResults, milliseconds: number | undefined): void;
}

/**
 * The results of one operation, for all transports: one of a query or a mutation, those of a subscription until it ends. They fail with
 * a `FailedOperation`. `return` ends them at once, whatever they wait for.
 */
export class OperationResults implements AsyncGenerator<EncodedResult, undefined> {
  readonly id: string;
  readonly operationInfo: OperationInfo;
  readonly #subscriptions: Subscriptions;
  readonly #host: OperationHost;
  readonly #identity: Identity;
  /** Reads the operation; undefined once it has been called. */
  #read: (() => Operation) | undefined;
  #subscriber: Subscriber | undefined;
  #executedAt: number | undefined;
  #hasResult = false;
  #isOver = false;
  #onStop: (() => void) | undefined;
  #settle: ((result: IteratorResult<EncodedResult, undefined>) => void) | undefined;

  constructor(
    id: string,
    subscriptions: Subscriptions,
    host: OperationHost,
    identity: Identity,
    operationInfo: OperationInfo,
    read: () => Operation,
  ) {
    this.id = id;
    this.#subscriptions = subscriptions;
    this.#host = host;
    this.#identity = identity;
    this.operationInfo = operationInfo;
    this.#read = read;
  }

  /** True until the operation is known to be a subscription: a draining connection waits for its response. */
  get isSingle(): boolean {
    return this.#subscriber === undefined;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sets what happens when the operation is stopped, in place of what was set before. */
  onStop(callback: () => void): void {
    this.#onStop = callback;
  }

  next(): Promise<IteratorResult<EncodedResult, undefined>> {
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#take().then(
        value => {
          if (value === undefined) this.#end();
          resolve(value === undefined ? done : { done: false, value });
        },
        error => {
          const failure = this.#failure(error);
          this.#end();
          reject(failure);
        },
      );
    });
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (this.isSingle && !this.#hasResult && !this.#isOver) this.operationInfo.outcome = 'ABANDONED';
    this.#end();
    this.#settle?.(done);
    return done;
  }

  async throw(error: unknown): Promise<IteratorReturnResult<undefined>> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #take(): Promise<EncodedResult | undefined> {
    const read = this.#read;
    if (read !== undefined) {
      this.#read = undefined;
      const result = await this.#host.inTurn(this, () => this.#start(read));
      if (result !== undefined) return result;
    }
    return this.#subscriber?.take();
  }

  /** Executes a query or a mutation, or starts to listen. */
  async #start(read: () => Operation): Promise<EncodedResult | undefined> {
    if (this.#isOver) return undefined;
    const operation = read();
    if (operation.type !== 'subscription') return this.#execute(operation);
    const { transport, buffer, isDraining } = this.#host;
    this.#subscriber = new Subscriber(buffer);
    if (isDraining) {
      this.#host.drop(this);
      return undefined;
    }
    const { telemetry } = this.#subscriptions;
    const leave = this.#subscriptions.subscribe(operation, this.#identity, this.#subscriber, this.operationInfo);
    telemetry.listeners(transport, 1);
    this.#onStop = () => {
      leave();
      this.#subscriber?.stop();
      telemetry.listeners(transport, -1);
    };
    return undefined;
  }

  /** @throws FailedOperation if the operation was not executed. */
  async #execute(operation: Operation): Promise<EncodedResult> {
    const claim = this.#subscriptions.claim(this.#identity);
    const stopping = new AbortController();
    this.#onStop = () => stopping.abort(new Abandoned('The client has gone'));
    this.#executedAt = performance.now();
    try {
      const { signal } = stopping;
      const outcome = await this.#subscriptions.single(operation, this.#identity, signal, this.operationInfo, claim);
      await this.#host.room();
      signal.throwIfAborted();
      if ('errors' in outcome) throw new FailedOperation(JSON.stringify(outcome.errors));
      const parts = responseFrames(outcome.answer, claim);
      this.#hasResult = true;
      return { parts, needsRoom: false };
    } finally {
      claim.release();
    }
  }

  #failure(error: unknown): FailedOperation {
    if (!(error instanceof FailedOperation))
      return new FailedOperation(this.#subscriptions.formatErrors(error, this.operationInfo), error);
    this.operationInfo.outcome = outcomeOfErrors(JSON.parse(error.errors));
    return error;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onStop?.();
    const { isSingle } = this;
    this.#host.onEnd(
      this,
      isSingle && this.#executedAt !== undefined ? performance.now() - this.#executedAt : undefined,
    );
  }
}

const done: IteratorReturnResult<undefined> = { done: true, value: undefined };
