import type { WebSocket } from 'ws';
import type { RawCredentials } from '../auth/credentials.js';
import { Bulkhead } from '../data/upstream/bulkhead.js';
import { Abandoned, RateLimited } from '../errors.js';
import type { Handshake, Identity } from '../http/authentication.js';
import type { Claim } from '../lib/memory-budget.js';
import { networkOf } from '../lib/network.js';
import { type OperationInfo, outcomeOfErrors } from '../observability/operation-info.js';
import type { Operation } from './operations.js';
import {
  closeCodes,
  closeFor,
  closeReason,
  type Message,
  messageIn,
  type OperationRequest,
  rawCredentialsIn,
} from './protocol.js';
import { type ClientConnection, type Frame, type FrameEncoder, inParts, Subscriber, slowBytes } from './subscriber.js';
import type { Subscriptions } from './subscriptions.js';

/** Timeouts of the subscription transports, in milliseconds. */
export interface SubscriptionTimes {
  /** How long a client may take to send `connection_init`. */
  readonly initMs: number;
  /** Between two heartbeats. A client that does not answer one before the next is disconnected. */
  readonly heartbeatMs: number;
  /** How long a connection may have no operation. */
  readonly idleMs: number;
}

/** What a connection is made with. */
export interface ConnectionDeps {
  readonly subscriptions: Subscriptions;
  readonly times: SubscriptionTimes;
  /** Identifies the client by its handshake and the payload of `connection_init`. @throws as `Authentication.authenticate` does. */
  authenticate(handshake: Handshake, rawCredentials: RawCredentials): Promise<Identity>;
}

/** A running operation. */
interface Running {
  /** True for a query or a mutation: a draining connection waits for its response. */
  readonly isSingle: boolean;
  stop(): void;
}

type Phase =
  | { readonly name: 'expected'; readonly handshake: Handshake; readonly timer: NodeJS.Timeout }
  | { readonly name: 'admitting' }
  | { readonly name: 'admitted'; readonly identity: Identity; readonly leave: () => void }
  | { readonly name: 'closed' };

/** How long the client may take to close its side. */
const closingMs = 2_000;

/** In bytes. Above this send buffer we stop reading from the socket. */
const mostUnsent = 1024 * 1024;

/** In bytes. More than a well-behaved client sends in pings and pongs between two heartbeats. */
const controlBytesPerBeat = 16 * 1024;

