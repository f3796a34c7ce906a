import { FairQueue } from './fair-queue.js';

/** All slots of a bulkhead are taken, and so are all places in its queue. */
export class BulkheadFull extends Error {
  override readonly name = 'BulkheadFull';
}

/** Waits for a slot. */
export interface Waiter {
  /** Whose work it is: clients take turns. Undefined where all of it is for one. */
  readonly client?: string | undefined;
  /** Has a slot now, which must be given back with `leave`. */
  start(): void;
}

/**
 * Bounds how many calls run at once, and how many wait for a slot. A freed slot goes straight to a call that waits. A client has up to half of all slots
 * in a row, then the next client has its turn: so most operations get what they need at once, and none waits for all calls of a very large one. A call
 * that gives up leaves the queue.
 */
export class Bulkhead {
  #freeSlots: number;
  readonly #maxWaiting: number;
  readonly #waiting: FairQueue<Waiter>;

  constructor(slots: number, maxWaiting: number) {
    this.#freeSlots = slots;
    this.#maxWaiting = maxWaiting;
    this.#waiting = new FairQueue(slots / 2);
  }

  /** Starts the waiter at once if a slot is free; otherwise the waiter joins the queue. @throws BulkheadFull */
  enter(waiter: Waiter): void {
    if (this.#freeSlots > 0) {
      this.#freeSlots -= 1;
      waiter.start();
      return;
    }
    if (this.#waiting.size >= this.#maxWaiting) throw new BulkheadFull('The queue is full');
    this.#waiting.add(waiter.client, waiter);
  }

  /** Removes a waiter from the queue. @returns false if its slot is already on the way: `start` will still be called */
  withdraw(waiter: Waiter): boolean {
    return this.#waiting.remove(waiter.client, waiter);
  }

  /** Gives a slot back. */
  leave(): void {
    const next = this.#waiting.take();
    if (next === undefined) this.#freeSlots += 1;
    // Not now: thousands may wait, and each of them may fail at once and start the next.
    else queueMicrotask(() => next.start());
  }
}
