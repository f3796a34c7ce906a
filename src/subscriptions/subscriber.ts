import { responseFrames } from '../graphql/response-text.js';
import type { Claim } from '../lib/memory-budget.js';
import type { Listener } from './shared-execution.js';

/** A connection to one client. */
export interface ClientConnection {
  /** How many bytes were sent and not yet taken by the client. */
  readonly buffered: number;
  /** @param whenSent is called when the operating system has taken the frame. */
  send(frame: string, whenSent?: () => void): void;
  /** Counts bytes that wait to be sent, or no longer do (`by` below 0). Returns whether the memory budget has room for them. */
  queue(by: number): boolean;
}

/** How a transport writes its frames. */
export interface FrameEncoder {
  /** What `next` puts before and after a result. */
  readonly around: readonly [before: string, after: string];
  next(text: string): string;
  fail(errors: string): string;
  complete(): string;
}

/** A part of a message. */
export type Frame = Buffer | string;

/** A result as the parts of one message; a short one is a single part. @throws QueryTooComplex, Overloaded, RateLimited if the memory budget has no room for it. */
export function inParts(result: unknown, { around, next }: FrameEncoder, claim: Claim): readonly Frame[] {
  const frames = responseFrames(result, claim);
  const [only] = frames;
  return typeof only === 'string' ? [next(only)] : [around[0], ...frames, around[1]];
}

/** In bytes. Above this send buffer a client is slow: it gets nothing more until it has taken what was sent. */
export const slowBytes = 64 * 1024;
const mostWaiting = 1_000;
/** In bytes. */
const mostWaitingBytes = 1024 * 1024;

/** One subscription of one client. For a slow client only the newest state waits; where every value counts, a bounded queue. */
export class Subscriber implements Listener {
  readonly #connection: ClientConnection;
  readonly #encoder: FrameEncoder;
  readonly #onOver: (tooSlow: boolean, errors?: string) => void;
  #waiting: string[] | undefined;
  #waitingBytes = 0;
  #isOver = false;

  /** @param onOver is called after the last frame, with its errors if there were any, or when the client is too slow (`tooSlow`). */
  constructor(
    connection: ClientConnection,
    encoder: FrameEncoder,
    onOver: (tooSlow: boolean, errors?: string) => void,
  ) {
    this.#connection = connection;
    this.#encoder = encoder;
    this.#onOver = onOver;
  }

  next(text: string, replaces: boolean): void {
    if (this.#isOver) return;
    if (this.#waiting === undefined) {
      this.#send(text);
      return;
    }
    if (replaces) this.#taken();
    this.#waiting = this.#waiting ?? [];
    this.#waiting.push(text);
    this.#waitingBytes += text.length;
    const isTooMuch = this.#waiting.length > mostWaiting || (!replaces && this.#waitingBytes > mostWaitingBytes);
    if (!this.#connection.queue(text.length) || isTooMuch) this.#onOver(true);
  }

  /** Sends nothing more and drops what waits. */
  stop(): void {
    this.#isOver = true;
    this.#taken();
  }

  #taken(): readonly string[] {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    this.#connection.queue(-this.#waitingBytes);
    this.#waitingBytes = 0;
    return waiting;
  }

  fail(errors: string): void {
    this.#last(this.#encoder.fail(errors), errors);
  }

  complete(): void {
    this.#last(this.#encoder.complete());
  }

  #last(frame: string, errors?: string): void {
    for (const text of this.#taken()) this.#connection.send(this.#encoder.next(text));
    this.#connection.send(frame);
    this.#onOver(false, errors);
  }

  #send(text: string): void {
    if (this.#connection.buffered < slowBytes) this.#connection.send(this.#encoder.next(text));
    else {
      this.#waiting = [];
      this.#connection.send(this.#encoder.next(text), () => this.#flush());
    }
  }

  #flush(): void {
    for (const text of this.#taken()) this.next(text, false);
  }
}
