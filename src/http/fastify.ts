// Makes the Fastify server, with the hooks and the errors that all routes share.
import { isUtf8 } from 'node:buffer';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import cors from '@fastify/cors';
import {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import { Abandoned, GatewayError, RateLimited } from '../errors.js';
import { checkedJson } from '../graphql/limits/bounds.js';
import { bytesOfValue } from '../lib/memory-budget.js';
import { andThen, type MaybePromise } from '../lib/run.js';
import type { Connections } from './connections.js';
import { type Handler, maxBodyBytes, readBody, stateOf } from './request-state.js';
import {
  corsOptions,
  invalidJson,
  isArriving,
  nothingHere,
  Refused,
  refusalBody,
  refuseUnreadable,
  safeHeaders,
} from './web-safety.js';

const messageFor: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: invalidJson,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The body must be application/json',
  // The framework's own message would repeat the URL with its query.
  FST_ERR_BAD_URL: 'The URL cannot be parsed',
};

const slowestRequestMs = 30_000;

interface HttpAppDeps {
  readonly log: FastifyBaseLogger;
  readonly connections: Connections;
  /** Origins whose pages may read responses and send cookies. */
  readonly origins: readonly string[];
  /** The first of the stages in front of Fastify, which begins the state of a request. @param fastify the last. */
  stages(fastify: Handler): (request: IncomingMessage, response: ServerResponse) => MaybePromise<void>;
}

/** The HTTP server without its routes. An error in a stage is logged and answered with 500, as every other one. */
export async function createHttpApp(deps: HttpAppDeps): Promise<FastifyInstance> {
  const { log, connections, stages } = deps;
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: maxBodyBytes,
    requestTimeout: slowestRequestMs,
    serverFactory(handler, options) {
      const toFastify: Handler = state => handler(state.request, state.response);
      const first = stages(toFastify);
      const onError = (error: Error, request: IncomingMessage) => {
        const state = stateOf(request);
        state.refusal = error;
        if (!state.response.headersSent) return toFastify(state);
        log.error({ err: error, requestId: state.operation.id }, 'Unexpected');
        state.response.destroy();
      };
      const listener = (request: IncomingMessage, response: ServerResponse) => {
        try {
          const done = first(request, response);
          if (done instanceof Promise) done.catch(error => onError(error, request));
        } catch (error) {
          onError(error as Error, request);
        }
      };
      // Otherwise Node itself would answer a request without a host, and would drop the second header of a name that a proxy may read.
      const more = { requireHostHeader: false, joinDuplicateHeaders: true };
      const server = createHttpServer({ ...options, ...more }, listener);
      connections.watch(server);
      return server;
    },
    genReqId: request => stateOf(request).operation.id,
    forceCloseConnections: 'idle',
    // The admission refuses requests while closing.
    return503OnClosing: false,
    // No hook sees a request whose path the router cannot parse.
    frameworkErrors(error, request, reply) {
      stateOf(request.raw).copyHeaders();
      answerError(error, request, reply.headers(safeHeaders));
    },
    clientErrorHandler: refuseUnreadable,
  });
  // Otherwise Node itself would answer these: `readBody` says 100 Continue, and an unknown expectation may be ignored (RFC 9110, 10.1.1).
  for (const event of ['checkContinue', 'checkExpectation'] as const)
    app.server.on(event, (request, response) => app.server.emit('request', request, response));
  app.setErrorHandler(answerError);
  parseReadBodies(app);
  app.addHook('onRequest', (_, reply, done) => {
    reply.headers(safeHeaders);
    done();
  });
  if (deps.origins.length > 0) await app.register(cors, corsOptions(deps.origins));
  app.addHook('onRequest', (request, reply, done) => {
    const state = stateOf(request.raw);
    if (state.refusal === undefined) state.upgrade?.(request);
    if (state.refusal === undefined && state.upgrade !== undefined) reply.hijack();
    done(state.refusal);
  });
  app.addHook('onSend', ({ raw }, _, payload, done) => {
    stateOf(raw).copyHeaders();
    done(null, payload);
  });
  /** Each route as method and path. `hasRoute` would read the path of a client as a pattern. */
  const routes = new Set<string>();
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) routes.add(`${each} ${url}`);
  });
  // The framework's own response would repeat the URL with its query, and would not tell a wrong method from a wrong path.
  app.setNotFoundHandler(({ method, raw }) => {
    const allowed = ['GET', 'POST'].filter(known => routes.has(`${known} ${stateOf(raw).path}`));
    if (allowed.length === 0 || allowed.includes(method)) throw new Refused(404, nothingHere);
    throw new Refused(405, `This address accepts ${allowed.join(' and ')} only`, { allow: allowed.join(', ') });
  });
  return app;
}

/** Answers an error of a stage or a route. What is not the client's is logged, and shows only that it happened. */
function answerError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { path, operation, headers } = stateOf(request.raw);
  if (isArriving(request.raw)) reply.raw.shouldKeepAlive = false;
  const refuse = (status: number, message: string, extensions: Readonly<Record<string, unknown>>) =>
    reply.code(status).send(refusalBody(path, message, extensions));
  if (error instanceof GatewayError) {
    operation.outcome = error.outcome;
    const seconds = error.retryAfterSeconds ?? (error instanceof RateLimited ? 1 : undefined);
    if (seconds !== undefined && !headers.includes('retry-after')) reply.header('retry-after', seconds);
    return refuse(error.httpStatus, error.message, error.extensions);
  }
  const status = error.statusCode ?? 500;
  if (error instanceof Refused) reply.headers(error.headers);
  if (status < 500) {
    const code = status === 404 ? 'NOT_FOUND' : 'BAD_REQUEST';
    return refuse(status, messageFor[error.code] ?? error.message, { code });
  }
  // A client that has gone destroys the stream that it was to get.
  const hasGone = error.code === 'ERR_STREAM_PREMATURE_CLOSE' && reply.raw.destroyed;
  if (!hasGone && !(error instanceof Abandoned)) request.log.error({ err: error, req: request }, 'Unexpected');
  return refuse(status, 'Internal server error', { code: 'INTERNAL_SERVER_ERROR' });
}

/** Lets Fastify parse bodies that `readBody` has read, within the bounds for JSON. */
export function parseReadBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  // The framework's own parser of text would read bodies without their watch.
  app.removeContentTypeParser('text/plain');
  app.addContentTypeParser('text/plain', async (_: FastifyRequest, payload: IncomingMessage) => {
    const body = await readBody(payload);
    if (body instanceof Error) throw body;
    return body.toString();
  });
  app.addContentTypeParser('application/json', (request, payload, done) => {
    andThen(readBody(payload), body => {
      try {
        if (body instanceof Error) throw body;
        // Some clients of agents say what type the body has that they do not send.
        if (body.length === 0 && request.is404) return done(null);
        // What cannot be decoded would be replaced, and sent to the service.
        if (!isUtf8(body)) throw new Refused(400, 'The body must be UTF-8');
        parse(request, checkedJson(body), (error, value) => {
          // Short texts and empty objects take far more memory than bytes.
          if (error === null) stateOf(payload).bodyWatch?.grew(body.length + bytesOfValue(value));
          done(error, value);
        });
      } catch (error) {
        done(error as Error);
      }
    });
  });
}
