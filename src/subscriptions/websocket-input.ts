import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Claim } from '../lib/memory-budget.js';
import { runYielding } from '../lib/run-yielding.js';
import { closeCodes } from './protocol.js';
import { maxUnsentBytes } from './send-buffer.js';

/** More than a well-behaved client sends between two heartbeats: bytes of pings and pongs, and messages of the protocol that are no operations. */
const controlBytesPerBeat = 16 * 1024;
const controlMessagesPerBeat = 1_000;

/** How many messages are handled before other connections have their turn. */
const messagesInTurn = 64;

/** What handles the messages of a connection. */
interface MessageHandler {
  readonly isClosed: boolean;
  /** @param bytes undefined for a message that is no text. */
  receive(bytes: Buffer | undefined): void;
  close(code: number, reason: string): void;
}

/** What a client sends on one WebSocket: counted while it arrives, then handled in turns. */
export class WebSocketInput {
  readonly #socket: WebSocket;
  readonly #raw: Socket;
  readonly #network: string;
  readonly #handler: MessageHandler;
  /** Counts the bytes of all messages that are not handled yet, and of the one that has not arrived completely. */
  readonly #claim: Claim;
  /** The messages that have arrived and are not handled yet, in order. */
  readonly #messages: (Buffer | undefined)[] = [];
  #waitingBytes = 0;
  #unfinishedBytes = 0;
  /** How many messages since the last heartbeat were no operations, less the operations. */
  #controlMessages = 0;
  /** Whether nothing more is read. */
  #isOver = false;

  /** @param network of the client: networks take turns. */
  constructor(socket: WebSocket, raw: Socket, network: string, claim: Claim, handler: MessageHandler) {
    this.#socket = socket;
    this.#raw = raw;
    this.#network = network;
    this.#claim = claim;
    this.#handler = handler;
    socket.on('message', (data, isBinary) => this.#onMessage(isBinary ? undefined : (data as Buffer)));
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
      this.#refuse(closeCodes.tooMany, 'RATE_LIMITED: Too much is being sent from this address');
    }
  }

  /** Counts a message. What starts an operation, which the rate limit counts, makes up for another: some clients complete what has ended. */
  countMessage(isOperation: boolean): void {
    this.#controlMessages = Math.max(this.#controlMessages + (isOperation ? -1 : 1), 0);
    if (this.#controlMessages > controlMessagesPerBeat)
      this.#refuse(closeCodes.tooMany, 'RATE_LIMITED: Too many messages that are no operations');
  }

  /** Reads on, unless there are messages to handle, or the client has to read first. */
  readOn(): void {
    const { isPaused, bufferedAmount } = this.#socket;
    if (this.#isOver || !isPaused) return;
    if (this.#messages.length === 0 && bufferedAmount <= maxUnsentBytes) this.#socket.resume();
  }

  /** A heartbeat has passed. */
  beat(): void {
    // Pings and pongs do not complete a message.
    this.#countUnfinished(Math.max(this.#unfinishedBytes - controlBytesPerBeat, 0));
    this.#controlMessages = 0;
  }

  /** The connection has ended: counts nothing any more. */
  release(): void {
    this.#claim.release();
  }

  #onMessage(bytes: Buffer | undefined): void {
    this.#unfinishedBytes = 0;
    if (this.#handler.isClosed) return;
    this.#waitingBytes += bytes?.length ?? 0;
    // Once all messages of the chunk are there.
    if (this.#messages.push(bytes) === 1) queueMicrotask(() => void this.#handleMessages());
  }

  /** Reads nothing more until everything that has arrived is handled. */
  async #handleMessages(): Promise<void> {
    while (this.#messages.length > 0) {
      const handled = runYielding(this.#network, () => this.#handleSome());
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
    this.#isOver = true;
    this.#socket.pause();
  }

  /** @throws Overloaded, RateLimited if the memory budget has no room for so many bytes. */
  #countUnfinished(bytes: number): void {
    this.#unfinishedBytes = bytes;
    this.#claim.reserveRequest(bytes + this.#waitingBytes);
  }
}
