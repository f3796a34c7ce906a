// One operation of one client on a stream or a socket, from its first byte read to its last byte sent.
import { Abandoned, RateLimited } from '../errors.js';
import { responseMessage } from '../graphql/response-text.js';
import { bytesOfValue, type Claim, ownText } from '../lib/memory-budget.js';
import type { Caller, Failure, Operation } from './executor.js';
import { framed, type SendBuffer, slowBytes } from './send-buffer.js';
import type { EncodedResult, Listener } from './shared-execution.js';
import type { Subscriptions } from './subscriptions.js';

/** The connection or the response that carries the results of an operation. */
export interface OperationHost {
  readonly transport: 'websocket' | 'sse' | 'multipart';
  readonly buffer: SendBuffer;
  /** What stands before and after a result. @param cursor see `EncodedResult`. */
  frame(operation: RunningOperation, cursor: string | undefined): readonly [before: string, after: string];
  /** Tells the client that the operation has ended. @param errors as JSON, if it failed. @param isSlow whether it failed because the client is too slow. */
  sendEnd(operation: RunningOperation, errors: string | undefined, isSlow: boolean): void;
  /** Stops subscriptions without telling the client that they have ended, those of now and those that begin later. */
  leave(): void;
  /** The operation has ended, or was stopped. @param milliseconds how long a query or mutation took. */
  onEnd?(operation: RunningOperation, milliseconds: number | undefined): void;
}

const maxWaiting = 1_000;
const maxWaitingBytes = 1024 * 1024;
/** In bytes: what an operation takes in memory while it listens, without its id and what waits. */
const listenerBytes = 1_200;

/**
 * One operation of one client, for all transports. The result of a query or a mutation, or those of a subscription, go to its host as they
 * come. While the client is slow, only the newest state waits; where every value counts, a bounded queue.
 */
export class RunningOperation implements Listener {
  readonly id: string;
  readonly caller: Caller;
  isOver = false;
  onStop: (() => void) | undefined;
  readonly #subscriptions: Subscriptions;
  readonly #host: OperationHost;
  /** Undefined for a query or a mutation, and until the operation is known to be a subscription. */
  #waiting: EncodedResult[] | undefined;
  #waitingBytes = 0;
  /** The end of the subscription, which comes after what waits. */
  #end: { readonly errors: string | undefined } | undefined;
  #startedAt: number | undefined;
  /** Counts what the client has sent for it, and its document; once it listens, itself and what waits: what it listens to is counted for all listeners. */
  readonly #claim: Claim;
  #onRoom: (() => void) | undefined;

  constructor(id: string, subscriptions: Subscriptions, host: OperationHost, caller: Caller) {
    this.id = id;
    this.#subscriptions = subscriptions;
    this.#host = host;
    this.caller = caller;
    this.#claim = subscriptions.deps.budget.claim(caller.identity);
  }

  /** True until the operation is known to be a subscription: a draining connection waits for its response. */
  get isSingle(): boolean {
    return this.#waiting === undefined;
  }

  /** Counts the request of the client, which waits for its turn. If there is no room for it, the operation ends with the error. @returns whether there is */
  holds(request: unknown): boolean {
    try {
      this.#claim.reserve(bytesOfValue(request));
    } catch (error) {
      this.#fail(error);
    }
    return !this.isOver;
  }

