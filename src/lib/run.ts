// When work runs: at once or later, once for many callers, in turns of clients, and so much of it at a time.

/** So many may run or wait beyond a limit, as a share of it. With as many operations again, embeddings took twice as long under ten times the load. */
export const maxBeyond = 0.25;

/** The share of `max` that one of so many clients has. @param own what it has now: with nothing, it is one client more. */
export const shareOf = (max: number, clients: number, own: number): number => max / (clients + (own === 0 ? 1 : 0));

/** Adds to what a client has. One that has nothing is not in the map. */
export function addTo<K>(amounts: Map<K, number>, client: K, by: number): void {
  const amount = (amounts.get(client) ?? 0) + by;
  if (amount === 0) amounts.delete(client);
  else amounts.set(client, amount);
}

/** What the client has that has the most. */
export function most(amounts: Iterable<number>): number {
  let largest = 0;
  for (const amount of amounts) largest = Math.max(largest, amount);
  return largest;
}

/** A queue in which clients take turns: each has so many items in a row, its oldest first. */
class FairQueue<T> {
  readonly #itemsInTurn: number;
  /** The items by client. The client whose turn it is comes first. */
  readonly #queues = new Map<string | undefined, Set<T>>();
  size = 0;
  /** Whose turn it was when an item was last taken, and how many items of this turn have been taken. */
  #turn: string | undefined;
  #taken = 0;

  constructor(itemsInTurn: number) {
    this.#itemsInTurn = itemsInTurn;
  }

  /** Whether one more of a client may wait. Once `max` wait, a client with less than its share of them still may. */
  hasRoom(client: string | undefined, max: number): boolean {
    if (this.size < max) return true;
    const own = this.#queues.get(client)?.size ?? 0;
    return own < shareOf(max, this.#queues.size, own) && this.size < max * (1 + maxBeyond);
  }

  add(client: string | undefined, item: T): void {
    this.size += 1;
    const queue = this.#queues.get(client) ?? new Set<T>();
    queue.add(item);
    this.#queues.set(client, queue);
  }

  remove(client: string | undefined, item: T): boolean {
    const queue = this.#queues.get(client);
    if (!queue?.delete(item)) return false;
    this.size -= 1;
    if (queue.size === 0) this.#queues.delete(client);
    return true;
  }

  take(): T | undefined {
    const { value: client, done } = this.#queues.keys().next();
    if (done) return undefined;
    const queue = this.#queues.get(client) as Set<T>;
    const item = queue.values().next().value as T;
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

/**
 * A value or a promise of it. A value that is available at once is not wrapped, because a promise costs more than most look-ups. The promise is a
 * native one: `andThen` recognizes it with `instanceof`. The promise of a library goes through an `async` function first.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Applies `map` to a value: at once if the value is available, otherwise when its promise is fulfilled. */
export function andThen<T, U>(value: MaybePromise<T>, map: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(map) : map(value);
}

/**
 * A function that calls `make` once for each object and remembers the result until the object is garbage-collected.
 * @param make whatever else it is given must be the same for the same object.
 */
export function oncePerValue<V extends object, T, Given = void>(
  make: (value: V, given: Given) => T,
): (value: V, given: Given) => T {
  const made = new WeakMap<V, { readonly result: T }>();
  return (value, given) => {
    let entry = made.get(value);
    if (entry === undefined) {
      entry = { result: make(value, given) };
      made.set(value, entry);
    }
    return entry.result;
  };
}

/** Runs `work` once for all callers that come while it runs. */
export function sharedRun<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** Once the work of `runYielding` has taken so many milliseconds of a turn of the event loop, no further piece of it begins in this turn. */
const maxMs = 10;

let spentMs = 0;
let isScheduled = false;
const waiting = new FairQueue<() => void>(1);
/** When the first piece came to the empty queue; undefined while it is empty. */
let queuedSince: number | undefined;

/**
 * Runs a piece of work: now, or in a later turn of the event loop if such work has already taken 10 ms of this turn. Other requests are
 * then handled in between.
 * @param client whose work it is: clients take turns.
 */
export function runYielding<T>(client: string | undefined, work: () => T): MaybePromise<T> {
  if (spentMs < maxMs && queuedSince === undefined) return timed(work);
  queuedSince ??= performance.now();
  return new Promise((resolve, reject) => {
    waiting.add(client, () => {
      try {
        resolve(timed(work));
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** For how long some work has been waiting for a later turn without a pause, in milliseconds. */
export const standingQueueMs = (): number => (queuedSince === undefined ? 0 : performance.now() - queuedSince);

function timed<T>(work: () => T): T {
  if (!isScheduled) setImmediate(nextTurn);
  isScheduled = true;
  const startedAt = performance.now();
  try {
    return work();
  } finally {
    spentMs += performance.now() - startedAt;
  }
}

function nextTurn(): void {
  spentMs = 0;
  isScheduled = false;
  while (spentMs < maxMs && waiting.size > 0) waiting.take()?.();
  if (waiting.size === 0) queuedSince = undefined;
}

/** When the first work of this turn of the event loop began that goes on in promises. */
let begunAt: number | undefined;
const turns = new FairQueue<() => void>(1);

/**
 * Waits for a turn, for work that goes on in promises and so cannot be timed by itself. In one turn of the event loop such work begins for 10 ms; the rest waits
 * for a later one.
 * @param client whose work it is: clients take turns.
 */
export const takeTurn = (client: string | undefined): Promise<void> =>
  new Promise(resolve => {
    turns.add(client, resolve);
    setImmediate(beginNext);
  });

/** Runs once for each that waits: between two callbacks of `setImmediate`, Node.js runs all promises that can go on. */
function beginNext(): void {
  if (begunAt === undefined) {
    begunAt = performance.now();
    setImmediate(() => {
      begunAt = undefined;
    });
  }
  if (performance.now() - begunAt < maxMs) turns.take()?.();
  else setImmediate(beginNext);
}

/** All slots of a bulkhead are taken, and so are all places in its queue that the client may have. */
export class BulkheadFull extends Error {
  override readonly name = 'BulkheadFull';
}

export interface Waiter {
  /** Whose work it is: clients take turns. Undefined where all of it is for one. */
  readonly client?: string | undefined;
  /** Has a slot now, which must be given back with `leave`. */
  start(): void;
}

/**
 * Bounds how many calls run at once, and how many wait for a slot. A freed slot goes straight to a call that waits. A client has up to half of all slots
 * in a row, then the next client has its turn: so most operations get what they need at once, and none waits for all calls of a very large one. One client
 * alone does not fill the queue for the others. A call that gives up leaves it.
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
    if (!this.#waiting.hasRoom(waiter.client, this.#maxWaiting)) throw new BulkheadFull('The queue is full');
    this.#waiting.add(waiter.client, waiter);
  }

  /** Removes a waiter from the queue. @returns false if its slot is already on the way: `start` will still be called */
  withdraw(waiter: Waiter): boolean {
    return this.#waiting.remove(waiter.client, waiter);
  }

  leave(): void {
    if (this.#waiting.size === 0) {
      this.#freeSlots += 1;
      return;
    }
    // Not now: thousands may wait, and each of them may fail at once and start the next. `queueMicrotask` makes an `AsyncResource` for each.
    void Promise.resolve(this.#waiting.take()).then(waiter => waiter?.start());
  }
}
