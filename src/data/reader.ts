// The reads of one request: batched, cached, and parsed.
import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Scope } from '../auth/credentials.js';
import { NotFound } from '../errors.js';
import { type MaybePromise, runYielding } from '../lib/run.js';
import type { Telemetry } from '../observability/telemetry.js';
import type { Cache, Lifetime, Load, Loaded, Lookup, LookupResult } from './cache/cache.js';
import { marketTag, type ScopedKey, scopedKey } from './cache/keys.js';
import { isLeftOut, leftOutAt, parseLenient, type SchemaDrift } from './parsing.js';
import { contentOf, replyText } from './upstream/reply.js';
import {
  forbidsStoring,
  type NamedRecord,
  type Reply,
  type RequestAuth,
  type UpstreamRequest,
} from './upstream/request.js';
import type { Upstream } from './upstream/upstream.js';

/** Reads from the service itself. */
export type Fetch = <T>(read: Read<T>) => Promise<T>;

/** What all reads of an endpoint have in common, beside the paths in the `client.ts` of its domain. */
export interface ServiceEndpoint
  extends Pick<UpstreamRequest, 'family' | 'address' | 'method' | 'argument' | 'bounds'> {
  /** The member of a reply that names what the path names. A reply that names another one is invalid. Undefined: the path names nothing. */
  readonly idMember: NamedRecord['member'] | undefined;
  /** The member that holds number arrays. Undefined: none does. */
  readonly vectorMember?: string;
  /** Whether only published markets have this. The error for a 404 then says so. */
  readonly onlyPublished?: boolean;
  readonly lifetime: Lifetime;
  /**
   * Raise it with every change to the model: gateways of two versions then have cache entries and polls of their own. `test/model-version.test.ts`
   * fails if the models of a domain changed.
   */
  readonly version: number;
}

/** What most endpoints have: they read something of the market that their path names. */
export const ofMarket = { address: 'base', method: 'GET', idMember: 'marketId' } as const;

/**
 * How long responses are cached. While the service fails, an expired one is served for ten times its lifetime.
 * @param absent how many seconds it is remembered that a record does not exist.
 */
export const cachedFor = (seconds: number, absent = 0): Lifetime => ({
  maxAge: seconds * 1_000,
  grace: seconds * 10_000,
  absent: absent * 1_000,
});

/** The request to an endpoint. @param id what the path names. @param wantsVectors whether the reply's number arrays are wanted. */
export const requestTo = (endpoint: ServiceEndpoint, path: string, id?: string, wantsVectors = false) => ({
  // Each by its name: a copy of the endpoint would take microseconds in every read.
  family: endpoint.family,
  version: endpoint.version,
  lifetime: endpoint.lifetime,
  onlyPublished: endpoint.onlyPublished,
  address: endpoint.address,
  method: endpoint.method,
  argument: endpoint.argument,
  bounds: endpoint.bounds,
  path,
  record: id === undefined || endpoint.idMember === undefined ? undefined : { id, member: endpoint.idMember },
  vectors: endpoint.vectorMember === undefined ? undefined : { member: endpoint.vectorMember, wanted: wantsVectors },
  safe: true as const,
});

/** One read of the service, as a value: which request to send, and how to parse the reply. */
export interface Read<T> {
  readonly request: UpstreamRequest & ReturnType<typeof requestTo>;
  /** The tag of the cached value, such as `market:7`: renewing it makes the value stale. */
  tag?(scope: Scope): string;
  /** Whether an older value may replace a failing call even after the tag was renewed: there is something newer, but it is not wrong. */
  readonly outlivesTag?: boolean;
  /** Reads something else first, each time that this is read from the service: `parse` makes one value of both. Such a read has cache entries of its own. */
  before?(fetch: Fetch): Promise<unknown>;
  /** @param before what `before` found. @throws anything, if the body is not what the specification promises. */
  parse(body: unknown, before?: unknown): T;
  /** Splits a long list into pieces, each a list for `parse`. Other requests get their turn in between, and the values are concatenated. */
  pieces?(body: unknown): readonly unknown[];
}

/** A read of a market, or of what belongs to it. @param model of the body. */
export function marketRead<T>(
  market: string,
  endpoint: ServiceEndpoint,
  path: string,
  model: { parse(body: unknown): T },
): Read<T> {
  return {
    request: requestTo(endpoint, path, market),
    tag: () => marketTag(market),
    parse: body => model.parse(body),
  };
}

/** Reads for one request, and lives as long as that request. */
export type Reader = ReturnType<typeof createReader>;

export interface ReaderDeps {
  readonly upstream: Upstream;
  readonly cache: Cache;
  readonly telemetry: Telemetry;
}

