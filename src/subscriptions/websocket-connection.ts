import type { WebSocket } from 'ws';
import type { RawCredentials } from '../auth/credentials.js';
import { Abandoned } from '../errors.js';
import { responseFrames } from '../graphql/response-text.js';
import type { Handshake, Identity } from '../http/authentication.js';
import { Bulkhead } from '../lib/bulkhead.js';
import type { Claim } from '../lib/memory-budget.js';
import { networkOf } from '../lib/network.js';
import { type OperationInfo, outcomeOfErrors } from '../observability/operation-info.js';
import type { SubscriptionTimes } from './limits.js';
import type { Operation } from './operations.js';
import {
  closeCodes,
  closeFor,
  closeReason,
  EncodedResult,
  messageIn,
  messageParts,
  type OperationRequest,
  OperationResults,
  type ProtocolConnection,
  type ProtocolContext,
  type ProtocolServer,
  protocol,
  rawCredentialsIn,
} from './protocol.js';
import { FailedOperation, SendBuffer, Subscriber } from './shared-execution.js';
import type { Subscriptions } from './subscriptions.js';

/** What a connection is made with. */
interface ConnectionDeps {
  readonly subscriptions: Subscriptions;
  readonly times: SubscriptionTimes;
  readonly server: ProtocolServer;
  /** Identifies the client by its handshake and the payload of `connection_init`. @throws as `Authentication.authenticate` does. */
  authenticate(handshake: Handshake, rawCredentials: RawCredentials): Promise<Identity>;
}

/** How long the client may take to close its side. */
const closingMs = 2_000;

/** In bytes. Above this send buffer we stop reading from the socket. */
const mostUnsent = 1024 * 1024;

/** In bytes. More than a well-behaved client sends in pings and pongs between two heartbeats. */
const controlBytesPerBeat = 16 * 1024;

/** One WebSocket, as graphql-ws sees it: its limits, its memory, and the operations that run on it. */
export class WebSocketConnection implements ProtocolConnection {
  readonly protocol = protocol;
  readonly #socket: WebSocket;
  readonly #id: string;
  readonly #handshake: Handshake;
  readonly #deps: ConnectionDeps;
  readonly #running = new Set<OperationResults>();
  /** Bounds how many operations are executed at a time; the others wait in order. */
  readonly #executions: Bulkhead;
  readonly #buffer: SendBuffer;
  /** Counts the bytes of a message that has not arrived completely. */
  readonly #unfinishedClaim: Claim;
  #unfinished = 0;
  /** The context of an acknowledged connection, and what ends its count. */
  #admitted: { readonly context: ProtocolContext; readonly identity: Identity; readonly leave: () => void } | undefined;
  #isClosed = false;
  readonly #closed: () => Promise<void>;
  #alive = true;
  /** The send buffer at the last heartbeat, in bytes. */
  #unsent = 0;
  #idleSince = performance.now();
  #operationsStarted = 0;
  #isDraining = false;

  /** @param id the id of the upgrade request; operations are numbered below it, such as `id/1`. */
  constructor(socket: WebSocket, id: string, handshake: Handshake, deps: ConnectionDeps) {
    this.#socket = socket;
    this.#id = id;
    this.#handshake = handshake;
    this.#deps = deps;
    this.#executions = new Bulkhead(deps.subscriptions.limits.executions, deps.subscriptions.limits.operations);
    this.#buffer = new SendBuffer(() => socket.bufferedAmount, deps.subscriptions.claimOf(handshake.address));
    this.#unfinishedClaim = deps.subscriptions.claimOf(networkOf(handshake.address));
    this.#closed = deps.server.opened(this, this);
    socket.on('pong', () => {
      this.#alive = true;
    });
    socket.on('error', () => socket.terminate());
  }

  onMessage(receive: (message: string) => Promise<void>): void {
    this.#socket.on('message', async (data, isBinary) => {
      this.#countUnfinished(0);
      this.#alive = true;
      if (this.#isClosed) return;
      const message = isBinary ? undefined : messageIn(data as Buffer);
      if (message === undefined) return this.close(closeCodes.badRequest, 'Invalid message received');
      // The client repeats the operation after it has reconnected.
      if (message.type === 'subscribe' && this.#isDraining) return;
      try {
        // graphql-ws also takes a message that is parsed already.
        await receive(message as never);
      } catch (error) {
        // A bad message must not affect other connections.
        this.close(...closeFor(error));
      }
    });
  }

