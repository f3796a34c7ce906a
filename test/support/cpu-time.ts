import { expect } from '@jest/globals';

const [minRuns, maxRuns] = [5, 40];

/**
 * Expects that work takes less than `max` times what other work takes of the processor. They run in turns, and of each, the shortest run counts: other
 * processes, the garbage collector and a compiler that is late only add to a time. So they may run often before the expectation fails.
 */
export function expectCpuTime(work: () => void, max: number, other: () => void): void {
  let [time, timeOfOther] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let run = 1; run <= maxRuns; run += 1) {
    timeOfOther = Math.min(timeOfOther, microsecondsOf(other));
    time = Math.min(time, microsecondsOf(work));
    if (run >= minRuns && time < max * timeOfOther) return;
  }
  expect(time / timeOfOther).toBeLessThan(max);
}

function microsecondsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
