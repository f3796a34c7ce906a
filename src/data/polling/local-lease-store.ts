import { LRUCache } from 'lru-cache';
import type { Lease, LeaseStore, LeaseTimes } from './lease-store.js';
import type { StateMessage } from './state-message.js';

const mostStored = 1_000;

/** A lease store in memory, for a gateway of one process. */
export function localLeaseStore({ leaseMs, keepMs }: LeaseTimes): LeaseStore {
  const leases = new Map<string, { lease: Lease; until: number }>();
  const messages = new LRUCache<string, { message: StateMessage<unknown>; at: number }>({ max: mostStored });
  const subscribers = new Map<string, Set<(message: StateMessage<unknown>) => void>>();
  let lastFence = 0;

  const currentLease = (topic: string) => {
    const held = leases.get(topic);
    return held !== undefined && held.until > performance.now() ? held.lease : undefined;
  };
  const hold = (topic: string, lease: Lease) => leases.set(topic, { lease, until: performance.now() + leaseMs });

  return {
    leaseMs,
    read: async topic => messages.get(topic)?.message,
    async take(topic, holder) {
      const last = messages.get(topic);
      const stored = last && { message: last.message, ageMs: performance.now() - last.at };
      const held = currentLease(topic);
      if (held !== undefined) return { lease: held.holder === holder ? held : undefined, fence: held.fence, stored };
      lastFence += 1;
      const lease = { holder, fence: lastFence };
      hold(topic, lease);
      return { lease, fence: lease.fence, stored };
    },
    async renew(topic, lease) {
      if (currentLease(topic)?.fence !== lease.fence) return false;
      hold(topic, lease);
      return true;
    },
    async release(topic, lease) {
      if (leases.get(topic)?.lease.fence === lease.fence) leases.delete(topic);
    },
    async publish(topic, lease, message) {
      if (currentLease(topic)?.fence !== lease.fence) return false;
      const ttl = keepMs[message.kind];
      if (ttl > 0) messages.set(topic, { message, at: performance.now() }, { ttl });
      else messages.delete(topic);
      if (message.kind !== 'state') leases.delete(topic);
      for (const onMessage of [...(subscribers.get(topic) ?? [])]) onMessage(message);
      return true;
    },
    subscribe(topic, onMessage) {
      const callbacks = subscribers.get(topic) ?? new Set();
      subscribers.set(topic, callbacks.add(onMessage));
      return () => {
        callbacks.delete(onMessage);
        if (callbacks.size === 0 && subscribers.get(topic) === callbacks) subscribers.delete(topic);
      };
    },
    close() {},
  };
}
