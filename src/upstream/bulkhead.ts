import type { Cancellation } from '../cancellation.js';
import type { MaybePromise } from '../maybe-promise.js';

/** A bulkhead without room: the bound of calls in flight is reached, and so is that of calls waiting. */
export class BulkheadFull extends Error {
  override readonly name = 'BulkheadFull';
}

/** Who waits for a slot. Emptied as it leaves: what was deleted from a Set may be held by it for a while; see `BriefMap`. */
interface Waiter {
  go: (() => void) | undefined;
}

/**
 * Bounds how many calls are in flight at once, and how many wait for it. A freed slot goes straight to whoever waits longest;
 * whoever gives up leaves the queue.
 */
export class Bulkhead {
  #free: number;
  readonly #room: number;
  readonly #waiting = new Set<Waiter>();
  /** Goes on where it was, for a new one would begin with the places of all who left. */
  #turns = this.#waiting.values();

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
      const waiter: Waiter = { go: resolve };
      this.#waiting.add(waiter);
      cancellation.onCancel(() => {
        if (this.#take(waiter) !== undefined) reject(cancellation.reason);
      });
    });
  }

  /** Gives a slot back. */
  leave(): void {
    const { done, value: next } = this.#turns.next();
    if (done) {
      this.#turns = this.#waiting.values();
      this.#free += 1;
    } else this.#take(next)?.();
  }

  #take(waiter: Waiter): (() => void) | undefined {
    const { go } = waiter;
    waiter.go = undefined;
    this.#waiting.delete(waiter);
    return go;
  }
}
