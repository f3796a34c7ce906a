import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BadUserInput, RateLimited } from '../errors.js';
import type { Authentication } from '../http/authentication.js';
import type { Claim } from '../lib/memory-budget.js';
import { type OperationHost, OperationResults } from './operation-results.js';
import { type OperationRequest, operationRequest } from './operations.js';
import { type EncodedResult, FailedOperation, framed, SendBuffer, SlowReader } from './shared-execution.js';
import type { Subscriptions } from './subscriptions.js';

const head = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // The end of the stream ends the connection too; a closing server would wait for it otherwise.
  connection: 'close',
  // Proxies such as nginx would buffer the events otherwise.
  'x-accel-buffering': 'no',
};

/**
 * Serves GraphQL over Server-Sent Events (distinct connections mode) at `path`: POST, and GET for queries and subscriptions.
 * @returns a function that lists the open streams, so that they can be drained.
 */
export function registerSse(
  app: FastifyInstance,
  path: string,
  subscriptions: Subscriptions,
  authentication: Authentication,
  heartbeatMs: number,
): () => readonly Stream[] {
  const open = new Set<Stream>();

  app.route({
    url: path,
    method: ['GET', 'POST'],
    async handler(request, reply) {
      if (!(request.headers.accept ?? '').includes('text/event-stream')) {
        return reply.code(406).send(plainError('Accept must include text/event-stream'));
      }
      const identity = await authentication.authenticate(authentication.handshakeOf(request));
      const disconnect = subscriptions.enter(identity);
      if (disconnect === undefined) throw new RateLimited('Too many connections with this credential');
      reply.headers(head);
      reply.hijack();
      // The hooks of the server have set CORS and security headers, as for any other response.
      const stream = new Stream(
        reply.raw,
        reply.getHeaders() as OutgoingHttpHeaders,
        subscriptions.claim(identity),
        disconnect,
      );
      open.add(stream);
      reply.raw.on('close', () => {
        open.delete(stream);
        stream.closed();
      });
      const operationInfo = subscriptions.requestTelemetry.of(request.raw);
      const read = () => {
        const lastEventId = (request.headers['last-event-id'] as string | undefined) || undefined;
        const operation = { ...subscriptions.read(readRequest(request), operationInfo), lastEventId };
        if (request.method !== 'GET' || operation.type !== 'mutation') return operation;
        throw new BadUserInput('query', 'send a mutation with POST');
      };
      void stream.run(new OperationResults('', subscriptions, stream, identity, operationInfo, read));
    },
  });

  const heartbeat = setInterval(() => {
    for (const stream of open) stream.heartbeat();
  }, heartbeatMs);
  app.addHook('onClose', () => clearInterval(heartbeat));
  return () => [...open];
}

/** One event stream, which carries one operation. */
class Stream implements OperationHost {
  readonly transport = 'sse';
  readonly buffer: SendBuffer;
  isDraining = false;
  readonly #response: ServerResponse;
  readonly #disconnect: () => void;
  #results: OperationResults | undefined;
  #over = false;

  constructor(response: ServerResponse, headers: OutgoingHttpHeaders, claim: Claim, disconnect: () => void) {
    this.#response = response;
    this.#disconnect = disconnect;
    this.buffer = new SendBuffer(() => response.writableLength, claim);
    response.on('error', () => response.destroy());
    response.socket?.setKeepAlive(true);
    response.writeHead(200, headers);
    response.write(':\n\n');
  }

  /** Sends the results until they end or the client has gone. */
  async run(results: OperationResults): Promise<void> {
    this.#results = results;
    try {
      for await (const result of results) {
        const id = result.cursor === undefined ? '' : `id: ${result.cursor}\n`;
        this.#send(framed(`${id}event: next\ndata: `, result, '\n\n'), result.needsRoom);
      }
    } catch (error) {
      // A client that is too slow is disconnected without a word.
      if (!(error instanceof FailedOperation) || error.cause instanceof SlowReader) return this.end();
      this.#send([`event: next\ndata: {"errors":${error.errors}}\n\n`]);
    }
    this.#send(['event: complete\ndata: \n\n']);
    this.end();
  }

  #send(parts: readonly (Buffer | string)[], needsRoom = true): void {
    if (this.#over) return;
    const { isSlow } = this.buffer;
    for (const part of parts) this.#response.write(part, this.#onSent);
    // A slow reader must not fill the memory of the process.
    if (!this.buffer.count() && isSlow && needsRoom) this.#response.destroy();
  }

  readonly #onSent = () => this.buffer.taken();

  /** Sends a comment, so that proxies keep the connection open. */
  heartbeat(): void {
    if (!this.#response.writableNeedDrain) this.#send([':\n\n']);
  }

  /** Called when the connection is closed. */
  closed(): void {
    this.end();
    this.buffer.release();
  }

  /** Ends a subscription; a query or a mutation ends with its response. */
  leave(): void {
    this.isDraining = true;
    if (this.#results?.isSingle === false) this.end();
  }

  /** Ends the response and stops the operation. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    void this.#results?.return();
    this.#disconnect();
    this.#response.end();
  }

  inTurn(_: OperationResults, start: () => Promise<EncodedResult | undefined>): Promise<EncodedResult | undefined> {
    return start();
  }

  async room(): Promise<void> {}

  drop(): void {
    this.end();
  }

  onEnd(): void {}
}

/** @throws BadUserInput if the parameters are not those of GraphQL over HTTP. */
function readRequest({ method, query, body }: FastifyRequest): OperationRequest {
  const given = method === 'GET' ? fromQuery(query as Record<string, unknown>) : body;
  const result = operationRequest.safeParse(given);
  if (result.success) return result.data;
  throw new BadUserInput(
    String(result.error.issues[0]?.path[0] ?? 'query'),
    'is not a valid parameter of GraphQL over HTTP',
  );
}

function fromQuery({ query, documentId, operationName, variables, extensions }: Record<string, unknown>) {
  return {
    query,
    documentId,
    operationName,
    variables: parsed('variables', variables),
    extensions: parsed('extensions', extensions),
  };
}

function parsed(name: string, text: unknown): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(String(text));
  } catch {
    throw new BadUserInput(name, 'is not valid JSON');
  }
}

const plainError = (message: string) => ({ errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] });
