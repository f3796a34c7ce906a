import type { WebSocket } from 'ws';
import type { RawCredentials } from '../auth/credentials.js';
import { Bulkhead } from '../data/upstream/bulkhead.js';
import { Abandoned, RateLimited } from '../errors.js';
import type { Handshake, Identity } from '../http/authentication.js';
import type { Claim } from '../lib/memory-budget.js';
import { networkOf } from '../lib/network.js';
import { type OperationInfo, outcomeOfErrors } from '../observability/operation-info.js';
import { closeCodes, closingFor, fitting } from './closing.js';
import { type Asked, type Message, messageIn } from './messages.js';
import type { Operation } from './operations.js';
import { rawCredentialsIn } from './raw-credentials.js';
import { type Frame, type FrameEncoder, inParts, Subscriber, slowBytes, type Wire } from './subscriber.js';
import type { Subscriptions } from './subscriptions.js';

/** Times of the doors for streams, in milliseconds. */
export interface StreamTimes {
  /** How long a client may take to introduce itself. */
  readonly initMs: number;
  /** Between two heartbeats; who does not answer one before the next is gone. */
  readonly heartbeatMs: number;
  /** How long nothing may run on a connection. */
  readonly idleMs: number;
}

/** What a connection needs of its door. */
export interface ConnectionDeps {
  readonly streams: Subscriptions;
  readonly times: StreamTimes;
  /** Who it is, by what it arrived with and what it presents in its first message. @throws as `Reception.authenticate` does. */
  authenticate(arrival: Handshake, rawCredentials: RawCredentials): Promise<Identity>;
}

/** An operation that runs. */
interface Running {
  /** Whether it has one answer, for which a connection waits before it leaves. */
  readonly isSingle: boolean;
  stop(): void;
}

type Phase =
  | { readonly name: 'expected'; readonly arrival: Handshake; readonly timer: NodeJS.Timeout }
  | { readonly name: 'admitting' }
  | { readonly name: 'admitted'; readonly guest: Identity; readonly leave: () => void }
  | { readonly name: 'closed' };

/** How long the other side may take to close too. */
const closingMs = 2_000;

/** In bytes. Who has so much to take first is not listened to. */
const mostUntaken = 1024 * 1024;

/** More than a client that keeps its connection alive sends in pings and pongs between two heartbeats, in bytes. */
const controlBytesPerBeat = 16 * 1024;

/** One WebSocket and what runs on it, in the graphql-transport-ws protocol. */
export class Connection implements Wire {
  readonly #socket: WebSocket;
  readonly #id: string;
  readonly #parts: ConnectionDeps;
  /** What runs, by its id. */
  readonly #running = new Map<string, Running>();
  /** Lets so many be executed at a time, and the others in their order. */
  readonly #turns: Bulkhead;
  /** Wait until it has taken most of what it was sent. */
  readonly #waiting = new Set<() => void>();
  /** What was sent, or is to be, and was not taken yet. */
  #untakenClaim: Claim;
  #queued = 0;
  /** Counts what has arrived of a message that is not whole yet. */
  readonly #unfinishedClaim: Claim;
  #unfinished = 0;
  #phase: Phase;
  #alive = true;
  /** How much it had to take at the last heartbeat. */
  #untaken = 0;
  #idleSince = performance.now();
  #begun = 0;
  #isLeaving = false;

  /** @param id what its request is called; its operations are called after it. */
  constructor(socket: WebSocket, id: string, arrival: Handshake, parts: ConnectionDeps) {
    this.#socket = socket;
    this.#id = id;
    this.#parts = parts;
    this.#turns = new Bulkhead(parts.streams.limits.executions, parts.streams.limits.operations);
    this.#untakenClaim = parts.streams.claimOf(arrival.address);
    this.#unfinishedClaim = parts.streams.claimOf(networkOf(arrival.address));
    const late = () => this.close(closeCodes.initialisationTimeout, 'Connection initialisation timeout');
    this.#phase = { name: 'expected', arrival, timer: setTimeout(late, parts.times.initMs) };
    socket.on('message', (data, isBinary) => {
      this.#countUnfinished(0);
      try {
        this.#receive(isBinary ? undefined : messageIn(data as Buffer));
      } catch (error) {
        // Whatever it sent, it is to hurt nobody else.
        this.close(...closingFor(error));
      }
    });
    socket.on('pong', () => {
      this.#alive = true;
    });
    socket.on('error', () => socket.terminate());
  }

  /** How many operations were begun so far. */
  get begun(): number {
    return this.#begun;
  }

  get buffered(): number {
    return this.#socket.bufferedAmount;
  }

  /**
   * Bytes have come by its socket. Whoever sends more than `most` without completing a message, or more than there is room for, loses the
   * connection.
   */
  arrived(bytes: number, most: number): void {
    try {
      this.#countUnfinished(this.#unfinished + bytes);
      if (this.#unfinished > most) this.#closeUnread(closeCodes.messageTooBig, 'Message too big');
    } catch {
      this.#closeUnread(closeCodes.tooMany, 'RATE_LIMITED: Too much is being sent from this address');
    }
  }

  /** Closes, and reads nothing more meanwhile. */
  #closeUnread(code: number, reason: string): void {
    this.close(code, reason);
    this.#socket.pause();
  }

