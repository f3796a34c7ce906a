import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import type { Scope } from '../../auth/credentials.js';
import { type GatewayError, Overloaded, RateLimited } from '../../errors.js';
import { Attached } from '../../lib/attached.js';
import { addEarlyHeader, earlyHeadersOf, type HeaderList, setEarlyHeaders } from '../../lib/early-headers.js';
import { andThen, type MaybePromise, undefinedIfRefused } from '../../lib/maybe-promise.js';
import { type Claim, type MemoryBudget, worthCounting } from '../../lib/memory-budget.js';
import { networkOf, type ProxyHeaders } from '../../lib/network.js';
import { pathOf } from '../../lib/path.js';
import type { Handler, Stage } from '../../lib/pipeline.js';
import type { RequestTelemetry } from '../../observability/request-telemetry.js';
import type { ShedReason, Telemetry } from '../../observability/telemetry.js';
import type { Connections } from '../connections.js';
import { isMonitoring } from '../monitoring/routes.js';
import { watchBody } from '../request-body.js';
import { faultOf, gatewayErrorBody, hasBody, opensPage, type Refused, safeHeaders } from '../web-safety.js';
import type { ConcurrencyLimit } from './concurrency-limit.js';
import type { LoadShedding } from './load-shedding.js';
import type { RateLimits, Verdict } from './rate-limits.js';

/** Applies every limit to a request once, before it costs anything. */
export interface RequestLimits {
  /** The stage in front of the response cache. A refused request skips the cache and goes to `fastify`, which sends the error. */
  stage(next: Handler, fastify: Handler): Handler;
  /** Makes Fastify send the errors of refused requests, and applies the limits to WebSocket handshakes, which do not pass the pipeline. */
  refuseIn(app: FastifyInstance): void;
  /** The stage behind the response cache: bounds how many of the other requests for GraphQL are executed at once. */
  readonly executionStage: Stage;
  /** Whose share of this process a request takes, as far as it is known before the request is read. */
  clientOf(request: IncomingMessage): string;
  /** Refuses a request that this process has no time for. @param fastify sends what needs headers of Fastify's. */
  refuse(reason: ShedReason, request: IncomingMessage, response: ServerResponse, fastify: Handler): MaybePromise<void>;
  /** Applies the limits to an operation on a connection. Undefined: the operation may run. */
  countOperation(address: string, scope: Scope | undefined): Promise<GatewayError | undefined>;
  /** The response has become a stream: it no longer counts as a request. Streams have a limit of their own. */
  streams(request: IncomingMessage): void;
  /** Begins a query or mutation on a connection. Returns the function that ends it. @throws Overloaded */
  beginOperation(address: string, scope: Scope | undefined): () => void;
}

/** What the limits are made of. */
interface RequestLimitsDeps {
  readonly loadShedding: LoadShedding;
  readonly concurrency: ConcurrencyLimit;
  readonly requestTelemetry: Pick<RequestTelemetry, 'of'>;
  readonly telemetry: Pick<Telemetry, 'shed'>;
  readonly connections: Pick<Connections, 'isOverBound'>;
  readonly budget: MemoryBudget;
  readonly limits: RateLimits;
  readonly acceptedScopes: Pick<AcceptedScopes, 'has'>;
  readonly proxyHeaders: Pick<ProxyHeaders, 'addressOf'>;
  /** The scope of the request's credential; undefined where it has none. @throws BadUserInput for an invalid one. */
  scopeOf(request: IncomingMessage): MaybePromise<Scope | undefined>;
}

const retryOverloadSeconds = 1;
const overloaded = new Overloaded();
/** ASCII. Node sends a text in one piece with the headers. */
const overloadedBody = JSON.stringify(gatewayErrorBody(overloaded));
const overloadedHeaders: HeaderList = Object.entries({
  ...safeHeaders,
  'content-type': 'application/json; charset=utf-8',
  'content-length': overloadedBody.length,
  'retry-after': retryOverloadSeconds,
}).flatMap(([name, value]) => (value === undefined ? [] : [name, value]));

