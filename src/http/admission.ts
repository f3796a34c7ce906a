// Refuses what is too much, before it costs anything.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Scope } from '../auth/credentials.js';
import type { Teams } from '../auth/teams.js';
import type { Reloadable } from '../config/values.js';
import { type GatewayError, gatewayCloses, Overloaded, RateLimited } from '../errors.js';
import { countThreshold, type MemoryBudget } from '../lib/memory-budget.js';
import { networkOf } from '../lib/network.js';
import { andThen, type MaybePromise, sharedRun } from '../lib/run.js';
import type { ShedReason, Telemetry } from '../observability/telemetry.js';
import type { Authentication, Identity } from './authentication.js';
import type { Connections } from './connections.js';
import type { Clients } from './limits/clients.js';
import type { ConcurrencyLimit } from './limits/concurrency-limit.js';
import type { RateLimits, Verdict } from './limits/rate-limits.js';
import { monitoringPaths } from './monitoring/readiness.js';
import { type Handler, isExecution, type RequestState, readBody, type Stage } from './request-state.js';
import { faultOf, hasBody } from './web-safety.js';

/**
 * Everything that refuses a request before it costs anything, in this order: the gateway is closing, the request could mean two things, its connection
 * has too many, the process has too many or no memory, its client sends too many. Behind the response cache, the number of operations that are executed
 * at once is bounded.
 */
export type RequestAdmission = ReturnType<typeof createRequestAdmission>;

interface RequestAdmissionDeps {
  readonly authentication: Pick<Authentication, 'findCredential'>;
  readonly concurrency: ConcurrencyLimit;
  readonly config: { readonly loadShedding: { readonly requestsInFlight: number } };
  readonly telemetry: Pick<Telemetry, 'shed'>;
  readonly connections: Pick<Connections, 'isOverBound'>;
  readonly budget: MemoryBudget;
  readonly limits: RateLimits;
  readonly clients: Pick<Clients, 'refusalFor'>;
  readonly teams: Pick<Reloadable<Pick<Teams, 'limitsOf'>>, 'current'>;
}

