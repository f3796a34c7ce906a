import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '../../auth/credentials.js';
import { type ScopedKey, scopedKey } from '../../data/cache/keys.js';
import type { ResponseBytes } from '../../graphql/response-text.js';
import { Attached } from '../../lib/attached.js';
import { BriefMap } from '../../lib/brief-map.js';
import { earlyHeadersOf, type HeaderList } from '../../lib/early-headers.js';
import { andThen, type MaybePromise, undefinedIfRefused } from '../../lib/maybe-promise.js';
import { type Claim, type MemoryBudget, worthCounting } from '../../lib/memory-budget.js';
import { withoutSessionIds } from '../../lib/path.js';
import type { Stage } from '../../lib/pipeline.js';
import type { RequestTelemetry } from '../../observability/request-telemetry.js';
import type { ResponseMetadata } from '../../observability/response-metadata.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { readBody } from '../request-body.js';
import { type Answer, represent } from './answer.js';
import { sendParts } from './send-parts.js';
import type { ResponseCacheStore } from './store.js';

/** Headers besides the body and the credential that shape an answer, or whether it is given. */
const shaping = ['accept', 'content-type', 'origin', 'apollo-require-preflight', 'x-apollo-operation-name'] as const;

/** Of the body, in bytes: what is longer costs more to find than it is likely to come again. */
const longestKey = 64 * 1024;

/** Whole answers, found again before anything is parsed. */
export interface ResponseCache {
  /** Answers what is kept, shares what is under way, and passes everything else on. */
  readonly stage: Stage;
  /** Sends the answer of an execution, and keeps it for as long as its metadata allows. */
  finish(
    request: FastifyRequest,
    reply: FastifyReply,
    answer: ResponseBytes,
    metadata: ResponseMetadata,
  ): Promise<FastifyReply>;
}

/** What kept answers need. */
export interface ResponseCacheDeps {
  readonly store: ResponseCacheStore;
  readonly telemetry: Pick<Telemetry, 'keptAnswer'>;
  readonly requestTelemetry: Pick<RequestTelemetry, 'of' | 'accept'>;
  readonly budget: MemoryBudget;
  /** Whose answer it would be; undefined: it is not to be found here. @throws anything, for a request that is to be refused later. */
  scopeOf(request: IncomingMessage): MaybePromise<Scope | undefined>;
  /** In bytes. */
  readonly largestBody: number;
}

/** An execution under way, which equal requests of its scope may wait for. */
interface InFlight {
  readonly scope: Scope;
  readonly key: ScopedKey;
  readonly landing: Promise<Answer | undefined>;
  land(answer: Answer | undefined): void;
}

/** An answer on its way to some who asked the same: in memory once, and counted once. */
interface Sending {
  readonly claim: Claim;
  count: number;
}

