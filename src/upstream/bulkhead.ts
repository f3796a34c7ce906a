/** A bulkhead without room: the bound of calls in flight is reached, and so is that of calls waiting. */
export class BulkheadFull extends Error {
  override readonly name = 'BulkheadFull';
}

/**
 * Bounds how many tasks run at once, and how many wait for it. A freed slot goes straight to who waits longest;
 * who gives up (its signal aborts) leaves the queue.
 */
export class Bulkhead {
  #free: number;
  readonly #room: number;
  readonly #waiting = new Set<() => void>();

  constructor(slots: number, room: number) {
    this.#free = slots;
    this.#room = room;
  }

  /** @throws BulkheadFull at once where there is no room; the signal's reason where it aborts in the queue. */
  async run<T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    try {
      return await task();
    } finally {
      this.#handOn();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= this.#room) throw new BulkheadFull('No room left');
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.delete(enter);
        reject(signal.reason);
      };
      this.#waiting.add(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #handOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
    } else {
      this.#waiting.delete(next);
      next();
    }
  }
}
