import { setTimeout as sleep } from 'node:timers/promises';

/** What takes longer hangs, on any machine. In milliseconds, and less than Jest gives a test, so that the error says what was waited for. */
export const hangMs = 120_000;

/** Waits for something to become true. @throws Error if it hangs. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  while (!(await holds())) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > hangMs) throw new Error(`Not within ${hangMs} ms: ${holds}`);
    // Ever more rarely: a look often is a request, and takes processor time from what is waited for.
    await sleep(Math.min(5 + waitedMs / 10, 50));
  }
}

/** Until the clock shows a later millisecond. Updates of one millisecond have no order of their own. */
export function untilLater(): Promise<void> {
  const now = Date.now();
  return until(() => Date.now() > now);
}