/** Keeps answers at `/graphql`. */
export function createResponseCache({
  store,
  telemetry,
  requestTelemetry,
  budget,
  scopeOf,
  largestBody,
}: ResponseCacheDeps): ResponseCache {
  const flights = new BriefMap<ScopedKey, InFlight>();
  const flightOf = new Attached<InFlight>();

  const sendings = new WeakMap<Answer, Sending>();

  /** Counts an answer until its response is over. @throws Overloaded, RateLimited */
  function hold(answer: Answer, scope: Scope, response: ServerResponse): void {
    // A response that is over already tells nobody any more.
    if (answer.length < worthCounting || response.destroyed) return;
    const sending = sendings.get(answer) ?? { claim: budget.claim(scope), count: 0 };
    if (sending.count === 0) sending.claim.wrote(answer.length);
    sending.count += 1;
    sendings.set(answer, sending);
    response.once('close', () => {
      sending.count -= 1;
      if (sending.count === 0) sending.claim.set(0);
    });
  }

  function deliver(
    answer: Answer,
    scope: Scope,
    request: IncomingMessage,
    response: ServerResponse,
  ): MaybePromise<true> {
    hold(answer, scope, response);
    const trail = requestTelemetry.of(request);
    trail.name = answer.operation;
    trail.outcome = answer.outcome;
    return andThen(represent(answer, request.headers), ({ status, headers, body }): true => {
      headers.push(...earlyHeadersOf(request));
      response.writeHead(status, headers);
      // As one write, however many parts.
      if (body.length > 1) response.cork();
      for (const part of body.slice(0, -1)) response.write(part);
      response.end(body.at(-1));
      return true;
    });
  }

  /** Whether it was answered: by what is kept, or by what comes of an equal request. Else it is one that others may wait for. */
  function answered(
    scope: Scope,
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer | undefined,
  ): MaybePromise<boolean> {
    const key = answerKey(scope, request, body);
    return andThen(store.get(key), kept => {
      requestTelemetry.of(request).scope = scope;
      if (kept !== undefined) {
        // What is kept was read from the upstream under this credential.
        requestTelemetry.accept(scope);
        return deliver(kept, scope, request, response);
      }
      const underWay = flights.get(key);
      if (underWay !== undefined && onlyReads(request.url ?? '', body)) return shared(underWay, request, response);
      const flight = departing(scope, key);
      flightOf.set(request, flight);
      if (underWay === undefined) {
        flights.set(key, flight);
        void flight.landing.then(() => flights.delete(key));
      }
      response.on('close', () => flight.land(undefined));
      return false;
    });
  }

  async function shared(flight: InFlight, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const landed = await flight.landing;
    // What failed, or was overtaken by a write, is for everybody to find out anew.
    if (landed === undefined || !(await store.holds(landed))) return false;
    telemetry.keptAnswer('flight');
    return deliver(landed, flight.scope, request, response);
  }

  return {
    stage: next => (request, response) => {
      if (!isCandidate(request)) return next(request, response);
      const orNext = (work: () => MaybePromise<boolean>) =>
        andThen(undefinedIfRefused(work), done => (done ? undefined : next(request, response)));
      return andThen(
        undefinedIfRefused(() => scopeOf(request)),
        scope => {
          if (scope === undefined) return next(request, response);
          if (request.method === 'GET') return orNext(() => answered(scope, request, response, undefined));
          return andThen(readBody(request, largestBody), body => {
            const isKey = !(body instanceof Error) && body.length <= longestKey;
            return orNext(() => isKey && answered(scope, request, response, body));
          });
        },
      );
    },

    async finish(request, reply, written, metadata) {
      const flight = flightOf.get(request.raw);
      const keepable = reply.statusCode === 200 && reply.getHeader('set-cookie') === undefined;
      if (flight === undefined || !keepable) return sendParts(reply, written);
      const answer: Answer = {
        headers: headersFor(reply),
        body: written.parts,
        length: written.length,
        gzipped: undefined,
        etag: `"${written.digest}"`,
        operation: metadata.operation.name,
        outcome: metadata.operation.outcome,
        keepUntil: Number.isFinite(metadata.cacheableUntil) ? metadata.cacheableUntil : 0,
        generations: [...metadata.generations],
      };
      if (answer.keepUntil > Date.now()) store.put(flight.key, answer);
      flight.land(answer);
      // It is counted as an answer from now on.
      metadata.claim?.release();
      reply.hijack();
      await deliver(answer, flight.scope, request.raw, reply.raw);
      return reply;
    },
  };
}

/** By everything of the request that shapes its answer. */
export function answerKey(
  scope: Scope,
  { method, url = '', headers }: IncomingMessage,
  body: Buffer | undefined,
): ScopedKey {
  let key = `${method} ${withoutSessionIds(url)}\n`;
  for (const name of shaping) key += `${headers[name] ?? ''}\n`;
  return scopedKey(scope, key + (body?.toString('latin1') ?? ''));
}

const plainMembers = new Set(['query', 'variables', 'operationName', 'sessionId']);

/** Whether it is certain that a request writes nothing: its document is there in clear, and has no word for writing in it. */
function onlyReads(url: string, body: Buffer | undefined): boolean {
  try {
    const asked: Record<string, unknown> =
      body === undefined
        ? Object.fromEntries(new URL(url, 'http://any').searchParams)
        : { ...JSON.parse(body.toString()) };
    const isPlain = Object.keys(asked).every(member => plainMembers.has(member));
    return isPlain && typeof asked.query === 'string' && !/mutation|subscription/.test(asked.query);
  } catch {
    return false;
  }
}

function isCandidate({ method, url = '', headers }: IncomingMessage): boolean {
  if (headers['x-explain'] !== undefined) return false;
  if (url !== '/graphql' && !url.startsWith('/graphql?')) return false;
  if (method === 'GET') return !headers.accept?.includes('text/html');
  return method === 'POST' && headers['content-type']?.startsWith('application/json') === true;
}

/** Headers that a kept answer has of its own. */
const replaced = new Set(['vary', 'cache-control', 'etag', 'content-length']);

/** What stands in the head already was put there for this one request. */
function headersFor(reply: FastifyReply): HeaderList {
  const list: HeaderList = [];
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined && !replaced.has(name) && !reply.raw.hasHeader(name)) list.push(name, value);
  }
  return list;
}

function departing(scope: Scope, key: ScopedKey): InFlight {
  let land: InFlight['land'] = () => {};
  const landing = new Promise<Answer | undefined>(resolve => {
    land = resolve;
  });
  return { scope, key, landing, land };
}