  /** @throws Overloaded, RateLimited where there is no room for so many bytes. */
  #countUnfinished(bytes: number): void {
    this.#unfinished = bytes;
    this.#unfinishedClaim.received(bytes);
  }

  send(frame: string, whenSent?: () => void): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    const isSlow = this.buffered > slowBytes;
    if (this.buffered > mostUntaken) socket.pause();
    socket.send(frame, error => {
      this.#taken();
      if (error == null) whenSent?.();
    });
    // Who does not take what there is must not fill the memory of all.
    if (!this.#count() && isSlow) socket.terminate();
  }

  queue(by: number): boolean {
    this.#queued += by;
    return this.#count();
  }

  /** As one message, however many parts. */
  #sendParts(parts: readonly Frame[]): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    const last = parts.length - 1;
    for (const [index, part] of parts.entries()) {
      socket.send(part, { binary: false, fin: index === last }, index === last ? () => this.#taken() : undefined);
    }
    this.#count();
  }

  /** Counts what it has not taken; tells whether there is room for it. */
  #count(): boolean {
    const { buffered } = this;
    return this.#untakenClaim.set((buffered > slowBytes ? buffered : 0) + this.#queued);
  }

  /** It has taken something. */
  #taken(): void {
    this.#count();
    if (this.buffered > mostUntaken) return;
    if (this.#socket.isPaused) this.#socket.resume();
    if (this.#waiting.size > 0) this.#goOn();
  }

  #goOn(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const each of waiting) each();
  }

  /** Waits until it has taken most of what it was sent, or has gone. */
  async #room(): Promise<void> {
    while (this.#phase.name === 'admitted' && this.buffered > mostUntaken) {
      await new Promise<void>(resolve => this.#waiting.add(resolve));
    }
  }

  /** Closes with a code of the protocol; where the other side does not follow, the socket is destroyed. */
  close(code: number, reason: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.close(code, fitting(reason));
    const timer = setTimeout(() => this.#socket.terminate(), closingMs);
    this.#socket.once('close', () => clearTimeout(timer));
    this.end();
  }

  /** Says good-bye as soon as every query and mutation that has begun is answered; subscriptions go at once, and nothing new begins. */
  leave(): void {
    this.#isLeaving = true;
    for (const [id, { isSingle }] of [...this.#running]) if (!isSingle) this.#stop(id);
    this.#leaveWhenDone();
  }

  #leaveWhenDone(): void {
    if (this.#isLeaving && this.#running.size === 0) this.close(closeCodes.goingAway, 'Going away');
  }

  /** One round of the heartbeat: who neither answered the last nor took anything since is gone, and who does nothing for long goes. */
  beat(): void {
    const { buffered } = this;
    // Pings and pongs complete no message.
    this.#countUnfinished(Math.max(this.#unfinished - controlBytesPerBeat, 0));
    if (!this.#alive && buffered >= this.#untaken) {
      this.#socket.terminate();
      return;
    }
    this.#alive = false;
    this.#untaken = buffered;
    if (this.#running.size > 0) this.#idleSince = performance.now();
    if (performance.now() - this.#idleSince > this.#parts.times.idleMs) this.close(1000, 'Idle');
    else if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
  }

  /** Stops whatever runs; for when the socket is gone. */
  end(): void {
    const phase = this.#phase;
    this.#phase = { name: 'closed' };
    if (phase.name === 'expected') clearTimeout(phase.timer);
    if (phase.name === 'admitted') phase.leave();
    this.#goOn();
    const running = [...this.#running.values()];
    this.#running.clear();
    for (const each of running) each.stop();
    this.#untakenClaim.release();
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
        else void this.#introduce(this.#phase.arrival, this.#phase.timer, message.payload ?? {});
        break;
      case 'ping':
        this.send(JSON.stringify({ type: 'pong', ...(message.payload != null && { payload: message.payload }) }));
        break;
      case 'pong':
        break;
      case 'subscribe':
        if (this.#phase.name !== 'admitted')
          this.close(closeCodes.unauthorized, 'UNAUTHENTICATED: connection_init comes first');
        // A client asks again what was not answered when it connects anew.
        else if (!this.#isLeaving) this.#start(message.id, message.payload, this.#phase.guest);
        break;
      case 'complete':
        this.#stop(message.id);
        break;
    }
  }

  async #introduce(arrival: Handshake, timer: NodeJS.Timeout, payload: Record<string, unknown>): Promise<void> {
    clearTimeout(timer);
    this.#phase = { name: 'admitting' };
    try {
      const guest = await this.#parts.authenticate(arrival, rawCredentialsIn(payload));
      // It may have gone meanwhile.
      if (this.#phase.name !== 'admitting') return;
      const leave = this.#parts.streams.enter(guest);
      if (leave === undefined)
        this.close(closeCodes.tooMany, 'RATE_LIMITED: Too many connections with this credential');
      else {
        this.#phase = { name: 'admitted', guest, leave };
        this.#untakenClaim.release();
        this.#untakenClaim = this.#parts.streams.claim(guest);
        this.send('{"type":"connection_ack"}');
      }
    } catch (error) {
      this.close(...closingFor(error));
    }
  }

  #start(id: string, asked: Asked, guest: Identity): void {
    const { streams } = this.#parts;
    if (this.#running.has(id)) {
      this.close(closeCodes.subscriberExists, `Subscriber for ${id} already exists`);
      return;
    }
    if (this.#running.size >= streams.limits.operations) {
      this.close(closeCodes.tooMany, 'RATE_LIMITED: Too many operations on one connection');
      return;
    }
    void this.#run(id, asked, guest);
  }

  /** Never rejects. */
  async #run(id: string, asked: Asked, guest: Identity): Promise<void> {
    const { streams } = this.#parts;
    // The id is taken, and may be given back, before it is its turn and while it is found out whether there may be one more.
    let isOver = false;
    const waiting = new AbortController();
    const giveUp = () => {
      isOver = true;
      waiting.abort();
    };
    this.#running.set(id, { isSingle: true, stop: giveUp });
    this.#begun += 1;
    this.#idleSince = performance.now();
    const trail = streams.requestTelemetry.startOperation(`${this.#id}/${this.#begun}`);
    const hasTurn = await this.#turns.enter(waiting.signal).then(
      () => true,
      () => false,
    );
    if (!hasTurn) return streams.requestTelemetry.endOperation(abandoned(trail), undefined);
    try {
      await this.#room();
      if (!isOver) await streams.count(guest);
      if (isOver) return streams.requestTelemetry.endOperation(abandoned(trail), undefined);
      const operation = streams.read(asked, trail);
      if (operation.type === 'subscription') this.#listen(id, operation, guest, trail);
      else await this.#answer(id, operation, guest, trail);
    } catch (error) {
      const errors = streams.worded(error, trail);
      streams.requestTelemetry.endOperation(trail, undefined);
      if (isOver) return;
      this.#sendParts([wordingFor(id).fail(errors)]);
      this.#forget(id);
    } finally {
      this.#turns.leave();
    }
  }

  #listen(id: string, operation: Operation, guest: Identity, trail: OperationInfo): void {
    const { streams } = this.#parts;
    const subscriber = new Subscriber(this, wordingFor(id), (tooSlow, told) => {
      if (told !== undefined) trail.outcome = outcomeOfErrors(JSON.parse(told));
      const errors = tooSlow ? streams.worded(new RateLimited('Too slow a reader'), trail) : undefined;
      this.#stop(id);
      if (errors !== undefined) this.send(wordingFor(id).fail(errors));
    });
    streams.telemetry.listeners('websocket', 1);
    const leave = streams.subscribe(operation, guest, subscriber, trail);
    const stop = () => {
      leave();
      subscriber.stop();
      streams.telemetry.listeners('websocket', -1);
      streams.requestTelemetry.endOperation(trail, undefined);
    };
    this.#running.set(id, { isSingle: false, stop });
    if (this.#isLeaving) this.#stop(id);
  }

  async #answer(id: string, operation: Operation, guest: Identity, trail: OperationInfo): Promise<void> {
    const { streams } = this.#parts;
    const startedAt = performance.now();
    const stopping = new AbortController();
    const stop = () => stopping.abort(new Abandoned('The client has gone'));
    const running: Running = { isSingle: true, stop };
    this.#running.set(id, running);
    const isWanted = () => this.#running.get(id) === running;
    const wording = wordingFor(id);
    const claim = streams.claim(guest);
    const messages: (readonly Frame[])[] = [];
    try {
      const outcome = await streams.single(operation, guest, stopping.signal, trail, claim);
      await this.#room();
      if ('errors' in outcome) messages.push([wording.fail(JSON.stringify(outcome.errors))]);
      else if (isWanted()) messages.push(inParts(outcome.answer, wording, claim), [wording.complete()]);
    } catch (error) {
      messages.push([wording.fail(streams.worded(error, trail))]);
    }
    claim.release();
    streams.requestTelemetry.endOperation(isWanted() ? trail : abandoned(trail), performance.now() - startedAt);
    if (!isWanted()) return;
    for (const parts of messages) this.#sendParts(parts);
    this.#forget(id);
  }

  #stop(id: string): void {
    const running = this.#running.get(id);
    this.#forget(id);
    running?.stop();
  }

  #forget(id: string): void {
    this.#running.delete(id);
    this.#leaveWhenDone();
  }
}

function abandoned(trail: OperationInfo): OperationInfo {
  trail.outcome = 'ABANDONED';
  return trail;
}

function wordingFor(id: string): FrameEncoder {
  const ending = `"id":${JSON.stringify(id)}`;
  return {
    around: [`{${ending},"type":"next","payload":`, '}'],
    next: text => `{${ending},"type":"next","payload":${text}}`,
    fail: errors => `{${ending},"type":"error","payload":${errors}}`,
    complete: () => `{${ending},"type":"complete"}`,
  };
}
