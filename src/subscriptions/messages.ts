import { z } from 'zod';
import { checkJson } from '../graphql/limits/bounds.js';

/** The sub-protocol of GraphQL over WebSocket. */
export const protocol = 'graphql-transport-ws';

const members = z.record(z.string(), z.unknown()).nullish();

/** The members of GraphQL over HTTP (request parameters). */
export const asked = z.object({
  query: z.string().nullish(),
  documentId: z.string().nullish(),
  operationName: z.string().nullish(),
  variables: members,
  extensions: members,
});

/** What a client asks to have executed. No query where a hash names the document. */
export type Asked = z.output<typeof asked>;

/** Kept for as long as its operation runs, and written into each of its frames. */
const id = z.string().min(1).max(256);

const message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('connection_init'), payload: members }),
  z.object({ type: z.literal('ping'), payload: members }),
  z.object({ type: z.literal('pong'), payload: members }),
  z.object({ type: z.literal('subscribe'), id, payload: asked }),
  z.object({ type: z.literal('complete'), id }),
]);

/** A message of a client. */
export type Message = z.output<typeof message>;

/** The message that came; undefined where it is none, or of more than any message has. */
export function messageIn(bytes: Buffer): Message | undefined {
  try {
    checkJson(bytes);
    return message.parse(JSON.parse(bytes.toString()));
  } catch {
    return undefined;
  }
}
