// What a client sends on one WebSocket: counted while it arrives, then handled in turns. Knows whether the client is still there.
import type { Socket } from 'node:net';
import { CloseCode } from 'graphql-ws';
import type { WebSocket } from 'ws';
import { bytesTaken } from '../http/connections.js';
import type { Claim } from '../lib/memory-budget.js';
import { runYielding } from '../lib/run.js';
import { closeCodes } from './protocol.js';
import { maxUnsentBytes } from './send-buffer.js';

/** More than a well-behaved client sends between two heartbeats: bytes of pings and pongs, and messages of the protocol that are no operations. */
const controlBytesPerBeat = 16 * 1024;
const controlMessagesPerBeat = 1_000;

/**
 * A ping waits behind everything that was sent before it. The operating system holds some megabytes, does not tell how much of them the client
 * has read, and takes more only when a large part is free. So a client that has more than `waitThreshold` bytes to read may be silent for
 * `beatsToRead` heartbeats.
 */
const waitThreshold = 64 * 1024;
const beatsToRead = 8;

const messagesInTurn = 64;

interface MessageHandler {
  readonly isClosed: boolean;
  /** Whose turn its messages take. */
  readonly turn: string | undefined;
  /** @param bytes undefined for a message that is no text. */
  receive(bytes: Buffer | undefined): void;
  close(code: number, reason: string): void;
}

export class WebSocketInput {
  readonly #socket: WebSocket;
  readonly #raw: Socket;
  readonly #handler: MessageHandler;
  /** Counts the bytes of all messages that are not handled yet, and of the one that has not arrived completely. */
  readonly #claim: Claim;
  /** The messages that have arrived and are not handled yet, in order. */
  readonly #messages: (Buffer | undefined)[] = [];
  #waitingBytes = 0;
  #unfinishedBytes = 0;
  /** How many messages since the last heartbeat were no operations, less the operations. */
  #controlMessages = 0;
  #isOver = false;
  /** Whether the client has sent something since the last heartbeat, and how many heartbeats it has not. */
  #isAlive = true;
  #silentBeats = 0;
  /** How many bytes the operating system had taken when the client last answered, and at the last heartbeat. */
  #takenAtAnswer = 0;
  #taken = 0;

  constructor(socket: WebSocket, raw: Socket, claim: Claim, handler: MessageHandler) {
    this.#socket = socket;
    this.#raw = raw;
    this.#claim = claim;
    this.#handler = handler;
    socket.on('message', (data, isBinary) => this.#onMessage(isBinary ? undefined : (data as Buffer)));
    socket.on('pong', () => {
      this.#isAlive = true;
    });
  }

  /**
   * Counts bytes that arrived on the socket. Closes the connection if more than `max` bytes came without a complete message, or if the memory
   * budget has no room for them.
   */
  arrived(bytes: number, max: number): void {
    try {
      this.#countUnfinished(this.#unfinishedBytes + bytes);
      if (this.#unfinishedBytes > max) this.#refuse(closeCodes.messageTooBig, 'Message too big');
    } catch {
      this.#refuse(closeCodes.tryAgainLater, 'RATE_LIMITED: Too much is being sent from this address');
    }
  }

  /** Counts a message. What starts an operation, which the rate limit counts, makes up for another: some clients complete what has ended. */
  countMessage(isOperation: boolean): void {
    this.#controlMessages = Math.max(this.#controlMessages + (isOperation ? -1 : 1), 0);
    if (this.#controlMessages > controlMessagesPerBeat)
      this.#refuse(CloseCode.TooManyInitialisationRequests, 'RATE_LIMITED: Too many messages that are no operations');
  }

  /** Reads on, unless there are messages to handle, or the client has to read first. */
  readOn(): void {
    const { isPaused, bufferedAmount } = this.#socket;
    if (this.#isOver || !isPaused) return;
    if (this.#messages.length === 0 && bufferedAmount <= maxUnsentBytes) this.#socket.resume();
  }

  /** One heartbeat: sends a ping. Returns false if the client is gone. */
  beat(): boolean {
    // Pings and pongs do not complete a message.
    this.#countUnfinished(Math.max(this.#unfinishedBytes - controlBytesPerBeat, 0));
    this.#controlMessages = 0;
    const taken = bytesTaken(this.#raw);
    const buffered = this.#socket.bufferedAmount;
    if (this.#isAlive) [this.#silentBeats, this.#takenAtAnswer] = [0, taken];
    else if (buffered > 0 && taken !== this.#taken) this.#silentBeats = 0;
    else this.#silentBeats += 1;
    const hasMuchToRead = taken - this.#takenAtAnswer + buffered > waitThreshold;
    if (this.#silentBeats > (hasMuchToRead ? beatsToRead : 0)) return false;
    this.#isAlive = false;
    this.#taken = taken;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
    return true;
  }

  release(): void {
    this.#claim.release();
  }

  #onMessage(bytes: Buffer | undefined): void {
    this.#isAlive = true;
    this.#unfinishedBytes = 0;
    this.#waitingBytes += bytes?.length ?? 0;
    // Once all messages of the chunk are there.
    if (this.#messages.push(bytes) === 1) queueMicrotask(() => void this.#handleMessages());
  }

  /** Reads nothing more until everything that has arrived is handled. */
  async #handleMessages(): Promise<void> {
    while (this.#messages.length > 0) {
      const handled = runYielding(this.#handler.turn, () => this.#handleSome());
      if (!(handled instanceof Promise)) continue;
      this.#socket.pause();
      await handled;
    }
    this.#countUnfinished(this.#unfinishedBytes);
    this.readOn();
  }

  #handleSome(): void {
    // What answers the messages goes to the client in one write.
    this.#raw.cork();
    for (const bytes of this.#messages.splice(0, messagesInTurn)) {
      this.#waitingBytes -= bytes?.length ?? 0;
      if (!this.#handler.isClosed) this.#handler.receive(bytes);
    }
    this.#raw.uncork();
  }

  /** Closes, and stops reading until the client has closed its side. */
  #refuse(code: number, reason: string): void {
    this.#handler.close(code, reason);
    // Also where the client has closed before: what it sends then is not kept, and a heartbeat must not count it again.
    this.release();
    this.#isOver = true;
    this.#socket.pause();
  }

  /** @throws Overloaded, RateLimited if the memory budget has no room for so many bytes. */
  #countUnfinished(bytes: number): void {
    this.#unfinishedBytes = bytes;
    this.#claim.reserve(bytes + this.#waitingBytes);
  }
}
