import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { joinBytes } from '../join-bytes.js';
import { checkJson } from '../limits/json.js';
import { Attached } from './attached.js';

const bodies = new Attached<Promise<Buffer>>();

/** A body that is larger than it may be. */
class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
  readonly statusCode = 413;
}

/** The whole body of a request, which can be read again by whoever comes after. @throws BodyTooLarge past `limit` bytes. */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const known = bodies.get(request);
  if (known !== undefined) return known;
  const reading = new Promise<Buffer>((resolve, reject) => {
    const tooLarge = () => reject(new BodyTooLarge(`The body must be at most ${limit} bytes`));
    if (Number(request.headers['content-length']) > limit) return tooLarge();
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else tooLarge();
    });
    request.on('end', () => resolve(joinBytes(chunks)));
    request.on('error', reject);
    request.on('close', () => {
      if (!request.readableEnded) reject(new Error('The client hung up'));
    });
  });
  bodies.set(request, reading);
  return reading;
}

/** Lets Fastify parse bodies that were read before it saw the request, as far as they may be parsed. */
export function parseReadBodies(app: FastifyInstance, limit: number): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', (request, payload, done) => {
    readBody(payload, limit)
      .then(body => {
        checkJson(body);
        return body.toString();
      })
      .then(
        text => parse(request, text, done),
        error => done(error),
      );
  });
}
