import { setImmediate as nextTurn } from 'node:timers/promises';

const sliceSize = 200;

/** Visits all items in their order, and lets others have their turn after every 200. */
export async function inSlices<T>(items: readonly T[], visit: (item: T) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    visit(item);
    if (index % sliceSize === sliceSize - 1) await nextTurn();
  }
}
