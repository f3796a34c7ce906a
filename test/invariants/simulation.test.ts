import { expect, test } from '@jest/globals';
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

test('a history is the same alone and behind others', async () => {
  const last = await simulate('--seed', '7130', '--seeds', '5', '--minutes', '0.2');
  expect(await simulate('--seed', '7134', '--minutes', '0.2')).toBe(last);
}, 600_000);
