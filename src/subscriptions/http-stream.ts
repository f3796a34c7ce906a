import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RateLimited } from '../errors.js';
import type { Authentication } from '../http/authentication.js';
import { stateOf } from '../http/request-state.js';
import type { Claim } from '../lib/memory-budget.js';
import type { OperationInfo } from '../observability/operation-info.js';
import type { Operation } from './operations.js';
import { type OperationHost, RunningOperation } from './running-operation.js';
import { type EncodedResult, framed, SendBuffer } from './shared-execution.js';
import type { Subscriptions } from './subscriptions.js';

/** How results are written into a response that is a stream. */
export interface StreamFormat {
  readonly transport: 'sse' | 'multipart';
  readonly contentType: string;
  readonly start: string;
  /** Sent again and again, so that proxies keep the connection open. */
  readonly heartbeat: string;
  /** What stands before and after a result. @param cursor see `EncodedResult`. */
  frame(cursor: string | undefined): readonly [before: string, after: string];
  /** Tells the client that the operation has ended. */
  readonly complete: string;
  /** Tells the client to subscribe again elsewhere. */
  readonly goingAway: string;
}

/** The responses that are streams, of every format. */
export interface HttpStreams {
  /** Answers a request with the results of its operation. @throws RateLimited, and as `Authentication.authenticate` does. */
  open(
    request: FastifyRequest,
    reply: FastifyReply,
    format: StreamFormat,
    read: (operationInfo: OperationInfo) => Promise<Operation>,
  ): Promise<void>;
  /** The open streams, so that they can be drained. */
  list(): readonly HttpStream[];
}

export function createHttpStreams(
  app: FastifyInstance,
  subscriptions: Subscriptions,
  authentication: Authentication,
  heartbeatMs: number,
): HttpStreams {
  const streams = new Set<HttpStream>();
  const heartbeat = setInterval(() => {
    for (const stream of streams) stream.heartbeat();
  }, heartbeatMs);
  app.addHook('onClose', () => clearInterval(heartbeat));

  return {
    async open(request, reply, format, read) {
      const identity = authentication.authenticate(authentication.handshakeOf(request));
      const disconnect = subscriptions.enter(identity);
      if (disconnect === undefined) throw new RateLimited('Too many connections with this credential');
      reply.headers({
        'content-type': format.contentType,
        'cache-control': 'no-store, no-transform',
        // The end of the stream ends the connection too; a closing server would wait for it otherwise.
        connection: 'close',
        // Proxies such as nginx would buffer the stream otherwise.
        'x-accel-buffering': 'no',
      });
      reply.hijack();
      // The client has hung up meanwhile.
      if (reply.raw.destroyed) return disconnect();
      const state = stateOf(request.raw);
      state.release();
      const { operation: operationInfo } = state;
      operationInfo.transport = format.transport;
      // The hooks of the server have set CORS and security headers, as for any other response.
      const headers = reply.getHeaders() as OutgoingHttpHeaders;
      const stream = new HttpStream(reply.raw, headers, format, subscriptions.claim(identity), disconnect);
      streams.add(stream);
      state.whenClosed(() => {
        streams.delete(stream);
        stream.closed();
      });
      stream.run(new RunningOperation('', subscriptions, stream, identity, operationInfo), () => read(operationInfo));
    },
    list: () => [...streams],
  };
}

/** One response that carries the results of one operation until it ends. */
class HttpStream implements OperationHost {
  readonly transport: StreamFormat['transport'];
  readonly buffer: SendBuffer;
  isDraining = false;
  readonly #response: ServerResponse;
  readonly #format: StreamFormat;
  readonly #disconnect: () => void;
  #operation: RunningOperation | undefined;
  #over = false;

  constructor(
    response: ServerResponse,
    headers: OutgoingHttpHeaders,
    format: StreamFormat,
    claim: Claim,
    disconnect: () => void,
  ) {
    this.#response = response;
    this.#format = format;
    this.transport = format.transport;
    this.#disconnect = disconnect;
    this.buffer = new SendBuffer(() => response.writableLength, claim);
    response.on('error', () => response.destroy());
    response.socket?.setKeepAlive(true);
    response.writeHead(200, headers);
    response.write(format.start);
  }

  /** Sends the results until they end or the client has gone. */
  run(operation: RunningOperation, read: () => Promise<Operation>): void {
    this.#operation = operation;
    void operation.run(read);
  }

  sendResult(_: RunningOperation, result: EncodedResult): void {
    this.#send(framed(result, ...this.#format.frame(result.cursor)), result.needsRoom);
  }

  sendEnd(_: RunningOperation, errors: string | undefined, isSlow: boolean): void {
    const [before, after] = this.#format.frame(undefined);
    if (errors !== undefined && !isSlow) this.#send([`${before}{"errors":${errors}}${after}`]);
    // A client that is too slow is disconnected without a word. Never refused for want of memory: with the response destroyed, the client would
    // lose the results that are still on their way.
    if (!isSlow) this.#send([this.#format.complete], false);
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

  /** Sends a heartbeat, so that proxies keep the connection open. */
  heartbeat(): void {
    if (!this.#response.writableNeedDrain) this.#send([this.#format.heartbeat]);
  }

  /** Called when the connection is closed. */
  closed(): void {
    this.end();
    this.buffer.release();
  }

  /** Ends a subscription; a query or a mutation ends with its response. */
  leave(): void {
    this.isDraining = true;
    if (this.#operation?.isSingle === false) this.drop();
  }

  /** Ends the response and stops the operation. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#operation?.stop();
    this.#disconnect();
    this.#response.end();
  }

  inTurn(_: RunningOperation, start: () => Promise<void>): Promise<void> {
    return start();
  }

  async room(): Promise<void> {}

  drop(): void {
    if (this.#format.goingAway !== '') this.#send([this.#format.goingAway]);
    this.end();
  }

  onEnd(): void {}
}
