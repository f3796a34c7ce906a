import { randomUUID } from 'node:crypto';
import type { GraphQLFormattedError } from 'graphql';
import type { Scope } from '../auth/credentials.js';

/** The attributes of a span, by OpenTelemetry's names. */
type Attributes = Readonly<Record<string, string | number | undefined>>;

/** A running span of a trace. A span that never ends is never exported. */
export interface Span {
  /** Headers that continue the trace in the service (W3C Trace Context). */
  readonly headers: Readonly<Record<string, string>>;
  /** @param error the code of the error; undefined where there is none. */
  end(name: string, attributes: Attributes, error: string | undefined): void;
}

/** Traces operations and their calls to the service. */
export interface Tracing {
  /** @param headers of the operation's request, which may continue a client's trace. */
  operation(headers: Readonly<Record<string, string | string[] | undefined>>): Span;
  /** @param parent undefined for a call outside an operation. */
  call(parent: Span | undefined): Span;
  /** Exports the remaining spans. */
  close(): Promise<void>;
}

/** How operations arrive. */
export type Transport = 'http' | 'websocket' | 'sse' | 'multipart';

/** What logs, metrics and traces say about one operation: a request, an operation on a connection, or a poll. */
export interface OperationInfo {
  /** The same in the logs, to the client and to the service: `x-request-id`. */
  readonly id: string;
  /** The operation's span in its trace; undefined where nothing is traced. */
  readonly span: Span | undefined;
  /** The operation's name in logs and spans; undefined while it is not known, and where there is none. */
  name: string | undefined;
  /** `ok`, or the code of the first error; undefined while it is not known. */
  outcome: string | undefined;
  /** The name by which the client calls itself, up to 100 characters of it. */
  client?: string;
  /** The SHA-256 of a document that `PERSISTED_DOCUMENTS_MODE=only` would refuse. Set in mode `log` only. */
  untrusted?: string | undefined;
  /** Set where the response is a stream that another transport than that of its path carries. */
  transport?: Transport;
  /** The credential's scope; undefined while it is not known, and where there is none. */
  scope: Scope | undefined;
}

const longestName = 100;

/** The name of an operation in logs and spans: the client's own, up to 100 characters of it, or `unnamed`. */
export function operationName(name: string | undefined): string {
  return name?.slice(0, longestName) ?? 'unnamed';
}

/** @param id the client's own request id. By default a random one. */
export function newOperationInfo(id: string = randomUUID(), span?: Span): OperationInfo {
  return { id, span, name: undefined, outcome: undefined, scope: undefined };
}

/** The outcome that errors stand for: `ok` without any, else the code of the first. */
export function outcomeOfErrors(errors: readonly GraphQLFormattedError[] | undefined): string {
  return errors?.[0] === undefined ? 'ok' : String(errors[0].extensions?.code);
}
