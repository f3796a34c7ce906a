// Refuses what is too much, before it costs anything.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Teams } from '../auth/teams.js';
import type { Reloadable } from '../config/values.js';
import { type GatewayError, gatewayCloses, Overloaded, RateLimited } from '../errors.js';
import { countThreshold, type MemoryBudget, type MemoryClient } from '../lib/memory-budget.js';
import { networkOf } from '../lib/network.js';
import { andThen, type MaybePromise, sharedRun } from '../lib/run.js';
import type { ShedReason, Telemetry } from '../observability/telemetry.js';
import type { Authentication, Identity } from './authentication.js';
import type { Connections } from './connections.js';
import type { Clients } from './limits/clients.js';
import { type ConcurrencyLimit, FairCount } from './limits/concurrency-limit.js';
import type { RateLimits, Verdict } from './limits/rate-limits.js';
import { monitoringPaths } from './monitoring/readiness.js';
import { type BodyWatch, type Handler, isExecution, type RequestState, readBody, type Stage } from './request-state.js';
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
  const { authentication, concurrency, telemetry, connections, budget } = deps;
  const { requestsInFlight: maxInFlight } = deps.config.loadShedding;
  const inFlight = new FairCount();
  const countRequest = createClientCount(deps);
  let isClosing = false;

  /** The error that refuses what is too much, which is counted. */
  function shed(reason: ShedReason): Overloaded {
    telemetry.shed(reason);
    return new Overloaded();
  }

  /** The error that refuses new work of a client, if this process has too much to do. */
  function overload(client: MemoryClient): Overloaded | undefined {
    if (budget.isNearlyFull) return shed('memory');
    return inFlight.accepts(budget.ownerOf(client), maxInFlight) ? undefined : shed('requests_in_flight');
  }

  /** @throws Overloaded, since many requests may have been allowed before their bodies arrived. */
  function countInFlight(state: RequestState): void {
    const end = inFlight.begin(budget.ownerOf(state), maxInFlight);
    if (end === undefined) throw shed('requests_in_flight');
    state.countUntilReleased(end);
  }

  /** Counts a request as in flight once its whole body has arrived, so that unfinished requests do not block others. */
  function receive(state: RequestState): void {
    const { method = '', headers } = state.request;
    // Streams stay open as long as their client listens, and have a limit of their own.
    const count = state.path === '/graphql/stream' ? undefined : countInFlight;
    // The body of a GET is never read.
    if (!hasBody(headers) || /^(GET|HEAD)$/.test(method)) count?.(state);
    else state.bodyWatch = watchBody(state, budget, count);
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
    return andThen(authentication.findCredential(state), () => {
      const refusal = overload(state);
      if (refusal !== undefined) return refusal;
      if (state.upgrade === undefined) receive(state);
      return countRequest(state, state);
    });
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
      return budget.isNearlyFull || inFlight.running >= maxInFlight;
    },

    get inFlight(): number {
      return inFlight.running;
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
      const refusal = overload(client) ?? (await countRequest(client));
      if (refusal !== undefined) throw refusal;
    },

    /** Begins a query or mutation on a connection. Returns the function that ends it. @throws Overloaded */
    beginOperation(client: MemoryClient): () => void {
      const end = concurrency.begin(budget.ownerOf(client));
      if (end === undefined) throw shed('concurrency');
      return end;
    },
  };
}

/** Counts what a body takes of its network's memory while it arrives, until the response has ended. @param onEnd is called with a whole one. */
function watchBody(
  state: RequestState,
  budget: MemoryBudget,
  onEnd: ((state: RequestState) => void) | undefined,
): BodyWatch {
  const length = Number(state.request.headers['content-length']);
  return {
    grew(bytes) {
      // Of a request in flight, a small one that is whole, as most are at once.
      if (onEnd !== undefined && bytes < countThreshold && bytes >= length) return;
      if (state.bodyClaim === undefined) {
        state.bodyClaim = budget.claim({ address: state.address });
        state.whenClosed(() => state.bodyClaim?.release());
      }
      try {
        state.bodyClaim.reserve(bytes);
      } catch (error) {
        if (!(error instanceof RateLimited)) throw error;
        const message = 'Too many large requests are being sent from this address; try again in a moment';
        throw new RateLimited(message, undefined, 1);
      }
    },
    ended: () => onEnd?.(state),
  };
}

/** Counts the requests and operations of clients. */
function createClientCount({ budget, limits, clients, teams }: RequestAdmissionDeps) {
  /**
   * Returns the error that refuses a request, if any.
   * @param state gets the headers that tell the client its limits; undefined for an operation on a connection, whose messages have no headers.
   */
  return (
    client: Pick<RequestState, 'address' | 'scope' | 'credential'>,
    state?: RequestState,
  ): MaybePromise<GatewayError | undefined> => {
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
  };
}

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
