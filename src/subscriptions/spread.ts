import { setTimeout as sleep } from 'node:timers/promises';

const tickMs = 50;

/** Visits all items in their order, evenly spread over a time in milliseconds; the first at once. */
export async function drainGradually<T>(items: readonly T[], overMs: number, visit: (item: T) => void): Promise<void> {
  const ticks = Math.max(Math.min(items.length, Math.floor(overMs / tickMs)), 1);
  for (let tick = 0; tick < ticks; tick += 1) {
    if (tick > 0) await sleep(overMs / ticks);
    const from = Math.floor((items.length * tick) / ticks);
    const to = Math.floor((items.length * (tick + 1)) / ticks);
    for (const item of items.slice(from, to)) visit(item);
  }
}
