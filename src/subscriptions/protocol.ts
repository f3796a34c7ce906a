import { buildSchema, type ExecutionArgs, type FormattedExecutionResult, parse } from 'graphql';
import { type Context, makeServer, type Server, type SubscribePayload, type WebSocket } from 'graphql-ws';
import { z } from 'zod';
import type { RawCredentials } from '../auth/credentials.js';
import { Abandoned, BadUserInput, Forbidden, GatewayError, Unauthenticated } from '../errors.js';
import { checkJson } from '../graphql/limits/bounds.js';
import { FailedOperation } from './shared-execution.js';

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
  start(id: string, request: OperationRequest): OperationResults;
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
    onNext: (_, __, ___, ____, result) => result as FormattedExecutionResult,
    onError: (_, __, ___, [error]) =>
      error?.originalError instanceof FailedOperation ? JSON.parse(error.originalError.errors) : undefined,
  });
}

const members = z.record(z.string(), z.unknown()).nullish();

/** The members of GraphQL over HTTP (request parameters). */
export const operationRequest = z.object({
  query: z.string().nullish(),
  documentId: z.string().nullish(),
  operationName: z.string().nullish(),
  variables: members,
  extensions: members,
});

/** The operation that a client wants executed. It has no `query` if a hash names the document. */
export type OperationRequest = z.output<typeof operationRequest>;

/** What graphql-ws sees as the payload of `subscribe`. It demands a `query`, which a trusted document need not have. */
interface RequestHolder extends SubscribePayload {
  readonly request: OperationRequest;
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

/** Reads one message. Undefined if no client may send it, or if it has more members or levels than any message needs. */
export function messageIn(bytes: Buffer): Message | undefined {
  try {
    checkJson(bytes);
    return message.parse(JSON.parse(bytes.toString()));
  } catch {
    return undefined;
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

/** The result that graphql-ws is turning into a message; undefined at any other time. */
let serialized: EncodedResult | undefined;

/** A result as JSON, which goes into the message as it is: one text serves all listeners. */
export class EncodedResult {
  readonly data = null;
  readonly parts: readonly (Buffer | string)[];
  /** Whether the client is disconnected if it is slow and the memory budget has no room for the result. */
  readonly needsRoom: boolean;

  constructor(parts: readonly (Buffer | string)[], needsRoom: boolean) {
    this.parts = parts;
    this.needsRoom = needsRoom;
  }

  /** Leaves a `null` in the message, in the place of the parts. */
  toJSON(): null {
    serialized = this;
    return null;
  }
}

/** The results of one operation. `return` ends them at once, whatever they wait for, so that the client may use the id again. */
export class OperationResults implements AsyncGenerator<EncodedResult, undefined> {
  /** True until the operation is known to be a subscription: a draining connection waits for its response. */
  isSingle = true;
  readonly id: string;
  readonly #stopping = new AbortController();
  readonly #results: AsyncGenerator<EncodedResult, undefined>;
  readonly #onEnd: (results: OperationResults) => void;
  #settle: ((result: IteratorResult<EncodedResult, undefined>) => void) | undefined;

  constructor(
    id: string,
    run: (results: OperationResults) => AsyncGenerator<EncodedResult, undefined>,
    onEnd: (results: OperationResults) => void,
  ) {
    this.id = id;
    this.#results = run(this);
    this.#onEnd = onEnd;
  }

  /** Aborts when the operation has ended or is to stop. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  next(): Promise<IteratorResult<EncodedResult, undefined>> {
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#results.next().then(
        result => {
          if (result.done) this.#end();
          resolve(result);
        },
        error => {
          this.#end();
          reject(error);
        },
      );
    });
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#end();
    this.#results.return(undefined).catch(() => {});
    const end = { done: true, value: undefined } as const;
    this.#settle?.(end);
    return end;
  }

  #end(): void {
    this.#onEnd(this);
    this.#stopping.abort(new Abandoned('The client has gone'));
  }

  async throw(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}

/** A message of graphql-ws in the parts in which it is sent. @param needsRoom see `EncodedResult`; true for a message without a result. */
export function messageParts(message: string): {
  readonly parts: readonly (Buffer | string)[];
  readonly needsRoom: boolean;
} {
  const result = serialized;
  serialized = undefined;
  if (result === undefined) return { parts: [message], needsRoom: true };
  const before = message.slice(0, -'null}'.length);
  const [only] = result.parts;
  const parts = typeof only === 'string' ? [`${before}${only}}`] : [before, ...result.parts, '}'];
  return { parts, needsRoom: result.needsRoom };
}
