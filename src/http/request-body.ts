import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { joinBytes } from '../join-bytes.js';
import { checkJson } from '../limits/json.js';
import { Attached } from './attached.js';

const bodies = new Attached<Buffer | Error>();

/** A body that is larger than it may be. */
class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
  readonly statusCode = 413;

  /** @param limit in bytes. */
  constructor(limit: number) {
    super(`The body must be at most ${limit} bytes`);
  }
}

/**
 * Tells the whole body of a request, or why there is none: BodyTooLarge past `limit` bytes. Who comes after can have it again. Without a
 * promise, since every request comes by here.
 */
export function readBody(request: IncomingMessage, limit: number, tell: (body: Buffer | Error) => void): void {
  const known = bodies.get(request);
  if (known !== undefined) {
    tell(known);
    return;
  }
  const settle = (body: Buffer | Error) => {
    if (bodies.get(request) !== undefined) return;
    bodies.set(request, body);
    tell(body);
  };
  if (Number(request.headers['content-length']) > limit) {
    settle(new BodyTooLarge(limit));
    return;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
    else settle(new BodyTooLarge(limit));
  });
  request.on('end', () => settle(joinBytes(chunks)));
  request.on('error', settle);
  request.on('close', () => {
    if (!request.readableEnded) settle(new Error('The client hung up'));
  });
}

/** Lets Fastify parse bodies that were read before it saw the request, as far as they may be parsed. */
export function parseReadBodies(app: FastifyInstance, limit: number): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', (request, payload, done) => {
    readBody(payload, limit, body => {
      try {
        if (body instanceof Error) throw body;
        checkJson(body);
      } catch (error) {
        return done(error as Error);
      }
      parse(request, body.toString(), done);
    });
  });
}
