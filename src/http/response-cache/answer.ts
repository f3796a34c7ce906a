import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import type { HeaderList } from '../../lib/early-headers.js';
import { andThen, type MaybePromise } from '../../lib/maybe-promise.js';

/** A whole answer of status 200, as it goes over the wire. */
export interface Answer {
  /** But for those that change with the time and the coding. */
  readonly headers: HeaderList;
  readonly body: readonly Buffer[];
  /** In bytes. */
  readonly length: number;
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
  readonly headers: HeaderList;
  readonly body: readonly Buffer[];
}

const gzipped = promisify(gzip);

async function compress(body: readonly Buffer[]): Promise<Buffer> {
  const [only] = body;
  if (body.length === 1 && only !== undefined) return gzipped(only);
  return buffer(Readable.from(body, { objectMode: false }).pipe(createGzip()));
}
const worthCompressing = 1_024;

/** The headers of a request that its answer depends on. */
const shapers = 'accept, accept-encoding, authorization, cookie, origin, x-api-key';

/** An answer as a client asked for it: compressed where it takes gzip, which is done once, and nothing but 304 where it has it already. */
export function represent(answer: Answer, asked: IncomingHttpHeaders): MaybePromise<Representation> {
  const { headers, etag, body, length } = answer;
  const common = [...headers, 'vary', shapers, 'etag', etag, 'cache-control', cachingOf(answer, asked)];
  if (holds(asked['if-none-match'], etag)) return { status: 304, headers: common, body: [] };
  if (length < worthCompressing || !takesGzip(asked)) {
    common.push('content-length', length);
    return { status: 200, headers: common, body };
  }
  return andThen(answer.gzipped ?? compress(body), compressed => {
    answer.gzipped = compressed;
    common.push('content-encoding', 'gzip', 'content-length', compressed.length);
    return { status: 200, headers: common, body: [compressed] };
  });
}

/**
 * Whether a client may keep an answer, and give it again without asking. Not the latter where a write could change it in its time, nor
 * where it came by a cookie: browsers do not heed `Vary: cookie` in what they keep, and would show it to whoever signs in next.
 */
function cachingOf({ keepUntil, generations }: Answer, asked: IncomingHttpHeaders): string {
  if (keepUntil === 0) return 'no-store';
  const isByHeader = asked['x-api-key'] !== undefined || asked.authorization !== undefined;
  const seconds = isByHeader && generations.length === 0 ? Math.floor((keepUntil - Date.now()) / 1_000) : 0;
  return seconds > 0 ? `private, max-age=${seconds}` : 'private, no-cache';
}

function holds(given: string | undefined, etag: string): boolean {
  return given?.split(',').some(each => each.trim().replace(/^W\//, '') === etag) ?? false;
}

/** RFC 9110, 12.5.3. */
function takesGzip(asked: IncomingHttpHeaders): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(String(asked['accept-encoding'] ?? ''));
}