export function createRequestAdmission(deps: RequestAdmissionDeps) {
  const { authentication, concurrency, telemetry, connections, budget, limits, clients, teams } = deps;
  const maxInFlight = deps.config.loadShedding.requestsInFlight;
  let isClosing = false;
  let inFlight = 0;

  /** The error that refuses what is too much, which is counted. */
  function shed(reason: ShedReason): Overloaded {
    telemetry.shed(reason);
    return new Overloaded();
  }

  /** Why this process must not get new work; undefined: it may. */
  function overload(): ShedReason | undefined {
    if (budget.isNearlyFull) return 'memory';
    return inFlight >= maxInFlight ? 'requests_in_flight' : undefined;
  }

  function countInFlight(state: RequestState): void {
    inFlight += 1;
    state.countUntilReleased(() => {
      inFlight -= 1;
    });
  }

  /**
   * Counts a request as in flight once its whole body has arrived, so that unfinished requests do not block others. Until the response has
   * ended, the body counts as memory of the client's network.
   */
  function receive(state: RequestState): void {
    // Streams stay open as long as their client listens, and have a limit of their own.
    const isCounted = state.path !== '/graphql/stream';
    const { method = '', headers } = state.request;
    // The body of a GET is never read.
    if (!hasBody(headers) || /^(GET|HEAD)$/.test(method)) {
      if (isCounted) countInFlight(state);
      return;
    }
    const length = Number(headers['content-length']);
    state.bodyWatch = {
      grew(bytes) {
        // Of a request in flight, a small one that is whole, as most are at once.
        if (isCounted && bytes < countThreshold && bytes >= length) return;
        if (state.bodyClaim === undefined) {
          state.bodyClaim = budget.claim({ address: state.address });
          state.whenClosed(() => state.bodyClaim?.release());
        }
        try {
          state.bodyClaim.reserve(bytes);
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
    client: Pick<RequestState, 'address' | 'scope' | 'credential'>,
    state?: RequestState,
  ): MaybePromise<GatewayError | undefined> {
    const { address, scope, credential } = client;
    const refusal = budget.refusalFor(scope ?? networkOf(address));
    if (refusal !== undefined) return refusal;
    const counted = () =>
      andThen(limits.count(address, scope, teams.current.limitsOf(credential)), verdict => {
        if (verdict === undefined) return undefined;
        if (state !== undefined) setRateLimitHeaders(verdict, state);
        return verdict.isOver ? rateLimited(verdict) : undefined;
      });
    return andThen(clients.refusalFor(client), refused => refused ?? counted());
  }

  /** The error that refuses a request, if any. An upgrade does not count as a request in flight: connections have a limit of their own. */
  function check(state: RequestState): MaybePromise<RequestState['refusal']> {
    const { request, path } = state;
    const fault = isClosing ? gatewayCloses() : faultOf(request);
    if (fault !== undefined) return fault;
    if (connections.isOverBound(request.socket)) {
      state.setHeader('connection', 'close');
      return shed('connection');
    }
    if (monitoringPaths.has(path)) return undefined;
    const reason = overload();
    if (reason !== undefined) return shed(reason);
    if (state.upgrade === undefined) receive(state);
    return andThen(authentication.findCredential(state), () => countOf(state, state));
  }

  /**
   * What has arrived in one turn of the event loop goes on together: the processor runs each step for one request after the other, with the code of that
   * step in its caches. A request alone waits for no other.
   */
  const restOfTurn = sharedRun(nextTurn);

  /** The second stage. @param fastify sends the error of a refused request. */
  const stage = (next: Handler, fastify: Handler): Handler => {
    return state =>
      andThen(check(state), refusal => {
        state.refusal = refusal;
        return refusal === undefined ? restOfTurn().then(() => next(state)) : fastify(state);
      });
  };

  /** Stands behind the response cache: bounds how many of the other requests for GraphQL are executed at once. */
  const executionStage: Stage = fastify => state => {
    if (!isExecution(state)) return fastify(state);
    // An upload that is not finished takes no operation's place.
    return andThen(state.request.method === 'POST' ? readBody(state.request) : undefined, body => {
      // The client has hung up while it sent the body: no one waits for an answer.
      if (state.response.destroyed) return undefined;
      if (body instanceof Error) return fastify(state);
      const end = concurrency.begin(budget.ownerOf(state));
      if (end === undefined) state.refusal = shed('concurrency');
      else state.countUntilReleased(end);
      return fastify(state);
    });
  };

  return {
    /** Whether this process should get no new work: too many requests are in flight, or memory is short. */
    get isOverloaded(): boolean {
      return overload() !== undefined;
    },

    get inFlight(): number {
      return inFlight;
    },

    stage,
    executionStage,

    /** Applies the limits to a WebSocket handshake, which does not pass the stages. */
    async admitUpgrade(state: RequestState): Promise<void> {
      try {
        state.refusal = await check(state);
      } catch (error) {
        state.refusal = error as Error;
      }
    },

    /** Refuses everything from now on. */
    close(): void {
      isClosing = true;
    },

    /** Applies the limits to an operation on a connection. @throws RateLimited, Overloaded */
    async countOperation(client: Identity): Promise<void> {
      const reason = overload();
      const refusal = reason === undefined ? await countOf(client) : shed(reason);
      if (refusal !== undefined) throw refusal;
    },

    /** Begins a query or mutation on a connection. Returns the function that ends it. @throws Overloaded */
    beginOperation(address: string, scope: Scope | undefined): () => void {
      const end = concurrency.begin(budget.ownerOf({ address, scope }));
      if (end === undefined) throw shed('concurrency');
      return end;
    },
  };
}

const tooMuchSent = () =>
  new RateLimited('Too many large requests are being sent from this address; try again in a moment', undefined, 1);

function setRateLimitHeaders(verdict: Verdict, state: RequestState): void {
  const { limit, remaining, resetSeconds, isOver } = verdict;
  state.usage = verdict;
  state.setHeader('ratelimit-limit', limit);
  state.setHeader('ratelimit-remaining', remaining);
  state.setHeader('ratelimit-reset', resetSeconds);
  if (isOver) state.setHeader('retry-after', resetSeconds);
}

function rateLimited({ limit, resetSeconds }: Verdict): RateLimited {
  const message = `More than ${limit} requests in a minute; try again in ${resetSeconds} seconds`;
  return new RateLimited(message, undefined, resetSeconds);
}
