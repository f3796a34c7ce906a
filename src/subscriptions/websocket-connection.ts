import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Credential } from '../auth/credentials.js';
import { QueryTooComplex } from '../errors.js';
import type { Authentication, Handshake, Identity } from '../http/authentication.js';
import { bytesTaken } from '../http/connections.js';
import type { ConnectionTelemetry } from '../http/request-telemetry.js';
import { Bulkhead } from '../lib/bulkhead.js';
import type { Claim } from '../lib/memory-budget.js';
import { networkOf } from '../lib/network.js';
import { runYielding } from '../lib/run-yielding.js';
import { type ClientApp, clientAppOf } from '../observability/operation-info.js';
import type { SubscriptionTimes } from './limits.js';
import type { OperationRequest } from './operations.js';
import {
  closeCodes,
  closeReason,
  endMessage,
  nextFrame,
  Protocol,
  type ProtocolHandler,
  rawCredentialsIn,
} from './protocol.js';
import { type OperationHost, RunningOperation } from './running-operation.js';
import { type EncodedResult, framed, SendBuffer } from './shared-execution.js';
import type { Subscriptions } from './subscriptions.js';

/** What a connection is made with. */
interface ConnectionDeps {
  readonly subscriptions: Subscriptions;
  readonly times: SubscriptionTimes;
  readonly authentication: Authentication;
}

/**
 * A ping waits behind everything that was sent before it. The operating system holds some megabytes, does not tell how much of them the client
 * has read, and takes more only when a large part is free. So a client that has more than `waitThreshold` bytes to read may be silent for
 * `beatsToRead` heartbeats.
 */
const waitThreshold = 64 * 1024;
const beatsToRead = 8;

/** How long the client may take to close its side. */
const closingMs = 2_000;

/** In bytes. Above this send buffer we stop reading from the socket. */
const maxUnsentBytes = 1024 * 1024;

/** More than a well-behaved client sends between two heartbeats: bytes of pings and pongs, and messages of the protocol that are no operations. */
const controlBytesPerBeat = 16 * 1024;
const controlMessagesPerBeat = 1_000;

/** How many messages are handled before other connections have their turn. */
const messagesInTurn = 64;

/** One WebSocket: its limits, its memory, and the operations that run on it. */
export class WebSocketConnection implements ProtocolHandler, OperationHost {
  readonly transport = 'websocket';
  readonly #socket: WebSocket;
  readonly #raw: Socket;
  readonly #id: string;
  #app: ClientApp | undefined;
  readonly #handshake: Handshake;
  readonly #deps: ConnectionDeps;
  readonly #protocol: Protocol;
  /** By their ids. */
  readonly #running = new Map<string, RunningOperation>();
  /** Bounds how many operations are executed at a time; the others wait in order. */
  readonly #executions: Bulkhead;
  readonly buffer: SendBuffer;
  /** The messages that have arrived and are not handled yet, in order; undefined for one that is no text. */
  readonly #messages: (Buffer | undefined)[] = [];
  /** The bytes of these messages. */
  #waitingBytes = 0;
  /** Counts these bytes, and those of a message that has not arrived completely. */
  readonly #unfinishedClaim: Claim;
  #unfinished = 0;
  /** How many messages since the last heartbeat were no operations, less the operations. */
  #controlMessages = 0;
  /** The identity of the client, once it is known, and what ends the count of the connection. */
  #admitted: { readonly identity: Identity; readonly leave: () => void } | undefined;
  #isClosed = false;
  /** Whether nothing more is read. */
  #isUnread = false;
  #alive = true;
  /** How many heartbeats passed without a sign of the client. */
  #silentBeats = 0;
  /** How many bytes the operating system had taken when the client last answered, and at the last heartbeat. */
  #takenAtAnswer = 0;
  #taken = 0;
  #idleSince = performance.now();
  #operationsStarted = 0;
  isDraining = false;

