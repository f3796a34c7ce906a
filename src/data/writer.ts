import { Conflict, UpstreamFailure } from '../errors.js';
import type { Telemetry } from '../observability/telemetry.js';
import type { Cache } from './cache/cache.js';
import { marketTag } from './cache/tags.js';
import type { RequestAuth } from './request-auth.js';
import { noteInvalid } from './upstream/origins.js';
import { jsonOf, textOf } from './upstream/reply.js';
import type { UpstreamRequest } from './upstream/request.js';
import { parseLenient } from './upstream/schema-drift.js';
import type { Upstream } from './upstream/upstream.js';

/** One write to the service, as a value: what to send, and how to understand the answer. */
export interface Write<T> {
  readonly request: UpstreamRequest & { readonly safe: false };
  /** The market about which everything that is kept becomes stale. */
  readonly market?: string;
  /** The tag of what it begins anew, of which nothing that was known before is of use any more. */
  readonly begins?: string;
  /** @param body what is in the reply, parsed when it is asked for. @throws anything, where it is not what the specification promises. */
  parse(body: () => unknown): T;
}

/** Writes on behalf of one request. */
export interface Writer {
  /**
   * Sends a write exactly once, and waits for its outcome even if the client hangs up: an aborted write is one of unknown outcome.
   * @throws GatewayError; one that is not `retryable` where the outcome is unknown.
   */
  write<T>(write: Write<T>): Promise<T>;
}

/** What a writer needs of the process. */
export interface WriterDeps {
  readonly upstream: Upstream;
  readonly cache: Cache;
  readonly telemetry: Telemetry;
}

export function createWriter({ upstream, cache, telemetry }: WriterDeps, auth: RequestAuth): Writer {
  return {
    async write({ request, market, begins, parse }) {
      const renew = async () => {
        const tags = [market && marketTag(market), begins].filter(tag => tag !== undefined);
        await Promise.all(tags.map(tag => cache.renew(tag)));
      };
      try {
        const reply = await upstream.send(request, auth);
        await renew();
        const { value, drift } = parseLenient(() => parse(() => jsonOf(textOf(reply, request))));
        for (const field of drift.fields) telemetry.drift(field);
        auth.metadata.skipped.push(...drift.leftOut);
        return value;
      } catch (error) {
        noteInvalid(telemetry, request, error);
        // What failed may still have been done; and a conflict tells of a state that was not known here.
        if (error instanceof UpstreamFailure || error instanceof Conflict) await renew();
        throw error;
      }
    },
  };
}
