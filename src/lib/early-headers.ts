import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http';
import { Attached } from './attached.js';

/** Names and values in turns, as `writeHead` takes them. */
export type HeaderList = OutgoingHttpHeader[];

const lists = new Attached<HeaderList>();

/** A header that is settled before it is known who answers: the request's id, its rate limit. Written with the rest of the head at once, or set. */
export function addEarlyHeader(request: IncomingMessage, name: string, value: OutgoingHttpHeader): void {
  const list = lists.get(request);
  if (list === undefined) lists.set(request, [name, value]);
  else list.push(name, value);
}

/** For who writes the whole head at once, which costs a quarter of setting one header after the other. */
export const earlyHeadersOf = (request: IncomingMessage): HeaderList => lists.get(request) ?? [];

/** For who does not. */
export function setEarlyHeaders(request: IncomingMessage, response: ServerResponse): void {
  for (const [name, value] of pairsOf(earlyHeadersOf(request))) response.setHeader(name, value);
}

/** A list's headers one by one. */
export function* pairsOf(list: HeaderList): Generator<[name: string, value: OutgoingHttpHeader]> {
  for (let at = 0; at + 1 < list.length; at += 2) yield [String(list[at]), list[at + 1] ?? ''];
}
