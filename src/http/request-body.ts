import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { checkJson } from '../graphql/limits/bounds.js';
import { Attached } from '../lib/attached.js';
import { Chunks, joinBytes } from '../lib/join-bytes.js';

const bodies = new Attached<Buffer | Error>();
const watches = new Attached<BodyWatch>();

/** Decides, while a body arrives, whether the gateway goes on with the request. Either function may throw the error that refuses it. */
export interface BodyWatch {
  /** @param bytes of the body that have arrived so far. */
  grew(bytes: number): void;
  /** The whole body has arrived. */
  ended(): void;
}

/** Sets what watches the body of a request. To be called before anything reads the body. */
export function watchBody(request: IncomingMessage, watch: BodyWatch): void {
  watches.set(request, watch);
}

/** A body that is larger than it may be. */
class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
  readonly statusCode = 413;

  /** @param limit in bytes. */
  constructor(limit: number) {
    super(`The body must be at most ${limit} bytes`);
  }
}

/** A body in more pieces than this, by chunked encoding, costs its parser more than its content: its connection is destroyed. */
const mostPieces = 20_000;

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
  const watch = watches.get(request);
  let chunks = new Chunks();
  let size = 0;
  let pieces = 0;
  const refuse = (error: Error) => {
    chunks = new Chunks();
    settle(error);
  };
  const unlessRefused = (work: () => void) => {
    // Node still delivers the rest of a body that was refused.
    if (bodies.get(request) !== undefined) return;
    try {
      work();
    } catch (error) {
      refuse(error as Error);
    }
  };
  request.on('data', (chunk: Buffer) =>
    unlessRefused(() => {
      size += chunk.length;
      pieces += 1;
      // An answer would not stop it: Node parses on for as long as bytes come.
      if (pieces > mostPieces) request.destroy();
      if (size > limit) throw new BodyTooLarge(limit);
      watch?.grew(size);
      chunks.add(chunk);
    }),
  );
  request.on('end', () =>
    unlessRefused(() => {
      watch?.ended();
      settle(joinBytes(chunks.parts));
    }),
  );
  request.on('error', refuse);
  request.on('close', () => {
    if (!request.readableEnded) refuse(new Error('The client hung up'));
  });
}

/** Lets Fastify parse bodies that were read before it saw the request, as far as they may be parsed. */
export function parseReadBodies(app: FastifyInstance, limit: number): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  // The framework's own parser of text would read bodies that nothing watches.
  app.removeContentTypeParser('text/plain');
  app.addContentTypeParser('text/plain', (_, payload, done) => {
    readBody(payload, limit, body => (body instanceof Error ? done(body) : done(null, body.toString())));
  });
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
