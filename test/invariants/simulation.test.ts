import { test } from '@jest/globals';
import { fuzzMs } from '../support/fuzz.js';
import { simulate } from '../support/simulate.js';

test('no history breaks a rule', async () => {
  await simulate('--for', String(fuzzMs / 1_000), '--minutes', '3');
});
