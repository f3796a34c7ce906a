import { Abandoned, RateLimited } from '../errors.js';
import { responseFrames } from '../graphql/response-text.js';
import type { Identity } from '../http/authentication.js';
import { type OperationInfo, outcomeOfErrors } from '../observability/operation-info.js';
import type { Operation } from './operations.js';
import {
  type EncodedResult,
  type Listener,
  type SendBuffer,
  type SharedExecution,
  slowBytes,
} from './shared-execution.js';
import type { Subscriptions } from './subscriptions.js';

/** The connection or the response that carries the results of an operation. */
export interface OperationHost {
  readonly transport: 'websocket' | 'sse' | 'multipart';
  readonly buffer: SendBuffer;
  /** Calls `start` when the operation may be executed; never if it is stopped before. */
  inTurn(operation: RunningOperation, start: () => Promise<void>): Promise<void>;
  /** Waits until the client has taken enough of what was sent. */
  room(): Promise<void>;
  sendResult(operation: RunningOperation, result: EncodedResult): void;
  /** Tells the client that the operation has ended. @param errors as JSON, if it failed. @param isSlow whether it failed because the client is too slow. */
  sendEnd(operation: RunningOperation, errors: string | undefined, isSlow: boolean): void;
  /** Whether the connection is draining: then it begins no subscription and calls `drop` instead. */
  readonly isDraining: boolean;
  /** Stops an operation without telling the client that its subscription has ended. */
  drop(operation: RunningOperation): void;
  /** The operation has ended, or was stopped. @param milliseconds how long a query or mutation took. */
  onEnd(operation: RunningOperation, milliseconds: number | undefined): void;
}

const maxWaiting = 1_000;
/** In bytes. */
const maxWaitingBytes = 1024 * 1024;

/**
 * One operation of one client, for all transports. The result of a query or a mutation, or those of a subscription, go to its host as they
 * come. While the client is slow, only the newest state waits; where every value counts, a bounded queue.
 */
export class RunningOperation implements Listener {
  readonly id: string;
  readonly operationInfo: OperationInfo;
  received = 0;
  execution: SharedExecution | undefined;
  isOver = false;
  readonly #subscriptions: Subscriptions;
  readonly #host: OperationHost;
  readonly #identity: Identity;
  /** Undefined for a query or a mutation, and until the operation is known to be a subscription. */
  #waiting: EncodedResult[] | undefined;
  #waitingBytes = 0;
  /** The end of the subscription, which comes after what waits. */
  #end: { readonly errors: string | undefined } | undefined;
  #executedAt: number | undefined;
  #hasResult = false;
  #isListening = false;
  #onStop: (() => void) | undefined;
  #onRoom: (() => void) | undefined;

  constructor(
    id: string,
    subscriptions: Subscriptions,
    host: OperationHost,
    identity: Identity,
    operationInfo: OperationInfo,
  ) {
    this.id = id;
    this.#subscriptions = subscriptions;
    this.#host = host;
    this.#identity = identity;
    this.operationInfo = operationInfo;
  }

  /** True until the operation is known to be a subscription: a draining connection waits for its response. */
  get isSingle(): boolean {
    return this.#waiting === undefined;
  }

  /** Sets what happens when the operation is stopped, in place of what was set before. */
  onStop(callback: () => void): void {
    this.#onStop = callback;
  }

