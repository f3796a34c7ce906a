import { setImmediate as nextTurn } from 'node:timers/promises';
import DataLoader from 'dataloader';
import type { Scope } from '../auth/credentials.js';
import { NotFound } from '../errors.js';
import type { MaybePromise } from '../lib/maybe-promise.js';
import { runYielding } from '../lib/run-yielding.js';
import type { BoundedJson } from '../lib/text.js';
import type { SkippedRecord } from '../observability/response-metadata.js';
import type { Telemetry } from '../observability/telemetry.js';
import type { Cache } from './cache/cache.js';
import { keysOf, lastOf, marketTag, type ScopedKey } from './cache/keys.js';
import type { Lifetime, Loaded, Lookup, LookupResult } from './cache/lookup.js';
import type { Purges } from './cache/purges.js';
import { reportInvalidBody } from './upstream/call-errors.js';
import { forbidsCaching, parseReply, type Reply, replyText } from './upstream/reply.js';
import { pathAndQuery, type RequestAuth, requestLine, type UpstreamRequest } from './upstream/request.js';
import { parseLenient, type SchemaDrift } from './upstream/schema-drift.js';
import type { Upstream } from './upstream/upstream.js';

/** A parsed body. The embeddings are stored only if the request wanted vectors. */
export interface Parsed<T, Embeddings> {
  readonly value: T;
  readonly embeddings?: { readonly value: Embeddings; readonly bytes: number } | undefined;
}

/** One read of the service, as a value: which request to send, and how to parse the reply. */
export interface Read<T, Embeddings = undefined> {
  readonly request: UpstreamRequest & { readonly safe: true };
  /** Writes to this market invalidate the cached value. */
  readonly market?: string;
  /** Whether only published markets have this. The error for a 404 then says so. Such a 404 is not cached. */
  readonly onlyPublished?: boolean;
  /** @throws anything, if the body is not what the specification promises. */
  parse(body: unknown): Parsed<T, Embeddings>;
  /**
   * Splits a long list into pieces, each of which `parse` takes as a list of its own. Other requests get their turn between the pieces, and the
   * values are concatenated. Without it the value is read at once.
   */
  pieces?(body: unknown): readonly unknown[];
  /** The value with its embeddings, if they were wanted. */
  join?(value: T, embeddings: Embeddings): T;
}

/** Reads for one request, and lives as long as that request. */
export interface Reader {
  /**
   * Returns the value at once if memory has it. All other reads of one tick share one round trip to Redis, and equal reads are one read.
   * @throws GatewayError
   */
  read<T, Embeddings>(read: Read<T, Embeddings>, lifetime: Lifetime): MaybePromise<T>;
}

/** What a reader needs from the process. */
export interface ReaderDeps {
  readonly upstream: Upstream;
  readonly cache: Cache;
  readonly telemetry: Telemetry;
  readonly purges: Pick<Purges, 'epochOf'>;
}

/** What the cache keeps of a read: its value, and the records that had to be skipped. */
interface CachedValue {
  readonly value: unknown;
  readonly skipped: readonly SkippedRecord[];
}

type AnyRead = Read<unknown, unknown>;

/** A read and where the cache looks for it. */
interface PendingRead {
  readonly read: AnyRead;
  readonly lookup: Lookup<CachedValue, unknown>;
}

/** Characters. A longer text is parsed in several turns. */
const maxAtOnce = 256 * 1024;

/** Parses the text of a reply, and then its pieces one by one. @throws UpstreamInvalidResponse */
async function parseInTurns(
  { parse, pieces }: AnyRead,
  text: BoundedJson,
  schemaDrift: SchemaDrift,
  client: Scope | undefined,
): Promise<Parsed<unknown, unknown>> {
  const parsePiece = (piece: unknown) => runYielding(client, () => parseLenient(() => parse(piece), schemaDrift));
  await nextTurn();
  const body = await runYielding(client, () => parseReply(text));
  await nextTurn();
  if (pieces === undefined) return parsePiece(body);
  const values: unknown[] = [];
  for (const piece of pieces(body)) values.push(...((await parsePiece(piece)).value as readonly unknown[]));
  await nextTurn();
  return { value: values };
}

