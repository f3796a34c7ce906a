import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Scope } from '../../auth/credentials.js';
import { type GatewayError, Overloaded, RateLimited } from '../../errors.js';
import { Attached } from '../../lib/attached.js';
import { addEarlyHeader, setEarlyHeaders } from '../../lib/early-headers.js';
import { andThen, type MaybePromise, undefinedIfRefused } from '../../lib/maybe-promise.js';
import { type Claim, type MemoryBudget, worthCounting } from '../../lib/memory-budget.js';
import { networkOf, type ProxyHeaders } from '../../lib/network.js';
import { pathOf } from '../../lib/path.js';
import type { Handler } from '../../lib/pipeline.js';
import type { Connections } from '../connections.js';
import { monitoringPaths } from '../monitoring.js';
import { watchBody } from '../request-body.js';
import type { LoadShedding } from './load-shedding.js';
import type { RateLimits, Verdict } from './rate-limits.js';

/** Applies every limit to a request once, before it costs anything. */
export interface RequestLimits {
  /** The stage in front of the response cache. A refused request skips the cache and goes to `fastify`, which sends the error. */
  stage(next: Handler, fastify: Handler): Handler;
  /** Makes Fastify send the errors of refused requests, and applies the limits to WebSocket handshakes, which do not pass the pipeline. */
  refuseIn(app: FastifyInstance): void;
  /** Applies the limits to an operation on a connection. Undefined: the operation may run. */
  countOperation(address: string, scope: Scope | undefined): Promise<GatewayError | undefined>;
}

/** What the limits are made of. */
interface RequestLimitsDeps {
  readonly loadShedding: LoadShedding;
  readonly connections: Pick<Connections, 'isOverBound'>;
  readonly budget: MemoryBudget;
  readonly limits: RateLimits;
  readonly proxyHeaders: Pick<ProxyHeaders, 'addressOf'>;
  /** The scope of the request's credential; undefined where it has none. @throws BadUserInput for an invalid one. */
  scopeOf(request: IncomingMessage): MaybePromise<Scope | undefined>;
}

const isOpen = ({ url = '' }: IncomingMessage) => monitoringPaths.has(pathOf(url));

const retryOverloadSeconds = 1;

export function createRequestLimits({
  loadShedding,
  connections,
  budget,
  limits,
  proxyHeaders,
  scopeOf,
}: RequestLimitsDeps): RequestLimits {
  /** The error that refuses a request; null where the request is allowed. */
  const verdicts = new Attached<GatewayError | null>();

  /**
   * Counts a request as in flight once its whole body has arrived, so that unfinished requests do not block others. Until the response has
   * ended, the body counts as memory of the client's network.
   */
  function receive(request: IncomingMessage, response: ServerResponse): void {
    const isCounted = !isStream(request);
    if (!hasBody(request)) {
      if (isCounted) loadShedding.enter(response);
      return;
    }
    let claim: Claim | undefined;
    watchBody(request, {
      grew(bytes) {
        if (bytes < worthCounting || response.destroyed) return;
        if (claim === undefined) {
          const counted = budget.claim(networkOf(proxyHeaders.addressOf(request)));
          claim = counted;
          response.once('close', () => counted.release());
        }
        try {
          claim.reserveRequest(bytes);
        } catch (error) {
          throw error instanceof RateLimited ? tooMuchSent() : error;
        }
      },
      ended() {
        if (!isCounted || response.destroyed) return;
        // Many requests may have been allowed before their bodies arrived.
        if (loadShedding.reason() === 'requests in flight') throw new Overloaded();
        loadShedding.enter(response);
      },
    });
  }

  /**
   * Counts a request or an operation of a client. Returns the error that refuses it, if any.
   * @param request gets the headers that tell the client its limits; undefined for an operation on a connection, whose messages have no headers.
   */
  function countOf(
    address: string,
    scope: Scope | undefined,
    request?: IncomingMessage,
  ): MaybePromise<GatewayError | undefined> {
    const refusal = budget.refusalFor(scope ?? address);
    if (refusal !== undefined) {
      if (request !== undefined) addEarlyHeader(request, 'retry-after', retryOverloadSeconds);
      return refusal;
    }
    return andThen(limits.count(address, scope), verdict => {
      if (verdict === undefined) return undefined;
      if (request !== undefined) addRateLimitHeaders(verdict, request);
      return verdict.isOver ? rateLimited(verdict) : undefined;
    });
  }

  /** @param response undefined for an upgrade, which does not count as a request in flight: connections have a limit of their own. */
  function check(
    request: IncomingMessage,
    response: ServerResponse | undefined,
  ): MaybePromise<GatewayError | undefined> {
    const reason = loadShedding.reason();
    if (reason !== undefined) {
      addEarlyHeader(request, 'retry-after', retryOverloadSeconds);
      return new Overloaded();
    }
    if (response !== undefined) receive(request, response);
    return andThen(
      undefinedIfRefused(() => scopeOf(request)),
      scope => countOf(proxyHeaders.addressOf(request), scope, request),
    );
  }

  return {
    stage: (next, fastify) => (request, response) => {
      if (connections.isOverBound(request)) {
        addEarlyHeader(request, 'connection', 'close');
        verdicts.set(request, new Overloaded());
        return fastify(request, response);
      }
      if (isOpen(request)) return next(request, response);
      return andThen(check(request, response), refusal => {
        verdicts.set(request, refusal ?? null);
        return (refusal === undefined ? next : fastify)(request, response);
      });
    },

    refuseIn(app) {
      app.addHook('onRequest', async ({ raw }, reply) => {
        const verdict = verdicts.get(raw);
        // Every request that is not an upgrade has passed the stage.
        const isUpgrade = verdict === undefined && !isOpen(raw);
        const refusal = isUpgrade ? await check(raw, undefined) : verdict;
        if (isUpgrade) setEarlyHeaders(raw, reply.raw);
        if (refusal) throw refusal;
      });
    },

    async countOperation(address, scope) {
      return loadShedding.reason() === undefined ? countOf(address, scope) : new Overloaded();
    },
  };
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

const tooMuchSent = () =>
  new RateLimited('Too many large requests are being sent from this address; try again in a moment');

/** Streams stay open as long as their client listens, and have a limit of their own. */
const isStream = ({ url = '' }: IncomingMessage) => pathOf(url) === '/graphql/stream';

function addRateLimitHeaders({ limit, remaining, resetSeconds, isOver }: Verdict, request: IncomingMessage): void {
  addEarlyHeader(request, 'ratelimit-limit', limit);
  addEarlyHeader(request, 'ratelimit-remaining', remaining);
  addEarlyHeader(request, 'ratelimit-reset', resetSeconds);
  if (isOver) addEarlyHeader(request, 'retry-after', resetSeconds);
}

function rateLimited({ limit, resetSeconds }: Verdict): RateLimited {
  return new RateLimited(`More than ${limit} requests in a minute; try again in ${resetSeconds} seconds`);
}
