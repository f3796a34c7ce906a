import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import { Overloaded } from '../errors.js';
import { safeHeaders } from './refusal.js';

/** What a page of another origin may read of an answer's head. */
const readable = ['etag', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after', 'x-request-id'];
/** What it may send. */
const sendable = [
  'content-type',
  'authorization',
  'x-api-key',
  'apollo-require-preflight',
  'x-apollo-operation-name',
  'x-explain',
  'x-request-id',
  'traceparent',
  'tracestate',
];
const preflightSeconds = 600;
const yearSeconds = 31_536_000;

/** A request without the header that HTTP/1.1 demands (RFC 9112, 3.2). */
class HostMissing extends Error {
  override readonly name = 'HostMissing';
  readonly statusCode = 400;

  constructor() {
    super('The header Host is missing');
  }
}

/**
 * Headers for browsers, on every answer; which origins may read answers and send cookies. GraphiQL's page has a policy of its own. What is
 * refused before anything else looks at it is refused here, so that it has the headers too.
 */
export async function registerWebSafety(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  const overTls = { ...safeHeaders, 'strict-transport-security': `max-age=${yearSeconds}; includeSubDomains` };
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onRequest', async ({ protocol, raw }, reply) => {
    reply.headers(protocol === 'https' ? overTls : safeHeaders);
    if (isClosing) throw new Overloaded('The gateway is closing; try again in a moment');
    if (raw.headers.host === undefined && raw.httpVersion !== '1.0') throw new HostMissing();
  });
  if (origins.length === 0) return;
  await app.register(cors, {
    origin: [...origins],
    credentials: true,
    methods: ['GET', 'POST'],
    allowedHeaders: sendable,
    exposedHeaders: readable,
    maxAge: preflightSeconds,
    // It would refuse other requests with OPTIONS in words of its own.
    strictPreflight: false,
  });
}
