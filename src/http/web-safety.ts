import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

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

/**
 * Headers for browsers: do not sniff, frame or store answers; send no referrer, since an address may hold a session id; which origins may
 * read answers and send cookies. GraphiQL's page has a policy of its own.
 */
export async function registerWebSafety(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  const headers = {
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  };
  const overTls = { ...headers, 'strict-transport-security': `max-age=${yearSeconds}; includeSubDomains` };
  app.addHook('onRequest', async ({ protocol }, reply) => {
    reply.headers(protocol === 'https' ? overTls : headers);
  });
  if (origins.length === 0) return;
  await app.register(cors, {
    origin: [...origins],
    credentials: true,
    methods: ['GET', 'POST'],
    allowedHeaders: sendable,
    exposedHeaders: readable,
    maxAge: preflightSeconds,
  });
}
