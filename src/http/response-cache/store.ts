// Where responses are stored: in memory and in Redis, with what makes them invalid.
import type { IncomingHttpHeaders, OutgoingHttpHeader } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Scope } from '../../auth/credentials.js';
import type { Generation, Generations } from '../../data/cache/generations.js';
import { hashedKey, type ScopedKey } from '../../data/cache/keys.js';
import { createRedisGuard, maxQuickBytes, replacingOtherType } from '../../data/redis.js';
import type { SharedStore } from '../../data/shared-store.js';
import type { Signer } from '../../data/signer.js';
import { timeNow } from '../../lib/clock.js';
import { andThen, Bulkhead, type MaybePromise } from '../../lib/run.js';
import { reportHeaders } from '../../observability/response-metadata.js';
import type { Telemetry } from '../../observability/telemetry.js';

/** Names and values in turns, as `writeHead` takes them. */
export type HeaderList = OutgoingHttpHeader[];

/** Stores responses by scope and request: the most recent ones in this process, and all of them in Redis if it is configured. */
export type ResponseCacheStore = ReturnType<typeof createResponseCacheStore>;

interface ResponseCacheStoreDeps {
  /** The bound of the memory tier. */
  readonly bytes: number;
  readonly shared: SharedStore | undefined;
  readonly generations: Generations;
  readonly telemetry: Telemetry;
}

/** What a response costs besides its bodies. */
const overheadBytes = 1_500;
/** The largest share of the memory tier for one response. */
const maxShare = 1 / 8;
/** How much larger a response is with its compressed copies. */
const withCompressed = 1.6;

export function createResponseCacheStore({ bytes, shared, generations, telemetry }: ResponseCacheStoreDeps) {
  const guarded = createRedisGuard(telemetry);
  const memory = new LRUCache<ScopedKey, CachedResponse>({ maxSize: bytes, maxEntrySize: bytes * maxShare });
  const storeInMemory = (key: ScopedKey, response: CachedResponse) => {
    const size = Math.ceil(response.length * withCompressed) + key.length + overheadBytes;
    memory.set(key, response, { size });
  };

  /** Whether a response has not expired. One that contains markets or events is valid until they change, which only the current generations tell. */
  function isValid(response: CachedResponse): MaybePromise<boolean> {
    const leftMs = response.keepUntil - timeNow();
    // One from before the clock was set back would stay for too long.
    if (leftMs <= 0 || leftMs > response.keptMs) return false;
    if (response.generations.length === 0) return true;
    const isCurrent = (all: readonly (Generation | undefined)[]) =>
      response.generations.every(([, token], index) => all[index]?.state === 'settled' && all[index].token === token);
    const known = response.generations.map(([tag]) => generations.known(tag));
    if (!known.includes(undefined)) return isCurrent(known);
    return Promise.all(response.generations.map(([tag]) => generations.current(tag))).then(isCurrent);
  }

  async function fromRedis(key: ScopedKey, { redis, signer, namespace }: SharedStore) {
    const name = redisKey(namespace, key);
    const found = await guarded('GET', () => replacingOtherType(redis, name, () => redis.getBuffer(name)));
    if (found == null) return undefined;
    let response: CachedResponse;
    try {
      response = unpack(signer.open(name, found) ?? nothing);
    } catch {
      telemetry.malformed('response');
      return undefined;
    }
    if (!(await isValid(response))) return undefined;
    storeInMemory(key, response);
    telemetry.responseCacheHit('redis');
    return response;
  }

  return {
    isValid,

    /** The response, if it is still valid. */
    get(key: ScopedKey): MaybePromise<CachedResponse | undefined> {
      const inMemory = memory.get(key);
      return andThen(inMemory !== undefined && isValid(inMemory), valid => {
        if (!valid) return shared?.redis.status === 'ready' ? fromRedis(key, shared) : undefined;
        telemetry.responseCacheHit('memory');
        return inMemory;
      });
    },

    put(key: ScopedKey, response: CachedResponse): void {
      // A larger one is neither stored nor copied.
      if (response.length > bytes * maxShare) return;
      storeInMemory(key, response);
      const milliseconds = Math.floor(response.keepUntil - timeNow());
      if (shared?.redis.status !== 'ready' || milliseconds <= 0 || response.length > maxQuickBytes) return;
      const { redis, signer, namespace } = shared;
      const name = redisKey(namespace, key);
      void guarded('SET', () => redis.set(name, pack(response, signer, name), 'PX', milliseconds));
    },
  };
}

const redisKey = (namespace: string, key: ScopedKey) => `mig:response:${namespace}:${hashedKey(key)}`;

const nothing = Buffer.alloc(0);

/** What is stored of a whole response of status 200 besides its body. */
const head = z.strictObject({
  /** Without those that depend on the time or the encoding. */
  headers: z.array(z.union([z.string(), z.number(), z.array(z.string())])),
  etag: z.string().regex(/^"[\w-]+"$/),
  /** For the metrics: see `OperationInfo`. */
  operation: z.string().optional(),
  outcome: z.string().optional(),
  untrusted: z.string().optional(),
  deprecated: z.array(z.string()).readonly().optional(),
  documentId: z.string().optional(),
  /** Until when it is valid, in milliseconds since 1970; 0: only now. */
  keepUntil: z.number(),
  /** How long before that it was made, in milliseconds. */
  keptMs: z.number(),
  /** The generations it depends on, by their tags. */
  generations: z.array(z.tuple([z.string(), z.string()])),
});

