import { randomUUID } from 'node:crypto';
import type { GraphQLFormattedError } from 'graphql';
import type { Scope } from '../auth/credentials.js';
import type { Span } from './tracing.js';

/** How something that was asked is followed from outside: a request, an operation that came by a connection, or a poll. */
export interface OperationInfo {
  /** The same in the logs, to the client and to the service: `x-request-id`. */
  readonly id: string;
  /** Its part in a trace; undefined where nothing is traced. */
  readonly span: Span | undefined;
  /** The operation's name in logs and spans; undefined while it is not known, and where there is none. */
  operation: string | undefined;
  /** `ok`, or the code of the first error; undefined while it is not known. */
  outcome: string | undefined;
  /** The credential's scope; undefined while it is not known, and where there is none. */
  scope: Scope | undefined;
}

const longestName = 100;

/** The name of an operation in logs and spans: the client's own, up to 100 characters of it, or `unnamed`. */
export function operationName(name: string | undefined): string {
  return name?.slice(0, longestName) ?? 'unnamed';
}

/** @param id what the client calls it. */
export function newOperationInfo(id: string = randomUUID(), span?: Span): OperationInfo {
  return { id, span, operation: undefined, outcome: undefined, scope: undefined };
}

/** The outcome that errors stand for: `ok` without any, else the code of the first. */
export function outcomeOf(errors: readonly GraphQLFormattedError[] | undefined): string {
  return errors?.[0] === undefined ? 'ok' : String(errors[0].extensions?.code);
}