/** Sends a read to the service and parses the reply. @throws GatewayError */
async function fetchRead(
  { upstream, telemetry }: Pick<ReaderDeps, 'upstream' | 'telemetry'>,
  read: AnyRead,
  auth: RequestAuth,
  signal: AbortSignal,
): Promise<Loaded<CachedValue, unknown>> {
  const { request, parse } = read;
  const schemaDrift: SchemaDrift = { fields: [], skipped: [] };
  const readReply = (reply: Reply) => {
    const text = replyText(reply, request);
    auth.metadata.claim?.reserveForParsing(text.length);
    const parsed =
      text.length <= maxAtOnce
        ? parseLenient(() => parse(parseReply(text)), schemaDrift)
        : parseInTurns(read, text, schemaDrift, auth.scope);
    return { parsed, bytes: text.length, noStore: forbidsCaching(reply) };
  };
  try {
    const { parsed, bytes, noStore } = await upstream.send(request, auth, readReply, signal);
    const { value, embeddings } = await parsed;
    for (const field of schemaDrift.fields) telemetry.drift(field);
    return {
      value: { value, skipped: schemaDrift.skipped },
      bytes,
      embeddings: request.vectors?.wanted ? embeddings : undefined,
      noStore,
    };
  } catch (error) {
    reportInvalidBody(telemetry, request, error);
    throw error;
  }
}

function withEmbeddings({ join }: AnyRead, value: unknown, embeddings: unknown): unknown {
  return embeddings === undefined || join === undefined ? value : join(value, embeddings);
}

/**
 * Reads from the service itself, past the cache, until the signal of `auth` aborts.
 * @throws GatewayError
 */
export async function readUncached<T, Embeddings>(
  deps: Pick<ReaderDeps, 'upstream' | 'telemetry'>,
  read: Read<T, Embeddings>,
  auth: RequestAuth,
): Promise<{ readonly value: T; readonly skipped: readonly SkippedRecord[] }> {
  const { value, embeddings } = await fetchRead(deps, read as AnyRead, auth, auth.cancellation.signal);
  return { value: withEmbeddings(read as AnyRead, value.value, embeddings?.value) as T, skipped: value.skipped };
}

/** Names every reason that the service may have for a 404: it does not tell them apart, and another call to find out is not worth it. */
function readError({ onlyPublished }: AnyRead, error: unknown): unknown {
  if (!onlyPublished || !(error instanceof NotFound)) return error;
  return new NotFound('The market is not published, does not exist, or is hidden from this credential', error.upstream);
}

/** Creates the reader of one request: memory at once, otherwise a DataLoader over the cache over the service. */
export function createReader(deps: ReaderDeps, auth: RequestAuth): Reader {
  const { scope, cancellation, metadata } = auth;
  const epoch = deps.purges.epochOf(scope);

  const lookupFor = (read: AnyRead, lifetime: Lifetime): Lookup<CachedValue, unknown> => ({
    keys: keysOf(scope, epoch + requestLine(read.request), read.request.vectors?.wanted ?? false),
    family: read.request.family,
    tag: read.market === undefined ? undefined : marketTag(read.market),
    lifetime,
    load: signal => fetchRead(deps, read, auth, signal),
  });

  /** The value of a look-up, after its result is recorded in the metadata. */
  function receive(
    { read, lookup }: PendingRead,
    result: LookupResult<CachedValue, unknown>,
    milliseconds: number,
  ): unknown {
    const { source, value, embeddings, stale, freshUntil, generation, bytes } = result;
    metadata.claim?.noteRead(bytes);
    if (source === 'redis') metadata.claim?.reserveForParsing(bytes);
    if (source !== 'network') {
      const { request } = read;
      metadata.upstreamCalls.push({
        method: request.method,
        path: pathAndQuery(request),
        status: 200,
        milliseconds,
        source,
      });
    }
    metadata.stale ||= stale;
    metadata.cacheableUntil = Math.min(metadata.cacheableUntil, freshUntil);
    if (lookup.tag !== undefined && generation !== undefined) metadata.generations.set(lookup.tag, generation);
    if (value.skipped.length > 0) metadata.skipped.push(...value.skipped);
    return withEmbeddings(read, value.value, embeddings);
  }

  async function readMany(pending: readonly PendingRead[]): Promise<unknown[]> {
    const startedAt = performance.now();
    const lookups = pending.map(({ lookup }) => lookup);
    const found = await deps.cache.loadMany(lookups, cancellation.signal, metadata.operation.span);
    const milliseconds = performance.now() - startedAt;
    return pending.map((each, index) => {
      const result = found[index];
      if (result instanceof Error) return readError(each.read, result);
      return result && receive(each, result, milliseconds);
    });
  }

  // `results` already holds what the loader's own cache would.
  const loader = new DataLoader(readMany, { cache: false });
  const results = new Map<ScopedKey, unknown>();

  return {
    read<T, Embeddings>(read: Read<T, Embeddings>, lifetime: Lifetime) {
      const pending: PendingRead = { read: read as AnyRead, lookup: lookupFor(read as AnyRead, lifetime) };
      const key = lastOf(pending.lookup.keys);
      const earlier = results.get(key);
      if (earlier !== undefined) return earlier as MaybePromise<T>;
      const inMemory = deps.cache.peek(pending.lookup);
      const result = inMemory === undefined ? loader.load(pending) : receive(pending, inMemory, 0);
      results.set(key, result);
      return result as MaybePromise<T>;
    },
  };
}
