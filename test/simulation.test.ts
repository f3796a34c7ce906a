import { test } from '@jest/globals';
import { simulate } from './support/simulate.js';

// test/invariants/simulation.test.ts runs more and longer ones.
test('no history that failed once, and none of 20 new ones, breaks a rule', async () => {
  await simulate('--corpus', '--seeds', '20', '--minutes', '0.2');
}, 1_800_000);
