// What is found out about a response while it is made.
import type { IncomingHttpHeaders } from 'node:http';
import type { Claim } from '../lib/memory-budget.js';
import { newOperationInfo, type OperationInfo } from './operation-info.js';

/** Where a read was answered from: the memory of this process, Redis, a call that was already running for another read, or a call of its own. */
export type Source = 'memory' | 'redis' | 'flight' | 'network';

/** One line of `extensions.explain`. `path` includes the query, but never a credential; `milliseconds` is how long the read took, there with one decimal. */
interface UpstreamCallRecord {
  readonly method: string;
  readonly path: string;
  /** The service's status; null where the service did not answer. */
  readonly status: number | null;
  readonly milliseconds: number;
  readonly source: Source;
}

/** The headers with which a client requests a report about its response. Such a response is not cached. */
export const reportHeaders = ['x-explain', 'graphql-cost'] as const;

export type Reports = ReturnType<typeof requestedReports>;

/**
 * What headers want the response to report: each upstream call, for developers; what it cost, for the client's own throttling.
 * @param explains whether `x-explain: 1` is honored.
 */
export const requestedReports = (headers: IncomingHttpHeaders, explains: boolean) => ({
  explain: explains && headers['x-explain'] === '1',
  cost: headers['graphql-cost'] === '1',
});

const maxWarnings = 100;

/** What the gateway learns about one response while it makes it: upstream calls, and whether it may be cached. */
export class ResponseMetadata {
  readonly operation: OperationInfo;
  /** Counts the memory of what is read; undefined for polls and subscriptions, which no single response waits for. */
  readonly claim: Claim | undefined;
  readonly reports: Reports | undefined;
  readonly upstreamCalls: UpstreamCallRecord[] = [];
  /** The errors with which the service has refused the credential, by its scope and the family of endpoints. */
  readonly refusals = new Map<string, Error>();
  /** Whether anything in the response is older than it may be, because the service failed. */
  stale = false;
  /** What to tell the client of valid arguments, each once. */
  readonly warnings = new Map<string, { readonly argument: string; readonly message: string }>();
  /** Until when the response may be cached, in milliseconds since 1970; Infinity while nothing has been read. */
  cacheableUntil = Number.POSITIVE_INFINITY;
  /** The generations that the response belongs to, by their tags. */
  readonly generations = new Map<string, string>();

  constructor(operation: OperationInfo = newOperationInfo(), claim?: Claim, reports?: Reports) {
    this.operation = operation;
    this.claim = claim;
    this.reports = reports;
  }

  /** Records an upstream call, or a read that needed none. */
  noteCall(call: UpstreamCallRecord, family: string): void {
    this.upstreamCalls.push(call);
    const { status, milliseconds, source } = call;
    if (source !== 'network' && source !== 'flight') return;
    const { calls } = this.operation;
    calls.count += 1;
    if (milliseconds >= (calls.slowest?.milliseconds ?? 0)) calls.slowest = { family, status, milliseconds };
  }

  /** Whether a call of its own was made for a path of the service. */
  hasCalled(path: string): boolean {
    return this.upstreamCalls.some(call => call.source === 'network' && call.path === path);
  }

  /** @param argument its path within the arguments of the field. */
  warn(argument: string, message: string): void {
    if (this.warnings.size < maxWarnings) this.warnings.set(`${argument} ${message}`, { argument, message });
  }

  /** The response holds something that must be read again for each request. */
  forbidCaching(): void {
    this.cacheableUntil = 0;
  }
}

/** What a response says about itself: `stale`, warnings, and the reports that its client requested. Undefined if that is nothing. */
export function responseExtensions(metadata: ResponseMetadata): Record<string, unknown> | undefined {
  const { stale, warnings, upstreamCalls, reports } = metadata;
  const { estimatedCalls: estimated } = metadata.operation;
  const hasCost = reports?.cost === true && estimated !== undefined;
  if (!stale && warnings.size === 0 && !reports?.explain && !hasCost) return undefined;
  const rounded = (call: UpstreamCallRecord) => ({ ...call, milliseconds: Math.round(call.milliseconds * 10) / 10 });
  const called = () => upstreamCalls.filter(({ source }) => source === 'network').length;
  return {
    ...(stale && { stale: true }),
    ...(warnings.size > 0 && { warnings: [...warnings.values()] }),
    ...(reports?.explain && { explain: upstreamCalls.map(rounded) }),
    ...(hasCost && { cost: { estimated, upstreamCalls: called() } }),
  };
}
