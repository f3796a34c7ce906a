import { createServer as createHttpServer, type RequestListener } from 'node:http';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import { GatewayError, Overloaded, RateLimited } from '../errors.js';
import type { RequestTelemetry } from '../observability/request-telemetry.js';
import type { Connections } from './connections.js';
import { parseReadBodies } from './request-body.js';
import { errorBody, refuseUnreadable, safeHeaders } from './web-safety.js';

/** How large a request's body may be, in bytes. */
export const largestBody = 1024 * 1024;
/** Errors of the framework that are put into words that clients know. */
const wordsFor: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'Invalid JSON in the body',
  // The framework's own words would repeat the address, query included.
  FST_ERR_BAD_URL: 'The address cannot be read',
};

interface FrameworkError {
  readonly statusCode?: number | undefined;
  readonly code?: string;
  readonly message: string;
}

/** How long a client may take to send a request. */
const slowestRequestMs = 30_000;

/** What the server is made of. */
export interface HttpAppDeps {
  readonly log: FastifyBaseLogger;
  readonly requestTelemetry: RequestTelemetry;
  readonly connections: Connections;
  /** Whose word counts for a client's address: everybody's, nobody's, or that of proxies at these addresses. */
  readonly trustProxy: boolean | readonly string[];
  /** Sees each request before the server does. */
  before(next: RequestListener): RequestListener;
}

/** The HTTP server without its doors. */
export async function createHttpApp({
  log,
  requestTelemetry,
  connections,
  trustProxy,
  before,
}: HttpAppDeps): Promise<FastifyInstance> {
  const answerError = (error: FrameworkError, request: FastifyRequest, reply: FastifyReply) => {
    if (error instanceof GatewayError) {
      requestTelemetry.of(request.raw).outcome = error.code;
      const isBusy = error instanceof Overloaded || error instanceof RateLimited;
      if (isBusy && !reply.raw.hasHeader('retry-after')) reply.header('retry-after', 1);
      return reply.code(error.httpStatus).send({ errors: [{ message: error.message, extensions: error.extensions }] });
    }
    const status = error.statusCode ?? 500;
    const hasGone = request.raw.socket.destroyed;
    if (status >= 500 && !hasGone) request.log.error({ err: error, req: request }, 'Unexpected');
    const message = status >= 500 ? 'Internal server error' : (wordsFor[error.code ?? ''] ?? error.message);
    return reply.code(status).send(errorBody(message, status >= 500 ? 'INTERNAL_SERVER_ERROR' : 'BAD_REQUEST'));
  };
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: largestBody,
    requestTimeout: slowestRequestMs,
    serverFactory(handler, options) {
      // Without this, Node answers a request without a host by itself.
      const server = createHttpServer({ ...options, requireHostHeader: false }, before(handler as RequestListener));
      connections.watch(server);
      return server;
    },
    trustProxy: typeof trustProxy === 'boolean' ? trustProxy : [...trustProxy],
    genReqId: request => requestTelemetry.of(request).id,
    forceCloseConnections: 'idle',
    // The hook that sets the headers of every answer refuses these, too.
    return503OnClosing: false,
    // No hook sees a request whose path the router cannot read.
    frameworkErrors: (error, request, reply) => answerError(error, request, reply.headers(safeHeaders)),
    clientErrorHandler: refuseUnreadable,
  });
  // An expectation that nobody here knows may be ignored (RFC 9110, 10.1.1); Node would answer it by itself.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.setErrorHandler(answerError);
  parseReadBodies(app, largestBody);
  // The framework's own answer would repeat the address, query included.
  app.setNotFoundHandler((_, reply) =>
    reply.code(404).send(errorBody('There is nothing at this address', 'NOT_FOUND')),
  );
  return app;
}

const idleSweepMs = 100;

/**
 * Lets a closing server destroy connections on which nothing runs: those that never sent a whole request, such as browsers open in advance,
 * and those whose last request ended after the closing began. To be registered after whatever else happens before the server closes.
 */
export function dropIdleConnections(app: FastifyInstance, connections: Connections): void {
  let sweeping: NodeJS.Timeout | undefined;
  app.addHook('preClose', async () => {
    sweeping = setInterval(() => connections.closeIdle(), idleSweepMs);
  });
  app.addHook('onClose', () => {
    clearInterval(sweeping);
    connections.close();
  });
}
