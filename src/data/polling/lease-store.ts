import type { StateMessage } from './state-message.js';

/** The last word of a topic, and how long ago it was written there, in milliseconds. */
export interface Kept {
  readonly word: StateMessage<unknown>;
  readonly ageMs: number;
}

/** Who may ask, as one watcher proves it. The fencing token grows with every lease of a topic, whoever takes it. */
export interface Lease {
  readonly holder: string;
  readonly fence: number;
}

/** What a try for a lease found. */
export interface Taken {
  /** The lease; undefined where another has it. */
  readonly lease: Lease | undefined;
  /** The fencing token of the lease that runs, whoever has it: words with a smaller one are of the past. */
  readonly fence: number;
  readonly kept: Kept | undefined;
}

/**
 * Where the processes of a fleet agree on who asks, and read what was found. Every function rejects where the board is not to be
 * had at the moment; what was done then is not known, and each may be tried again.
 */
export interface LeaseStore {
  /** How long a lease lasts after it was taken or renewed. */
  readonly leaseMs: number;
  /** The last word. */
  read(topic: string): Promise<StateMessage<unknown> | undefined>;
  /** Takes the lease of a topic, unless another holder has it. Reads the last word on the way. */
  take(topic: string, holder: string): Promise<Taken>;
  /** Begins the lease's time anew; false where it is somebody else's by now, or nobody's. */
  renew(topic: string, lease: Lease): Promise<boolean>;
  release(topic: string, lease: Lease): Promise<void>;
  /**
   * Keeps a word and tells it to all who listen, in this process too. After a `final` or `refused` one the lease is free; a refusal
   * is not kept. False, and nothing done, where the lease is gone.
   */
  announce(topic: string, lease: Lease, word: StateMessage<unknown>): Promise<boolean>;
  /** Calls back for each word that is told; one may be missed, and is then read by the next `take`. Returns what ends it. */
  listen(topic: string, hear: (word: StateMessage<unknown>) => void): () => void;
  close(): void;
}

/** How many intervals a word is kept without a new one. A final one is, as if it were asked for again on the beat of a poller. */
const keptIntervals = { state: 3, final: 1, refused: 0 };
const lease = { share: 1 / 3, least: 1_000, most: 10_000 };

/** The times of a board, in milliseconds. */
export interface LeaseTimes {
  readonly leaseMs: number;
  /** How long a word of each kind is kept. */
  readonly keepMs: Readonly<Record<StateMessage<unknown>['kind'], number>>;
}

/** The times of a board for pollers that ask once in an interval. */
export function timesFor(intervalMs: number): LeaseTimes {
  const leaseMs = Math.round(Math.min(Math.max(intervalMs * lease.share, lease.least), lease.most));
  const { state, final, refused } = keptIntervals;
  return {
    leaseMs,
    keepMs: { state: intervalMs * state, final: intervalMs * final, refused: intervalMs * refused },
  };
}
