import { test } from '@jest/globals';
import { fuzzMs } from '../support/fuzz.js';
import { simulate } from '../support/simulate.js';

// The time is that of a processor, which takes longer on a busy machine.
test(
  'no history breaks a rule',
  async () => {
    await simulate('--for', String(fuzzMs / 1_000), '--minutes', '3');
  },
  20 * fuzzMs + 600_000,
);
