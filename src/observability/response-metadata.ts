import type { Claim } from '../lib/memory-budget.js';
import { newOperationInfo, type OperationInfo } from './operation-info.js';

/** Who answered a read: a memory of this process, Redis, a call that another reader had under way, or a call of its own. */
export type Source = 'memory' | 'redis' | 'flight' | 'network';

/** One line of `extensions.explain`. `path` has the query, but never a credential; `milliseconds` is what the reader waited. */
export interface UpstreamCallRecord {
  readonly method: string;
  readonly path: string;
  /** The service's status; null where no answer came. */
  readonly status: number | null;
  readonly milliseconds: number;
  readonly source: Source;
}

/** A record that the service sent in a shape that cannot be served. */
export interface SkippedRecord {
  /** What it should have been: `Event`. */
  readonly record: string;
  /** Its identifier, where that could be read. */
  readonly id: string | null;
  /** The fields at fault, by the service's names. */
  readonly fields: readonly string[];
}

/** What an answer was made of; one for each request. */
export class ResponseMetadata {
  /** What it is made out for. */
  readonly trail: OperationInfo;
  /** What is read is counted here; undefined where nobody waits for one answer: by what polls, or listens. */
  readonly claim: Claim | undefined;
  readonly lines: UpstreamCallRecord[] = [];
  readonly leftOut: SkippedRecord[] = [];
  /** Whether anything in the answer is older than it may be, because the service failed. */
  stale = false;
  /** Until when the answer holds, in milliseconds since 1970; Infinity while nothing has been read. */
  keepUntil = Number.POSITIVE_INFINITY;
  /** The generations that the answer belongs to, by their tags. */
  readonly generations = new Map<string, string>();

  constructor(trail: OperationInfo = newOperationInfo(), claim?: Claim) {
    this.trail = trail;
    this.claim = claim;
  }

  /** The answer holds something that must be asked for anew each time. */
  forbidKeeping(): void {
    this.keepUntil = 0;
  }
}
