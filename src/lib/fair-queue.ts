/** A queue in which clients take turns: each has so many items in a row, its oldest first. It knows how long its items have waited. */
export class FairQueue<T> {
  readonly #itemsInTurn: number;
  /** The items by client, and when each was added. The client whose turn it is comes first. */
  readonly #queues = new Map<string | undefined, Map<T, number>>();
  #size = 0;
  /** Whose turn it was when an item was last taken, and how many items of this turn have been taken. */
  #turn: string | undefined;
  #taken = 0;

  constructor(itemsInTurn: number) {
    this.#itemsInTurn = itemsInTurn;
  }

  get size(): number {
    return this.#size;
  }

  /** How many clients have items. */
  get clients(): number {
    return this.#queues.size;
  }

  /** How long the oldest item has waited, in milliseconds; 0 if the queue is empty. */
  get oldestQueuedMs(): number {
    const now = performance.now();
    let maxMs = 0;
    for (const queue of this.#queues.values()) {
      const [addedAt = now] = queue.values();
      maxMs = Math.max(maxMs, now - addedAt);
    }
    return maxMs;
  }

  add(client: string | undefined, item: T): void {
    this.#size += 1;
    const queue = this.#queues.get(client) ?? new Map<T, number>();
    queue.set(item, performance.now());
    this.#queues.set(client, queue);
  }

  /** Returns whether the item was in the queue. */
  remove(client: string | undefined, item: T): boolean {
    const queue = this.#queues.get(client);
    if (!queue?.delete(item)) return false;
    this.#size -= 1;
    if (queue.size === 0) this.#queues.delete(client);
    return true;
  }

  /** Removes and returns the next item; undefined if the queue is empty. */
  take(): T | undefined {
    const [first] = this.#queues;
    if (first === undefined) return undefined;
    const [client, queue] = first;
    const [item] = queue.keys() as Iterable<T> as [T];
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

  /**
   * Removes items as long as it is read: of each client from its oldest item to the first for which `isOver` does not hold.
   * @param isOver learns how long the item has waited, in milliseconds, and how many items its client has.
   */
  *takeWhile(isOver: (waitedMs: number, ofClient: number) => boolean): Generator<T> {
    const now = performance.now();
    for (const [client, queue] of this.#queues) {
      for (const [item, addedAt] of queue) {
        if (!isOver(now - addedAt, queue.size)) break;
        this.remove(client, item);
        yield item;
      }
    }
  }
}
