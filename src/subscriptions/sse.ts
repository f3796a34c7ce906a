import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Abandoned, BadUserInput, RateLimited } from '../errors.js';
import { responseFrames } from '../graphql/response-text.js';
import type { Authentication, Identity } from '../http/authentication.js';
import type { Claim } from '../lib/memory-budget.js';
import { type OperationInfo, outcomeOfErrors } from '../observability/operation-info.js';
import type { Operation } from './operations.js';
import { type OperationRequest, operationRequest } from './protocol.js';
import { FailedOperation, SendBuffer, Subscriber } from './shared-execution.js';
import type { Subscriptions } from './subscriptions.js';

const complete = 'event: complete\ndata: \n\n';
const next = (result: string) => `event: next\ndata: ${result}\n\n`;
const failure = (errors: string) => `${next(`{"errors":${errors}}`)}${complete}`;

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
      stream.run(
        () => readRequest(request),
        request.method === 'GET',
        identity,
        subscriptions,
        subscriptions.requestTelemetry.of(request.raw),
      );
    },
  });

  const heartbeat = setInterval(() => {
    for (const stream of open) stream.heartbeat();
  }, heartbeatMs);
  app.addHook('onClose', () => clearInterval(heartbeat));
  return () => [...open];
}

/** One event stream. */
class Stream {
  readonly #response: ServerResponse;
  readonly #disconnect: () => void;
  /** Counts the unsent bytes of a subscription (`#buffer`), or a single response as a whole until it is sent. */
  readonly #claim: Claim;
  readonly #buffer: SendBuffer;
  /** The send buffer at the last heartbeat, in bytes. */
  #unsent = 0;
  #stop = () => {};
  #over = false;
  /** True for a query or a mutation. */
  #isSingle = false;

  constructor(response: ServerResponse, headers: OutgoingHttpHeaders, claim: Claim, disconnect: () => void) {
    this.#response = response;
    this.#disconnect = disconnect;
    this.#claim = claim;
    this.#buffer = new SendBuffer(() => response.writableLength, claim);
    response.on('error', () => response.destroy());
    response.socket?.setKeepAlive(true);
    response.writeHead(200, headers);
    response.write(':\n\n');
  }

  send(frame: string): void {
    if (this.#over) return;
    const { isSlow } = this.#buffer;
    this.#response.write(frame, () => {
      if (!this.#isSingle) this.#buffer.taken();
    });
    // A slow reader must not fill the memory of the process.
    if (!this.#isSingle && !this.#buffer.count() && isSlow) this.#response.destroy();
  }

  /** Sends a comment, so that proxies keep the connection open. Destroys a stream whose client took nothing since the last heartbeat. */
  heartbeat(): void {
    const buffered = this.#response.writableLength;
    if (this.#response.writableNeedDrain && buffered >= this.#unsent) this.#response.destroy();
    else if (!this.#response.writableNeedDrain) this.send(':\n\n');
    this.#unsent = buffered;
  }

  /** Called when the connection is closed. */
  closed(): void {
    this.end();
    this.#buffer.release();
  }

  /** Ends a subscription; a query or a mutation ends with its response. */
  leave(): void {
    if (!this.#isSingle) this.end();
  }

  /** Ends the response and stops the operation. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#stop();
    this.#disconnect();
    this.#response.end();
  }

  run(
    read: () => OperationRequest,
    isGet: boolean,
    identity: Identity,
    subscriptions: Subscriptions,
    operationInfo: OperationInfo,
  ): void {
    try {
      const operation = subscriptions.read(read(), operationInfo);
      if (isGet && operation.type === 'mutation') throw new BadUserInput('query', 'send a mutation with POST');
      if (operation.type === 'subscription') void this.#listen(operation, identity, subscriptions, operationInfo);
      else void this.#answer(operation, identity, subscriptions, operationInfo);
    } catch (error) {
      this.send(failure(subscriptions.formatErrors(error, operationInfo)));
      this.end();
    }
  }

  async #listen(
    operation: Operation,
    identity: Identity,
    subscriptions: Subscriptions,
    operationInfo: OperationInfo,
  ): Promise<void> {
    const subscriber = new Subscriber(this.#buffer);
    const leave = subscriptions.subscribe(operation, identity, subscriber, operationInfo);
    subscriptions.telemetry.listeners('sse', 1);
    this.#stop = () => {
      leave();
      subscriber.stop();
      subscriptions.telemetry.listeners('sse', -1);
    };
    try {
      for (let text = await subscriber.take(); text !== undefined; text = await subscriber.take())
        this.send(next(text));
      this.send(complete);
    } catch (error) {
      // A client that is too slow is disconnected without a word.
      if (error instanceof FailedOperation) {
        operationInfo.outcome = outcomeOfErrors(JSON.parse(error.errors));
        this.send(failure(error.errors));
      }
    }
    this.end();
  }

  async #answer(
    operation: Operation,
    identity: Identity,
    subscriptions: Subscriptions,
    operationInfo: OperationInfo,
  ): Promise<void> {
    this.#isSingle = true;
    const stopping = new AbortController();
    this.#stop = () => stopping.abort(new Abandoned('The client has gone'));
    try {
      const outcome = await subscriptions.single(operation, identity, stopping.signal, operationInfo, this.#claim);
      if ('errors' in outcome) this.send(failure(JSON.stringify(outcome.errors)));
      else if (!this.#over) {
        const parts = responseFrames(outcome.answer, this.#claim);
        const [only] = parts;
        const frames = typeof only === 'string' ? [next(only)] : ['event: next\ndata: ', ...parts, '\n\n'];
        for (const frame of [...frames, complete]) this.#response.write(frame);
      }
    } catch (error) {
      this.send(failure(subscriptions.formatErrors(error, operationInfo)));
    }
    this.end();
  }
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
