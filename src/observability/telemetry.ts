import type { Source } from './response-metadata.js';

/** How an upstream call ended: a reply of any status, or none. */
export type CallOutcome = 'answered' | 'timeout' | 'broken' | 'abandoned';

/** Where operations come in. */
export type Transport = 'http' | 'websocket' | 'sse';

/** What an export can come to. */
export type ExportOutcome = 'DELIVERED' | 'REJECTED' | 'FAILED';

/** What can be malformed in Redis: a record, a whole answer, a message on a channel, the state that one tells or that is kept, the generation of a tag. */
export type Malformed = 'record' | 'answer' | 'message' | 'state' | 'generation';

/** What the ground floor tells whoever counts. A function is called once for each thing that happened, and must not throw. */
export interface Telemetry {
  upstreamCall(call: { family: string; outcome: CallOutcome; status: number | null; milliseconds: number }): void;
  /**
   * A request or operation was answered. `outcome` is `ok`, the code of its first error, or `ABANDONED`; a subscription took as long as
   * somebody listened, which is no matter of milliseconds.
   */
  request(door: Transport, operation: string, outcome: string, milliseconds: number | undefined): void;
  /** An operation's name gives its place to another: what was counted under it is dropped. */
  forgetOperation(operation: string): void;
  /** A read of an endpoint family, and who answered it. */
  lookup(family: string, source: Source): void;
  /** A request that was not executed: whole answers were kept, or one for an equal request was under way. */
  keptAnswer(tier: 'memory' | 'redis' | 'flight'): void;
  /** One field or record in which the service strayed from its specification: `Event.lastUpdated`. */
  drift(name: string): void;
  /** A Redis command failed, or was not tried. @param error what Redis or its client answered, for the log to say in words. */
  redisFault(command: string, error: unknown): void;
  /** Something outside fails and goes on failing: one line a minute for each cause. @param message in words, without any secret. */
  warn(cause: string, message: string): void;
  /** Something in Redis that no gateway of this fleet wrote, or that was changed, and that was ignored. */
  malformed(what: Malformed): void;
  /** A poller began, or ended. */
  pollers(change: 1 | -1): void;
  /** A lease that this process took, lost to the clock or to another, or gave back. */
  leaseChange(change: 'taken' | 'lost' | 'released'): void;
  /** A stream began at a door, or ended. */
  listeners(door: Exclude<Transport, 'http'>, change: 1 | -1): void;
  /** An export has come to its end. */
  exported(outcome: ExportOutcome): void;
}
