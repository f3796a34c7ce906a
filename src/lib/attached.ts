import type { IncomingMessage } from 'node:http';

/**
 * Something that is known of a request or of a socket, kept with it: what a WeakMap does at a fraction of the cost, for what every request
 * has.
 */
export class Attached<T, Holder extends object = IncomingMessage> {
  readonly #key = Symbol();

  get(holder: Holder): T | undefined {
    return (holder as Record<symbol, T | undefined>)[this.#key];
  }

  set(holder: Holder, value: T): void {
    (holder as Record<symbol, T | undefined>)[this.#key] = value;
  }
}