  /** How many operations have been started so far. */
  get operationsStarted(): number {
    return this.#operationsStarted;
  }

  /**
   * Counts bytes that arrived on the socket. Closes the connection if more than `most` bytes came without a complete message, or if the memory
   * budget has no room for them.
   */
  arrived(bytes: number, most: number): void {
    try {
      this.#countUnfinished(this.#unfinished + bytes);
      if (this.#unfinished > most) this.#closeUnread(closeCodes.messageTooBig, 'Message too big');
    } catch {
      this.#closeUnread(closeCodes.tooMany, 'RATE_LIMITED: Too much is being sent from this address');
    }
  }

  /** Closes, and stops reading until the client has closed its side. */
  #closeUnread(code: number, reason: string): void {
    this.close(code, reason);
    this.#socket.pause();
  }

  /** @throws Overloaded, RateLimited if the memory budget has no room for so many bytes. */
  #countUnfinished(bytes: number): void {
    this.#unfinished = bytes;
    this.#unfinishedClaim.received(bytes);
  }

  /** Sends one message of graphql-ws, with the result that belongs into it. */
  send(message: string): void {
    const { parts, needsRoom } = messageParts(message);
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    const { isSlow } = this.#buffer;
    if (socket.bufferedAmount > mostUnsent) socket.pause();
    const last = parts.length - 1;
    for (const [index, part] of parts.entries()) {
      socket.send(part, { binary: false, fin: index === last }, index === last ? () => this.#onSent() : undefined);
    }
    // A slow reader must not fill the memory of the process.
    if (!this.#buffer.count() && isSlow && needsRoom) socket.terminate();
  }

  /** The client has taken some bytes. */
  #onSent(): void {
    if (this.#socket.isPaused && this.#socket.bufferedAmount <= mostUnsent) this.#socket.resume();
    this.#buffer.taken();
  }

  /** Waits until the send buffer is below `mostUnsent`, or the connection is closed. */
  async #room(): Promise<void> {
    while (!this.#isClosed && this.#socket.bufferedAmount > mostUnsent) {
      await new Promise<void>(resolve => this.#buffer.whenTaken(resolve));
    }
  }

  /** Closes with a code of the protocol. If the client does not close its side, the socket is destroyed. */
  close(code: number, reason: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.close(code, closeReason(reason));
    const timer = setTimeout(() => this.#socket.terminate(), closingMs);
    this.#socket.once('close', () => clearTimeout(timer));
    this.end();
  }

  /** Drains the connection: ends subscriptions, starts nothing new, and closes when every running query and mutation has its response. */
  leave(): void {
    this.#isDraining = true;
    for (const results of [...this.#running]) if (!results.isSingle) this.#drop(results);
    this.#closeWhenDone();
  }

  /** Ends results without a `complete`, which the client would take for the end of its subscription. */
  #drop(results: OperationResults): void {
    if (this.#admitted !== undefined) delete this.#admitted.context.subscriptions[results.id];
    void results.return();
  }

  #closeWhenDone(): void {
    if (this.#isDraining && this.#running.size === 0) this.close(closeCodes.goingAway, 'Going away');
  }

  /** One heartbeat. Terminates a client that neither answered the last one nor took any bytes since, and closes an idle connection. */
  heartbeat(): void {
    const buffered = this.#socket.bufferedAmount;
    // Pings and pongs do not complete a message.
    this.#countUnfinished(Math.max(this.#unfinished - controlBytesPerBeat, 0));
    if (!this.#alive && buffered >= this.#unsent) {
      this.#socket.terminate();
      return;
    }
    this.#alive = false;
    this.#unsent = buffered;
    if (this.#running.size > 0) this.#idleSince = performance.now();
    if (performance.now() - this.#idleSince > this.#deps.times.idleMs) this.close(1000, 'Idle');
    else if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
  }

  /** Stops all operations; called when the socket is gone. */
  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#admitted?.leave();
    this.#buffer.release();
    void this.#closed();
    this.#unfinishedClaim.release();
  }

  /** Identifies the client. @throws GatewayError if the connection may not be opened. */
  async acknowledge(context: ProtocolContext): Promise<void> {
    const { subscriptions, authenticate } = this.#deps;
    const identity = await authenticate(this.#handshake, rawCredentialsIn(context.connectionParams ?? {}));
    // The client may have disconnected in the meantime.
    if (this.#isClosed) return;
    const leave = subscriptions.enter(identity);
    if (leave === undefined)
      return this.close(closeCodes.tooMany, 'RATE_LIMITED: Too many connections with this credential');
    this.#admitted = { context, identity, leave };
    this.#buffer.chargeTo(subscriptions.claim(identity));
  }

  /** Starts an operation. @throws Abandoned if it closes the connection. */
  start(id: string, request: OperationRequest): OperationResults {
    const identity = this.#admitted?.identity;
    if (identity === undefined || this.#running.size >= this.#deps.subscriptions.limits.operations) {
      this.close(closeCodes.tooMany, 'RATE_LIMITED: Too many operations on one connection');
      throw new Abandoned('The connection is closed');
    }
    const results = new OperationResults(
      id,
      self => this.#run(self, request, identity),
      self => {
        this.#running.delete(self);
        // By then graphql-ws has sent the message that completes the operation.
        if (this.#isDraining) setImmediate(() => this.#closeWhenDone());
      },
    );
    this.#running.add(results);
    return results;
  }

  async *#run(
    results: OperationResults,
    request: OperationRequest,
    identity: Identity,
  ): AsyncGenerator<EncodedResult, undefined> {
    const { subscriptions } = this.#deps;
    const { signal } = results;
    this.#operationsStarted += 1;
    this.#idleSince = performance.now();
    const operationInfo = subscriptions.requestTelemetry.startOperation(`${this.#id}/${this.#operationsStarted}`);
    let executedAt: number | undefined;
    let subscriber: Subscriber | undefined;
    try {
      const isNext = await new Promise<boolean>(resolve => {
        const waiter = { start: () => resolve(true) };
        signal.addEventListener('abort', () => this.#executions.withdraw(waiter) && resolve(false), { once: true });
        this.#executions.enter(waiter);
      });
      if (!isNext) return;
      try {
        await this.#room();
        if (!signal.aborted) await subscriptions.count(identity);
        if (signal.aborted) return;
        const operation = subscriptions.read(request, operationInfo);
        if (operation.type !== 'subscription') {
          executedAt = performance.now();
          yield await this.#answer(operation, identity, signal, operationInfo);
          return;
        }
        results.isSingle = false;
        if (this.#isDraining) {
          this.#drop(results);
          return;
        }
        subscriber = this.#listen(operation, identity, signal, operationInfo);
      } finally {
        this.#executions.leave();
      }
      for (let text = await subscriber.take(); text !== undefined; text = await subscriber.take()) {
        yield new EncodedResult([text], true);
      }
    } catch (error) {
      if (error instanceof FailedOperation) {
        operationInfo.outcome = outcomeOfErrors(JSON.parse(error.errors));
        throw error;
      }
      throw new FailedOperation(subscriptions.formatErrors(error, operationInfo));
    } finally {
      if (signal.aborted && results.isSingle) operationInfo.outcome = 'ABANDONED';
      const tookMs = executedAt === undefined ? undefined : performance.now() - executedAt;
      subscriptions.requestTelemetry.endOperation(operationInfo, tookMs);
    }
  }

  /** Subscribes until the operation ends. */
  #listen(operation: Operation, identity: Identity, signal: AbortSignal, operationInfo: OperationInfo): Subscriber {
    const { subscriptions } = this.#deps;
    const subscriber = new Subscriber(this.#buffer);
    subscriptions.telemetry.listeners('websocket', 1);
    const leave = subscriptions.subscribe(operation, identity, subscriber, operationInfo);
    signal.addEventListener('abort', () => {
      leave();
      subscriber.stop();
      subscriptions.telemetry.listeners('websocket', -1);
    });
    return subscriber;
  }

  /** @throws FailedOperation if the operation was not executed. */
  async #answer(
    operation: Operation,
    identity: Identity,
    signal: AbortSignal,
    operationInfo: OperationInfo,
  ): Promise<EncodedResult> {
    const { subscriptions } = this.#deps;
    const claim = subscriptions.claim(identity);
    try {
      const outcome = await subscriptions.single(operation, identity, signal, operationInfo, claim);
      await this.#room();
      if ('errors' in outcome) throw new FailedOperation(JSON.stringify(outcome.errors));
      if (signal.aborted) throw signal.reason;
      return new EncodedResult(responseFrames(outcome.answer, claim), false);
    } finally {
      claim.release();
    }
  }
}
