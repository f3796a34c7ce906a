// Answers a request with the stored response to an equal one of the same credential.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import type { Scope } from '../../auth/credentials.js';
import type { Reloadable } from '../../config/values.js';
import type { Generations } from '../../data/cache/generations.js';
import { type ScopedKey, scopedKey } from '../../data/cache/keys.js';
import type { ResponseBytes } from '../../graphql/response-text.js';
import { joinBytes } from '../../lib/body.js';
import { timeNow } from '../../lib/clock.js';
import { countThreshold, type MemoryBudget, SharedClaims } from '../../lib/memory-budget.js';
import { withoutSessionIds } from '../../lib/network.js';
import { andThen, type MaybePromise } from '../../lib/run.js';
import { type ResponseMetadata, reportHeaders } from '../../observability/response-metadata.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { isForGraphql, type RequestState, readBody, type Stage, stateOf } from '../request-state.js';
import { acceptsParts, opensPage, withoutParts } from '../web-safety.js';
import { type CachedResponse, type HeaderList, type ResponseCacheStore, ResponseInFlight, represent } from './store.js';

/** Headers that decide, besides `accept`, the body and the credential, what the response is. */
const keyHeaders = ['content-type', 'origin', 'apollo-require-preflight', 'x-apollo-operation-name'] as const;

/** In bytes. A longer body is not looked up: that costs more than it is likely to save. */
const maxKeyLength = 64 * 1024;

export type ResponseCache = ReturnType<typeof createResponseCache>;

interface ResponseCacheDeps {
  readonly store: ResponseCacheStore;
  /** A hash of everything but the request that determines a response, such as the schema, the settings and the trusted documents. */
  readonly version: Pick<Reloadable<string>, 'current'>;
  readonly generations: Pick<Generations, 'epochOf'>;
  readonly telemetry: Pick<Telemetry, 'responseCacheHit'>;
  readonly acceptedScopes: Pick<AcceptedScopes, 'add'>;
  readonly budget: MemoryBudget;
}

/** Sends cached responses, and counts their bytes until they are sent. */
function createSender(budget: MemoryBudget) {
  /** Responses that are being sent: each is in memory once, however many clients it is sent to. */
  const sendings = new SharedClaims();

  /** @throws Overloaded, RateLimited */
  function send(cached: CachedResponse, state: RequestState): MaybePromise<true> {
    if (cached.length >= countThreshold) {
      const { letGo } = sendings.hold(cached, () => {
        const claim = budget.claim(state);
        claim.reserveResponse(cached.length);
        return claim;
      });
      state.whenClosed(letGo);
    }
    return andThen(represent(cached, state.request.headers, state.scope), ({ status, headers, body }): true => {
      const { response } = state;
      headers.push(...state.headers);
      response.writeHead(status, headers);
      // All parts in one write.
      if (body.length > 1) response.cork();
      for (const part of body.slice(0, -1)) response.write(part);
      response.end(body.at(-1));
      return true;
    });
  }

  return {
    send,

    /** Sends the response of an earlier request, or of an equal one: without an execution, only the response says what the operation is. */
    sendCached(cached: CachedResponse, state: RequestState): MaybePromise<true> {
      const sent = send(cached, state);
      const { operation: name, outcome, untrusted, deprecated, documentId } = cached;
      Object.assign(state.operation, { name, type: 'query', outcome, untrusted, deprecated, documentId });
      return sent;
    },
  };
}

