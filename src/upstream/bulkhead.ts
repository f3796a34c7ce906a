import type { Cancellation } from '../cancellation.js';
import type { MaybePromise } from '../maybe-promise.js';

/** A bulkhead without room: the bound of calls in flight is reached, and so is that of calls waiting. */
export class BulkheadFull extends Error {
  override readonly name = 'BulkheadFull';
}

/**
 * Bounds how many calls are in flight at once, and how many wait for it. A freed slot goes straight to who waits longest;
 * who gives up leaves the queue.
 */
export class Bulkhead {
  #free: number;
  readonly #room: number;
  readonly #waiting = new Set<() => void>();

  constructor(slots: number, room: number) {
    this.#free = slots;
    this.#room = room;
  }

  /** Takes a slot, at once where one is free. @throws BulkheadFull where there is no room; the reason of who is cancelled in the queue. */
  enter(cancellation: Cancellation): MaybePromise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    if (this.#waiting.size >= this.#room) throw new BulkheadFull('No room left');
    return new Promise((resolve, reject) => {
      this.#waiting.add(resolve);
      cancellation.onCancel(() => {
        if (this.#waiting.delete(resolve)) reject(cancellation.reason);
      });
    });
  }

  /** Gives a slot back. */
  leave(): void {
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      next();
      return;
    }
    this.#free += 1;
  }
}
