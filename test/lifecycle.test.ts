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
  const response = { shouldKeepAlive: true };
  lifecycle.onRequest({}, response);
  return [lifecycle.unready, response.shouldKeepAlive];
}

test.each<[Step[], ReturnType<typeof seenAfter>]>([
  [[], [undefined, true]],
  [['drain'], ['draining', false]],
  [
    ['drain', 'serve'],
    [undefined, true],
  ],
  [['leave'], ['closing', false]],
  [
    ['drain', 'leave'],
    ['closing', false],
  ],
  [
    ['leave', 'serve'],
    ['closing', false],
  ],
  [
    ['leave', 'close'],
    ['closing', true],
  ],
  [
    ['leave', 'close', 'drain'],
    ['closing', true],
  ],
])('after %j it is seen as %j', (steps, seen) => {
  expect(seenAfter(steps)).toEqual(seen);
});
