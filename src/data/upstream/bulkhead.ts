/** All slots of a bulkhead are taken, and so are all places in its queue. */
export class BulkheadFull extends Error {
  override readonly name = 'BulkheadFull';
}

/**
 * Bounds how many calls run at once, and how many wait for a slot. A freed slot goes straight to the call that has waited longest; a call
 * that is aborted leaves the queue.
 */
export class Bulkhead {
  #freeSlots: number;
  readonly #maxWaiting: number;
  /** Starts each waiting call, in the order of arrival. */
  readonly #waiting = new Set<() => void>();

  constructor(slots: number, maxWaiting: number) {
    this.#freeSlots = slots;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Resolves when the caller holds a slot, which it must give back with `leave`.
   * @throws BulkheadFull; the reason of the signal if that aborts first.
   */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#freeSlots > 0) {
      this.#freeSlots -= 1;
      return;
    }
    if (this.#waiting.size >= this.#maxWaiting) throw new BulkheadFull('The queue is full');
    await new Promise<void>((resolve, reject) => {
      const start = () => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.delete(start);
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(start);
    });
  }

  /** Gives a slot back. */
  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#freeSlots += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
