// One WebSocket of a client: the server's side of graphql-transport-ws, and the operations that run on it.
import type { Socket } from 'node:net';
import { CloseCode } from 'graphql-ws';
import type { WebSocket } from 'ws';
import type { Credential } from '../auth/credentials.js';
import { QueryTooComplex } from '../errors.js';
import type { OperationRequest } from '../graphql/limits/documents.js';
import type { Handshake, Identity } from '../http/authentication.js';
import type { ConnectionTelemetry } from '../http/request-telemetry.js';
import type { Claim } from '../lib/memory-budget.js';
import { Bulkhead } from '../lib/run.js';
import { type ClientApp, clientAppOf } from '../observability/operation-info.js';
import type { Operation } from './executor.js';
import {
  closeCodes,
  closeFor,
  closeReason,
  endMessage,
  type Message,
  messageIn,
  nextFrame,
  rawCredentialsIn,
} from './protocol.js';
import { type OperationHost, RunningOperation } from './running-operation.js';
import { maxUnsentBytes, type Outlet, type Parts, SendBuffer } from './send-buffer.js';
import type { Subscriptions } from './subscriptions.js';
import { WebSocketInput } from './websocket-input.js';

export class WebSocketConnection implements OperationHost, Outlet {
  readonly transport = 'websocket';
  readonly input: WebSocketInput;
  readonly buffer: SendBuffer;
  isClosed = false;
  operationsStarted = 0;
  readonly #socket: WebSocket;
  readonly #id: string;
  #app: ClientApp | undefined;
  readonly #handshake: Handshake;
  readonly #subscriptions: Subscriptions;
  #isIntroduced = false;
  #isDraining = false;
  readonly #initTimer: NodeJS.Timeout;
  readonly #running = new Map<string, RunningOperation>();
  /** Bounds how many operations are executed at a time; the others wait in order. */
  readonly #executions: Bulkhead;
  /** Undefined until the client is acknowledged. */
  #identity: Identity | undefined;
  #idleSince = performance.now();