/** One WebSocket that speaks graphql-transport-ws, and the operations that run on it. */
export class Connection implements ClientConnection {
  readonly #socket: WebSocket;
  readonly #id: string;
  readonly #deps: ConnectionDeps;
  /** Running operations by id. */
  readonly #running = new Map<string, Running>();
  /** Bounds how many operations are executed at a time; the others wait in order. */
  readonly #executions: Bulkhead;
  /** Callbacks that wait until the send buffer is below `mostUnsent`. */
  readonly #waiting = new Set<() => void>();
  /** Counts bytes that are queued or sent and not yet taken by the client. */
  #unsentClaim: Claim;
  #queued = 0;
  /** Counts the bytes of a message that has not arrived completely. */
  readonly #unfinishedClaim: Claim;
  #unfinished = 0;
  #phase: Phase;
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
    this.#deps = deps;
    this.#executions = new Bulkhead(deps.subscriptions.limits.executions, deps.subscriptions.limits.operations);
    this.#unsentClaim = deps.subscriptions.claimOf(handshake.address);
    this.#unfinishedClaim = deps.subscriptions.claimOf(networkOf(handshake.address));
    const late = () => this.close(closeCodes.initialisationTimeout, 'Connection initialisation timeout');
    this.#phase = { name: 'expected', handshake, timer: setTimeout(late, deps.times.initMs) };
    socket.on('message', (data, isBinary) => {
      this.#countUnfinished(0);
      try {
        this.#receive(isBinary ? undefined : messageIn(data as Buffer));
      } catch (error) {
        // A bad message must not affect other connections.
        this.close(...closeFor(error));
      }
    });
    socket.on('pong', () => {
      this.#alive = true;
    });
    socket.on('error', () => socket.terminate());
  }

  /** How many operations have been started so far. */
  get operationsStarted(): number {
    return this.#operationsStarted;
  }

  get buffered(): number {
    return this.#socket.bufferedAmount;
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

  send(frame: string, whenSent?: () => void): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    const isSlow = this.buffered > slowBytes;
    if (this.buffered > mostUnsent) socket.pause();
    socket.send(frame, error => {
      this.#onSent();
      if (error == null) whenSent?.();
    });
    // A slow reader must not fill the memory of the process.
    if (!this.#count() && isSlow) socket.terminate();
  }

  queue(by: number): boolean {
    this.#queued += by;
    return this.#count();
  }

  /** Sends parts as one message. */
  #sendParts(deps: readonly Frame[]): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    const last = deps.length - 1;
    for (const [index, part] of deps.entries()) {
      socket.send(part, { binary: false, fin: index === last }, index === last ? () => this.#onSent() : undefined);
    }
    this.#count();
  }

  /** Counts the unsent bytes. Returns whether the memory budget has room for them. */
  #count(): boolean {
    const { buffered } = this;
    return this.#unsentClaim.set((buffered > slowBytes ? buffered : 0) + this.#queued);
  }

  /** The client has taken some bytes. */
  #onSent(): void {
    this.#count();
    if (this.buffered > mostUnsent) return;
    if (this.#socket.isPaused) this.#socket.resume();
    if (this.#waiting.size > 0) this.#goOn();
  }

  #goOn(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const each of waiting) each();
  }

  /** Waits until the send buffer is below `mostUnsent`, or the connection is closed. */
  async #room(): Promise<void> {
    while (this.#phase.name === 'admitted' && this.buffered > mostUnsent) {
      await new Promise<void>(resolve => this.#waiting.add(resolve));
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
    for (const [id, { isSingle }] of [...this.#running]) if (!isSingle) this.#stop(id);
    this.#closeWhenDone();
  }

  #closeWhenDone(): void {
    if (this.#isDraining && this.#running.size === 0) this.close(closeCodes.goingAway, 'Going away');
  }

  /** One heartbeat. Terminates a client that neither answered the last one nor took any bytes since, and closes an idle connection. */
  heartbeat(): void {
    const { buffered } = this;
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
    const phase = this.#phase;
    this.#phase = { name: 'closed' };
    if (phase.name === 'expected') clearTimeout(phase.timer);
    if (phase.name === 'admitted') phase.leave();
    this.#goOn();
    const running = [...this.#running.values()];
    this.#running.clear();
    for (const each of running) each.stop();
    this.#unsentClaim.release();
    this.#unfinishedClaim.release();
  }

  #receive(message: Message | undefined): void {
    this.#alive = true;
    if (this.#phase.name === 'closed') return;
    switch (message?.type) {
      case undefined:
        this.close(closeCodes.badRequest, 'Invalid message received');
        break;
      case 'connection_init':
        if (this.#phase.name !== 'expected') this.close(closeCodes.tooMany, 'Too many initialisation requests');
        else void this.#acknowledge(this.#phase.handshake, this.#phase.timer, message.payload ?? {});
        break;
      case 'ping':
        this.send(JSON.stringify({ type: 'pong', ...(message.payload != null && { payload: message.payload }) }));
        break;
      case 'pong':
        break;
      case 'subscribe':
        if (this.#phase.name !== 'admitted')
          this.close(closeCodes.unauthorized, 'UNAUTHENTICATED: connection_init comes first');
        // The client repeats an ignored operation after it has reconnected.
        else if (!this.#isDraining) this.#start(message.id, message.payload, this.#phase.identity);
        break;
      case 'complete':
        this.#stop(message.id);
        break;
    }
  }

  async #acknowledge(handshake: Handshake, timer: NodeJS.Timeout, payload: Record<string, unknown>): Promise<void> {
    clearTimeout(timer);
    this.#phase = { name: 'admitting' };
    try {
      const identity = await this.#deps.authenticate(handshake, rawCredentialsIn(payload));
      // The client may have disconnected in the meantime.
      if (this.#phase.name !== 'admitting') return;
      const leave = this.#deps.subscriptions.enter(identity);
      if (leave === undefined)
        this.close(closeCodes.tooMany, 'RATE_LIMITED: Too many connections with this credential');
      else {
        this.#phase = { name: 'admitted', identity, leave };
        this.#unsentClaim.release();
        this.#unsentClaim = this.#deps.subscriptions.claim(identity);
        this.send('{"type":"connection_ack"}');
      }
    } catch (error) {
      this.close(...closeFor(error));
    }
  }

  #start(id: string, operationRequest: OperationRequest, identity: Identity): void {
    const { subscriptions } = this.#deps;
    if (this.#running.has(id)) {
      this.close(closeCodes.subscriberExists, `Subscriber for ${id} already exists`);
      return;
    }
    if (this.#running.size >= subscriptions.limits.operations) {
      this.close(closeCodes.tooMany, 'RATE_LIMITED: Too many operations on one connection');
      return;
    }
    void this.#run(id, operationRequest, identity);
  }

  /** Never rejects. */
  async #run(id: string, operationRequest: OperationRequest, identity: Identity): Promise<void> {
    const { subscriptions } = this.#deps;
    // The client may complete the operation while it waits for its turn or for the rate limit.
    let isOver = false;
    let withdraw = () => {};
    const giveUp = () => {
      isOver = true;
      withdraw();
    };
    this.#running.set(id, { isSingle: true, stop: giveUp });
    this.#operationsStarted += 1;
    this.#idleSince = performance.now();
    const operationInfo = subscriptions.requestTelemetry.startOperation(`${this.#id}/${this.#operationsStarted}`);
    const isNext = await new Promise<boolean>(resolve => {
      const waiter = { start: () => resolve(true) };
      withdraw = () => this.#executions.withdraw(waiter) && resolve(false);
      this.#executions.enter(waiter);
    });
    if (!isNext) return subscriptions.requestTelemetry.endOperation(abandoned(operationInfo), undefined);
    try {
      await this.#room();
      if (!isOver) await subscriptions.count(identity);
      if (isOver) return subscriptions.requestTelemetry.endOperation(abandoned(operationInfo), undefined);
      const operation = subscriptions.read(operationRequest, operationInfo);
      if (operation.type === 'subscription') this.#listen(id, operation, identity, operationInfo);
      else await this.#answer(id, operation, identity, operationInfo);
    } catch (error) {
      const errors = subscriptions.formatErrors(error, operationInfo);
      subscriptions.requestTelemetry.endOperation(operationInfo, undefined);
      if (isOver) return;
      this.#sendParts([encoderFor(id).fail(errors)]);
      this.#forget(id);
    } finally {
      this.#executions.leave();
    }
  }

  #listen(id: string, operation: Operation, identity: Identity, operationInfo: OperationInfo): void {
    const { subscriptions } = this.#deps;
    const subscriber = new Subscriber(this, encoderFor(id), (tooSlow, told) => {
      if (told !== undefined) operationInfo.outcome = outcomeOfErrors(JSON.parse(told));
      const errors = tooSlow
        ? subscriptions.formatErrors(new RateLimited('Too slow a reader'), operationInfo)
        : undefined;
      this.#stop(id);
      if (errors !== undefined) this.send(encoderFor(id).fail(errors));
    });
    subscriptions.telemetry.listeners('websocket', 1);
    const leave = subscriptions.subscribe(operation, identity, subscriber, operationInfo);
    const stop = () => {
      leave();
      subscriber.stop();
      subscriptions.telemetry.listeners('websocket', -1);
      subscriptions.requestTelemetry.endOperation(operationInfo, undefined);
    };
    this.#running.set(id, { isSingle: false, stop });
    if (this.#isDraining) this.#stop(id);
  }

  async #answer(id: string, operation: Operation, identity: Identity, operationInfo: OperationInfo): Promise<void> {
    const { subscriptions } = this.#deps;
    const startedAt = performance.now();
    const stopping = new AbortController();
    const stop = () => stopping.abort(new Abandoned('The client has gone'));
    const running: Running = { isSingle: true, stop };
    this.#running.set(id, running);
    const isWanted = () => this.#running.get(id) === running;
    const encoder = encoderFor(id);
    const claim = subscriptions.claim(identity);
    const messages: (readonly Frame[])[] = [];
    try {
      const outcome = await subscriptions.single(operation, identity, stopping.signal, operationInfo, claim);
      await this.#room();
      if ('errors' in outcome) messages.push([encoder.fail(JSON.stringify(outcome.errors))]);
      else if (isWanted()) messages.push(inParts(outcome.answer, encoder, claim), [encoder.complete()]);
    } catch (error) {
      messages.push([encoder.fail(subscriptions.formatErrors(error, operationInfo))]);
    }
    claim.release();
    subscriptions.requestTelemetry.endOperation(
      isWanted() ? operationInfo : abandoned(operationInfo),
      performance.now() - startedAt,
    );
    if (!isWanted()) return;
    for (const deps of messages) this.#sendParts(deps);
    this.#forget(id);
  }

  #stop(id: string): void {
    const running = this.#running.get(id);
    this.#forget(id);
    running?.stop();
  }

  #forget(id: string): void {
    this.#running.delete(id);
    this.#closeWhenDone();
  }
}

function abandoned(operationInfo: OperationInfo): OperationInfo {
  operationInfo.outcome = 'ABANDONED';
  return operationInfo;
}

function encoderFor(id: string): FrameEncoder {
  const ending = `"id":${JSON.stringify(id)}`;
  return {
    around: [`{${ending},"type":"next","payload":`, '}'],
    next: text => `{${ending},"type":"next","payload":${text}}`,
    fail: errors => `{${ending},"type":"error","payload":${errors}}`,
    complete: () => `{${ending},"type":"complete"}`,
  };
}
