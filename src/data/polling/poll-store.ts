import { LRUCache } from 'lru-cache';
import type { StateMessage } from './state-message.js';

/** Where the gateways of a fleet agree on which one polls, and share what it found. Every promise rejects while the store is unavailable. */
export interface PollStore {
  /** How long a claim lasts, in milliseconds. */
  readonly claimMs: number;
  /**
   * Claims the next poll of a topic for a gateway, or extends the claim that it has.
   * @returns for how many more milliseconds another gateway has the claim; 0 if `holder` has it now.
   */
  claim(topic: string, generation: string, holder: string): Promise<number>;
  /** Gives a claim back, so that another gateway need not wait for its end. */
  release(topic: string, generation: string, holder: string): Promise<void>;
  /** The last state of a generation, and how many milliseconds ago it was stored. */
  read(topic: string, generation: string): Promise<StoredMessage | undefined>;
  /** Stores a message and sends it to the other gateways. A refusal is sent, not stored. */
  publish(topic: string, message: StateMessage<unknown>): Promise<void>;
  /** Calls back for each message of another gateway. A message can be missed; `read` gives the last one. Returns a function that unsubscribes. */
  subscribe(topic: string, onMessage: (message: StateMessage<unknown>) => void): () => void;
  close(): void;
}

interface StoredMessage {
  readonly message: StateMessage<unknown>;
  readonly ageMs: number;
}

/** A claim shorter than this, in milliseconds, would be lost whenever a process pauses. */
const minClaimMs = 1_000;
/** After this many intervals, a state is old: it is not stored any more, and listeners get it again, with its age. */
export const staleIntervals = 3;

/** The times of a store for pollers that poll once in an interval, in milliseconds. A final state is stored only until a poller would have polled again. */
export const timesFor = (intervalMs: number) => ({
  claimMs: Math.max(intervalMs, minClaimMs),
  keepMs: { state: staleIntervals * intervalMs, final: intervalMs, refused: 0 },
});

const maxStored = 1_000;

/** A store in memory, for a gateway without Redis: no other gateway polls. */
export function localPollStore(intervalMs: number): PollStore {
  const { claimMs, keepMs } = timesFor(intervalMs);
  const stored = new LRUCache<string, { message: StateMessage<unknown>; at: number }>({ max: maxStored });
  const keyOf = (topic: string, generation: string) => `${topic} ${generation}`;
  return {
    claimMs,
    claim: async () => 0,
    async release() {},
    async read(topic, generation) {
      const found = stored.get(keyOf(topic, generation));
      return found && { message: found.message, ageMs: performance.now() - found.at };
    },
    async publish(topic, message) {
      const key = keyOf(topic, message.generation);
      const ttl = keepMs[message.kind];
      if (ttl > 0) stored.set(key, { message, at: performance.now() }, { ttl });
      else stored.delete(key);
    },
    subscribe: () => () => {},
    close() {},
  };
}