  /** Executes a query or a mutation, or begins to listen. Never rejects. */
  async run(read: (claim: Claim) => Promise<Operation>): Promise<void> {
    try {
      if (this.isOver) return;
      const operation = await read(this.#claim);
      if (this.isOver) return;
      if (operation.type === 'subscription') this.#listen(operation);
      else await this.#execute(operation);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends the operation without a word to the client. */
  stop(): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.isSingle) this.caller.info.outcome = 'ABANDONED';
    this.#close();
  }

  next(result: EncodedResult, replaces: boolean): void {
    if (this.isOver || this.#waiting === undefined) return;
    if (replaces) this.#clear();
    if (this.#waiting.length === 0 && !this.#host.buffer.isSlow) {
      this.#send(result);
      return;
    }
    this.#waiting.push(result);
    const hasRoom = this.#count(result.length);
    const isTooMuch = this.#waiting.length > maxWaiting || (!replaces && this.#waitingBytes > maxWaitingBytes);
    if (!hasRoom || isTooMuch) this.#fail(new RateLimited('Too slow a reader'), true);
    else if (this.#waiting.length === 1) this.#host.buffer.whenTaken(this.#sendWaiting);
  }

  end(failure: Failure | undefined): void {
    if (failure !== undefined) this.caller.info.outcome = failure.outcome;
    this.#end = { errors: failure?.errors };
    if (!this.#waiting?.length) this.#finish(failure?.errors);
  }

  async room(): Promise<void> {
    while (!this.isOver && this.#waitingBytes > slowBytes) {
      await new Promise<void>(resolve => {
        this.#onRoom = resolve;
      });
    }
  }

  #listen(operation: Operation): void {
    this.#claim.reserve(listenerBytes + bytesOfValue(this.id));
    this.#waiting = [];
    this.onStop = undefined;
    const { info } = this.caller;
    info.document = undefined;
    info.name = info.name && ownText(info.name);
    this.#subscriptions.deps.telemetry.listeners(this.#host.transport, 1);
    if (this.#subscriptions.isDraining) this.#host.leave();
    else void this.#subscriptions.subscribe(operation, this.caller, this);
  }

  async #execute(operation: Operation): Promise<void> {
    const { executor, budget, requestAdmission } = this.#subscriptions.deps;
    const claim = budget.claim(this.caller.identity);
    const stopping = new AbortController();
    this.onStop = () => stopping.abort(new Abandoned('The client has gone'));
    this.#startedAt = performance.now();
    try {
      const end = requestAdmission.beginOperation(this.caller.identity);
      const answer = await executor.single(operation, this.caller, stopping.signal, claim).finally(end);
      await this.#host.buffer.room();
      if (this.isOver) return;
      // The claim counts it already.
      this.#send(responseMessage(answer, claim), false);
      this.#finish(undefined);
    } finally {
      claim.release();
    }
  }

  #send({ parts, cursor }: EncodedResult, needsRoom = true): void {
    this.#host.buffer.send(framed(parts, ...this.#host.frame(this, cursor)), needsRoom);
  }

  readonly #sendWaiting = (): void => {
    const { buffer } = this.#host;
    while (!this.isOver && !buffer.isSlow) {
      const result = this.#waiting?.shift();
      if (result === undefined) break;
      this.#count(-result.length);
      this.#send(result);
    }
    if (this.isOver) return;
    if (this.#waiting?.length) buffer.whenTaken(this.#sendWaiting);
    else if (this.#end !== undefined) this.#finish(this.#end.errors);
  };

  #fail(error: unknown, isSlow = false): void {
    if (this.isOver) return;
    const { errors, outcome } = this.#subscriptions.deps.executor.failure(error, this.caller.info.id);
    this.caller.info.outcome = outcome;
    this.#finish(errors, isSlow);
  }

  #finish(errors: string | undefined, isSlow = false): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#host.sendEnd(this, errors, isSlow);
    this.#close();
  }

  #close(): void {
    this.#clear();
    this.#claim.release();
    this.#onRoom?.();
    this.onStop?.();
    if (!this.isSingle) this.#subscriptions.deps.telemetry.listeners(this.#host.transport, -1);
    const { executedAt = performance.now() } = this.caller.info;
    this.#host.onEnd?.(this, this.#startedAt === undefined ? undefined : executedAt - this.#startedAt);
  }

  #clear(): void {
    if (this.#waiting !== undefined) this.#waiting.length = 0;
    if (this.#waitingBytes > 0) this.#count(-this.#waitingBytes);
  }

  /** Counts bytes that wait, or no longer do (`by` below 0). Returns whether the memory budget has room for them. */
  #count(by: number): boolean {
    this.#waitingBytes += by;
    if (by < 0) this.#onRoom?.();
    return this.#claim.force(listenerBytes + bytesOfValue(this.id) + this.#waitingBytes);
  }
}