  /** Executes a query or a mutation, or begins to listen. Never rejects. */
  async run(read: () => Promise<Operation>): Promise<void> {
    try {
      await this.#host.inTurn(this, async () => {
        if (this.isOver) return;
        const operation = await read();
        if (this.isOver) return;
        if (operation.type === 'subscription') this.#listen(operation);
        else await this.#execute(operation);
      });
    } catch (error) {
      if (!this.isOver) this.#finish(this.#subscriptions.formatErrors(error, this.operationInfo));
    }
  }

  /** Ends the operation without a word to the client. */
  stop(): void {
    if (this.isOver) return;
    if (this.isSingle && !this.#hasResult) this.operationInfo.outcome = 'ABANDONED';
    this.#close();
  }

  next(result: EncodedResult, replaces: boolean): void {
    if (this.isOver || this.#end !== undefined || this.#waiting === undefined) return;
    if (replaces) this.#clear();
    if (this.#waiting.length === 0 && !this.#host.buffer.isSlow) {
      this.#host.sendResult(this, result);
      return;
    }
    this.#waiting.push(result);
    const hasRoom = this.#count(lengthOf(result));
    const isTooMuch = this.#waiting.length > maxWaiting || (!replaces && this.#waitingBytes > maxWaitingBytes);
    if (!hasRoom || isTooMuch) {
      const error = new RateLimited('Too slow a reader');
      this.#finish(this.#subscriptions.formatErrors(error, this.operationInfo), true);
    } else if (this.#waiting.length === 1) this.#host.buffer.whenTaken(this.#sendWaiting);
  }

  fail(errors: string): void {
    this.operationInfo.outcome = outcomeOfErrors(JSON.parse(errors));
    this.#endAfterWaiting(errors);
  }

  complete(): void {
    this.#endAfterWaiting(undefined);
  }

  async room(): Promise<void> {
    while (!this.isOver && this.#waitingBytes > slowBytes) {
      await new Promise<void>(resolve => {
        this.#onRoom = resolve;
      });
    }
  }

  #listen(operation: Operation): void {
    this.#waiting = [];
    if (this.#host.isDraining) {
      this.#host.drop(this);
      return;
    }
    this.#onStop = undefined;
    this.#isListening = true;
    this.#subscriptions.telemetry.listeners(this.#host.transport, 1);
    this.#subscriptions.subscribe(operation, this.#identity, this, this.operationInfo);
  }

  async #execute(operation: Operation): Promise<void> {
    const claim = this.#subscriptions.claim(this.#identity);
    const stopping = new AbortController();
    this.#onStop = () => stopping.abort(new Abandoned('The client has gone'));
    this.#executedAt = performance.now();
    try {
      const { signal } = stopping;
      const outcome = await this.#subscriptions.single(operation, this.#identity, signal, this.operationInfo, claim);
      await this.#host.room();
      if (this.isOver) return;
      if ('errors' in outcome) return this.fail(JSON.stringify(outcome.errors));
      const parts = responseFrames(outcome.answer, claim);
      this.#hasResult = true;
      this.#host.sendResult(this, { parts, needsRoom: false });
      this.#finish(undefined);
    } finally {
      claim.release();
    }
  }

  readonly #sendWaiting = (): void => {
    const { buffer } = this.#host;
    while (!this.isOver && !buffer.isSlow) {
      const result = this.#waiting?.shift();
      if (result === undefined) break;
      this.#count(-lengthOf(result));
      this.#host.sendResult(this, result);
    }
    if (this.isOver) return;
    if (this.#waiting?.length) buffer.whenTaken(this.#sendWaiting);
    else if (this.#end !== undefined) this.#finish(this.#end.errors);
  };

  #endAfterWaiting(errors: string | undefined): void {
    if (this.isOver || this.#end !== undefined) return;
    this.#end = { errors };
    if (!this.#waiting?.length) this.#finish(errors);
  }

  #finish(errors: string | undefined, isSlow = false): void {
    if (this.isOver) return;
    this.#host.sendEnd(this, errors, isSlow);
    this.#close();
  }

  #close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#clear();
    this.#onRoom?.();
    this.#onStop?.();
    this.execution?.leave(this);
    if (this.#isListening) this.#subscriptions.telemetry.listeners(this.#host.transport, -1);
    const took = this.isSingle && this.#executedAt !== undefined ? performance.now() - this.#executedAt : undefined;
    this.#host.onEnd(this, took);
  }

  #clear(): void {
    if (this.#waiting !== undefined) this.#waiting.length = 0;
    if (this.#waitingBytes > 0) this.#count(-this.#waitingBytes);
  }

  /** Counts bytes that wait, or no longer do (`by` below 0). Returns whether the memory budget has room for them. */
  #count(by: number): boolean {
    this.#waitingBytes += by;
    if (by < 0) this.#onRoom?.();
    return this.#host.buffer.queue(by);
  }
}

const lengthOf = ({ parts }: EncodedResult) => parts.reduce((sum, { length }) => sum + length, 0);
