/** A queue in which clients take turns: each has so many items in a row, its oldest first. */
export class FairQueue<T> {
  readonly #itemsInTurn: number;
  /** The items by client. The client whose turn it is comes first. */
  readonly #queues = new Map<string | undefined, Set<T>>();
  /** How many items there are. */
  size = 0;
  /** Whose turn it was when an item was last taken, and how many items of this turn have been taken. */
  #turn: string | undefined;
  #taken = 0;

  constructor(itemsInTurn: number) {
    this.#itemsInTurn = itemsInTurn;
  }

  add(client: string | undefined, item: T): void {
    this.size += 1;
    const queue = this.#queues.get(client) ?? new Set<T>();
    queue.add(item);
    this.#queues.set(client, queue);
  }

  /** Returns whether the item was in the queue. */
  remove(client: string | undefined, item: T): boolean {
    const queue = this.#queues.get(client);
    if (!queue?.delete(item)) return false;
    this.size -= 1;
    if (queue.size === 0) this.#queues.delete(client);
    return true;
  }

  /** Removes and returns the next item; undefined if the queue is empty. */
  take(): T | undefined {
    const [first] = this.#queues;
    if (first === undefined) return undefined;
    const [client, queue] = first;
    const [item] = queue as Iterable<T> as [T];
    this.#taken = client === this.#turn ? this.#taken + 1 : 1;
    this.#turn = client;
    this.remove(client, item);
    if (this.#taken >= this.#itemsInTurn) {
      this.#taken = 0;
      // Behind the other clients.
      if (this.#queues.delete(client)) this.#queues.set(client, queue);
    }
    return item;
  }
}

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
    if (this.#waiting.size === 0) {
      this.#freeSlots += 1;
      return;
    }
    const next = this.#waiting.take();
    // Not now: thousands may wait, and each of them may fail at once and start the next.
    queueMicrotask(() => next?.start());
  }
}
