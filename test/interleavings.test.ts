import { test } from '@jest/globals';
import { runInterleavings } from './support/interleavings.js';
import { sharedRedisUrl } from './support/redis.js';

// test/system/interleavings.test.ts runs more of them.
test.each([
  ['two gateways over one Redis', sharedRedisUrl],
  ['two gateways without Redis', () => undefined],
])(
  'behind the cursor of a list, %s deliver each update once, whatever the order of reading and posting',
  async (_, redisUrl) => {
    await runInterleavings(60, redisUrl());
  },
);
