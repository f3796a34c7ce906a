import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for something to become true. @throws Error after `withinMs`. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Not within ${withinMs} ms: ${holds}`);
    await sleep(5);
  }
}
