import type { Listener } from './broadcast.js';

/** The way to one client. */
export interface Wire {
  /** How many bytes it was sent and has not taken yet. */
  readonly buffered: number;
  /** @param whenSent is called when the client's side of the network has taken it. */
  send(frame: string, whenSent?: () => void): void;
}

/** How a door words what it tells. */
export interface Wording {
  next(text: string): string;
  fail(errors: string): string;
  complete(): string;
}

/** More than this and the client is slow: it is sent nothing before it has taken what there is. */
const slowBytes = 64 * 1024;
const mostWaiting = 1_000;

/** One subscription of one client. A slow one gets the newest state and no queue, or, where each value counts, a queue with a bound. */
export class Subscriber implements Listener {
  readonly #wire: Wire;
  readonly #wording: Wording;
  readonly #onOver: (tooSlow: boolean, errors?: string) => void;
  #waiting: string[] | undefined;

  /** @param onOver called after the last frame, with its errors if it carried any; or when the client is too slow (`tooSlow`). */
  constructor(wire: Wire, wording: Wording, onOver: (tooSlow: boolean, errors?: string) => void) {
    this.#wire = wire;
    this.#wording = wording;
    this.#onOver = onOver;
  }

  next(text: string, replaces: boolean): void {
    if (this.#waiting === undefined) this.#send(text);
    else if (replaces) this.#waiting = [text];
    else if (this.#waiting.length < mostWaiting) this.#waiting.push(text);
    else this.#onOver(true);
  }

  fail(errors: string): void {
    this.#last(this.#wording.fail(errors), errors);
  }

  complete(): void {
    this.#last(this.#wording.complete());
  }

  #last(frame: string, errors?: string): void {
    for (const text of this.#waiting ?? []) this.#wire.send(this.#wording.next(text));
    this.#waiting = undefined;
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
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const text of waiting) this.next(text, false);
  }
}
