import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { ResponseBytes } from '../../graphql/response-text.js';
import { joinBytes } from '../../lib/join-bytes.js';

/** In bytes. A shorter answer is sent as one. */
const worthParting = 64 * 1024;

/** Sends an answer that nobody keeps; the parts of a long one after each other, as the client takes them. */
export function sendParts(reply: FastifyReply, { parts, length }: ResponseBytes): FastifyReply {
  if (parts.length === 1 || length < worthParting) return reply.send(joinBytes(parts));
  return reply.header('content-length', length).send(Readable.from(parts, { objectMode: false }));
}