  /** @param telemetry has the id of the upgrade request; operations are numbered below it, such as `id/1`. */
  constructor(
    socket: WebSocket,
    raw: Socket,
    telemetry: Pick<ConnectionTelemetry, 'id' | 'app'>,
    handshake: Handshake,
    subscriptions: Subscriptions,
  ) {
    const { bounds, budget } = subscriptions.deps;
    this.#socket = socket;
    this.#id = telemetry.id;
    this.#app = telemetry.app;
    this.#handshake = handshake;
    this.#subscriptions = subscriptions;
    this.#executions = new Bulkhead(bounds.executions, bounds.operations);
    const { address } = handshake;
    this.buffer = new SendBuffer(this, budget.claim({ address }));
    this.input = new WebSocketInput(socket, raw, budget.claim({ address }), this);
    this.#initTimer = setTimeout(
      () => this.close(CloseCode.ConnectionInitialisationTimeout, 'Connection initialisation timeout'),
      bounds.initMs,
    );
    socket.on('error', () => socket.terminate());
  }

  get turn(): string | undefined {
    return this.#subscriptions.deps.acceptedScopes.turnOf(this.#identity?.scope);
  }

  get credential(): Credential | undefined {
    return this.#identity?.credential;
  }

  /** Handles one message. What is wrong with it closes this connection, and no other. */
  receive(bytes: Buffer | undefined): void {
    try {
      this.#handle(bytes && messageIn(bytes));
    } catch (error) {
      this.close(...closeFor(error));
    }
  }

  #handle(message: Message | undefined): void {
    switch (message?.type) {
      case undefined:
        this.close(CloseCode.BadRequest, 'Invalid message received');
        break;
      case 'connection_init':
        this.#introduce(message.payload ?? {});
        break;
      case 'ping':
        this.input.countMessage(false);
        this.#send(JSON.stringify({ type: 'pong', payload: message.payload ?? undefined }));
        break;
      case 'pong':
        this.input.countMessage(false);
        break;
      case 'subscribe':
        this.input.countMessage(true);
        this.#subscribe(message.id, message.payload);
        break;
      case 'complete':
        if (!this.#running.has(message.id)) this.input.countMessage(false);
        this.#running.get(message.id)?.stop();
    }
  }

  /** @throws GatewayError if the client may not use the connection. */
  #introduce(params: Record<string, unknown>): void {
    if (this.#isIntroduced) {
      this.close(CloseCode.TooManyInitialisationRequests, 'Too many initialisation requests');
      return;
    }
    this.#isIntroduced = true;
    clearTimeout(this.#initTimer);
    const { authentication, budget } = this.#subscriptions.deps;
    const identity = authentication.authenticate(this.#handshake, rawCredentialsIn(params));
    this.#app = clientAppOf(params) ?? this.#app;
    this.buffer.chargeTo(budget.claim(identity));
    // After the messages that came together with this one: they come too early.
    queueMicrotask(() => {
      this.#identity = identity;
      this.#send('{"type":"connection_ack"}');
    });
  }

  #subscribe(id: string, request: OperationRequest | QueryTooComplex): void {
    if (this.#identity === undefined) this.close(CloseCode.Unauthorized, 'Unauthorized');
    else if (this.#running.has(id))
      this.close(CloseCode.SubscriberAlreadyExists, `Subscriber for ${id} already exists`);
    // While the connection is draining, the client repeats the operation after it has reconnected.
    else if (!this.#isDraining) this.#start(id, request, this.#identity);
  }

  /** @param request the error of one that is too large to be read. */
  #start(id: string, request: OperationRequest | QueryTooComplex, identity: Identity): void {
    const subscriptions = this.#subscriptions;
    const { bounds, requestAdmission, requestTelemetry } = subscriptions.deps;
    if (this.#running.size >= bounds.operations) {
      this.close(CloseCode.TooManyInitialisationRequests, 'RATE_LIMITED: Too many operations on one connection');
      return;
    }
    this.operationsStarted += 1;
    this.#idleSince = performance.now();
    const info = requestTelemetry.startOperation(`${this.#id}/${this.operationsStarted}`, this.#app);
    const operation = new RunningOperation(id, subscriptions, this, { identity, info });
    this.#running.set(id, operation);
    if (!operation.holds(request)) return;
    void this.#runInTurn(operation, async claim => {
      await this.buffer.room();
      await requestAdmission.countOperation(identity);
      if (request instanceof QueryTooComplex) throw request;
      return subscriptions.read(identity, request, info, claim);
    });
  }

  /** Runs an operation as soon as there is a place for it; never if it is stopped before. */
  async #runInTurn(operation: RunningOperation, read: (claim: Claim) => Promise<Operation>): Promise<void> {
    await new Promise<void>(resolve => {
      const waiter = { start: resolve };
      operation.onStop = () => this.#executions.withdraw(waiter);
      this.#executions.enter(waiter);
    });
    await operation.run(read);
    this.#executions.leave();
  }

  unsent(): number {
    return this.#socket.bufferedAmount;
  }

  write(part: Parts[number], onTaken: (() => void) | undefined): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > maxUnsentBytes) socket.pause();
    socket.send(part, { binary: false, fin: onTaken !== undefined }, onTaken);
  }

  onTaken(): void {
    this.input.readOn();
  }

  destroy(): void {
    this.#socket.terminate();
  }

  frame({ id }: RunningOperation): readonly [before: string, after: string] {
    return nextFrame(id);
  }

  sendEnd({ id }: RunningOperation, errors: string | undefined): void {
    this.#send(endMessage(id, errors));
  }

  onEnd({ id, caller }: RunningOperation, milliseconds: number | undefined): void {
    this.#running.delete(id);
    this.#subscriptions.deps.requestTelemetry.endOperation(caller.info, caller.identity, milliseconds);
    this.#closeWhenDone();
  }

  /** Closes with a code of the protocol. */
  close(code: number, reason: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.close(code, closeReason(reason));
    this.end();
  }

  /**
   * Drains the connection: ends subscriptions, starts nothing new, and closes when every running query and mutation has its response. Sends no `complete`,
   * which the client would take for the end of its subscription.
   */
  leave(): void {
    this.#isDraining = true;
    for (const operation of this.#running.values()) if (!operation.isSingle) operation.stop();
    this.#closeWhenDone();
  }

  #closeWhenDone(): void {
    if (this.#isDraining && this.#running.size === 0) this.close(closeCodes.goingAway, 'Going away');
  }

  /** One heartbeat. Terminates a client that is gone, and closes an idle connection. */
  heartbeat(): void {
    const now = performance.now();
    if (this.#running.size > 0 || this.unsent() > 0) this.#idleSince = now;
    if (now - this.#idleSince > this.#subscriptions.deps.bounds.idleMs) this.close(1000, 'Idle');
    else if (!this.input.beat()) this.destroy();
  }

  /** Stops all operations; called when the socket is gone. */
  end(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    clearTimeout(this.#initTimer);
    this.buffer.release();
    this.input.release();
    for (const operation of this.#running.values()) operation.stop();
  }

  #send(message: string): void {
    this.buffer.send([message]);
  }
}