/** The cache of whole responses of `/graphql`, used before a request is parsed. */
export function createResponseCache(deps: ResponseCacheDeps) {
  const { store, version, generations, telemetry, acceptedScopes, budget } = deps;
  /** It changes with each purge of the scope, too. */
  const versionOf = (scope: Scope) => version.current + generations.epochOf(scope);
  const inFlight = new Map<ScopedKey, ResponseInFlight>();
  const { send, sendCached } = createSender(budget);

  /** Returns whether it sent a response: a cached one, or that of an equal request. If not, equal requests may wait for this one. */
  function respond(scope: Scope, state: RequestState, body: Buffer | undefined): MaybePromise<boolean> {
    const { request, response } = state;
    const current = versionOf(scope);
    const key = responseKey(scope, current, request, body);
    return andThen(store.get(key), cached => {
      state.operation.scope = scope;
      if (cached !== undefined) {
        // The service accepted this credential when the response was created.
        acceptedScopes.add(scope);
        return sendCached(cached, state);
      }
      // The client has hung up meanwhile.
      if (response.destroyed) return true;
      // A client that takes parts would wait for the whole response of another, and has nothing to share.
      const shares = !acceptsParts(request.headers.accept);
      const orBegin = (isSent: boolean) => {
        if (isSent) return true;
        const started = new ResponseInFlight(key, current);
        state.flight = started;
        if (shares && !inFlight.has(key)) {
          inFlight.set(key, started);
          void started.result.then(() => inFlight.delete(key));
        }
        state.countUntilReleased(() => started.settle(undefined));
        return false;
      };
      const earlier = shares ? inFlight.get(key) : undefined;
      if (earlier === undefined) return orBegin(false);
      earlier.isShared = true;
      return shareResult(earlier, state).then(orBegin);
    });
  }

  async function shareResult({ result }: ResponseInFlight, state: RequestState): Promise<boolean> {
    const cached = await result;
    // If the execution failed or may write, or a write made its result stale, each request is executed.
    if (cached === undefined || !(await store.isValid(cached))) return false;
    telemetry.responseCacheHit('flight');
    return sendCached(cached, state);
  }

  /** Sends a cached response, or that of an equal request in flight; passes others on. @throws Overloaded, RateLimited where there is no memory for it */
  const stage: Stage = next => state => {
    const { scope, request } = state;
    if (scope === undefined || !isCandidate(state)) return next(state);
    const orNext = (sent: MaybePromise<boolean>) => andThen(sent, isSent => (isSent ? undefined : next(state)));
    if (request.method === 'GET') return orNext(respond(scope, state, undefined));
    return andThen(readBody(request), body => {
      const isKey = !(body instanceof Error) && body.length <= maxKeyLength;
      return orNext(isKey && respond(scope, state, body));
    });
  };

  return {
    stage,

    /** Sends the response of an execution, and stores it for as long as its metadata allows. */
    finish(reply: FastifyReply, bytes: ResponseBytes, metadata: ResponseMetadata): MaybePromise<FastifyReply> {
      const state = stateOf(reply.request.raw);
      const { flight: started, scope } = state;
      const setsCookie = reply.hasHeader('set-cookie') || state.headers.includes('set-cookie');
      const isCacheable = reply.statusCode === 200 && !setsCookie;
      if (started === undefined || scope === undefined || !isCacheable) {
        started?.settle(undefined);
        return sendParts(reply, bytes);
      }
      // A response that was made while the version changed belongs to neither version.
      const isOfVersion = started.version === versionOf(scope);
      const keepUntil = isOfVersion && Number.isFinite(metadata.cacheableUntil) ? metadata.cacheableUntil : 0;
      const cached = toCached(reply, bytes, metadata, keepUntil);
      if (cached.keptMs > 0) store.put(started.key, cached);
      started.settle(cached);
      // From now on `send` counts it.
      metadata.claim?.release();
      // Not hijacked before: until then, Fastify sends the error.
      return andThen(send(cached, state), () => reply.hijack());
    },
  };
}

function toCached(
  reply: FastifyReply,
  bytes: ResponseBytes,
  metadata: ResponseMetadata,
  keepUntil: number,
): CachedResponse {
  const { name: operation, outcome, untrusted, deprecated, documentId } = metadata.operation;
  return {
    ...{ operation, outcome, untrusted, deprecated, documentId },
    headers: headersToStore(reply),
    body: bytes.parts,
    length: bytes.length,
    compressed: {},
    etag: `"${bytes.digest}"`,
    keepUntil,
    keptMs: keepUntil - timeNow(),
    generations: [...metadata.generations],
  };
}

/** The key of a response: the version, and everything in the request that decides what the response is. */
export function responseKey(
  scope: Scope,
  version: string,
  { method, url = '', headers }: IncomingMessage,
  body: Buffer | undefined,
): ScopedKey {
  // A whole response also serves a client that takes parts.
  const place = `${version} ${method} ${withoutSessionIds(url)}`;
  const given = keyHeaders.map(name => headers[name]);
  // One piece: the pieces of a text that is added up stay in memory for as long as it is a key.
  return scopedKey(scope, [place, withoutParts(headers.accept), ...given, body?.toString('latin1')].join('\n'));
}

function isCandidate(state: RequestState): boolean {
  const { method, headers } = state.request;
  if (!isForGraphql(state) || opensPage(state.request) || reportHeaders.some(name => headers[name] !== undefined))
    return false;
  return method === 'GET' || headers['content-type']?.startsWith('application/json') === true;
}

/** Headers that are set for each client. */
const replaced = new Set(['vary', 'cache-control', 'etag', 'content-length']);

/** The headers to store. Those of the state belong to this one request. */
const headersToStore = (reply: FastifyReply): HeaderList =>
  Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    value === undefined || replaced.has(name) ? [] : [name, value],
  );

/** In bytes. A shorter response is sent in one piece. */
const streamThreshold = 64 * 1024;

/** Sends a response that is not cached. The parts of a long one are sent one after another, as the client reads them. */
export function sendParts(reply: FastifyReply, { parts, length }: ResponseBytes): FastifyReply {
  if (parts.length === 1 || length < streamThreshold) return reply.send(joinBytes(parts));
  return reply.header('content-length', length).send(Readable.from(parts, { objectMode: false }));
}