  /** @param telemetry has the id of the upgrade request; operations are numbered below it, such as `id/1`. */
  constructor(
    socket: WebSocket,
    raw: Socket,
    telemetry: Pick<ConnectionTelemetry, 'id' | 'app'>,
    handshake: Handshake,
    deps: ConnectionDeps,
  ) {
    this.#socket = socket;
    this.#raw = raw;
    this.#id = telemetry.id;
    this.#app = telemetry.app;
    this.#handshake = handshake;
    this.#deps = deps;
    this.#executions = new Bulkhead(deps.subscriptions.limits.executions, deps.subscriptions.limits.operations);
    this.buffer = new SendBuffer(() => socket.bufferedAmount, deps.subscriptions.claimOf(handshake.address));
    this.#unfinishedClaim = deps.subscriptions.claimOf(networkOf(handshake.address));
    this.#protocol = new Protocol(this, deps.times.initMs);
    socket.on('message', (data, isBinary) => this.#onMessage(isBinary ? undefined : (data as Buffer)));
    socket.on('pong', () => {
      this.#alive = true;
    });
    socket.on('error', () => socket.terminate());
  }

  #onMessage(bytes: Buffer | undefined): void {
    this.#unfinished = 0;
    this.#alive = true;
    if (this.#isClosed) return;
    this.#waitingBytes += bytes?.length ?? 0;
    // Once all messages of the chunk are there.
    if (this.#messages.push(bytes) === 1) queueMicrotask(() => void this.#handleMessages());
  }

  /** Reads nothing more until everything that has arrived is handled. */
  async #handleMessages(): Promise<void> {
    while (this.#messages.length > 0) {
      const handled = runYielding(networkOf(this.#handshake.address), () => this.#handleSome());
      if (!(handled instanceof Promise)) continue;
      this.#socket.pause();
      await handled;
    }
    if (!this.#isClosed) this.#countUnfinished(this.#unfinished);
    this.#readOn();
  }

  #handleSome(): void {
    // What answers the messages goes to the client in one write.
    this.#raw.cork();
    for (const bytes of this.#messages.splice(0, messagesInTurn)) {
      this.#waitingBytes -= bytes?.length ?? 0;
      if (!this.#isClosed) void this.#protocol.receive(bytes);
    }
    this.#raw.uncork();
  }

  /** Reads on, unless there are messages to handle, or the client has to read first. */
  #readOn(): void {
    const { isPaused, bufferedAmount } = this.#socket;
    if (this.#isUnread || !isPaused) return;
    if (this.#messages.length === 0 && bufferedAmount <= maxUnsentBytes) this.#socket.resume();
  }

  countMessage(isOperation: boolean): void {
    this.#controlMessages = Math.max(this.#controlMessages + (isOperation ? -1 : 1), 0);
    if (this.#controlMessages > controlMessagesPerBeat)
      this.#closeUnread(closeCodes.tooMany, 'RATE_LIMITED: Too many messages that are no operations');
  }

  /** How many operations have been started so far. */
  get operationsStarted(): number {
    return this.#operationsStarted;
  }

  /**
   * Counts bytes that arrived on the socket. Closes the connection if more than `max` bytes came without a complete message, or if the memory
   * budget has no room for them.
   */
  arrived(bytes: number, max: number): void {
    try {
      this.#countUnfinished(this.#unfinished + bytes);
      if (this.#unfinished > max) this.#closeUnread(closeCodes.messageTooBig, 'Message too big');
    } catch {
      this.#closeUnread(closeCodes.tooMany, 'RATE_LIMITED: Too much is being sent from this address');
    }
  }

  /** Closes, and stops reading until the client has closed its side. */
  #closeUnread(code: number, reason: string): void {
    this.close(code, reason);
    this.#isUnread = true;
    this.#socket.pause();
  }

  /** @throws Overloaded, RateLimited if the memory budget has no room for so many bytes. */
  #countUnfinished(bytes: number): void {
    this.#unfinished = bytes;
    this.#unfinishedClaim.reserveRequest(bytes + this.#waitingBytes);
  }

  send(message: string): void {
    this.#send([message]);
  }

  sendResult({ id }: RunningOperation, result: EncodedResult): void {
    this.#send(framed(result, ...nextFrame(id)), result.needsRoom);
  }

  sendEnd({ id }: RunningOperation, errors: string | undefined): void {
    this.#send([endMessage(id, errors)]);
  }

  /** Sends one message. */
  #send(parts: readonly (Buffer | string)[], needsRoom = true): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    const { isSlow } = this.buffer;
    if (socket.bufferedAmount > maxUnsentBytes) socket.pause();
    const last = parts.length - 1;
    for (const [index, part] of parts.entries()) {
      socket.send(part, { binary: false, fin: index === last }, index === last ? this.#onSent : undefined);
    }
    // A slow reader must not fill the memory of the process.
    if (!this.buffer.count() && isSlow && needsRoom) socket.terminate();
  }

  /** The client has taken some bytes. */
  readonly #onSent = (): void => {
    this.#readOn();
    this.buffer.taken();
  };

  /** Waits until the send buffer is below `maxUnsentBytes`, or the connection is closed. */
  async room(): Promise<void> {
    while (!this.#isClosed && this.#socket.bufferedAmount > maxUnsentBytes) {
      await new Promise<void>(resolve => this.buffer.whenTaken(resolve));
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
    this.isDraining = true;
    for (const operation of this.#running.values()) if (!operation.isSingle) this.drop(operation);
    this.#closeWhenDone();
  }

  /** Sends no `complete`, which the client would take for the end of its subscription. */
  drop(operation: RunningOperation): void {
    operation.stop();
  }

  #closeWhenDone(): void {
    if (this.isDraining && this.#running.size === 0) this.close(closeCodes.goingAway, 'Going away');
  }

  /** One heartbeat. Terminates a client that is gone, and closes an idle connection. */
  heartbeat(): void {
    const taken = bytesTaken(this.#raw);
    const buffered = this.#socket.bufferedAmount;
    // Pings and pongs do not complete a message.
    this.#countUnfinished(Math.max(this.#unfinished - controlBytesPerBeat, 0));
    this.#controlMessages = 0;
    if (this.#alive) [this.#silentBeats, this.#takenAtAnswer] = [0, taken];
    else if (buffered > 0 && taken !== this.#taken) this.#silentBeats = 0;
    else this.#silentBeats += 1;
    const hasMuchToRead = taken - this.#takenAtAnswer + buffered > waitThreshold;
    if (this.#silentBeats > (hasMuchToRead ? beatsToRead : 0)) {
      this.#socket.terminate();
      return;
    }
    this.#alive = false;
    this.#taken = taken;
    if (this.#running.size > 0 || buffered > 0) this.#idleSince = performance.now();
    if (performance.now() - this.#idleSince > this.#deps.times.idleMs) this.close(1000, 'Idle');
    else if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
  }

  /** Stops all operations; called when the socket is gone. */
  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#admitted?.leave();
    this.buffer.release();
    this.#protocol.end();
    for (const operation of this.#running.values()) operation.stop();
    this.#unfinishedClaim.release();
  }

  /** Undefined before the client has sent it. */
  get credential(): Credential | undefined {
    return this.#admitted?.identity.credential;
  }

  async acknowledge(params: Record<string, unknown>): Promise<boolean> {
    const { subscriptions, authentication } = this.#deps;
    const identity = authentication.authenticate(this.#handshake, rawCredentialsIn(params));
    this.#app = clientAppOf(params) ?? this.#app;
    // The client may have disconnected in the meantime.
    if (this.#isClosed) return false;
    const leave = subscriptions.enter(identity);
    if (leave === undefined) {
      this.close(closeCodes.tooMany, 'RATE_LIMITED: Too many connections with this credential');
      return false;
    }
    this.#admitted = { identity, leave };
    this.buffer.chargeTo(subscriptions.claim(identity));
    return true;
  }

  runs(id: string): boolean {
    return this.#running.has(id);
  }

  stop(id: string): void {
    this.#running.get(id)?.stop();
  }

  start(id: string, request: OperationRequest | QueryTooComplex): void {
    // The client repeats the operation after it has reconnected.
    if (this.isDraining) return;
    const { subscriptions } = this.#deps;
    const identity = this.#admitted?.identity;
    if (identity === undefined || this.#running.size >= subscriptions.limits.operations) {
      this.close(closeCodes.tooMany, 'RATE_LIMITED: Too many operations on one connection');
      return;
    }
    this.#operationsStarted += 1;
    this.#idleSince = performance.now();
    const operationInfo = subscriptions.requestTelemetry.startOperation(
      `${this.#id}/${this.#operationsStarted}`,
      this.#app,
    );
    const operation = new RunningOperation(id, subscriptions, this, identity, operationInfo);
    this.#running.set(id, operation);
    void operation.run(async () => {
      if (request instanceof QueryTooComplex) throw request;
      return subscriptions.read(subscriptions.scopeOf(identity), request, operationInfo);
    });
  }

  async inTurn(operation: RunningOperation, start: () => Promise<void>): Promise<void> {
    const isNext = await new Promise<boolean>(resolve => {
      const waiter = { start: () => resolve(true) };
      operation.onStop(() => this.#executions.withdraw(waiter) && resolve(false));
      this.#executions.enter(waiter);
    });
    if (!isNext) return;
    try {
      await this.room();
      if (!operation.isOver && this.#admitted !== undefined)
        await this.#deps.subscriptions.count(this.#admitted.identity);
      await start();
    } finally {
      this.#executions.leave();
    }
  }

  onEnd(operation: RunningOperation, milliseconds: number | undefined): void {
    this.#running.delete(operation.id);
    this.#deps.subscriptions.requestTelemetry.endOperation(
      operation.operationInfo,
      this.#admitted?.identity,
      milliseconds,
    );
    this.#closeWhenDone();
  }
}
