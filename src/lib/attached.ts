import type { IncomingMessage } from 'node:http';

/**
 * Stores a value on a request or a socket under a private symbol. It works like a WeakMap and costs much less, which matters for values that
 * every request has (docs/decisions/0056-tricks.md). To measure without it, let the class only extend WeakMap<Holder, T>.
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
