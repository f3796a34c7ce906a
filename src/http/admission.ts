import type { IncomingMessage } from 'node:http';
import type { AcceptedScopes } from '../auth/accepted-scopes.js';
import type { Scope } from '../auth/credentials.js';
import { type GatewayError, Overloaded, RateLimited } from '../errors.js';
import { andThen, type MaybePromise } from '../lib/maybe-promise.js';
import { type Claim, countThreshold, type MemoryBudget } from '../lib/memory-budget.js';
import { networkOf } from '../lib/network.js';
import type { ShedReason, Telemetry } from '../observability/telemetry.js';
import type { Authentication } from './authentication.js';
import type { Connections } from './connections.js';
import type { ConcurrencyLimit } from './limits/concurrency-limit.js';
import type { RateLimits, Verdict } from './limits/rate-limits.js';
import { monitoringPaths } from './monitoring/routes.js';
import { type Handler, type RequestState, stateOf } from './request-state.js';
import { faultOf, hasBody, opensPage } from './web-safety.js';

/**
 * Everything that refuses a request before it costs anything, in this order: the gateway is closing, the request could mean two things, its connection
 * has too many, the process has too many or no memory, its client sends too many. Behind the response cache, the number of operations that are executed
 * at once is bounded.
 */
export interface RequestAdmission {
  /** Whether this process should get no new work: too many requests are in flight, or memory is short. */
  readonly isOverloaded: boolean;
  /** Requests in flight. */
  readonly inFlight: number;
  /** The second stage. @param fastify sends the error of a refused request. */
  stage(next: Handler, fastify: Handler): Handler;
  /** Stands behind the response cache: bounds how many of the other requests for GraphQL are executed at once. */
  executionStage(fastify: Handler): Handler;
  /** Applies the limits to a WebSocket handshake, which does not pass the stages. */
  admitUpgrade(request: IncomingMessage): Promise<void>;
  /** Refuses everything from now on. */
  close(): void;
  /** Applies the limits to an operation on a connection. Undefined: the operation may run. */
  countOperation(address: string, scope: Scope | undefined): Promise<GatewayError | undefined>;
  /** Begins a query or mutation on a connection. Returns the function that ends it. @throws Overloaded */
  beginOperation(address: string, scope: Scope | undefined): () => void;
}

/** What the admission is made of. */
interface RequestAdmissionDeps {
  readonly authentication: Pick<Authentication, 'findCredential'>;
  readonly concurrency: ConcurrencyLimit;
  readonly maxInFlight: number;
  readonly telemetry: Pick<Telemetry, 'shed'>;
  readonly connections: Pick<Connections, 'isOverBound'>;
  readonly budget: MemoryBudget;
  readonly limits: RateLimits;
  readonly acceptedScopes: Pick<AcceptedScopes, 'has'>;
}