export function createRequestLimits({
  loadShedding,
  concurrency,
  requestTelemetry,
  telemetry,
  connections,
  budget,
  limits,
  acceptedScopes,
  proxyHeaders,
  scopeOf,
}: RequestLimitsDeps): RequestLimits {
  /** The error that refuses a request; null where the request is allowed. */
  const verdicts = new Attached<GatewayError | Refused | null>();

  /** The error that refuses what is too much, which is counted. */
  function shed(reason: ShedReason): Overloaded {
    telemetry.shed(reason);
    return new Overloaded();
  }

  /** Whose share an operation takes. A client that the service has not accepted yet takes the share of its network: anyone can make up keys. */
  const clientOf = (address: string, scope: Scope | undefined) =>
    scope !== undefined && acceptedScopes.has(scope) ? scope : networkOf(address);

  const leaves = new Attached<() => void>();
  const ends = new Attached<() => void>();
  const enter = (request: IncomingMessage) => leaves.set(request, loadShedding.enter());
  /** The response has been sent, or its client has hung up. */
  const finish = (request: IncomingMessage) => {
    leaves.get(request)?.();
    ends.get(request)?.();
  };

  /**
   * Counts a request as in flight once its whole body has arrived, so that unfinished requests do not block others. Until the response has
   * ended, the body counts as memory of the client's network.
   */
  function receive(request: IncomingMessage, response: ServerResponse): void {
    const isCounted = !isStream(request);
    response.once('close', () => finish(request));
    if (!hasBody(request.headers)) {
      if (isCounted) enter(request);
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
        if (loadShedding.reason() === 'requests_in_flight') throw shed('requests_in_flight');
        enter(request);
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
      return shed(reason);
    }
    if (response !== undefined) receive(request, response);
    return andThen(
      undefinedIfRefused(() => scopeOf(request)),
      scope => countOf(proxyHeaders.addressOf(request), scope, request),
    );
  }

  /** Without Fastify, because an overloaded process refuses thousands of requests in a second; but only Fastify sets the headers for pages of other origins. */
  function refuse(
    reason: ShedReason,
    request: IncomingMessage,
    response: ServerResponse,
    fastify: Handler,
  ): MaybePromise<void> {
    telemetry.shed(reason);
    if (request.headers.origin !== undefined || !isExecution(request)) {
      addEarlyHeader(request, 'retry-after', retryOverloadSeconds);
      verdicts.set(request, overloaded);
      return fastify(request, response);
    }
    requestTelemetry.of(request).outcome = overloaded.code;
    response.writeHead(overloaded.httpStatus, [...overloadedHeaders, ...earlyHeadersOf(request)]);
    response.end(overloadedBody);
  }

  return {
    stage: (next, fastify) => (request, response) => {
      const fault = faultOf(request);
      if (fault !== undefined) {
        verdicts.set(request, fault);
        return fastify(request, response);
      }
      if (connections.isOverBound(request)) {
        addEarlyHeader(request, 'connection', 'close');
        verdicts.set(request, shed('connection'));
        return fastify(request, response);
      }
      if (isMonitoring(request)) return next(request, response);
      return andThen(check(request, response), refusal => {
        verdicts.set(request, refusal ?? null);
        return (refusal === undefined ? next : fastify)(request, response);
      });
    },

    executionStage: next => (request, response) => {
      if (!isExecution(request)) return next(request, response);
      return andThen(
        undefinedIfRefused(() => scopeOf(request)),
        scope => {
          // The client has hung up while it sent the body: no one waits for an answer.
          if (response.destroyed) return undefined;
          const end = concurrency.begin(clientOf(proxyHeaders.addressOf(request), scope));
          if (end === undefined) return refuse('concurrency', request, response, next);
          ends.set(request, end);
          return next(request, response);
        },
      );
    },

    clientOf(request) {
      // A cookie would have to be opened first, which costs more than a refusal.
      const scope = request.headers.cookie === undefined ? undefinedIfRefused(() => scopeOf(request)) : undefined;
      return clientOf(proxyHeaders.addressOf(request), scope instanceof Promise ? undefined : scope);
    },

    refuse,

    refuseIn(app) {
      app.addHook('onRequest', async ({ raw }, reply) => {
        const verdict = verdicts.get(raw);
        // Every request that is not an upgrade has passed the stage.
        const isUpgrade = verdict === undefined && !isMonitoring(raw);
        const refusal = isUpgrade ? (faultOf(raw) ?? (await check(raw, undefined))) : verdict;
        if (isUpgrade) setEarlyHeaders(raw, reply.raw);
        if (refusal) throw refusal;
      });
    },

    async countOperation(address, scope) {
      const reason = loadShedding.reason();
      return reason === undefined ? countOf(address, scope) : shed(reason);
    },

    streams: finish,

    beginOperation(address, scope) {
      const end = concurrency.begin(clientOf(address, scope));
      if (end === undefined) throw shed('concurrency');
      return end;
    },
  };
}

/** Whether a request executes an operation that ends with its response. A browser that opens the page for people does not. */
const isExecution = ({ method, url = '', headers }: IncomingMessage) =>
  pathOf(url) === '/graphql' && (method === 'POST' || (method === 'GET' && !opensPage({ method, headers })));

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
  return new RateLimited(
    `More than ${limit} requests in a minute; try again in ${resetSeconds} seconds`,
    undefined,
    resetSeconds,
  );
}
