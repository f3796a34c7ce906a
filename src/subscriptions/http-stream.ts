// A response that carries the results of one operation until it ends, in any format.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Identity } from '../http/authentication.js';
import { stateOf } from '../http/request-state.js';
import { bytesOfValue, type Claim } from '../lib/memory-budget.js';
import type { OperationInfo } from '../observability/operation-info.js';
import type { Operation } from './operation.js';
import { type OperationHost, RunningOperation } from './running-operation.js';
import { type Outlet, SendBuffer } from './send-buffer.js';
import type { Subscriptions } from './subscriptions.js';

export interface StreamFormat {
  readonly transport: 'sse' | 'multipart';
  readonly contentType: string;
  readonly start: string;
  /** Sent again and again, so that proxies keep the connection open. */
  readonly heartbeat: string;
  /** What stands before and after a result. @param cursor see `EncodedResult`. */
  frame(cursor: string | undefined): readonly [before: string, after: string];
  readonly complete: string;
  /** Tells the client to subscribe again elsewhere. */
  readonly goingAway: string;
}

/** Answers a request with the results of its operation. @throws Overloaded, RateLimited, and as `Authentication.authenticate` does. */
export function answerWithStream(
  subscriptions: Subscriptions,
  request: FastifyRequest,
  reply: FastifyReply,
  format: StreamFormat,
  read: (operationInfo: OperationInfo, claim: Claim) => Promise<Operation>,
): void {
  const { authentication, budget } = subscriptions.deps;
  const identity = authentication.authenticate(authentication.handshakeOf(request));
  const state = stateOf(request.raw);
  state.countAsStream?.(state);
  const head = budget.claim(identity);
  head.reserve(bytesOfValue(request.raw.rawHeaders) + bytesOfValue(request.url));
  const leave = subscriptions.enter(identity);
  const disconnect = () => {
    head.release();
    leave();
  };
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
  state.release();
  const { operation: operationInfo } = state;
  operationInfo.transport = format.transport;
  // The hooks of the server have set CORS and security headers, as for any other response.
  state.copyHeaders();
  reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
  const stream = createHttpStream(reply.raw, format, subscriptions, identity, operationInfo, disconnect);
  subscriptions.open.add(stream);
  state.whenClosed(() => {
    subscriptions.open.delete(stream);
    stream.closed();
  });
  void stream.run(async claim => {
    const operation = await read(operationInfo, claim);
    request.body = undefined;
    state.dropBody();
    return operation;
  });
}

function createHttpStream(
  response: ServerResponse,
  format: StreamFormat,
  subscriptions: Subscriptions,
  identity: Identity,
  operationInfo: OperationInfo,
  disconnect: () => void,
) {
  let isOver = false;
  const outlet: Outlet = {
    unsent: () => response.writableLength,
    write(part, onTaken) {
      if (!isOver) response.write(part, onTaken);
    },
    destroy: () => response.destroy(),
  };
  const buffer = new SendBuffer(outlet, subscriptions.deps.budget.claim(identity));
  const host: OperationHost = {
    transport: format.transport,
    buffer,
    frame: (_, cursor) => format.frame(cursor),
    sendEnd(_, errors, isSlow) {
      // A client that is too slow is disconnected without a word.
      if (!isSlow) {
        const [before, after] = format.frame(undefined);
        if (errors !== undefined) buffer.send([`${before}{"errors":${errors}}${after}`]);
        // Never refused for want of memory: with the response destroyed, the client would lose the results that are still on their way.
        buffer.send([format.complete], false);
      }
      end();
    },
    /** Ends a subscription; a query or a mutation ends with its response. */
    leave() {
      if (operation.isSingle) return;
      if (format.goingAway !== '') buffer.send([format.goingAway]);
      end();
    },
  };
  const operation = new RunningOperation('', subscriptions, host, identity, operationInfo);
  response.on('error', () => response.destroy());
  response.socket?.setKeepAlive(true);
  response.write(format.start);

  function end(): void {
    if (isOver) return;
    isOver = true;
    operation.stop();
    disconnect();
    response.end();
  }

  return {
    run: (read: (claim: Claim) => Promise<Operation>) => operation.run(read),
    leave: host.leave,
    heartbeat(): void {
      if (!response.writableNeedDrain) buffer.send([format.heartbeat]);
    },
    closed(): void {
      end();
      buffer.release();
    },
  };
}
