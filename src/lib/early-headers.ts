import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http';
import { Attached } from './attached.js';

/** Names and values in turns, as `writeHead` takes them. */
export type HeaderList = OutgoingHttpHeader[];

const lists = new Attached<HeaderList>();

/** Adds a header before it is known which stage will respond, such as the id of the request or its rate limit. */
export function addEarlyHeader(request: IncomingMessage, name: string, value: OutgoingHttpHeader): void {
  const list = lists.get(request);
  if (list === undefined) lists.set(request, [name, value]);
  else list.push(name, value);
}

/** For a stage that calls `writeHead` itself, which costs a quarter of `setHeader` for each header. */
export const earlyHeadersOf = (request: IncomingMessage): HeaderList => lists.get(request) ?? [];

/** Copies the early headers to a response that is written with `setHeader`. */
export function setEarlyHeaders(request: IncomingMessage, response: ServerResponse): void {
  const list = earlyHeadersOf(request);
  for (let at = 0; at + 1 < list.length; at += 2) response.setHeader(String(list[at]), list[at + 1] ?? '');
}
