// Writes to the service, and what they make stale.
import type { z } from 'zod';
import type { AcceptedScopes } from '../auth/accepted-scopes.js';
import type { Scope } from '../auth/credentials.js';
import { Conflict, UpstreamFailure, UpstreamInvalidResponse } from '../errors.js';
import type { WriteEffect } from './cache/generations.js';
import { marketTag } from './cache/keys.js';
import { parseLenient, type SchemaDrift } from './parsing.js';
import type { ReaderDeps } from './reader.js';
import type { StartedRuns } from './started-runs.js';
import { contentOf, replyText } from './upstream/reply.js';
import type { RecordRequest, Reply, RequestAuth } from './upstream/request.js';

/** One write to the service, as a value: which request to send, and what its success looks like. */
export interface Write<T> {
  readonly request: RecordRequest & { readonly safe: false };
  /** The market whose cached values the write invalidates. */
  readonly market?: string;
  /** What the write starts a new run of. Cached values and states of earlier runs, which have this tag, become invalid. */
  readonly starts?: { readonly tag: string; readonly name: string; idsOf(result: T): readonly string[] };
  /** Makes the body of a success the result. After any other body, nobody knows what the write has done. */
  readonly success: z.ZodType<T>;
}

/** What a writer needs from the process. */
export interface WriterDeps extends ReaderDeps {
  readonly startedRuns: StartedRuns;
  readonly acceptedScopes: AcceptedScopes;
}

/** Those that may confirm a write. Others of the same class speak of a part, or of something else. */
const successes = new Set([200, 201, 202, 204]);

/** The result that a reply of status 200-299 confirms. @throws UpstreamInvalidResponse if it confirms none: a page for signing in has such a status too */
function confirmed<T>(reply: Reply, { request, success }: Write<T>, schemaDrift: SchemaDrift): T {
  try {
    if (!successes.has(reply.status)) throw new UpstreamInvalidResponse(`The service answered with ${reply.status}`);
    return parseLenient(success, contentOf(replyText(reply, request), reply, request), schemaDrift);
  } catch (error) {
    const { message } = error as Error;
    throw new UpstreamInvalidResponse(
      `${message}; the outcome is unknown: check the outcome before you repeat the request`,
    );
  }
}

/** What a failed write has done. A conflict means that the cached state is outdated. What may be retried was not sent. */
function effectOf(error: unknown): WriteEffect {
  if (error instanceof Conflict) return 'done';
  return error instanceof UpstreamFailure && error.extensions.retryable === false ? 'unknown' : 'none';
}

/**
 * Sends a write exactly once, and waits for its outcome even if the client disconnects: the outcome of an aborted write would be unknown.
 * @throws GatewayError; one that is not `retryable` if the outcome is unknown.
 */
export async function sendWrite<T>(deps: WriterDeps, auth: RequestAuth, write: Write<T>): Promise<T> {
  const { upstream, telemetry, startedRuns, acceptedScopes } = deps;
  const { market } = write;
  /** For this market, through any gateway: another may have the first answer while the write runs. Where Redis cannot say, anyone may be. */
  const isAccepted = async () =>
    market !== undefined && ((await acceptedScopes.hasInFleet(auth.scope, market)) ?? true);
  const wasAccepted = await isAccepted();
  const endWrite = await beginWrite(deps, auth.scope, write);
  const end = async (effect: WriteEffect) =>
    endWrite(effect, effect === 'done' || (effect === 'unknown' && (wasAccepted || (await isAccepted()))));
  const schemaDrift: SchemaDrift = { fields: [], leftOut: 0 };
  try {
    const value = await upstream.send(write.request, auth, reply => confirmed(reply, write, schemaDrift));
    // Before anyone asks for the state of the new run.
    if (write.starts !== undefined) await startedRuns.add(write.starts.name, write.starts.idsOf(value));
    await end('done');
    for (const field of schemaDrift.fields) telemetry.drift(field);
    return value;
  } catch (error) {
    await end(effectOf(error));
    throw error;
  }
}

/**
 * Makes what is cached of a market unusable until the write ends. A write that the service would refuse does so only with its effect: anyone can make up a
 * credential, or have one for other markets, and keep others from the cache with it. An unknown effect, also without a reply, counts only with a credential
 * that was accepted for the market: after the first write of another one, what is cached stays for its lifetime.
 * @returns ends the write; `counts` says whether its effect does. Never rejects.
 */
async function beginWrite<T>({ cache, acceptedScopes }: WriterDeps, scope: Scope, { market, starts }: Write<T>) {
  if (market === undefined) return async () => {};
  const tags = [marketTag(market), ...(starts === undefined ? [] : [starts.tag])];
  const begin = () => Promise.all(tags.map(tag => cache.generations.begin(tag)));
  const begun = acceptedScopes.mayWrite(scope, market) ? await begin() : undefined;
  return async (effect: WriteEffect, counts: boolean) => {
    if (effect !== 'unknown') acceptedScopes.countWrite(scope, market, effect === 'done');
    const ends = begun ?? (counts ? await begin() : []);
    await Promise.all(ends.map(end => end(effect)));
  };
}
