// What waits to be sent to one client: bounded, counted, and in order.
import type { Claim } from '../lib/memory-budget.js';

/** In bytes. Above this send buffer a client is slow: it gets nothing more of a subscription until it has taken what was sent. */
export const slowBytes = 64 * 1024;
/** In bytes. Above this send buffer nothing more is executed for a client, nor read from it. */
export const maxUnsentBytes = 1024 * 1024;

/** One message in the parts in which it is sent. */
export type Parts = readonly (Buffer | string)[];

/** A message with a text before and after it. */
export function framed(parts: Parts, before: string, after: string): Parts {
  const [only] = parts;
  return typeof only === 'string' ? [before + only + after] : [before, ...parts, after];
}

export interface Outlet {
  /** How many bytes were sent and not yet taken by the client. */
  unsent(): number;
  /** Sends a part of a message. @param onTaken for the last part: called when the client has taken the message. */
  write(part: Parts[number], onTaken: (() => void) | undefined): void;
  onTaken?(): void;
  destroy(): void;
}

/** Sends to one client, and counts what was sent and not yet taken against the memory budget. */
export class SendBuffer {
  readonly #outlet: Outlet;
  #claim: Claim;
  #isReleased = false;
  /** Callbacks that wait until the client has taken something; made when the first one has to wait. */
  #waiting: Set<() => void> | undefined;

  constructor(outlet: Outlet, claim: Claim) {
    this.#outlet = outlet;
    this.#claim = claim;
  }

  get isSlow(): boolean {
    return this.#outlet.unsent() > slowBytes;
  }

  /** @param needsRoom whether a client that is slow is disconnected if the memory budget has no room for the message. */
  send(message: Parts, needsRoom = true): void {
    const { isSlow } = this;
    const last = message.length - 1;
    for (const [index, part] of message.entries()) this.#outlet.write(part, index === last ? this.#onTaken : undefined);
    if (!this.#count() && isSlow && needsRoom) this.#outlet.destroy();
  }

  /** Calls back once, when the client has taken some of what was sent, or when the connection has ended. */
  whenTaken(callback: () => void): void {
    this.#waiting ??= new Set();
    this.#waiting.add(callback);
  }

  /** Waits until the client has taken enough of what was sent, or the connection has ended. */
  async room(): Promise<void> {
    while (!this.#isReleased && this.#outlet.unsent() > maxUnsentBytes) {
      await new Promise<void>(resolve => this.whenTaken(resolve));
    }
  }

  chargeTo(claim: Claim): void {
    this.#claim.release();
    this.#claim = claim;
  }

  release(): void {
    this.#isReleased = true;
    this.#wake();
    this.#claim.release();
  }

  readonly #onTaken = (): void => {
    this.#outlet.onTaken?.();
    this.#count();
    this.#wake();
  };

  #count(): boolean {
    return this.#claim.force(this.isSlow ? this.#outlet.unsent() : 0);
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const each of waiting ?? []) each();
  }
}
