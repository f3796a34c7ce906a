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
 * Bounds how many calls run at once, and how many wait for a slot. A freed slot goes straight to a call that waits: clients take turns, and of
 * each client the call that has waited longest is next. A call that gives up leaves the queue.
 */
export class Bulkhead {
  readonly #slots: number;
  #freeSlots: number;
  readonly #maxWaiting: number;
  /** What waits, by client. The client whose turn it is comes first. */
  readonly #queues = new Map<string | undefined, Set<Waiter>>();
  #waiting = 0;

  constructor(slots: number, maxWaiting: number) {
    this.#slots = slots;
    this.#freeSlots = slots;
    this.#maxWaiting = maxWaiting;
  }

  /** How many wait, for each slot. */
  get waitingPerSlot(): number {
    return this.#waiting / this.#slots;
  }

  /** Starts the waiter at once if a slot is free; otherwise the waiter joins the queue. @throws BulkheadFull */
  enter(waiter: Waiter): void {
    if (this.#freeSlots > 0) {
      this.#freeSlots -= 1;
      waiter.start();
      return;
    }
    if (this.#waiting >= this.#maxWaiting) throw new BulkheadFull('The queue is full');
    this.#waiting += 1;
    const queue = this.#queues.get(waiter.client);
    if (queue === undefined) this.#queues.set(waiter.client, new Set([waiter]));
    else queue.add(waiter);
  }

  /** Removes a waiter from the queue. @returns false if its slot is already on the way: `start` will still be called */
  withdraw(waiter: Waiter): boolean {
    const queue = this.#queues.get(waiter.client);
    if (!queue?.delete(waiter)) return false;
    this.#waiting -= 1;
    if (queue.size === 0) this.#queues.delete(waiter.client);
    return true;
  }

  /** Gives a slot back. */
  leave(): void {
    const [turn] = this.#queues;
    const [next] = turn?.[1] ?? [];
    if (turn === undefined || next === undefined) {
      this.#freeSlots += 1;
      return;
    }
    const [client, queue] = turn;
    this.withdraw(next);
    // Behind the other clients.
    if (this.#queues.delete(client)) this.#queues.set(client, queue);
    // Not now: thousands may wait, and each of them may fail at once and start the next.
    queueMicrotask(() => next.start());
  }
}
