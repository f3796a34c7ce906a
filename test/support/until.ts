import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

/** What takes longer hangs, on any machine. In milliseconds, and less than Jest gives a test, so that the error says what was waited for. */
export const hangMs = 120_000;

/**
 * Waits until a value is as it should be, by default true.
 * @throws Error that says the last value, if that hangs.
 */
export async function until<T>(
  read: () => T | Promise<T>,
  isRight: (value: Awaited<T>) => boolean = Boolean,
): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    const value = await read();
    if (isRight(value)) return;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > hangMs) throw new Error(`Not within ${hangMs} ms: ${read} (the last value: ${inspect(value)})`);
    // Ever more rarely: a look often is a request, and takes processor time from what is waited for.
    await sleep(Math.min(5 + waitedMs / 10, 50));
  }
}

/** Until the clock shows a later millisecond. Updates of one millisecond have no order of their own. */
export function untilLater(): Promise<void> {
  const now = Date.now();
  return until(() => Date.now() > now);
}
