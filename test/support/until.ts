import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for something to become true. @throws Error after `withinMs`. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  const startedAt = performance.now();
  while (!(await holds())) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > withinMs) throw new Error(`Not within ${withinMs} ms: ${holds}`);
    // Ever more rarely: a look often is a request, and takes processor time from what is waited for.
    await sleep(Math.min(5 + waitedMs / 10, 50));
  }
}

/** Until the clock shows a later millisecond. Updates of one millisecond have no order of their own. */
export function untilLater(): Promise<void> {
  const now = Date.now();
  return until(() => Date.now() > now);
}
