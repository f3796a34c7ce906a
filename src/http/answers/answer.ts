import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** A whole answer of status 200, as it goes over the wire. */
export interface Answer {
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
  /** The same, compressed, once a client has asked for it so. */
  gzipped: Buffer | undefined;
  readonly etag: string;
  /** What is counted when it is given: the operation's name, and the outcome. */
  readonly operation: string | undefined;
  readonly outcome: string | undefined;
  /** Until when it holds, in milliseconds since 1970; 0: not beyond this moment. */
  readonly keepUntil: number;
  /** The generations that it belongs to, by their tags. */
  readonly generations: readonly (readonly [tag: string, generation: string])[];
}

/** What a client is sent of an answer. */
export interface Representation {
  readonly status: 200 | 304;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer | undefined;
}

const compress = promisify(gzip);
const worthCompressing = 1_024;

/** The entity tag of a body. */
export function etagOf(body: Buffer): string {
  return `"${createHash('sha1').update(body).digest('base64url')}"`;
}

/** An answer as a client asked for it: compressed where it takes gzip, which is done once, and nothing but 304 where it has it already. */
export async function represent(answer: Answer, asked: IncomingHttpHeaders): Promise<Representation> {
  if (holds(asked['if-none-match'], answer.etag)) return { status: 304, headers: headersOf(answer), body: undefined };
  const { body } = answer;
  if (body.length < worthCompressing || !takesGzip(asked)) return shown(headersOf(answer), body);
  answer.gzipped ??= await compress(body);
  return shown({ ...headersOf(answer), 'content-encoding': 'gzip' }, answer.gzipped);
}

const shown = (headers: OutgoingHttpHeaders, body: Buffer): Representation => ({
  status: 200,
  headers: { ...headers, 'content-length': body.length },
  body,
});

function headersOf({ headers, etag, keepUntil }: Answer): OutgoingHttpHeaders {
  const seconds = Math.floor((keepUntil - Date.now()) / 1_000);
  return { ...headers, etag, 'cache-control': seconds > 0 ? `private, max-age=${seconds}` : 'private, no-cache' };
}

function holds(given: string | undefined, etag: string): boolean {
  return given?.split(',').some(each => each.trim().replace(/^W\//, '') === etag) ?? false;
}

/** RFC 9110, 12.5.3. */
function takesGzip(asked: IncomingHttpHeaders): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(String(asked['accept-encoding'] ?? ''));
}
