import { expect, test } from '@jest/globals';
import { createLifecycle } from '../src/lib/lifecycle.js';

type Step = 'drain' | 'serve' | 'leave' | 'close';

/** What a balancer and the connections of clients see after each step. */
function seenAfter(steps: readonly Step[]) {
  const lifecycle = createLifecycle();
  for (const step of steps) {
    if (step === 'drain' || step === 'serve') lifecycle.drain(step === 'drain');
    else lifecycle[step]();
  }
  return [lifecycle.unready, lifecycle.endsConnections];
}

test.each<[Step[], ReturnType<typeof seenAfter>]>([
  [[], [undefined, false]],
  [['drain'], ['draining', true]],
  [
    ['drain', 'serve'],
    [undefined, false],
  ],
  [['leave'], ['closing', true]],
  [
    ['drain', 'leave'],
    ['closing', true],
  ],
  [
    ['leave', 'serve'],
    ['closing', true],
  ],
  [
    ['leave', 'close'],
    ['closing', false],
  ],
  [
    ['leave', 'close', 'drain'],
    ['closing', false],
  ],
])('after %j it is seen as %j', (steps, seen) => {
  expect(seenAfter(steps)).toEqual(seen);
});
