import { constants } from 'node:os';

/** For so long, a signal that comes again is that of the same stop: npm and a shell send it to the process and to its group. In milliseconds. */
const repeatMs = 5_000;

/** Calls `end` at the first signal. The same signal again changes nothing; after five seconds, it ends the process at once. */
export function onSignal(signal: 'SIGINT' | 'SIGTERM', end: () => void): void {
  let firstAt: number | undefined;
  process.on(signal, async () => {
    if (firstAt === undefined) {
      firstAt = performance.now();
      end();
    } else if (performance.now() - firstAt >= repeatMs) {
      const { exit } = await import('./output.js');
      await exit(128 + constants.signals[signal]);
    }
  });
}
