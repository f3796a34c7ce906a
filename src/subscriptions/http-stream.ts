import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Authentication, Identity } from '../http/authentication.js';
import { stateOf } from '../http/request-state.js';
import type { OperationInfo } from '../observability/operation-info.js';
import type { Operation } from './operations.js';
import { type OperationHost, RunningOperation } from './running-operation.js';
import { type Outlet, type Parts, SendBuffer } from './send-buffer.js';
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

export type HttpStreams = ReturnType<typeof createHttpStreams>;

/** The responses that are streams, of every format. */
export function createHttpStreams(subscriptions: Subscriptions, authentication: Authentication) {
  const open = new Set<HttpStream>();

  /** Answers a request with the results of its operation. @throws RateLimited, and as `Authentication.authenticate` does. */
  function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    format: StreamFormat,
    read: (operationInfo: OperationInfo) => Promise<Operation>,
  ): void {
    const identity = authentication.authenticate(authentication.handshakeOf(request));
    const disconnect = subscriptions.enter(identity);
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
    if (reply.raw.destroyed) {
      disconnect();
      return;
    }
    const state = stateOf(request.raw);
    state.release();
    const { operation: operationInfo } = state;
    operationInfo.transport = format.transport;
    // The hooks of the server have set CORS and security headers, as for any other response.
    reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
    const stream = new HttpStream(reply.raw, format, subscriptions, identity, operationInfo, disconnect);
    open.add(stream);
    if (subscriptions.isDraining) stream.leave();
    state.whenClosed(() => {
      open.delete(stream);
      stream.closed();
    });
    void stream.operation.run(() => read(operationInfo));
  }

  return { open, answer };
}

/** One response that carries the results of one operation until it ends. */
class HttpStream implements OperationHost, Outlet {
  readonly transport: StreamFormat['transport'];
  readonly buffer: SendBuffer;
  readonly operation: RunningOperation;
  isDraining = false;
  readonly #response: ServerResponse;
  readonly #format: StreamFormat;
  readonly #disconnect: () => void;
  #isOver = false;

  constructor(
    response: ServerResponse,
    format: StreamFormat,
    subscriptions: Subscriptions,
    identity: Identity,
    operationInfo: OperationInfo,
    disconnect: () => void,
  ) {
    this.#response = response;
    this.#format = format;
    this.transport = format.transport;
    this.#disconnect = disconnect;
    this.buffer = new SendBuffer(this, subscriptions.deps.budget.claim(identity.scope));
    this.operation = new RunningOperation('', subscriptions, this, identity, operationInfo);
    response.on('error', () => response.destroy());
    response.socket?.setKeepAlive(true);
    response.write(format.start);
  }

  unsent(): number {
    return this.#response.writableLength;
  }

  write(part: Parts[number], onTaken: (() => void) | undefined): void {
    if (!this.#isOver) this.#response.write(part, onTaken);
  }

  destroy(): void {
    this.#response.destroy();
  }

  frame(_: RunningOperation, cursor: string | undefined): readonly [before: string, after: string] {
    return this.#format.frame(cursor);
  }

  sendEnd(_: RunningOperation, errors: string | undefined, isSlow: boolean): void {
    // A client that is too slow is disconnected without a word.
    if (!isSlow) {
      const [before, after] = this.#format.frame(undefined);
      if (errors !== undefined) this.buffer.send([`${before}{"errors":${errors}}${after}`]);
      // Never refused for want of memory: with the response destroyed, the client would lose the results that are still on their way.
      this.buffer.send([this.#format.complete], false);
    }
    this.#end();
  }

  heartbeat(): void {
    if (!this.#response.writableNeedDrain) this.buffer.send([this.#format.heartbeat]);
  }

  closed(): void {
    this.#end();
    this.buffer.release();
  }

  /** Ends a subscription; a query or a mutation ends with its response. */
  leave(): void {
    this.isDraining = true;
    if (this.operation.isSingle) return;
    if (this.#format.goingAway !== '') this.buffer.send([this.#format.goingAway]);
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.operation.stop();
    this.#disconnect();
    this.#response.end();
  }
}