/** A whole response, as it is sent. */
export interface CachedResponse extends Readonly<z.output<typeof head>> {
  readonly body: readonly Buffer[];
  /** In bytes. */
  readonly length: number;
  /** The body in each encoding that a client has needed. Clients that ask at the same time share the work. */
  readonly compressed: Partial<Record<Encoding, Promise<Buffer>>>;
}

/** An execution in flight. Equal requests of its scope may wait for its result. */
export class ResponseInFlight {
  /** Whether an equal request waits or has waited for it. */
  isShared = false;
  /** Undefined: equal requests wait no longer. */
  settle!: (response: CachedResponse | undefined) => void;
  readonly result = new Promise<CachedResponse | undefined>(resolve => {
    this.settle = resolve;
  });
  readonly key: ScopedKey;
  readonly version: string;

  constructor(key: ScopedKey, version: string) {
    this.key = key;
    this.version = version;
  }
}

/** The signature, one line of JSON, then the body. */
function pack({ body, compressed: _, length: __, ...rest }: CachedResponse, signer: Signer, name: string): Buffer {
  const line = `${JSON.stringify(rest)}\n`;
  return Buffer.concat([Buffer.from(signer.sign(name, line, ...body) + line), ...body]);
}

/** @throws Error if the bytes are not a response. */
function unpack(bytes: Buffer): CachedResponse {
  const end = bytes.indexOf('\n');
  const body = bytes.subarray(end + 1);
  const rest = head.parse(JSON.parse(bytes.toString('utf8', 0, end)));
  return { ...rest, body: [body], length: body.length, compressed: {} };
}

type Encoding = 'br' | 'gzip';

const gzipThreshold = 1_024;
/** In bytes. Below it, gzip costs less than Brotli (docs/decisions/0009-cache.md). */
const brotliThreshold = 64 * 1_024;

const brotliOptions = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 },
};

/** As many as zlib has threads by default: one that waits for a thread would already take 250 to 780 KB. Clients take turns. */
const compressors = new Bulkhead(4, Number.POSITIVE_INFINITY);

async function compress(body: readonly Buffer[], encoding: Encoding, client: Scope | undefined): Promise<Buffer> {
  await new Promise<void>(start => compressors.enter({ client, start }));
  try {
    const compressor = encoding === 'br' ? createBrotliCompress(brotliOptions) : createGzip();
    return await buffer(Readable.from(body, { objectMode: false }).pipe(compressor));
  } finally {
    compressors.leave();
  }
}

/** The response's body, compressed once for each encoding. Clients with Brotli accept gzip too, so that hardly any response has both. */
function compressedBody(
  { body, length, compressed }: CachedResponse,
  request: IncomingHttpHeaders,
  client: Scope | undefined,
) {
  if (length < gzipThreshold) return undefined;
  const preferred: readonly Encoding[] = length < brotliThreshold ? ['gzip', 'br'] : ['br', 'gzip'];
  const accepted = preferred.filter(each => acceptedPatterns[each].test(String(request['accept-encoding'] ?? '')));
  const encoding = accepted.find(each => compressed[each] !== undefined) ?? accepted[0];
  if (encoding === undefined) return undefined;
  compressed[encoding] ??= compress(body, encoding, client).catch(error => {
    delete compressed[encoding];
    throw error;
  });
  return { encoding, bytes: compressed[encoding] };
}

/** The request headers that the response depends on. */
const varyingHeaders = `accept, accept-encoding, authorization, cookie, origin, x-api-key, ${reportHeaders.join(', ')}`;

/** The response for one client: compressed if the client accepts that, and 304 without a body if the client has it already. */
export function represent(
  response: CachedResponse,
  request: IncomingHttpHeaders,
  client: Scope | undefined,
): MaybePromise<{ status: 200 | 304; headers: HeaderList; body: readonly Buffer[] }> {
  const { headers, etag, body, length } = response;
  // Weak: one tag stands for the body in each encoding.
  const sent = ['vary', varyingHeaders, 'etag', `W/${etag}`, 'cache-control', cacheControl(response, request)];
  const common: HeaderList = [...headers, ...sent];
  // What changes something has been carried out: its client needs the answer.
  if (response.keepUntil > 0 && matches(request['if-none-match'], etag))
    return { status: 304, headers: common, body: [] };
  const compressed = compressedBody(response, request, client);
  if (compressed === undefined) {
    common.push('content-length', length);
    return { status: 200, headers: common, body };
  }
  return andThen(compressed.bytes, bytes => {
    common.push('content-encoding', compressed.encoding, 'content-length', bytes.length);
    return { status: 200, headers: common, body: [bytes] };
  });
}

/**
 * The `Cache-Control` header. A client may reuse a response without asking only if neither a write nor a poll can change it in that time, and only if the
 * credential was not a cookie: browsers ignore `Vary: cookie` in their cache, and would show the response to the next user who signs in.
 */
function cacheControl({ keepUntil, generations }: CachedResponse, request: IncomingHttpHeaders): string {
  if (keepUntil === 0) return 'no-store';
  const isByHeader = request['x-api-key'] !== undefined || request.authorization !== undefined;
  const seconds = isByHeader && generations.length === 0 ? Math.floor((keepUntil - timeNow()) / 1_000) : 0;
  return seconds > 0 ? `private, max-age=${seconds}` : 'private, no-cache';
}

function matches(given: string | undefined, etag: string): boolean {
  return given?.split(',').some(each => ['*', etag].includes(each.trim().replace(/^W\//, ''))) ?? false;
}

/** RFC 9110, 12.5.3. */
const acceptedPatterns: Record<Encoding, RegExp> = {
  br: /\bbr\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/,
  gzip: /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/,
};
