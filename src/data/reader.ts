import { setImmediate as nextTurn } from 'node:timers/promises';
import DataLoader from 'dataloader';
import { Abandoned } from '../errors.js';
import type { MaybePromise } from '../lib/maybe-promise.js';
import type { SkippedRecord } from '../observability/response-metadata.js';
import type { Telemetry } from '../observability/telemetry.js';
import type { Cache } from './cache/cache.js';
import type { Answer, Lifetime, Loaded, Lookup } from './cache/lookup.js';
import { keysOf, lastOf, type ScopedKey } from './cache/scoped-key.js';
import { marketTag } from './cache/tags.js';
import type { RequestAuth } from './request-auth.js';
import { Cancellation } from './upstream/cancellation.js';
import { noteInvalid } from './upstream/origins.js';
import { forbidsKeeping, jsonOf, textOf } from './upstream/reply.js';
import { pathAndQuery, requestLine, type UpstreamRequest } from './upstream/request.js';
import { type DriftCollector, parseLenient } from './upstream/schema-drift.js';
import type { Upstream } from './upstream/upstream.js';

/** What a body means. The heavy part counts only where the request wanted vectors. */
export interface Parsed<T, H> {
  readonly value: T;
  readonly heavy?: { readonly value: H; readonly bytes: number } | undefined;
}

/** One read of the service, as a value: what to ask, and how to understand the answer. */
export interface Read<T, H = undefined> {
  readonly request: UpstreamRequest & { readonly safe: true };
  /** The market whose writes make the answer stale. */
  readonly market?: string;
  /** @throws anything, where the body is none that the specification promises. */
  parse(body: unknown): Parsed<T, H>;
  /**
   * The pieces of a long list, each of which `parse` takes as a list of its own. They are parsed in turns with the work of other requests, and
   * their values are joined. Left out: the body is parsed at once.
   */
  pieces?(body: unknown): readonly unknown[];
  /** The value with its heavy part, where that was wanted. */
  join?(value: T, heavy: H): T;
}

/** Reads on behalf of one caller; lives as long as its request. */
export interface Reader {
  /** The answer, at once where memory has it. All other reads of one tick share one round trip to Redis, and equal ones are one. @throws GatewayError */
  read<T, H>(read: Read<T, H>, lifetime: Lifetime): MaybePromise<T>;
}

/** What a reader needs of the process. */
export interface ReaderDeps {
  readonly upstream: Upstream;
  readonly cache: Cache;
  readonly telemetry: Telemetry;
}

/** What is kept of a read: its value, and what had to be left out of it. */
interface Kept {
  readonly value: unknown;
  readonly leftOut: readonly SkippedRecord[];
}

type KeptAnswer = Answer<Kept, unknown>;

type AnyRead = Read<unknown, unknown>;

interface Ask {
  readonly read: AnyRead;
  readonly lookup: Lookup<Kept, unknown>;
}

type Source = Pick<ReaderDeps, 'upstream' | 'telemetry'>;

/** What the text of a reply means. */
interface Meaning {
  readonly kept: Kept;
  readonly heavy: Parsed<unknown, unknown>['heavy'];
  /** The fields that strayed. */
  readonly strayed: readonly string[];
}

/** @throws UpstreamInvalidResponse */
function meaningOf(text: string, parse: AnyRead['parse']): Meaning {
  const json = jsonOf(text);
  const { value: parsed, drift } = parseLenient(() => parse(json));
  const kept: Kept = { value: parsed.value, leftOut: drift.leftOut };
  return { kept, heavy: parsed.heavy, strayed: drift.fields };
}

/** The same for a long list, piece by piece. @throws UpstreamInvalidResponse */
async function meaningInTurns({ parse }: AnyRead, pieces: readonly unknown[]): Promise<Meaning> {
  const drift: DriftCollector = { fields: [], leftOut: [] };
  const values: unknown[] = [];
  for (const piece of pieces) {
    await nextTurn();
    const { value } = parseLenient(() => parse(piece), drift).value;
    values.push(...(value as readonly unknown[]));
  }
  await nextTurn();
  return { kept: { value: values, leftOut: drift.leftOut }, heavy: undefined, strayed: drift.fields };
}

/** Apart from where the text is read, since a closure holds what any of its neighbours needs. */
function againFrom(text: string, parse: AnyRead['parse']): () => Kept {
  return () => meaningOf(text, parse).kept;
}

