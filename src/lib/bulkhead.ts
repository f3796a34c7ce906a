/** All slots of a bulkhead are taken, and so are all places in its queue. */
export class BulkheadFull extends Error {
  override readonly name = 'BulkheadFull';
}

/** Waits for a slot. */
export interface Waiter {
  /** Has a slot now, which must be given back with `leave`. */
  start(): void;
}

/**
 * Bounds how many calls run at once, and how many wait for a slot. A freed slot goes straight to the call that has waited longest; a call
 * that gives up leaves the queue.
 */
export class Bulkhead {
  readonly #slots: number;
  #freeSlots: number;
  readonly #maxWaiting: number;
  /** Made when the first call has to wait. */
  #waiting: Set<Waiter> | undefined;

  constructor(slots: number, maxWaiting: number) {
    this.#slots = slots;
    this.#freeSlots = slots;
    this.#maxWaiting = maxWaiting;
  }

  /** How many wait, for each slot. */
  get waitingPerSlot(): number {
    return (this.#waiting?.size ?? 0) / this.#slots;
  }

  /** Starts the waiter at once if a slot is free; otherwise the waiter joins the queue. @throws BulkheadFull */
  enter(waiter: Waiter): void {
    if (this.#freeSlots > 0) {
      this.#freeSlots -= 1;
      waiter.start();
      return;
    }
    this.#waiting ??= new Set();
    if (this.#waiting.size >= this.#maxWaiting) throw new BulkheadFull('The queue is full');
    this.#waiting.add(waiter);
  }

  /** Removes a waiter from the queue. @returns false if its slot is already on the way: `start` will still be called */
  withdraw(waiter: Waiter): boolean {
    return this.#waiting?.delete(waiter) ?? false;
  }

  /** Gives a slot back. */
  leave(): void {
    const [next] = this.#waiting ?? [];
    if (next === undefined) {
      this.#freeSlots += 1;
      return;
    }
    this.#waiting?.delete(next);
    // Not now: thousands may wait, and each of them may fail at once and start the next.
    queueMicrotask(() => next.start());
  }
}
