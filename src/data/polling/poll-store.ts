// Where the gateways of a fleet agree who polls, and its form for a gateway that is alone.
import { LRUCache } from 'lru-cache';
import type { StateMessage } from './state-message.js';

/** Where the gateways of a fleet agree on which one polls, and share what it found. Every promise rejects while the store is unavailable. */
export interface PollStore {
  readonly isShared: boolean;
  readonly lockMs: number;
  /** Locks the polls of a topic for this gateway, or extends the lock that it has. @returns whether this gateway has it now. */
  lock(topic: string, generation: string): Promise<boolean>;
  isLocked(topic: string, generation: string): Promise<boolean>;
  /** Gives a lock back, so that another gateway need not wait for its end. */
  release(topic: string, generation: string): Promise<void>;
  /** The last state of a generation. Rejects also if a part of it cannot be read. */
  read(topic: string, generation: string): Promise<StateMessage<unknown> | undefined>;
  /**
   * Stores a message and sends it to the other gateways. A refusal is sent, not stored.
   * @param list the member of its state of which only what is new is sent.
   */
  publish(topic: string, message: StateMessage<unknown>, list?: string): Promise<void>;
  /** This process keeps no more of the list of the last state. What else it needs later is read again. */
  keep?(topic: string, list: readonly object[]): void;
  /** Calls back for each message, also of this gateway, where gateways share the store. A message can be missed; `read` gives the last one. Returns a function that unsubscribes. */
  subscribe(topic: string, onMessage: (message: StateMessage<unknown>) => void): () => void;
  close(): void;
}

/** A lock shorter than this, in milliseconds, would be lost whenever a process pauses. */
const minLockMs = 1_000;
/** How often a gateway tries to lock, within the time of one lock. */
export const attemptsPerLock = 3;
/** After this many intervals, a state is old: it is not stored any more, and listeners get it again, with its age. */
export const staleIntervals = 3;

/** The times of a store for pollers that poll once in an interval, in milliseconds. A final state is stored only until a poller would have polled again. */
export const timesFor = (intervalMs: number) => ({
  // After a gateway was killed, its lock ends, and the next attempt succeeds: an interval later.
  lockMs: Math.max((intervalMs * attemptsPerLock) / (attemptsPerLock + 1), minLockMs),
  keepMs: { state: staleIntervals * intervalMs, final: intervalMs, refused: 0 },
});

const maxStored = 1_000;

/** A store in memory, for a gateway without Redis: no other gateway polls. */
export function localPollStore(intervalMs: number): PollStore {
  const { lockMs, keepMs } = timesFor(intervalMs);
  // A topic that nobody watches any more is never read again: without a timer, its last state would stay until there are `maxStored` others.
  const stored = new LRUCache<string, StateMessage<unknown>>({ max: maxStored, ttlAutopurge: true });
  const keyOf = (topic: string, generation: string) => `${topic} ${generation}`;
  return {
    isShared: false,
    lockMs,
    lock: async () => true,
    isLocked: async () => false,
    async release() {},
    read: async (topic, generation) => stored.get(keyOf(topic, generation)),
    async publish(topic, message) {
      const key = keyOf(topic, message.generation);
      const ttl = keepMs[message.kind];
      if (ttl > 0) stored.set(key, message, { ttl });
      else stored.delete(key);
    },
    subscribe: () => () => {},
    close() {},
  };
}
