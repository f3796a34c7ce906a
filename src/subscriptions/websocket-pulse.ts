import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { bytesTaken } from '../http/connections.js';

/**
 * A ping waits behind everything that was sent before it. The operating system holds some megabytes, does not tell how much of them the client
 * has read, and takes more only when a large part is free. So a client that has more than `waitThreshold` bytes to read may be silent for
 * `beatsToRead` heartbeats.
 */
const waitThreshold = 64 * 1024;
const beatsToRead = 8;

/** Knows whether the client of a WebSocket is still there. */
export class WebSocketPulse {
  readonly #socket: WebSocket;
  readonly #raw: Socket;
  #isAlive = true;
  /** How many heartbeats passed without a sign of the client. */
  #silentBeats = 0;
  /** How many bytes the operating system had taken when the client last answered, and at the last heartbeat. */
  #takenAtAnswer = 0;
  #taken = 0;

  constructor(socket: WebSocket, raw: Socket) {
    this.#socket = socket;
    this.#raw = raw;
    const answered = () => {
      this.#isAlive = true;
    };
    socket.on('message', answered);
    socket.on('pong', answered);
  }

  /** One heartbeat: sends a ping. Returns false if the client is gone. */
  beat(): boolean {
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
}
