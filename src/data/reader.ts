import { setImmediate as nextTurn } from 'node:timers/promises';
import DataLoader from 'dataloader';
import type { Scope } from '../auth/credentials.js';
import { NotFound } from '../errors.js';
import type { BoundedJson } from '../lib/json.js';
import type { MaybePromise } from '../lib/maybe-promise.js';
import { runYielding } from '../lib/run-yielding.js';
import type { SkippedRecord } from '../observability/response-metadata.js';
import type { Telemetry } from '../observability/telemetry.js';
import type { Cache, Lifetime, Loaded, Lookup, LookupResult } from './cache/cache.js';
import { keysOf, lookupKey, marketTag, type ScopedKey } from './cache/keys.js';
import { forbidsCaching, parseReply, type Reply, replyText } from './upstream/reply.js';
import type { RequestAuth, UpstreamRequest } from './upstream/request.js';
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
  /** The tag of the cached value, such as `market:7`: renewing it makes the value stale. */
  tag?(scope: Scope): string;
  /** Whether an older value may replace a failing call even after the tag was renewed: there is something newer, but it is not wrong. */
  readonly outlivesTag?: boolean;
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

/** A read of what belongs to one market, with a GET at an address of the service. @param model of the body. */
export function marketRead<T>(
  market: string,
  request: Pick<UpstreamRequest, 'family' | 'path'> & Partial<Pick<UpstreamRequest, 'address'>>,
  model: { parse(body: unknown): T },
): Read<T> {
  return {
    request: { address: 'base', method: 'GET', argument: 'id', safe: true, ...request },
    tag: () => marketTag(market),
    parse: body => ({ value: model.parse(body) }),
  };
}

/** Reads for one request, and lives as long as that request. */
export interface Reader {
  /**
   * Returns the value at once if memory has it. All other reads of one tick share one round trip to Redis, and equal reads are one read.
   * @throws GatewayError
   */
  read<T, Embeddings>(read: Read<T, Embeddings>, lifetime: Lifetime): MaybePromise<T>;
}

/** What a reader or a writer needs from the process. */
export interface ReaderDeps {
  readonly upstream: Upstream;
  readonly cache: Cache;
  readonly telemetry: Telemetry;
}

/** What the cache keeps of a read: its value, and the records that had to be skipped. */
interface CachedValue {
  readonly value: unknown;
  readonly skipped: readonly SkippedRecord[];
}

type AnyRead = Read<unknown, unknown>;

/** A read and where the cache looks for it. */
interface PendingRead extends Lookup<CachedValue, unknown> {
  readonly read: AnyRead;
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
function fetchRead(
  { upstream, telemetry }: Pick<ReaderDeps, 'upstream' | 'telemetry'>,
  read: AnyRead,
  auth: RequestAuth,
  signal: AbortSignal,
): Promise<Loaded<CachedValue, unknown>> {
  const { request } = read;
  const readReply = (reply: Reply): MaybePromise<Loaded<CachedValue, unknown>> => {
    const text = replyText(reply, request);
    auth.metadata.claim?.reserveForParsing(text.length);
    const schemaDrift: SchemaDrift = { fields: [], skipped: [] };
    const loadedOf = ({ value, embeddings }: Parsed<unknown, unknown>) => {
      for (const field of schemaDrift.fields) telemetry.drift(field);
      return {
        value: { value, skipped: schemaDrift.skipped },
        bytes: text.length,
        embeddings: request.vectors?.wanted ? embeddings : undefined,
        noStore: forbidsCaching(reply),
      };
    };
    return text.length <= maxAtOnce
      ? loadedOf(parseLenient(() => read.parse(parseReply(text)), schemaDrift))
      : parseInTurns(read, text, schemaDrift, auth.scope).then(loadedOf);
  };
  return upstream.send(request, auth, readReply, signal);
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

/** What tells one read from another: address, method, path, query and body. */
function requestLine({ address, method, path, body }: UpstreamRequest): string {
  const line = `${address} ${method} ${path}`;
  return body === undefined ? line : `${line} ${JSON.stringify(body)}`;
}

/** Creates the reader of one request: memory at once, otherwise a DataLoader over the cache over the service. */
export function createReader(deps: ReaderDeps, auth: RequestAuth): Reader {
  const { scope, cancellation, metadata } = auth;
  const epoch = deps.cache.epochOf(scope);

  /** The value of a read, after its result is recorded in the metadata. */
  function receive({ read, tag }: PendingRead, result: LookupResult<CachedValue, unknown>, milliseconds: number) {
    const { source, value, embeddings, stale, freshUntil, generation, bytes } = result;
    metadata.claim?.noteRead(bytes);
    if (source === 'redis') metadata.claim?.reserveForParsing(bytes);
    if (source !== 'network') {
      const { method, path, family } = read.request;
      metadata.noteCall({ method, path, status: 200, milliseconds, source }, family);
    }
    metadata.stale ||= stale;
    metadata.cacheableUntil = Math.min(metadata.cacheableUntil, freshUntil);
    if (tag !== undefined && generation !== undefined) metadata.generations.set(tag, generation);
    if (value.skipped.length > 0) metadata.skipped.push(...value.skipped);
    return withEmbeddings(read, value.value, embeddings);
  }

  async function readMany(pending: readonly PendingRead[]): Promise<unknown[]> {
    const startedAt = performance.now();
    const results = await deps.cache.loadMany(pending, cancellation.signal, metadata.operation.span);
    const milliseconds = performance.now() - startedAt;
    return pending.map((each, index) => {
      const result = results[index];
      if (result instanceof Error) return readError(each.read, result);
      return result && receive(each, result, milliseconds);
    });
  }

  // `known` already holds what the loader's own cache would.
  const loader = new DataLoader(readMany, { cache: false });
  const known = new Map<ScopedKey, unknown>();

  return {
    read<T, Embeddings>(given: Read<T, Embeddings>, lifetime: Lifetime) {
      const read = given as AnyRead;
      const { request } = read;
      const keys = keysOf(scope, epoch + requestLine(request), request.vectors?.wanted ?? false);
      const key = lookupKey(keys);
      const earlier = known.get(key);
      if (earlier !== undefined) return earlier as MaybePromise<T>;
      const pending: PendingRead = {
        read,
        keys,
        family: request.family,
        tag: read.tag?.(scope),
        outlivesTag: read.outlivesTag,
        lifetime,
        load: signal => fetchRead(deps, read, auth, signal),
      };
      const inMemory = deps.cache.peek(pending);
      const result = inMemory === undefined ? loader.load(pending) : receive(pending, inMemory, 0);
      known.set(key, result);
      return result as MaybePromise<T>;
    },
  };
}
