import { test } from '@jest/globals';
import { runInterleavings } from '../support/interleavings.js';
import { sharedRedisUrl } from '../support/redis.js';

test.each([
  ['two gateways over one Redis', sharedRedisUrl],
  ['two gateways without Redis', () => undefined],
])(
  'behind the cursor of a list, %s deliver each update once in 1,000 interleavings',
  async (_, redisUrl) => {
    await runInterleavings(1_000, redisUrl());
  },
  1_800_000,
);
