import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

const sliceSize = 200;

/** Visits all items in order, and yields to the event loop after every 200. */
export async function inSlices<T>(items: readonly T[], visit: (item: T) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    visit(item);
    if (index % sliceSize === sliceSize - 1) await nextTurn();
  }
}

const tickMs = 50;

/** Visits all items in order, evenly spread over `overMs` milliseconds; the first one at once. */
export async function drainGradually<T>(items: readonly T[], overMs: number, visit: (item: T) => void): Promise<void> {
  const ticks = Math.max(Math.min(items.length, Math.floor(overMs / tickMs)), 1);
  for (let tick = 0; tick < ticks; tick += 1) {
    if (tick > 0) await sleep(overMs / ticks);
    const from = Math.floor((items.length * tick) / ticks);
    const to = Math.floor((items.length * (tick + 1)) / ticks);
    for (const item of items.slice(from, to)) visit(item);
  }
}
