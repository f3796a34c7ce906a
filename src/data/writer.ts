import { AcceptedUnread, Conflict, UpstreamFailure } from '../errors.js';
import type { WriteEffect } from './cache/generations.js';
import { marketTag } from './cache/keys.js';
import type { ReaderDeps } from './reader.js';
import { parseReply, replyText } from './upstream/reply.js';
import type { RequestAuth, UpstreamRequest } from './upstream/request.js';
import { parseLenient, type SchemaDrift } from './upstream/schema-drift.js';

/** One write to the service, as a value: which request to send, and how to parse the reply. */
export interface Write<T> {
  readonly request: UpstreamRequest & { readonly safe: false };
  /** The market whose cached values the write invalidates. */
  readonly market?: string;
  /** The tag of a process of which the write starts a new run: cached values and states of earlier runs become invalid. */
  readonly restartsTag?: string;
  /** @param body returns the parsed body; a write that does not call it ignores the body. @throws anything, if the body is not what the specification promises. */
  parse(body: () => unknown): T;
}

/** What a failed write has done. A conflict means that the cached state is outdated. What may be retried was not sent. */
function effectOf(error: unknown): WriteEffect {
  if (error instanceof AcceptedUnread || error instanceof Conflict) return 'done';
  return error instanceof UpstreamFailure && error.extensions.retryable === false ? 'unknown' : 'none';
}

/**
 * Sends a write exactly once, and waits for its outcome even if the client disconnects: the outcome of an aborted write would be unknown.
 * @returns an AcceptedUnread in place of the result if only the response cannot be read: GraphQL reports it where the result is selected.
 * @throws GatewayError; one that is not `retryable` if the outcome is unknown.
 */
export async function sendWrite<T>(
  { upstream, cache, telemetry }: ReaderDeps,
  auth: RequestAuth,
  { request, market, restartsTag, parse }: Write<T>,
): Promise<T> {
  const tags = [market && marketTag(market), restartsTag].filter(tag => tag !== undefined);
  const ends = await Promise.all(tags.map(tag => cache.generations.begin(tag)));
  const end = (effect: WriteEffect) => Promise.all(ends.map(endOf => endOf(effect)));
  const schemaDrift: SchemaDrift = { fields: [], skipped: [] };
  try {
    const value = await upstream.send(request, auth, reply => {
      const body = () => parseReply(replyText(reply, request));
      try {
        return parseLenient({ parse }, body, schemaDrift);
      } catch {
        throw new AcceptedUnread();
      }
    });
    await end('done');
    for (const field of schemaDrift.fields) telemetry.drift(field);
    auth.metadata.noteSkipped(schemaDrift.skipped);
    return value;
  } catch (error) {
    await end(effectOf(error));
    if (!(error instanceof AcceptedUnread)) throw error;
    return (restartsTag === undefined ? error : new AcceptedUnread('read the jobs to see what it started')) as never;
  }
}