/** A read, and where the cache looks for it. One object, because an operation has hundreds. */
interface PendingRead extends Lookup {
  readonly read: Read<unknown>;
}

/** Each by its name, as in `requestTo`. */
const pendingOf = (read: Read<unknown>, key: ScopedKey, tag: string | undefined): PendingRead => ({
  key,
  tag,
  family: read.request.family,
  lifetime: read.request.lifetime,
  isLarge: read.request.bounds !== undefined || read.request.vectors?.wanted,
  outlivesTag: read.outlivesTag,
  read,
  /** Is replaced where memory cannot answer the read. */
  receive: () => {},
});

/** Characters. A longer text is parsed in several turns. */
const maxAtOnce = 256 * 1024;

/** Parses the text of a reply, and then its pieces one by one. @throws GatewayError */
async function parseInTurns(
  read: Read<unknown>,
  content: () => unknown,
  schemaDrift: SchemaDrift,
  client: Scope | undefined,
): Promise<unknown> {
  const parsePiece = (piece: unknown) => runYielding(client, () => parseLenient(read, piece, schemaDrift));
  await nextTurn();
  const body = await runYielding(client, content);
  await nextTurn();
  if (read.pieces === undefined) return parsePiece(body);
  const values: unknown[] = [];
  for (const piece of read.pieces(body)) {
    const start = values.length;
    const items = (await parsePiece(piece)) as readonly unknown[];
    values.push(...items.map(item => (isLeftOut(item) ? leftOutAt(item, start + item.$leftOut.index) : item)));
  }
  await nextTurn();
  return values;
}

/** Makes the reply to a read what the cache keeps of it. @param before what the read found before. @throws GatewayError */
function loadedFrom(
  telemetry: Telemetry,
  auth: RequestAuth,
  read: Read<unknown>,
  reply: Reply,
  before?: unknown,
): MaybePromise<Loaded> {
  // What is not becomes U+FFFD.
  const fields = isUtf8(reply.body) ? [] : [`${read.request.family}: a text that is not UTF-8`];
  const text = replyText(reply, read.request);
  auth.metadata.claim?.reserveForParsing(text.length);
  const schemaDrift: SchemaDrift = { fields, leftOut: 0 };
  const loaded = (value: unknown): Loaded => {
    for (const field of schemaDrift.fields) telemetry.drift(field);
    return {
      value,
      bytes: Buffer.byteLength(text) + (before === undefined ? 0 : JSON.stringify(before).length),
      characters: text.length,
      noStore: forbidsStoring(reply),
    };
  };
  const parser = before === undefined ? read : { ...read, parse: (body: unknown) => read.parse(body, before) };
  const content = () => contentOf(text, reply, read.request);
  return text.length <= maxAtOnce
    ? loaded(parseLenient(parser, content(), schemaDrift))
    : parseInTurns(parser, content, schemaDrift, auth.scope).then(loaded);
}

/** Reads from the service itself, past the cache, and what the read reads before it, until the signal of `auth` aborts. @throws GatewayError */
export async function readUncached<T>(deps: ReaderDeps, read: Read<T>, auth: RequestAuth): Promise<Loaded<T>> {
  let noStore = false;
  const before = await read.before?.(async other => {
    const found = await readUncached(deps, other, auth);
    noStore ||= found.noStore;
    return found.value;
  });
  const load = (reply: Reply) => loadedFrom(deps.telemetry, auth, read, reply, before) as MaybePromise<Loaded<T>>;
  const loaded = await deps.upstream.send(read.request, auth, load, auth.cancellation.signal);
  return noStore ? { ...loaded, noStore } : loaded;
}

/** Loads a read that reads something else first. */
const loaderOfOne =
  (deps: ReaderDeps, auth: RequestAuth): Load<PendingRead> =>
  ([pending], receiver) => {
    const controller = new AbortController();
    readUncached(deps, (pending as PendingRead).read, { ...auth, cancellation: controller }).then(
      loaded => receiver.resolve(0, loaded),
      error => receiver.reject(0, error),
    );
    return { abort: (_, reason) => controller.abort(reason) };
  };

/** Names every reason that the service may have for a 404: it does not tell them apart, and another call to find out is not worth it. */
function readError({ request }: Read<unknown>, error: unknown): unknown {
  if (!request.onlyPublished || !(error instanceof NotFound)) return error;
  return new NotFound('The market is not published, does not exist, or is hidden from this credential', error.upstream);
}