export function createRequestAdmission({
  authentication,
  maxInFlight,
  concurrency,
  telemetry,
  connections,
  budget,
  limits,
  acceptedScopes,
}: RequestAdmissionDeps): RequestAdmission {
  let isClosing = false;
  let inFlight = 0;

  /** The error that refuses what is too much, which is counted. */
  function shed(reason: ShedReason): Overloaded {
    telemetry.shed(reason);
    return new Overloaded();
  }

  /** Why this process must not get new work; undefined: it may. */
  function overload(): Extract<ShedReason, 'memory' | 'requests_in_flight'> | undefined {
    if (budget.isNearlyFull) return 'memory';
    return inFlight >= maxInFlight ? 'requests_in_flight' : undefined;
  }

  function countInFlight(state: RequestState): void {
    inFlight += 1;
    state.countUntilReleased(() => {
      inFlight -= 1;
    });
  }

  /** Whose share an operation takes. A client that the service has not accepted yet takes the share of its network: anyone can make up keys. */
  const clientOf = (address: string, scope: Scope | undefined) =>
    scope !== undefined && acceptedScopes.has(scope) ? scope : networkOf(address);

  /**
   * Counts a request as in flight once its whole body has arrived, so that unfinished requests do not block others. Until the response has
   * ended, the body counts as memory of the client's network.
   */
  function receive({ headers }: IncomingMessage, state: RequestState): void {
    // Streams stay open as long as their client listens, and have a limit of their own.
    const isCounted = state.path !== '/graphql/stream';
    if (!hasBody(headers)) {
      if (isCounted) countInFlight(state);
      return;
    }
    let claim: Claim | undefined;
    state.bodyWatch = {
      grew(bytes) {
        if (bytes < countThreshold) return;
        if (claim === undefined) {
          const counted = budget.claim(networkOf(state.address));
          claim = counted;
          state.whenClosed(() => counted.release());
        }
        try {
          claim.reserveRequest(bytes);
        } catch (error) {
          throw error instanceof RateLimited ? tooMuchSent() : error;
        }
      },
      ended() {
        if (!isCounted) return;
        // Many requests may have been allowed before their bodies arrived.
        if (inFlight >= maxInFlight) throw shed('requests_in_flight');
        countInFlight(state);
      },
    };
  }

  /**
   * Counts a request or an operation of a client. Returns the error that refuses it, if any.
   * @param state gets the headers that tell the client its limits; undefined for an operation on a connection, whose messages have no headers.
   */
  function countOf(
    address: string,
    scope: Scope | undefined,
    state?: RequestState,
  ): MaybePromise<GatewayError | undefined> {
    const refusal = budget.refusalFor(scope ?? address);
    if (refusal !== undefined) return refusal;
    return andThen(limits.count(address, scope), verdict => {
      if (verdict === undefined) return undefined;
      if (state !== undefined) setRateLimitHeaders(verdict, state);
      return verdict.isOver ? rateLimited(verdict) : undefined;
    });
  }

  /** The error that refuses a request, if any. An upgrade does not count as a request in flight: connections have a limit of their own. */
  function check(request: IncomingMessage): MaybePromise<RequestState['refusal']> {
    const fault = isClosing ? new Overloaded('The gateway is closing; try again in a moment') : faultOf(request);
    if (fault !== undefined) return fault;
    const state = stateOf(request);
    if (connections.isOverBound(request)) {
      state.setHeader('connection', 'close');
      return shed('connection');
    }
    if (monitoringPaths.has(state.path)) return undefined;
    const reason = overload();
    if (reason !== undefined) return shed(reason);
    if (state.upgrade === undefined) receive(request, state);
    return andThen(authentication.findCredential(request), () => countOf(state.address, state.scope, state));
  }

  return {
    get isOverloaded() {
      return overload() !== undefined;
    },
    get inFlight() {
      return inFlight;
    },

    stage: (next, fastify) => (request, response) =>
      andThen(check(request), refusal => {
        stateOf(request).refusal = refusal;
        return (refusal === undefined ? next : fastify)(request, response);
      }),

    executionStage: fastify => (request, response) => {
      const state = stateOf(request);
      if (!isExecution(request, state)) return fastify(request, response);
      // The client has hung up while it sent the body: no one waits for an answer.
      if (response.destroyed) return undefined;
      const end = concurrency.begin(clientOf(state.address, state.scope));
      if (end === undefined) state.refusal = shed('concurrency');
      else state.countUntilReleased(end);
      return fastify(request, response);
    },

    async admitUpgrade(request) {
      const state = stateOf(request);
      try {
        state.refusal = await check(request);
      } catch (error) {
        state.refusal = error as Error;
      }
    },

    close() {
      isClosing = true;
    },

    async countOperation(address, scope) {
      const reason = overload();
      return reason === undefined ? countOf(address, scope) : shed(reason);
    },

    beginOperation(address, scope) {
      const end = concurrency.begin(clientOf(address, scope));
      if (end === undefined) throw shed('concurrency');
      return end;
    },
  };
}

/** Whether a request executes an operation that ends with its response. A browser that opens the page for people does not. */
const isExecution = ({ method, headers }: IncomingMessage, { path }: RequestState) =>
  path === '/graphql' && (method === 'POST' || (method === 'GET' && !opensPage({ method, headers })));

const tooMuchSent = () =>
  new RateLimited('Too many large requests are being sent from this address; try again in a moment', undefined, 1);

function setRateLimitHeaders({ limit, remaining, resetSeconds, isOver }: Verdict, state: RequestState): void {
  state.setHeader('ratelimit-limit', limit);
  state.setHeader('ratelimit-remaining', remaining);
  state.setHeader('ratelimit-reset', resetSeconds);
  if (isOver) state.setHeader('retry-after', resetSeconds);
}

function rateLimited({ limit, resetSeconds }: Verdict): RateLimited {
  const message = `More than ${limit} requests in a minute; try again in ${resetSeconds} seconds`;
  return new RateLimited(message, undefined, resetSeconds);
}
