import { expect, jest, test } from '@jest/globals';
import { MemoryBudget } from '../src/lib/memory-budget.js';
import { newOperationInfo } from '../src/observability/operation-info.js';
import { type OperationHost, RunningOperation } from '../src/subscriptions/running-operation.js';
import type { Subscriptions } from '../src/subscriptions/subscriptions.js';

test('a subscription that is stopped lets go of what waits for its slow client, also where that never reads', async () => {
  const buffer = { isSlow: true, whenTaken: jest.fn(), queue: () => true };
  const host = { transport: 'websocket', buffer } as unknown as OperationHost;
  const subscriptions = {
    deps: { telemetry: { listeners() {} }, budget: new MemoryBudget() },
    async subscribe() {},
  } as unknown as Subscriptions;
  const operation = new RunningOperation('1', subscriptions, host, {} as never, newOperationInfo());
  await operation.run(async () => ({ type: 'subscription' }) as never);
  operation.next({ parts: ['x'], length: 100_000 }, false);
  const room = operation.room();
  operation.stop();
  await room;
  expect(operation.isOver).toBe(true);
});
