import { buildSchema, type ExecutionArgs, type FormattedExecutionResult, parse } from 'graphql';
import { type Context, makeServer, type Server, type SubscribePayload, type WebSocket } from 'graphql-ws';
import { z } from 'zod';
import type { RawCredentials } from '../auth/credentials.js';
import { BadUserInput, Forbidden, GatewayError, QueryTooComplex, Unauthenticated } from '../errors.js';
import { checkJson } from '../graphql/limits/bounds.js';
import { ownStrings } from '../lib/json-excess.js';
import { parseJson } from '../lib/text.js';
import type { OperationResults } from './operation-results.js';
import { members, type OperationRequest, operationRequest } from './operations.js';
import { type EncodedResult, FailedOperation } from './shared-execution.js';

/** The sub-protocol of GraphQL over WebSocket. */
export const protocol = 'graphql-transport-ws';

/** What graphql-ws keeps of a connection. */
export type ProtocolContext = Context<Record<string, unknown>, ProtocolConnection>;

/** The protocol of graphql-ws, for all connections. */
export type ProtocolServer = Server<ProtocolConnection>;

/** A connection, as graphql-ws uses it. */
export interface ProtocolConnection extends WebSocket {
  /** Identifies the client. @throws GatewayError if the connection may not be opened. */
  acknowledge(context: ProtocolContext): Promise<void>;
  /** Starts an operation. @throws Abandoned if the connection is closed instead. */
  start(id: string, request: RequestHolder['request']): OperationResults;
  /** The result that belongs into the message that is sent next, in place of the `null` at its end. */
  resultOfMessage: EncodedResult | undefined;
}

/** graphql-ws demands an operation before it asks for results. Ours is parsed later, when its turn has come. */
const placeholderSchema = buildSchema('type Query { placeholder: Boolean }');
const placeholderDocument = parse('{ placeholder }');

/** The protocol of graphql-ws. @param initMs how long a client may take to send `connection_init`, in milliseconds. */
export function createProtocolServer(initMs: number): ProtocolServer {
  return makeServer<Record<string, unknown>, ProtocolConnection>({
    connectionInitWaitTimeout: initMs,
    onConnect: context => context.extra.acknowledge(context),
    // Returns synchronously: graphql-ws can stop an operation only once it has its iterator.
    onSubscribe: ({ extra }, id, payload): ExecutionArgs => ({
      schema: placeholderSchema,
      document: placeholderDocument,
      contextValue: extra.start(id, (payload as RequestHolder).request),
    }),
    execute: ({ contextValue }) => contextValue as OperationResults,
    // It is serialized and sent without a pause in between, so that no other message can take its result.
    onNext: ({ extra }, _, __, ___, result) =>
      new Placeholder(extra, result as EncodedResult) as FormattedExecutionResult,
    onError: (_, __, ___, [error]) =>
      error?.originalError instanceof FailedOperation ? JSON.parse(error.originalError.errors) : undefined,
  });
}

/** What graphql-ws sees as the payload of `subscribe`. It demands a `query`, which a trusted document need not have. */
interface RequestHolder extends SubscribePayload {
  /** The error of a request that is too large to be read. */
  readonly request: OperationRequest | QueryTooComplex;
}

/** Bounded, because it is kept while its operation runs and repeated in each of its frames. */
const id = z.string().min(1).max(256);

const message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('connection_init'), payload: members }),
  z.object({ type: z.literal('ping'), payload: members }),
  z.object({ type: z.literal('pong'), payload: members }),
  z.object({
    type: z.literal('subscribe'),
    id,
    payload: operationRequest.transform((request): RequestHolder => ({ query: '', request })),
  }),
  z.object({ type: z.literal('complete'), id }),
]);

/** A message from a client. */
type Message = z.output<typeof message>;

/**
 * Reads one message. Undefined if no client may send it. Where the JSON of a `subscribe` is beyond its bounds, the message has the error in place of the request:
 * the other operations on the connection go on.
 */
export function messageIn(bytes: Buffer): Message | undefined {
  try {
    checkJson(bytes);
    return message.parse(parseJson(bytes.toString()));
  } catch (error) {
    if (!(error instanceof QueryTooComplex)) return undefined;
    const { type, id: operation } = ownStrings(bytes, ['type', 'id']);
    const { data, success } = id.safeParse(operation);
    return type === 'subscribe' && success ? { type, id: data, payload: { query: '', request: error } } : undefined;
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

/** Close codes of graphql-transport-ws, and those of WebSocket (RFC 6455) that we use. */
export const closeCodes = {
  goingAway: 1001,
  messageTooBig: 1009,
  internalError: 4500,
  badRequest: 4400,
  unauthorized: 4401,
  forbidden: 4403,
  initialisationTimeout: 4408,
  subscriberExists: 4409,
  tooMany: 4429,
} as const;

/** The close code and the reason for an error. The reason begins with the error's own code, such as `FORBIDDEN`. */
export function closeFor(error: unknown): [code: number, reason: string] {
  if (!(error instanceof GatewayError))
    return [closeCodes.internalError, 'INTERNAL_SERVER_ERROR: Internal server error'];
  return [closeCodeOf(error), `${error.code}: ${error.message}`];
}

function closeCodeOf(error: GatewayError): number {
  if (error instanceof BadUserInput) return closeCodes.badRequest;
  if (error instanceof Unauthenticated) return closeCodes.unauthorized;
  if (error instanceof Forbidden) return closeCodes.forbidden;
  return closeCodes.internalError;
}

/** Cuts a reason to what a close frame can hold: 123 bytes (RFC 6455, 5.5.1). */
export const closeReason = (reason: string): string => Buffer.from(reason).subarray(0, 120).toString();

/** Leaves a `null` in a message of graphql-ws, in the place of the result that the connection then sends. */
class Placeholder {
  readonly #connection: ProtocolConnection;
  readonly #result: EncodedResult;

  constructor(connection: ProtocolConnection, result: EncodedResult) {
    this.#connection = connection;
    this.#result = result;
  }

  toJSON(): null {
    this.#connection.resultOfMessage = this.#result;
    return null;
  }
}
