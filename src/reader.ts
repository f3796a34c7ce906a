import DataLoader from 'dataloader';
import type { Cache } from './cache/cache.js';
import type { Answer, Lifetime, Loaded } from './cache/lookup.js';
import type { Caller } from './caller.js';
import type { LeftOut, Source } from './receipt.js';
import type { Telemetry } from './telemetry.js';
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
  /** The answer, kept or new. All reads of one tick share one round trip to Redis, and equal ones are one. @throws GatewayError */
  read<T, H>(read: Read<T, H>, lifetime: Lifetime): Promise<{ readonly value: T; readonly heavy: H | undefined }>;
}

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

interface Ask {
  readonly read: Read<unknown, unknown>;
  readonly lifetime: Lifetime;
}

/** A DataLoader over the cache over the service, for one request. */
export function createReader({ upstream, cache, telemetry }: ReaderParts, caller: Caller): Reader {
  const { scope, signal, receipt } = caller;

  async function fetch(
    { request, parse }: Read<unknown, unknown>,
    flight: AbortSignal,
  ): Promise<Loaded<Kept, unknown>> {
    const reply = await upstream.send(request, caller, flight);
    const { json, bytes } = jsonOf(reply, request);
    const { value: parsed, drift } = understood(() => parse(json));
    for (const field of drift.fields) telemetry.drift(field);
    const value = { value: parsed.value, leftOut: drift.leftOut };
    return { value, bytes, heavy: parsed.heavy, noStore: forbidsKeeping(reply) };
  }

  const lookupFor = ({ read, lifetime }: Ask) => ({
    key: requestLine(read.request),
    tag: read.market === undefined ? undefined : `market:${read.market}`,
    heavy: read.request.vectors?.wanted ?? false,
    lifetime,
    load: (flight: AbortSignal) => fetch(read, flight),
  });

  function record({ method, ...request }: UpstreamRequest, source: Source, milliseconds: number): void {
    if (source === 'network') return;
    const path = pathAndQuery({ method, ...request });
    receipt.lines.push({ method, path, status: 200, milliseconds, source });
  }

  async function readMany(asks: readonly Ask[]): Promise<(Answer<Kept, unknown> | Error)[]> {
    const startedAt = performance.now();
    const lookups = asks.map(lookupFor);
    const answers = await cache.loadMany(scope, lookups, signal);
    const milliseconds = performance.now() - startedAt;
    for (const [index, answer] of answers.entries()) {
      const ask = asks[index];
      if (ask === undefined || answer instanceof Error) continue;
      record(ask.read.request, answer.source, milliseconds);
      receipt.stale ||= answer.stale;
      receipt.keepUntil = Math.min(receipt.keepUntil, answer.freshUntil);
      const { tag } = lookups[index] ?? {};
      if (tag !== undefined && answer.generation !== undefined) receipt.generations.set(tag, answer.generation);
      receipt.leftOut.push(...answer.value.leftOut);
    }
    return answers;
  }

  const loader = new DataLoader(readMany, { cacheKeyFn: ask => `${lookupFor(ask).heavy} ${lookupFor(ask).key}` });
  return {
    async read<T, H>(read: Read<T, H>, lifetime: Lifetime) {
      const { value, heavy } = await loader.load({ read, lifetime });
      return { value: value.value as T, heavy: heavy as H | undefined };
    },
  };
}
