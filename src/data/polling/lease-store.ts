import { LRUCache } from 'lru-cache';
import type { StateMessage } from './state-message.js';

/** The last message of a topic, and how many milliseconds ago it was published. */
interface StoredMessage {
  readonly message: StateMessage<unknown>;
  readonly ageMs: number;
}

/** The right of one watcher to poll for a topic. The fencing token grows with every lease of the topic. */
export interface Lease {
  readonly holder: string;
  readonly fence: number;
}

/** The result of trying to take a lease. */
interface LeaseAttempt {
  /** Undefined if another holder has the lease. */
  readonly lease: Lease | undefined;
  /** The fencing token of the current lease, held by any gateway. Messages with a smaller token are outdated. */
  readonly fence: number;
  readonly stored: StoredMessage | undefined;
}

/**
 * Where the processes of a fleet agree on which one polls, and share what it found. Every method that returns a promise rejects while the
 * store is unavailable. The outcome is then unknown, and the call can be repeated.
 */
export interface LeaseStore {
  /** How long a lease lasts after it was taken or renewed. */
  readonly leaseMs: number;
  /** Reads the last message. */
  read(topic: string): Promise<StateMessage<unknown> | undefined>;
  /** Takes the lease of a topic unless another holder has it, and reads the last message. */
  take(topic: string, holder: string): Promise<LeaseAttempt>;
  /** Extends the lease. Returns false if it has expired or belongs to another holder. */
  renew(topic: string, lease: Lease): Promise<boolean>;
  release(topic: string, lease: Lease): Promise<void>;
  /**
   * Stores a message and sends it to all subscribers, in this process too. A `final` or `refused` message also releases the lease; a refusal
   * is not stored. Returns false, and does nothing, if the lease was lost.
   */
  publish(topic: string, lease: Lease, message: StateMessage<unknown>): Promise<boolean>;
  /** Calls back for each published message. A message can be missed; the next `take` reads it. Returns a function that unsubscribes. */
  subscribe(topic: string, onMessage: (message: StateMessage<unknown>) => void): () => void;
  close(): void;
}

/** For how many intervals a message is stored. A final one only until a poller would have asked again. */
const storedIntervals = { state: 3, final: 1, refused: 0 };
const lease = { share: 1 / 3, least: 1_000, most: 10_000 };

/** The times of a lease store, in milliseconds. */
export interface LeaseTimes {
  readonly leaseMs: number;
  /** How long a message of each kind is stored. */
  readonly keepMs: Readonly<Record<StateMessage<unknown>['kind'], number>>;
}

/** The times of a lease store for pollers that ask once in an interval. */
export function timesFor(intervalMs: number): LeaseTimes {
  const leaseMs = Math.round(Math.min(Math.max(intervalMs * lease.share, lease.least), lease.most));
  const { state, final, refused } = storedIntervals;
  return {
    leaseMs,
    keepMs: { state: intervalMs * state, final: intervalMs * final, refused: intervalMs * refused },
  };
}

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
