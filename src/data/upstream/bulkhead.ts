/** A bulkhead without room: the bound of calls in flight is reached, and so is that of calls waiting. */
export class BulkheadFull extends Error {
  override readonly name = 'BulkheadFull';
}

/** Who waits for a slot. */
export interface Waiter {
  /** A slot is taken for it. */
  go(): void;
}

/** A place in the queue. Emptied as its waiter leaves: what was deleted from a Set may be held by it for a while; see `BriefMap`. */
export interface Turn {
  waiter: Waiter | undefined;
}

/**
 * Bounds how many calls are in flight at once, and how many wait for it. A freed slot goes straight to whoever waits longest;
 * whoever gives up leaves the queue.
 */
export class Bulkhead {
  #free: number;
  readonly #room: number;
  readonly #waiting = new Set<Turn>();
  /** Goes on where it was, for a new one would begin with the places of all who left. */
  #turns = this.#waiting.values();

  constructor(slots: number, room: number) {
    this.#free = slots;
    this.#room = room;
  }

  /** Lets it go at once where a slot is free; else returns its turn in the queue. @throws BulkheadFull where there is no room. */
  enter(waiter: Waiter): Turn | undefined {
    if (this.#free > 0) {
      this.#free -= 1;
      waiter.go();
      return undefined;
    }
    if (this.#waiting.size >= this.#room) throw new BulkheadFull('No room left');
    const turn: Turn = { waiter };
    this.#waiting.add(turn);
    return turn;
  }

  /** Gives up a turn. @returns whether it had not come yet. */
  withdraw(turn: Turn): boolean {
    return this.#take(turn) !== undefined;
  }

  /** Gives a slot back. */
  leave(): void {
    const { done, value: next } = this.#turns.next();
    if (done) {
      this.#turns = this.#waiting.values();
      this.#free += 1;
      return;
    }
    const waiter = this.#take(next);
    // Soon, and not now: of thousands that wait each may fail at once, and let the next go.
    queueMicrotask(() => waiter?.go());
  }

  #take(turn: Turn): Waiter | undefined {
    const { waiter } = turn;
    turn.waiter = undefined;
    this.#waiting.delete(turn);
    return waiter;
  }
}
