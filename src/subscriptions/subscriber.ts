import { responseFrames } from '../graphql/response-text.js';
import type { Claim } from '../lib/memory-budget.js';
import type { Listener } from './shared-execution.js';

/** The way to one client. */
export interface Wire {
  /** How many bytes it was sent and has not taken yet. */
  readonly buffered: number;
  /** @param whenSent is called when the client's side of the network has taken it. */
  send(frame: string, whenSent?: () => void): void;
  /** Counts bytes that wait for their turn to be sent, or no longer do (`by` below 0); tells whether there is room for them. */
  queue(by: number): boolean;
}

/** How a door words what it tells. */
export interface FrameEncoder {
  /** What `next` puts before and after a text. */
  readonly around: readonly [before: string, after: string];
  next(text: string): string;
  fail(errors: string): string;
  complete(): string;
}

/** A part of what is sent. */
export type Frame = Buffer | string;

/** A result as it is told: in one part where it is short. @throws QueryTooComplex, Overloaded, RateLimited where there is no room for it. */
export function inParts(result: unknown, { around, next }: FrameEncoder, claim: Claim): readonly Frame[] {
  const frames = responseFrames(result, claim);
  const [only] = frames;
  return typeof only === 'string' ? [next(only)] : [around[0], ...frames, around[1]];
}

/** More than this and the client is slow: it is sent nothing before it has taken what there is. */
export const slowBytes = 64 * 1024;
const mostWaiting = 1_000;
/** In bytes. */
const mostWaitingBytes = 1024 * 1024;

/** One subscription of one client. A slow one gets the newest state and no queue, or, where each value counts, a queue with a bound. */
export class Subscriber implements Listener {
  readonly #wire: Wire;
  readonly #wording: FrameEncoder;
  readonly #onOver: (tooSlow: boolean, errors?: string) => void;
  #waiting: string[] | undefined;
  #waitingBytes = 0;
  #isOver = false;

  /** @param onOver called after the last frame, with its errors if it carried any; or when the client is too slow (`tooSlow`). */
  constructor(wire: Wire, wording: FrameEncoder, onOver: (tooSlow: boolean, errors?: string) => void) {
    this.#wire = wire;
    this.#wording = wording;
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
    if (!this.#wire.queue(text.length) || isTooMuch) this.#onOver(true);
  }

  /** Sends nothing any more, and gives back what waits. */
  stop(): void {
    this.#isOver = true;
    this.#taken();
  }

  #taken(): readonly string[] {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    this.#wire.queue(-this.#waitingBytes);
    this.#waitingBytes = 0;
    return waiting;
  }

  fail(errors: string): void {
    this.#last(this.#wording.fail(errors), errors);
  }

  complete(): void {
    this.#last(this.#wording.complete());
  }

  #last(frame: string, errors?: string): void {
    for (const text of this.#taken()) this.#wire.send(this.#wording.next(text));
    this.#wire.send(frame);
    this.#onOver(false, errors);
  }

  #send(text: string): void {
    if (this.#wire.buffered < slowBytes) this.#wire.send(this.#wording.next(text));
    else {
      this.#waiting = [];
      this.#wire.send(this.#wording.next(text), () => this.#flush());
    }
  }

  #flush(): void {
    for (const text of this.#taken()) this.next(text, false);
  }
}
