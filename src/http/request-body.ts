import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Abandoned } from '../errors.js';
import { checkedJson } from '../graphql/limits/bounds.js';
import { Chunks, joinBytes } from '../lib/bytes.js';
import { wellFormedJson } from '../lib/json.js';
import { andThen, type MaybePromise } from '../lib/maybe-promise.js';
import { type RequestState, stateOf } from './request-state.js';
import { Refused } from './web-safety.js';

/** A body in more chunks than this costs more to parse than its content is worth: its connection is destroyed. */
const maxPieces = 20_000;

/**
 * Reads the body of a request once; later callers get the same buffer. Returns, and does not throw, an Error if the body cannot be
 * read: Refused above `limit` bytes, an error of its watch, or Abandoned.
 */
export function readBody(request: IncomingMessage, limit: number): MaybePromise<Buffer | Error> {
  const state = stateOf(request);
  state.body ??= new Promise(resolve => collectBody(state, limit, resolve));
  return state.body;
}

function collectBody(state: RequestState, limit: number, resolve: (body: Buffer | Error) => void): void {
  const { request, bodyWatch: watch } = state;
  let chunks = new Chunks();
  let size = 0;
  let pieces = 0;
  let isSettled = false;
  const settle = (body: Buffer | Error) => {
    if (isSettled) return;
    isSettled = true;
    chunks = new Chunks();
    state.body = body;
    resolve(body);
  };
  if (Number(request.headers['content-length']) > limit) {
    settle(tooLarge(limit));
    return;
  }
  const unlessSettled = (work: () => void) => {
    // Node still delivers the rest of a body that was refused.
    if (isSettled) return;
    try {
      work();
    } catch (error) {
      settle(error as Error);
    }
  };
  request.on('data', (chunk: Buffer) =>
    unlessSettled(() => {
      size += chunk.length;
      pieces += 1;
      // A response would not stop the client: Node parses for as long as bytes arrive.
      if (pieces > maxPieces) request.destroy();
      if (size > limit) throw tooLarge(limit);
      watch?.grew(size);
      chunks.add(chunk);
    }),
  );
  request.on('end', () =>
    unlessSettled(() => {
      state.startedAt = performance.now();
      watch?.ended();
      settle(joinBytes(chunks.parts));
    }),
  );
  request.on('close', () => {
    if (!request.readableEnded) settle(new Abandoned('The client has gone'));
  });
  // `close` follows.
  request.on('error', () => {});
}

const tooLarge = (limit: number) => new Refused(413, `The body must be at most ${limit} bytes`);

/** Lets Fastify parse bodies that `readBody` has read, within the bounds for JSON. */
export function parseReadBodies(app: FastifyInstance, limit: number): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  // The framework's own parser of text would read bodies without their watch.
  app.removeContentTypeParser('text/plain');
  app.addContentTypeParser('text/plain', async (_: FastifyRequest, payload: IncomingMessage) => {
    const body = await readBody(payload, limit);
    if (body instanceof Error) throw body;
    return body.toString();
  });
  app.addContentTypeParser('application/json', (request, payload, done) => {
    andThen(readBody(payload, limit), body => {
      let text: string;
      try {
        if (body instanceof Error) throw body;
        text = wellFormedJson(checkedJson(body));
      } catch (error) {
        return done(error as Error);
      }
      parse(request, text, done);
    });
  });
}
