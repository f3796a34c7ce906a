import DataLoader from 'dataloader';
import type { Cache } from './cache/cache.js';
import type { Answer, Lifetime, Loaded, Lookup } from './cache/lookup.js';
import type { Caller } from './caller.js';
import { Cancellation } from './cancellation.js';
import { Abandoned } from './errors.js';
import { after, type MaybePromise } from './maybe-promise.js';
import type { LeftOut } from './receipt.js';
import type { Telemetry } from './telemetry.js';
import type { Asker } from './upstream/asker.js';
import { forbidsKeeping, jsonOf } from './upstream/body.js';
import { understood } from './upstream/drift.js';
import { pathAndQuery, requestLine, type UpstreamRequest } from './upstream/request.js';
import type { Upstream } from './upstream/upstream.js';

/** What a body means. The heavy part is there where the request wanted vectors. */
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
}

/** Reads on behalf of one caller; lives as long as its request. */
export interface Reader {
  /** The answer, at once where memory has it. All other reads of one tick share one round trip to Redis, and equal ones are one. @throws GatewayError */
  read<T, H>(read: Read<T, H>, lifetime: Lifetime): MaybePromise<{ readonly value: T; readonly heavy: H | undefined }>;
}

/** What was read, apart from its heavy part. */
export const contentOf = <T>({ value }: { readonly value: T }): T => value;

/** What a reader needs of the process. */
export interface ReaderParts {
  readonly upstream: Upstream;
  readonly cache: Cache;
  readonly telemetry: Telemetry;
}

/** What is kept of a read: its value, and what had to be left out of it. */
interface Kept {
  readonly value: unknown;
  readonly leftOut: readonly LeftOut[];
}

type KeptAnswer = Answer<Kept, unknown>;

interface Ask {
  readonly request: UpstreamRequest;
  readonly lookup: Lookup<Kept, unknown>;
}

/** What the service itself said of a read, and what of that had to be left out. */
type Fetched<T, H> = Loaded<{ readonly value: T; readonly leftOut: readonly LeftOut[] }, H>;

type Source = Pick<ReaderParts, 'upstream' | 'telemetry'>;

async function fetched<T, H>(
  { upstream, telemetry }: Source,
  { request, parse }: Read<T, H>,
  asker: Asker,
  cancellation: Cancellation,
): Promise<Fetched<T, H>> {
  const reply = await upstream.send(request, asker, cancellation);
  const { json, bytes } = jsonOf(reply, request);
  const { value: parsed, drift } = understood(() => parse(json));
  for (const field of drift.fields) telemetry.drift(field);
  const value = { value: parsed.value, leftOut: drift.leftOut };
  return { value, bytes, heavy: parsed.heavy, noStore: forbidsKeeping(reply) };
}

/**
 * Asks the service itself, whatever is kept.
 * @param until aborts when nobody wants to know any more.
 * @throws GatewayError
 */
export async function readAnew<T, H>(
  source: Source,
  read: Read<T, H>,
  asker: Asker,
  until: AbortSignal,
): Promise<Fetched<T, H>> {
  const cancellation = new Cancellation();
  const abandon = () => cancellation.cancel(new Abandoned('Nobody listens any more'));
  if (until.aborted) abandon();
  until.addEventListener('abort', abandon);
  try {
    return await fetched(source, read, asker, cancellation);
  } finally {
    until.removeEventListener('abort', abandon);
  }
}

/** Memory at once, else a DataLoader over the cache over the service; for one request. */
export function createReader(parts: ReaderParts, caller: Caller): Reader {
  const { scope, until, receipt } = caller;

  const lookupFor = (read: Read<unknown, unknown>, lifetime: Lifetime): Lookup<Kept, unknown> => ({
    key: requestLine(read.request),
    family: read.request.family,
    tag: read.market === undefined ? undefined : `market:${read.market}`,
    heavy: read.request.vectors?.wanted ?? false,
    lifetime,
    load: cancellation => fetched(parts, read, caller, cancellation),
  });

  function record(request: UpstreamRequest, tag: string | undefined, answer: KeptAnswer, milliseconds: number): void {
    const { source, value, stale, freshUntil, generation } = answer;
    if (source !== 'network') {
      receipt.lines.push({ method: request.method, path: pathAndQuery(request), status: 200, milliseconds, source });
    }
    receipt.stale ||= stale;
    receipt.keepUntil = Math.min(receipt.keepUntil, freshUntil);
    if (tag !== undefined && generation !== undefined) receipt.generations.set(tag, generation);
    if (value.leftOut.length > 0) receipt.leftOut.push(...value.leftOut);
  }

  async function readMany(asks: readonly Ask[]): Promise<(KeptAnswer | Error)[]> {
    const startedAt = performance.now();
    const lookups = asks.map(({ lookup }) => lookup);
    const answers = await parts.cache.loadMany(scope, lookups, until.signal);
    const milliseconds = performance.now() - startedAt;
    for (const [index, { request, lookup }] of asks.entries()) {
      const answer = answers[index];
      if (answer === undefined || answer instanceof Error) continue;
      record(request, lookup.tag, answer, milliseconds);
    }
    return answers;
  }

  // Its own memory is not needed: these have them all.
  const loader = new DataLoader(readMany, { cache: false });
  const answers = new Map<string, MaybePromise<KeptAnswer>>();
  const heavyAnswers: typeof answers = new Map();

  function answerTo({ request, lookup }: Ask): MaybePromise<KeptAnswer> {
    const known = lookup.heavy ? heavyAnswers : answers;
    const before = known.get(lookup.key);
    if (before !== undefined) return before;
    const remembered = parts.cache.peek(scope, lookup);
    if (remembered !== undefined) record(request, lookup.tag, remembered, 0);
    const answer = remembered ?? loader.load({ request, lookup });
    known.set(lookup.key, answer);
    return answer;
  }

  return {
    read<T, H>(read: Read<T, H>, lifetime: Lifetime) {
      const contents = ({ value, heavy }: KeptAnswer) => ({ value: value.value as T, heavy: heavy as H | undefined });
      return after(answerTo({ request: read.request, lookup: lookupFor(read, lifetime) }), contents);
    },
  };
}
