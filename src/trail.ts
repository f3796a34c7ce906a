import { randomUUID } from 'node:crypto';
import type { GraphQLFormattedError } from 'graphql';
import type { Span } from './tracing.js';

/** How something that was asked is followed from outside: a request, an operation that came by a connection, or a poll. */
export interface Trail {
  /** The same in the logs, to the client and to the service: `x-request-id`. */
  readonly id: string;
  /** Its part in a trace; undefined where nothing is traced. */
  readonly span: Span | undefined;
  /** The operation as it is counted; undefined while it is not known, and where there is none. */
  operation: string | undefined;
  /** `ok`, or the code of the first error; undefined while it is not known. */
  outcome: string | undefined;
}

/** @param id what the client calls it. */
export function newTrail(id: string = randomUUID(), span?: Span): Trail {
  return { id, span, operation: undefined, outcome: undefined };
}

/** The outcome that errors stand for: `ok` without any, else the code of the first. */
export function outcomeOf(errors: readonly GraphQLFormattedError[] | undefined): string {
  return errors?.[0] === undefined ? 'ok' : String(errors[0].extensions?.code);
}