/** What the service itself says of a read, and what of that has to be left out. */
function fetched(
  { upstream, telemetry }: Source,
  read: AnyRead,
  auth: RequestAuth,
  cancellation: Cancellation,
): Promise<Loaded<Kept, unknown>> {
  const { request, parse, pieces } = read;
  return upstream
    .send(request, auth, cancellation)
    .then(reply => {
      const text = textOf(reply, request);
      auth.metadata.claim?.parses(text.length);
      const loaded = ({ kept, heavy: found, strayed }: Meaning): Loaded<Kept, unknown> => {
        for (const field of strayed) telemetry.drift(field);
        const heavy = request.vectors?.wanted ? found : undefined;
        // With vectors in it the text would be larger than the value without them, and a long list takes long to parse again.
        const again = heavy === undefined && pieces === undefined ? againFrom(text, parse) : undefined;
        return { value: kept, bytes: text.length, again, heavy, noStore: forbidsKeeping(reply) };
      };
      if (pieces === undefined) return loaded(meaningOf(text, parse));
      return meaningInTurns(read, pieces(jsonOf(text))).then(loaded);
    })
    .catch((error: unknown) => {
      noteInvalid(telemetry, request, error);
      throw error;
    });
}

function joined({ join }: AnyRead, value: unknown, heavy: unknown): unknown {
  return heavy === undefined || join === undefined ? value : join(value, heavy);
}

/**
 * Reads from the service itself, past the cache, until the signal of `auth` aborts.
 * @throws GatewayError
 */
export async function readUncached<T, H>(
  source: Source,
  read: Read<T, H>,
  auth: RequestAuth,
): Promise<{ readonly value: T; readonly leftOut: readonly SkippedRecord[] }> {
  const cancellation = new Cancellation();
  const abandon = () => cancellation.cancel(new Abandoned('Nobody listens any more'));
  const { signal } = auth.until;
  if (signal.aborted) abandon();
  signal.addEventListener('abort', abandon);
  try {
    const { value, heavy } = await fetched(source, read as AnyRead, auth, cancellation);
    return { value: joined(read as AnyRead, value.value, heavy?.value) as T, leftOut: value.leftOut };
  } finally {
    signal.removeEventListener('abort', abandon);
  }
}

/** Memory at once, else a DataLoader over the cache over the service; for one request. */
export function createReader(parts: ReaderDeps, auth: RequestAuth): Reader {
  const { scope, until, metadata } = auth;

  const lookupFor = (read: AnyRead, lifetime: Lifetime): Lookup<Kept, unknown> => ({
    keys: keysOf(scope, requestLine(read.request), read.request.vectors?.wanted ?? false),
    family: read.request.family,
    tag: read.market === undefined ? undefined : marketTag(read.market),
    lifetime,
    load: cancellation => fetched(parts, read, auth, cancellation),
  });

  /** What an answer holds, once it is recorded in the metadata. */
  function received({ read, lookup }: Ask, answer: KeptAnswer, milliseconds: number): unknown {
    const { source, value, heavy, stale, freshUntil, generation, bytes } = answer;
    metadata.claim?.uses(bytes);
    if (source === 'redis') metadata.claim?.parses(bytes);
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
    if (value.leftOut.length > 0) metadata.skipped.push(...value.leftOut);
    return joined(read, value.value, heavy);
  }

  async function readMany(asks: readonly Ask[]): Promise<unknown[]> {
    const startedAt = performance.now();
    const lookups = asks.map(({ lookup }) => lookup);
    const answers = await parts.cache.loadMany(lookups, until.signal);
    const milliseconds = performance.now() - startedAt;
    return asks.map((ask, index) => {
      const answer = answers[index];
      return answer === undefined || answer instanceof Error ? answer : received(ask, answer, milliseconds);
    });
  }

  // Its own memory is not needed: these have them all.
  const loader = new DataLoader(readMany, { cache: false });
  const answers = new Map<ScopedKey, unknown>();

  return {
    read<T, H>(read: Read<T, H>, lifetime: Lifetime) {
      const ask: Ask = { read: read as AnyRead, lookup: lookupFor(read as AnyRead, lifetime) };
      const { lookup } = ask;
      const key = lastOf(lookup.keys);
      const before = answers.get(key);
      if (before !== undefined) return before as MaybePromise<T>;
      const remembered = parts.cache.peek(lookup);
      const answer = remembered === undefined ? loader.load(ask) : received(ask, remembered, 0);
      answers.set(key, answer);
      return answer as MaybePromise<T>;
    },
  };
}
