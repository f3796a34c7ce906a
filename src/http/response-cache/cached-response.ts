import type { IncomingHttpHeaders, OutgoingHttpHeader } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import { andThen, type MaybePromise } from '../../lib/maybe-promise.js';

/** Names and values in turns, as `writeHead` takes them. */
export type HeaderList = OutgoingHttpHeader[];

/** A whole response of status 200, as it is sent. */
export interface CachedResponse {
  /** Without those that depend on the time or the encoding. */
  readonly headers: HeaderList;
  readonly body: readonly Buffer[];
  /** In bytes. */
  readonly length: number;
  /** The compressed body, after a client has accepted it for the first time. */
  gzipped: Buffer | undefined;
  readonly etag: string;
  /** For the metrics: the operation's name and its outcome. */
  readonly operation: string | undefined;
  readonly outcome: string | undefined;
  /** Until when it is valid, in milliseconds since 1970; 0: only now. */
  readonly keepUntil: number;
  /** The generations it depends on, by their tags. */
  readonly generations: readonly (readonly [tag: string, generation: string])[];
}

/** What is sent to one client. */
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

/** The request headers that the response depends on. */
const varyingHeaders = 'accept, accept-encoding, authorization, cookie, origin, x-api-key';

/** The response for one client: gzip if the client accepts it (compressed once), and 304 without a body if the client has it already. */
export function represent(response: CachedResponse, request: IncomingHttpHeaders): MaybePromise<Representation> {
  const { headers, etag, body, length } = response;
  const common = [...headers, 'vary', varyingHeaders, 'etag', etag, 'cache-control', cacheControl(response, request)];
  if (matches(request['if-none-match'], etag)) return { status: 304, headers: common, body: [] };
  if (length < worthCompressing || !acceptsGzip(request)) {
    common.push('content-length', length);
    return { status: 200, headers: common, body };
  }
  return andThen(response.gzipped ?? compress(body), compressed => {
    response.gzipped = compressed;
    common.push('content-encoding', 'gzip', 'content-length', compressed.length);
    return { status: 200, headers: common, body: [compressed] };
  });
}

/**
 * The `Cache-Control` header. A client may reuse a response without asking only if no write can change it in that time, and only if the
 * credential was not a cookie: browsers ignore `Vary: cookie` in their cache, and would show the response to the next user who signs in.
 */
function cacheControl({ keepUntil, generations }: CachedResponse, request: IncomingHttpHeaders): string {
  if (keepUntil === 0) return 'no-store';
  const isByHeader = request['x-api-key'] !== undefined || request.authorization !== undefined;
  const seconds = isByHeader && generations.length === 0 ? Math.floor((keepUntil - Date.now()) / 1_000) : 0;
  return seconds > 0 ? `private, max-age=${seconds}` : 'private, no-cache';
}

function matches(given: string | undefined, etag: string): boolean {
  return given?.split(',').some(each => each.trim().replace(/^W\//, '') === etag) ?? false;
}

/** RFC 9110, 12.5.3. */
function acceptsGzip(request: IncomingHttpHeaders): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(String(request['accept-encoding'] ?? ''));
}
