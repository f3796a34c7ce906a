import type { Word } from './word.js';

/** The last word of a topic, and how long ago it was written there, in milliseconds. */
export interface Kept {
  readonly word: Word<unknown>;
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
export interface Board {
  /** How long a lease lasts after it was taken or renewed. */
  readonly leaseMs: number;
  /** Takes the lease of a topic, unless another holder has it. Reads the last word on the way. */
  take(topic: string, holder: string): Promise<Taken>;
  /** Begins the lease's time anew; false where it is somebody else's by now, or nobody's. */
  renew(topic: string, lease: Lease): Promise<boolean>;
  release(topic: string, lease: Lease): Promise<void>;
  /**
   * Keeps a word and tells it to all who listen, in this process too. After a `final` or `refused` one nothing is kept and the lease
   * is free. False, and nothing done, where the lease is gone.
   */
  announce(topic: string, lease: Lease, word: Word<unknown>): Promise<boolean>;
  /** Calls back for each word that is told; one may be missed, and is then read by the next `take`. Returns what ends it. */
  listen(topic: string, hear: (word: Word<unknown>) => void): () => void;
  close(): void;
}

/** The kept word outlives this many intervals without a new one. */
const keptIntervals = 3;
const lease = { share: 1 / 3, least: 1_000, most: 10_000 };

/** The times of a board, in milliseconds, for pollers that ask once in an interval. */
export function timesFor(intervalMs: number): { readonly leaseMs: number; readonly keepMs: number } {
  const leaseMs = Math.round(Math.min(Math.max(intervalMs * lease.share, lease.least), lease.most));
  return { leaseMs, keepMs: intervalMs * keptIntervals };
}
