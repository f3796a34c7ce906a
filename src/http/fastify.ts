import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import { GatewayError, Overloaded, RateLimited } from '../errors.js';
import { setEarlyHeaders } from '../lib/early-headers.js';
import { pathOf } from '../lib/path.js';
import { createPipeline, type Handler, type Stage } from '../lib/pipeline.js';
import type { RequestTelemetry } from '../observability/request-telemetry.js';
import type { Connections } from './connections.js';
import { parseReadBodies } from './request-body.js';
import { errorBody, gatewayErrorBody, refuseUnreadable, safeHeaders } from './web-safety.js';

/** The largest body of a request, in bytes. */
export const largestBody = 1024 * 1024;
/** Messages for some errors of the framework, by code. */
const messageFor: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'Invalid JSON in the body',
  // The framework's own message would repeat the URL with its query.
  FST_ERR_BAD_URL: 'The URL cannot be parsed',
};

interface FrameworkError {
  readonly statusCode?: number | undefined;
  readonly code?: string;
  readonly message: string;
}

/** How long a client may take to send a request, in milliseconds. */
const slowestRequestMs = 30_000;

/** What the server is made of. */
interface HttpAppDeps {
  readonly log: FastifyBaseLogger;
  readonly requestTelemetry: RequestTelemetry;
  readonly connections: Connections;
  /** Whose forwarding headers are trusted: those of all proxies, of none, or of the proxies at these addresses. */
  readonly trustProxy: boolean | readonly string[];
  /** The stages in front of Fastify. @param fastify for stages that skip those after them. */
  stages(fastify: Handler): readonly Stage[];
}

/** The HTTP server without its routes. An error in a stage is logged and answered with 500. */
export async function createHttpApp({
  log,
  requestTelemetry,
  connections,
  trustProxy,
  stages,
}: HttpAppDeps): Promise<FastifyInstance> {
  const answerError = (error: FrameworkError, request: FastifyRequest, reply: FastifyReply) => {
    if (error instanceof GatewayError) {
      requestTelemetry.of(request.raw).outcome = error.code;
      const isBusy = error instanceof Overloaded || error instanceof RateLimited;
      if (isBusy && !reply.raw.hasHeader('retry-after')) reply.header('retry-after', 1);
      return reply.code(error.httpStatus).send(gatewayErrorBody(error));
    }
    const status = error.statusCode ?? 500;
    const hasGone = request.raw.socket.destroyed;
    if (status >= 500 && !hasGone) request.log.error({ err: error, req: request }, 'Unexpected');
    const message = status >= 500 ? 'Internal server error' : (messageFor[error.code ?? ''] ?? error.message);
    return reply.code(status).send(errorBody(message, status >= 500 ? 'INTERNAL_SERVER_ERROR' : 'BAD_REQUEST'));
  };
  const answerStageError = (error: unknown, request: IncomingMessage, response: ServerResponse) => {
    log.error({ err: error, requestId: requestTelemetry.of(request).id }, 'Unexpected');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    setEarlyHeaders(request, response);
    response.writeHead(500, { ...safeHeaders, 'content-type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify(errorBody('Internal server error', 'INTERNAL_SERVER_ERROR')));
  };
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: largestBody,
    requestTimeout: slowestRequestMs,
    serverFactory(handler, options) {
      const toFastify: Handler = (request, response) => {
        setEarlyHeaders(request, response);
        handler(request, response);
      };
      const pipeline = createPipeline(stages(toFastify), toFastify, answerStageError);
      // Otherwise Node itself would answer a request without a host.
      const server = createHttpServer({ ...options, requireHostHeader: false }, pipeline);
      connections.watch(server);
      return server;
    },
    trustProxy: typeof trustProxy === 'boolean' ? trustProxy : [...trustProxy],
    genReqId: request => requestTelemetry.of(request).id,
    forceCloseConnections: 'idle',
    // The hook that sets the headers of every response also refuses requests while closing.
    return503OnClosing: false,
    // No hook sees a request whose path the router cannot parse.
    frameworkErrors: (error, request, reply) => answerError(error, request, reply.headers(safeHeaders)),
    clientErrorHandler: refuseUnreadable,
  });
  // An unknown expectation may be ignored (RFC 9110, 10.1.1); otherwise Node itself would answer it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.setErrorHandler(answerError);
  parseReadBodies(app, largestBody);
  // The framework's own response would repeat the URL with its query, and would not tell a wrong method from a wrong path.
  app.setNotFoundHandler(({ method, url }, reply) => {
    const allowed = ['GET', 'POST'].filter(known => app.hasRoute({ method: known, url: pathOf(url) }));
    if (allowed.length === 0 || allowed.includes(method)) {
      return reply.code(404).send(errorBody('There is nothing at this address', 'NOT_FOUND'));
    }
    const message = `This address accepts ${allowed.join(' and ')} only`;
    return reply.code(405).header('allow', allowed.join(', ')).send(errorBody(message, 'BAD_REQUEST'));
  });
  return app;
}

const idleSweepMs = 100;

/**
 * Lets a closing server destroy idle connections: those without a complete request, for example connections that browsers open early, and those whose last
 * request ended after the closing started. Register it after every other `preClose` hook.
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
