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

/** A record that the service sent in a form that cannot be served. */
export interface SkippedRecord {
  /** The record's type: `Event`. */
  readonly record: string;
  /** Its identifier, where that could be read. */
  readonly id: string | null;
  /** The invalid fields, by the service's names. */
  readonly fields: readonly string[];
}

/** What the gateway learns about one response while it makes it: upstream calls, skipped records, and whether it may be cached. */
export class ResponseMetadata {
  /** The operation that the response answers. */
  readonly operation: OperationInfo;
  /** Counts the memory of what is read; undefined for polls and subscriptions, which no single response waits for. */
  readonly claim: Claim | undefined;
  readonly upstreamCalls: UpstreamCallRecord[] = [];
  readonly skipped: SkippedRecord[] = [];
  /** Whether anything in the response is older than it may be, because the service failed. */
  stale = false;
  /** Until when the response may be cached, in milliseconds since 1970; Infinity while nothing has been read. */
  cacheableUntil = Number.POSITIVE_INFINITY;
  /** The generations that the response belongs to, by their tags. */
  readonly generations = new Map<string, string>();

  constructor(operation: OperationInfo = newOperationInfo(), claim?: Claim) {
    this.operation = operation;
    this.claim = claim;
  }

  /** The response holds something that must be read again for each request. */
  forbidCaching(): void {
    this.cacheableUntil = 0;
  }
}
