import { LRUCache } from 'lru-cache';
import type { Kept, Lease, LeaseStore, LeaseTimes } from './lease-store.js';
import type { StateMessage } from './state-message.js';

const mostKept = 1_000;

/** The board of a process that is alone: the same rules, in memory. */
export function localLeaseStore({ leaseMs, keepMs }: LeaseTimes): LeaseStore {
  const leases = new Map<string, { lease: Lease; until: number }>();
  const words = new LRUCache<string, { word: StateMessage<unknown>; at: number }>({ max: mostKept });
  const listeners = new Map<string, Set<(word: StateMessage<unknown>) => void>>();
  let lastFence = 0;

  const running = (topic: string) => {
    const held = leases.get(topic);
    return held !== undefined && held.until > performance.now() ? held.lease : undefined;
  };
  const hold = (topic: string, lease: Lease) => leases.set(topic, { lease, until: performance.now() + leaseMs });
  const keptOf = (topic: string): Kept | undefined => {
    const kept = words.get(topic);
    return kept && { word: kept.word, ageMs: performance.now() - kept.at };
  };

  return {
    leaseMs,
    read: async topic => words.get(topic)?.word,
    async take(topic, holder) {
      const kept = keptOf(topic);
      const held = running(topic);
      if (held !== undefined) return { lease: held.holder === holder ? held : undefined, fence: held.fence, kept };
      lastFence += 1;
      const lease = { holder, fence: lastFence };
      hold(topic, lease);
      return { lease, fence: lease.fence, kept };
    },
    async renew(topic, lease) {
      if (running(topic)?.fence !== lease.fence) return false;
      hold(topic, lease);
      return true;
    },
    async release(topic, lease) {
      if (leases.get(topic)?.lease.fence === lease.fence) leases.delete(topic);
    },
    async announce(topic, lease, word) {
      if (running(topic)?.fence !== lease.fence) return false;
      const ttl = keepMs[word.kind];
      if (ttl > 0) words.set(topic, { word, at: performance.now() }, { ttl });
      else words.delete(topic);
      if (word.kind !== 'state') leases.delete(topic);
      for (const hear of [...(listeners.get(topic) ?? [])]) hear(word);
      return true;
    },
    listen(topic, hear) {
      const its = listeners.get(topic) ?? new Set();
      listeners.set(topic, its.add(hear));
      return () => {
        its.delete(hear);
        if (its.size === 0 && listeners.get(topic) === its) listeners.delete(topic);
      };
    },
    close() {},
  };
}
