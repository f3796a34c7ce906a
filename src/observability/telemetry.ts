import type { Span, Transport } from './operation-info.js';
import type { Source } from './response-metadata.js';

/** How an upstream call ended: a reply of any status, or none. */
export type CallOutcome = 'answered' | 'timeout' | 'broken' | 'abandoned';

/** How an export can end. `UNKNOWN`: the outcome could not be recorded. */
export const exportOutcomes = ['DELIVERED', 'REJECTED', 'FAILED', 'UNKNOWN'] as const;
type ExportOutcome = (typeof exportOutcomes)[number];

/** What can be malformed in Redis: a record, a response, a message on a channel, a subscription's state, a generation; in `DATA_DIR` too: a team's exports. */
export const malformedKinds = ['record', 'response', 'message', 'state', 'generation', 'exports'] as const;
export type Malformed = (typeof malformedKinds)[number];

/** Why an overloaded gateway refuses: too many operations at once, too many requests in flight, no memory, or too many on one connection. */
export const shedReasons = ['concurrency', 'requests_in_flight', 'memory', 'connection'] as const;
export type ShedReason = (typeof shedReasons)[number];

/** Calls of one family to the service that ended alike. */
interface UpstreamCalls {
  readonly family: string;
  readonly outcome: CallOutcome;
  readonly status: number | null;
  /** Of a single call that is traced. */
  readonly span?: Span | undefined;
}

/** Counts what happens below the server. A function is called once for each event, and must not throw. */
export interface Telemetry {
  upstreamCalls(calls: UpstreamCalls, milliseconds: readonly number[]): void;
  /**
   * A request or operation was answered. `outcome` is `ok`, the code of its first error, `OVERLOADED`, or `ABANDONED`. A subscription has no duration.
   */
  request(
    transport: Transport,
    operation: string,
    outcome: string,
    milliseconds: number | undefined,
    span?: Span,
  ): void;
  /** In mode `log` of trusted documents, an operation was executed that mode `only` would refuse. */
  untrustedDocument(): void;
  clientRequest(client: string): void;
  /** An operation of a client used something deprecated. @param coordinate such as `Market.name`. */
  deprecatedUse(coordinate: string, client: string): void;
  /** A client is no longer known: what was counted under it is dropped. */
  forgetClient(client: string): void;
  /** An operation's name is no longer known: what was counted under it is dropped. */
  forgetOperation(operation: string): void;
  /** So many reads of an endpoint family, and where their answers came from. */
  lookups(family: string, source: Source, count: number): void;
  /** A request that was answered from the response cache, or with the response to an equal request that was already running. */
  responseCacheHit(tier: 'memory' | 'redis' | 'flight'): void;
  /** One field or record of the service that does not match its specification: `Event.lastUpdated`. */
  drift(name: string): void;
  /** A Redis command failed, or was not tried. @param error from Redis or its client; the log describes it. */
  redisFault(command: string, error: unknown): void;
  /** A Redis command succeeded, or `connect`. */
  redisWorks(command: string): void;
  /** A rate limit was counted by this process alone, because Redis is away. */
  rateLimitUnenforced(): void;
  /**
   * Something outside the gateway failed. The log has at most one line a minute with the same words.
   * @param subject what failed: the variable with its address, if it has one.
   * @param words the cause, without any secret.
   * @param part of the subject; the others may work.
   */
  warn(subject: string, words: string, part?: string): void;
  /** A part of a subject works. If it failed before, and nothing of the subject fails for `afterMs`, the log says that the subject recovered. */
  works(subject: string, part?: string, afterMs?: number): void;
  /** Something in Redis was ignored, because it was changed or not written by a gateway of this fleet. */
  malformed(what: Malformed): void;
  shed(reason: ShedReason): void;
  /** This process began to poll for a topic, lost that to another process, or gave it up. */
  poller(change: 'taken' | 'lost' | 'released'): void;
  /** A subscription started on a transport, or ended. */
  listeners(transport: Exclude<Transport, 'http'>, change: 1 | -1): void;
  exported(outcome: ExportOutcome): void;
}
