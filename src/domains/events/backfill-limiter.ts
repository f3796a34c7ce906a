import { LRUCache } from 'lru-cache';
import type { Scope } from '../../auth/credentials.js';
import { Bulkhead } from '../../lib/bulkhead.js';

/** Of one credential. Each holds up to 2,000 events until its client has them. */
const maxConcurrent = 8;
/** More than one credential can open. */
const maxQueued = 100_000;
const maxScopes = 2_000;

/** Lets a few listeners of each credential read at a time what they have missed. The others wait in order. */
export class BackfillLimiter {
  readonly #ofScope = new LRUCache<Scope, Bulkhead>({ max: maxScopes });

  /** Waits for a place. @returns the function that gives it back @throws the reason of the signal when that aborts */
  async begin(scope: Scope, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const bulkhead = this.#ofScope.get(scope) ?? new Bulkhead(maxConcurrent, maxQueued);
    this.#ofScope.set(scope, bulkhead);
    await new Promise<void>((resolve, reject) => {
      const waiter = { start: resolve };
      const withdraw = () => bulkhead.withdraw(waiter) && reject(signal.reason);
      signal.addEventListener('abort', withdraw, { once: true });
      bulkhead.enter(waiter);
    });
    return () => bulkhead.leave();
  }
}
