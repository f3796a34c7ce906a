import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import cookie from '@fastify/cookie';
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify';
import { GatewayError } from '../errors.js';
import type { Visits } from './observability/visits.js';
import { parseReadBodies } from './request-body.js';

/** How large a request's body may be, in bytes. */
export const largestBody = 1024 * 1024;
/** Errors of the framework that are put into words that clients know. */
const wordsFor: Readonly<Record<string, string>> = { FST_ERR_CTP_INVALID_JSON_BODY: 'Invalid JSON in the body' };
/** How long a client may take to send a request. */
const slowestRequestMs = 30_000;

/** What the server is made of. */
export interface ServerParts {
  readonly log: FastifyBaseLogger;
  readonly visits: Visits;
  /** Whose word counts for a client's address: everybody's, nobody's, or that of proxies at these addresses. */
  readonly trustProxy: boolean | readonly string[];
  /** Sees each request before the server does. */
  before(next: RequestListener): RequestListener;
}

/** The HTTP server without its doors. */
export async function createServer({ log, visits, trustProxy, before }: ServerParts): Promise<FastifyInstance> {
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: largestBody,
    requestTimeout: slowestRequestMs,
    serverFactory: (handler, options) => createHttpServer(options, before(handler as RequestListener)),
    trustProxy: typeof trustProxy === 'boolean' ? trustProxy : [...trustProxy],
    genReqId: request => visits.of(request).id,
    forceCloseConnections: 'idle',
    return503OnClosing: true,
  });
  app.setErrorHandler((error: { statusCode?: number; code?: string; message: string }, request, reply) => {
    if (error instanceof GatewayError) {
      visits.of(request.raw).outcome = error.code;
      return reply.code(error.httpStatus).send({ errors: [{ message: error.message, extensions: error.extensions }] });
    }
    const status = error.statusCode ?? 500;
    const hasGone = reply.raw.destroyed;
    if (status >= 500 && !hasGone) request.log.error({ err: error, req: request }, 'Unexpected');
    const message = status >= 500 ? 'Internal server error' : (wordsFor[error.code ?? ''] ?? error.message);
    const code = status >= 500 ? 'INTERNAL_SERVER_ERROR' : 'BAD_REQUEST';
    return reply.code(status).send({ errors: [{ message, extensions: { code } }] });
  });
  parseReadBodies(app, largestBody);
  await app.register(cookie);
  // The framework's own answer would repeat the address, query included.
  app.setNotFoundHandler((_, reply) => {
    const extensions = { code: 'NOT_FOUND' };
    return reply.code(404).send({ errors: [{ message: 'There is nothing at this address', extensions }] });
  });
  return app;
}

const sweepMs = 100;

/**
 * Lets a closing server go of connections on which nothing runs: those that never asked anything, such as browsers open in advance, which
 * Node takes for busy ones, and those whose last request ended after the closing began. To be registered after whatever else happens
 * before the server closes.
 */
export function dropIdleConnections(app: FastifyInstance): void {
  const silent = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  for (const event of ['request', 'upgrade'] as const) {
    app.server.on(event, ({ socket }: IncomingMessage) => silent.delete(socket));
  }
  let sweeping: NodeJS.Timeout | undefined;
  app.addHook('preClose', async () => {
    sweeping = setInterval(() => {
      for (const socket of silent) socket.destroy();
      app.server.closeIdleConnections();
    }, sweepMs);
  });
  app.addHook('onClose', () => clearInterval(sweeping));
}
