// Responses that carry the results of one operation until it ends, as Server-Sent Events or multipart, and the requests that get them.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { BadUserInput, gatewayCloses } from '../errors.js';
import { jsonValueOf } from '../graphql/limits/bounds.js';
import { type OperationRequest, operationRequest } from '../graphql/limits/documents.js';
import { stateOf } from '../http/request-state.js';
import { Refused } from '../http/web-safety.js';
import type { Claim } from '../lib/memory-budget.js';
import { requestedReports } from '../observability/response-metadata.js';
import type { Caller, Operation } from './executor.js';
import { type OperationHost, RunningOperation } from './running-operation.js';
import { type Outlet, SendBuffer } from './send-buffer.js';
import type { Subscriptions } from './subscriptions.js';

interface StreamFormat {
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

/** GraphQL over Server-Sent Events, distinct connections mode. */
const serverSentEvents: StreamFormat = {
  transport: 'sse',
  contentType: 'text/event-stream; charset=utf-8',
  start: ':\n\n',
  heartbeat: ':\n\n',
  frame: cursor => [`${cursor === undefined ? '' : `id: ${cursor}\n`}event: next\ndata: `, '\n\n'],
  complete: 'event: complete\ndata: \n\n',
  // A stream that ends without `complete` is opened again.
  goingAway: '',
};

/** Serves GraphQL over Server-Sent Events at `/graphql/stream`: POST, and GET for queries and subscriptions. */
export function registerSse(app: FastifyInstance, subscriptions: Subscriptions): void {
  app.route({
    url: '/graphql/stream',
    method: ['GET', 'POST'],
    exposeHeadRoute: false,
    async handler(request, reply) {
      if (!(request.headers.accept ?? '').includes('text/event-stream')) {
        throw new Refused(406, 'Accept must include text/event-stream');
      }
      answerWithStream(subscriptions, request, reply, serverSentEvents, async claim => {
        const state = stateOf(request.raw);
        // A program that cannot send the header, such as a polyfill, sends a parameter.
        const { lastEventId: sent } = request.query as Readonly<Record<string, unknown>>;
        const lastEventId = String(request.headers['last-event-id'] || sent || '') || undefined;
        const read = await subscriptions.read(state, readRequest(request), state.operation, claim);
        const reports = requestedReports(request.headers, subscriptions.deps.explains);
        const operation = { ...read, lastEventId, reports };
        if (request.method !== 'GET' || operation.type !== 'mutation') return operation;
        throw new BadUserInput('query', 'send a mutation with POST');
      });
    },
  });
}

const boundary = 'graphql';
const part = (json: string) => `\r\ncontent-type: application/json\r\n\r\n${json}\r\n--${boundary}`;
const { message, extensions } = gatewayCloses();

/**
 * Apollo's protocol for multipart subscriptions. Each part ends with the next boundary, because clients wait for it. Errors beside the payload are those of
 * the transport, after which a client may subscribe again.
 */
const multipart: StreamFormat = {
  transport: 'multipart',
  contentType: `multipart/mixed;boundary="${boundary}";subscriptionSpec=1.0`,
  start: `\r\n--${boundary}`,
  heartbeat: part('{}'),
  frame: () => ['\r\ncontent-type: application/json\r\n\r\n{"payload":', `}\r\n--${boundary}`],
  complete: '--\r\n',
  goingAway: `${part(JSON.stringify({ payload: null, errors: [{ message, extensions }] }))}--\r\n`,
};

const acceptsMultipart = (accept = '') => /multipart\/mixed\s*;[^,]*\bsubscriptionSpec="?1\.0\b/i.test(accept);

/**
 * Answers subscriptions that are sent to `/graphql` with POST, if the client accepts multipart subscriptions. Everything else goes to the route itself, also
 * what cannot be read: it is answered with the errors and the status of any other request.
 */
export function registerMultipart(app: FastifyInstance, subscriptions: Subscriptions): void {
  app.addHook('preHandler', (request, reply, done) => {
    const isHere = request.method === 'POST' && request.routeOptions.url === '/graphql';
    if (!isHere || !acceptsMultipart(request.headers.accept)) return done();
    const answer = (operation: Awaited<ReturnType<typeof subscriptionIn>>) => {
      if (operation !== undefined) answerWithStream(subscriptions, request, reply, multipart, async () => operation);
    };
    subscriptionIn(request)
      .then(answer)
      .then(() => done(), done);
  });

  async function subscriptionIn(request: FastifyRequest) {
    const state = stateOf(request.raw);
    const claim = subscriptions.deps.budget.claim(state);
    try {
      const operation = await subscriptions.read(state, readRequest(request), state.operation, claim);
      return operation.type === 'subscription' ? operation : undefined;
    } catch {
      return undefined;
    } finally {
      claim.release();
    }
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

/** An empty parameter is as good as none (GraphQL over HTTP, GET). */
function fromQuery(query: Record<string, unknown>) {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const { variables, extensions, ...others } = Object.fromEntries(given);
  return { ...others, variables: parsed('variables', variables), extensions: parsed('extensions', extensions) };
}

function parsed(name: string, text: unknown): unknown {
  if (text === undefined) return undefined;
  const value = jsonValueOf(String(text));
  if (value === undefined) throw new BadUserInput(name, 'is not valid JSON');
  return value;
}

/** Answers a request with the results of its operation. @throws Overloaded, RateLimited, and as `Authentication.authenticate` does. */
function answerWithStream(
  subscriptions: Subscriptions,
  request: FastifyRequest,
  reply: FastifyReply,
  format: StreamFormat,
  read: (claim: Claim) => Promise<Operation>,
): void {
  const { authentication } = subscriptions.deps;
  const identity = authentication.authenticate(authentication.handshakeOf(request));
  const state = stateOf(request.raw);
  state.countAsStream?.(state);
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
  if (reply.raw.destroyed) return;
  state.release();
  const { operation: info } = state;
  info.transport = format.transport;
  // The hooks of the server have set CORS and security headers, as for any other response.
  state.copyHeaders();
  reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
  const stream = createHttpStream(reply.raw, format, subscriptions, { identity, info });
  subscriptions.open.add(stream);
  state.whenClosed(() => {
    subscriptions.open.delete(stream);
    stream.closed();
  });
  void stream.run(async claim => {
    const operation = await read(claim);
    request.body = undefined;
    state.body = undefined;
    state.bodyClaim?.release();
    return operation;
  });
}

function createHttpStream(
  response: ServerResponse,
  format: StreamFormat,
  subscriptions: Subscriptions,
  caller: Caller,
) {
  const outlet: Outlet = {
    unsent: () => response.writableLength,
    write(part, onTaken) {
      if (!response.writableEnded) response.write(part, onTaken);
    },
    destroy: () => response.destroy(),
  };
  const buffer = new SendBuffer(outlet, subscriptions.deps.budget.claim(caller.identity));
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
  const operation = new RunningOperation('', subscriptions, host, caller);
  response.on('error', () => response.destroy());
  response.socket?.setKeepAlive(true);
  response.write(format.start);

  function end(): void {
    operation.stop();
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