/** What a read has in its key, besides its scope. With vectors it is another read: they are a hundred times as large as the rest. */
function nameOf({ request: { family, version, address, method, path, body, vectors }, before }: Read<unknown>): string {
  const added = `${vectors?.wanted ? ' with vectors' : ''}${before === undefined ? '' : ' after another read'}`;
  // A client can make a body as long as its own request.
  const sent = body === undefined ? '' : ` ${hash('sha256', JSON.stringify(body))}`;
  return `${family}.${version} ${address} ${method} ${path}${added}${sent}`;
}

/** Creates the reader of one request: memory at once, otherwise the reads of a tick together from the cache over the service. */
export function createReader(deps: ReaderDeps, auth: RequestAuth) {
  const { upstream, cache, telemetry } = deps;
  const { scope, cancellation, metadata } = auth;
  const epoch = cache.generations.epochOf(scope);
  const keyOf = (read: Read<unknown>) => scopedKey(scope, epoch + nameOf(read));
  /** Each value, or its promise, by the key of its look-up. */
  const known = new Map<ScopedKey, unknown>();
  const readAgain = new Map<ScopedKey, Promise<Loaded>>();
  /** The reads of this tick that read nothing else first. */
  const batch: PendingRead[] = [];

  /** The value of a read, after its result is recorded in the metadata. @throws Overloaded, RateLimited */
  function valueFrom({ read, tag }: PendingRead, result: LookupResult, milliseconds: number): unknown {
    const { source, value, stale, freshUntil, generation, bytes } = result;
    if (source === 'redis' || source === 'flight') metadata.claim?.reserveForParsing(bytes);
    if (source !== 'network') {
      const { method, path, family } = read.request;
      metadata.noteCall({ method, path, status: 200, milliseconds, source }, family);
    }
    metadata.stale ||= stale;
    metadata.cacheableUntil = Math.min(metadata.cacheableUntil, freshUntil);
    if (tag === undefined || generation === undefined) return value;
    const earlier = metadata.generations.get(tag);
    // Between two of its reads there was a write: the response belongs to neither generation.
    if (earlier !== undefined && earlier !== generation) metadata.forbidCaching();
    metadata.generations.set(tag, generation);
    return value;
  }

  const load: Load<PendingRead> = (reads, receiver) =>
    upstream.sendBatch({
      requests: reads.map(({ read }) => read.request),
      auth,
      read: (index, reply) => loadedFrom(telemetry, auth, (reads[index] as PendingRead).read, reply),
      receiver,
    });

  const runBatch = () => void run(batch.splice(0), load);

  /** Never rejects. */
  async function run(reads: readonly PendingRead[], load: Load<PendingRead>): Promise<void> {
    try {
      await cache.loadMany(reads, load, cancellation.signal, metadata.operation.span);
    } catch (error) {
      for (const pending of reads) pending.receive(error as Error);
    }
  }

  return {
    /** The value past everything that is cached, once for each read. @throws GatewayError */
    readAgain<T>(read: Read<T>): Promise<T> {
      const key = keyOf(read);
      const again =
        readAgain.get(key) ??
        readUncached(deps, read, auth).catch(error => {
          throw readError(read, error);
        });
      readAgain.set(key, again);
      return again.then(({ value }) => value as T);
    },
    /** Whether the service was called for a read. Otherwise its value may be older than others. */
    wasCalled: ({ request }: Read<unknown>): boolean => metadata.hasCalled(request.path),
    /** The value that memory has, even if it is old; undefined without one. Reads nothing from the service. */
    remembered: <T>(read: Read<T>): T | undefined => cache.remembered(keyOf(read)) as T | undefined,
    /** The value at once if memory has it. All other reads of a tick share one round trip to Redis; equal ones are one read. @throws GatewayError */
    read<T>(read: Read<T>): MaybePromise<T> {
      const key = keyOf(read);
      const earlier = known.get(key);
      if (earlier !== undefined) return earlier as MaybePromise<T>;
      const pending = pendingOf(read, key, read.tag?.(scope));
      const inMemory = cache.peek(pending);
      const result =
        inMemory !== undefined
          ? valueFrom(pending, inMemory, 0)
          : new Promise((resolve, reject) => {
              const startedAt = performance.now();
              pending.receive = outcome => {
                if (outcome instanceof Error) return reject(readError(read, outcome));
                try {
                  resolve(valueFrom(pending, outcome, performance.now() - startedAt));
                } catch (error) {
                  reject(error);
                }
              };
              if (read.before !== undefined) return void run([pending], loaderOfOne(deps, auth));
              // Once everything that this tick resolves has had the chance to read, too.
              if (batch.length === 0) void Promise.resolve().then(() => process.nextTick(runBatch));
              batch.push(pending);
            });
      known.set(key, result);
      return result as MaybePromise<T>;
    },
  };
}
