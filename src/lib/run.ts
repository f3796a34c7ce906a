import { FairQueue } from './bulkhead.js';

/**
 * A value or a promise of it. A value that is available at once is not wrapped, because a promise costs more than most look-ups. The promise is a
 * native one: `andThen` recognizes it with `instanceof`. The promise of a library goes through an `async` function first.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Applies `map` to a value: at once if the value is available, otherwise when its promise is fulfilled. */
export function andThen<T, U>(value: MaybePromise<T>, map: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(map) : map(value);
}

/** A function that calls `make` once for each object and remembers the result until the object is garbage-collected. */
export function oncePerValue<V extends object, T>(make: (value: V) => T): (value: V) => T {
  const made = new WeakMap<V, { readonly result: T }>();
  return value => {
    let known = made.get(value);
    if (known === undefined) {
      known = { result: make(value) };
      made.set(value, known);
    }
    return known.result;
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
 * @param subject is given to the work, so that a frequent kind of work needs no closure.
 */
export function runYielding<T, S = undefined>(
  client: string | undefined,
  work: (subject: S) => T,
  subject: S = undefined as S,
): MaybePromise<T> {
  if (spentMs < maxMs && queuedSince === undefined) return timed(work, subject);
  queuedSince ??= performance.now();
  return new Promise((resolve, reject) => {
    waiting.add(client, () => {
      try {
        resolve(timed(work, subject));
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** For how long some work has been waiting for a later turn without a pause, in milliseconds. */
export const standingQueueMs = (): number => (queuedSince === undefined ? 0 : performance.now() - queuedSince);

function timed<T, S>(work: (subject: S) => T, subject: S): T {
  if (!isScheduled) setImmediate(nextTurn);
  isScheduled = true;
  const startedAt = performance.now();
  try {
    return work(subject);
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

/** When `takeTurn` let the first piece of work begin in this turn; undefined: none has begun. */
let begunAt: number | undefined;
/** What it last let something be done for. */
let owner: object | undefined;
const turns = new FairQueue<() => void>(1);

/**
 * Waits until work may begin that goes on in promises, which nothing can time. What the work before needs no input or output for is done by then, and
 * counts: after 10 ms, others wait for a later turn of the event loop.
 * @param client whose work it is: clients take turns.
 * @param subject what the work is for. It goes on at once while nothing else waits.
 */
export async function takeTurn(client: string | undefined, subject: object): Promise<void> {
  if (turns.size === 0 && (begunAt === undefined || owner === subject) && isTimeLeft()) owner = subject;
  else
    await new Promise<void>(resolve => {
      turns.add(client, () => {
        owner = subject;
        resolve();
      });
      setImmediate(nextOfTurns);
    });
}

/** Runs once for each that waits: Node.js runs all that can go on between two such calls. */
function nextOfTurns(): void {
  if (isTimeLeft()) turns.take()?.();
  else setImmediate(nextOfTurns);
}

function isTimeLeft(): boolean {
  if (begunAt === undefined) {
    begunAt = performance.now();
    setImmediate(() => {
      begunAt = undefined;
    });
  }
  return performance.now() - begunAt < maxMs;
}
