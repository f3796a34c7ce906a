import type { MaybePromise } from './maybe-promise.js';

/** How long `runYielding` may block one turn of the event loop, in milliseconds. */
const longestMs = 10;

let spentMs = 0;
let isScheduled = false;
const waiting: { readonly since: number; run(): void }[] = [];

/**
 * Runs a short piece of work: now, or in a later turn of the event loop if such work has already taken 10 ms of this turn. Other requests are
 * then handled in between.
 */
export function runYielding<T>(work: () => T): MaybePromise<T> {
  if (spentMs < longestMs && waiting.length === 0) return timed(work);
  return new Promise((resolve, reject) => {
    waiting.push({
      since: performance.now(),
      run() {
        try {
          resolve(timed(work));
        } catch (error) {
          reject(error);
        }
      },
    });
  });
}

/** How long the oldest piece of work has waited for its turn, in milliseconds; 0 where none waits. */
export function yieldedMs(): number {
  const [oldest] = waiting;
  return oldest === undefined ? 0 : performance.now() - oldest.since;
}

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
  while (spentMs < longestMs) {
    const piece = waiting.shift();
    if (piece === undefined) return;
    piece.run();
  }
}
