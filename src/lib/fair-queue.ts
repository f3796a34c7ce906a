/** A queue in which clients take turns: each has so many items in a row, its oldest first. */
export class FairQueue<T> {
  readonly #itemsInTurn: number;
  /** The items by client. The client whose turn it is comes first. */
  readonly #queues = new Map<string | undefined, Set<T>>();
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

  add(client: string | undefined, item: T): void {
    this.#size += 1;
    const queue = this.#queues.get(client) ?? new Set<T>();
    queue.add(item);
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
