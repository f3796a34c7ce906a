import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for something to become true. @throws Error after `withinMs`. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs} ms: ${holds}`);
    await sleep(5);
  }
}

/** Until the clock shows a later millisecond. Updates of one millisecond have no order of their own. */
export function untilLater(): Promise<void> {
  const now = Date.now();
  return until(() => Date.now() > now);
}
