// The two formats of such responses, Server-Sent Events and multipart, and the requests that get them.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BadUserInput, gatewayCloses } from '../errors.js';
import { jsonValueOf } from '../graphql/limits/bounds.js';
import { stateOf } from '../http/request-state.js';
import { Refused } from '../http/web-safety.js';
import { requestedReports } from '../observability/response-metadata.js';
import { answerWithStream, type StreamFormat } from './http-stream.js';
import { type OperationRequest, operationRequest } from './operation.js';
import type { Subscriptions } from './subscriptions.js';

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
      answerWithStream(subscriptions, request, reply, serverSentEvents, async (operationInfo, claim) => {
        const lastEventId = (request.headers['last-event-id'] as string | undefined) || undefined;
        const read = await subscriptions.read(stateOf(request.raw), readRequest(request), operationInfo, claim);
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
