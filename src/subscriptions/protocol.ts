// The messages and close codes of graphql-transport-ws.
import { CloseCode } from 'graphql-ws';
import { z } from 'zod';
import type { RawCredentials } from '../auth/credentials.js';
import {
  BadUserInput,
  Forbidden,
  GatewayError,
  Overloaded,
  QueryTooComplex,
  RateLimited,
  Unauthenticated,
} from '../errors.js';
import { checkedJson } from '../graphql/limits/bounds.js';
import { members, operationRequest } from '../graphql/limits/documents.js';
import { ownStrings } from '../lib/json.js';

/** The text around a result in `next`. */
export const nextFrame = (id: string): readonly [before: string, after: string] => [
  `{"id":${JSON.stringify(id)},"type":"next","payload":`,
  '}',
];

/** The message that ends an operation. @param errors as JSON, if it failed. */
export function endMessage(id: string, errors: string | undefined): string {
  const head = `{"id":${JSON.stringify(id)},"type":`;
  return errors === undefined ? `${head}"complete"}` : `${head}"error","payload":${errors}}`;
}

/** Bounded, because it is kept while its operation runs and repeated in each of its frames. */
const id = z.string().min(1).max(256);

const message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('connection_init'), payload: members }),
  z.object({ type: z.literal('ping'), payload: members }),
  z.object({ type: z.literal('pong'), payload: members }),
  z.object({ type: z.literal('subscribe'), id, payload: operationRequest }),
  z.object({ type: z.literal('complete'), id }),
]);

/** The payload of an operation that is too large to be read is the error. */
export type Message = z.output<typeof message> | { type: 'subscribe'; id: string; payload: QueryTooComplex };

/**
 * Reads one message. Undefined if no client may send it. Where the JSON of a `subscribe` is beyond its bounds, the message has the error in place of the request:
 * the other operations on the connection go on.
 */
export function messageIn(bytes: Buffer): Message | undefined {
  try {
    return message.parse(JSON.parse(checkedJson(bytes)));
  } catch (error) {
    if (!(error instanceof QueryTooComplex)) return undefined;
    const { type, id: operation } = ownStrings(bytes, ['type', 'id']);
    const { data, success } = id.safeParse(operation);
    return type === 'subscribe' && success ? { type, id: data, payload: error } : undefined;
  }
}

const credentialNames = new Map([
  ['x-api-key', 'x-api-key'],
  ['authorization', 'authorization'],
  ['sessionid', 'sessionId'],
]);

/**
 * The credentials in the payload of `connection_init`, which stands in for headers. Names are case-insensitive.
 * @throws BadUserInput
 */
export function rawCredentialsIn(payload: Record<string, unknown>): RawCredentials {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(payload)) {
    const known = credentialNames.get(name.toLowerCase());
    if (known === undefined || value == null) continue;
    if (typeof value !== 'string') throw new BadUserInput(known, 'must be a string');
    found[known] = value;
  }
  return found;
}

/** Close codes of WebSocket (RFC 6455, and 1013 of IANA's registry) that we use besides those of graphql-transport-ws. */
export const closeCodes = {
  goingAway: 1001,
  messageTooBig: 1009,
  /** What passes by itself. After 4429 and 4500, graphql-ws does not connect again, whatever its options say. */
  tryAgainLater: 1013,
} as const;

/** The close code and the reason for an error. The reason begins with the error's own code, such as `FORBIDDEN`. */
export function closeFor(error: unknown): [code: number, reason: string] {
  if (!(error instanceof GatewayError))
    return [CloseCode.InternalServerError, 'INTERNAL_SERVER_ERROR: Internal server error'];
  return [closeCodeOf(error), `${error.code}: ${error.message}`];
}

function closeCodeOf(error: GatewayError): number {
  if (error instanceof BadUserInput) return CloseCode.BadRequest;
  if (error instanceof Unauthenticated) return CloseCode.Unauthorized;
  if (error instanceof Forbidden) return CloseCode.Forbidden;
  if (error instanceof RateLimited || error instanceof Overloaded) return closeCodes.tryAgainLater;
  return CloseCode.InternalServerError;
}

/** Cuts a reason to what a close frame can hold: 123 bytes (RFC 6455, 5.5.1). */
export const closeReason = (reason: string): string => Buffer.from(reason).subarray(0, 120).toString();
