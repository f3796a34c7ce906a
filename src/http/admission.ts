// Refuses what is too much, before it costs anything.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Teams } from '../auth/teams.js';
import type { Reloadable } from '../config/values.js';
import { gatewayCloses, Overloaded, OverShare, RateLimited } from '../errors.js';
import { bytesOfValue, countThreshold, type MemoryBudget, type MemoryClient } from '../lib/memory-budget.js';
import { networkOf } from '../lib/network.js';
import { andThen, type MaybePromise, sharedRun } from '../lib/run.js';
import type { ShedReason, Telemetry } from '../observability/telemetry.js';
import type { Authentication, Identity } from './authentication.js';
import { type Connections, maxUnanswered, unansweredOn } from './connections.js';
import type { Clients } from './limits/clients.js';
import { type ConcurrencyLimit, FairCount } from './limits/concurrency-limit.js';
import type { RateLimits, Verdict } from './limits/rate-limits.js';
import { monitoringPaths } from './monitoring/readiness.js';
import { type BodyWatch, type Client, isForGraphql, type RequestState, readBody, type Stage } from './request-state.js';
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
  readonly connections: Pick<Connections, 'max'>;
  readonly telemetry: Pick<Telemetry, 'shed'>;
  readonly budget: MemoryBudget;
  readonly limits: RateLimits;
  readonly clients: Pick<Clients, 'check' | 'count'>;
  readonly teams: Pick<Reloadable<Pick<Teams, 'limitsOf'>>, 'current'>;
}

export function createRequestAdmission(deps: RequestAdmissionDeps) {
  const { authentication, budget, clients } = deps;
  const countRequest = createClientCount(deps);
  const shed = createShed(deps.telemetry);
  const { inFlight, hasRoom, checkLoad, receive } = createPlaces(deps, shed);
  let isClosing = false;

  /** @throws the error that refuses the request. */
  function check(state: RequestState): MaybePromise<void> {
    const { request, path } = state;
    countHead(state, budget);
    const fault = isClosing ? gatewayCloses() : faultOf(request);
    if (fault !== undefined) throw fault;
    if (unansweredOn(request.socket) > maxUnanswered) {
      state.setHeader('connection', 'close');
      throw shed('share', true);
    }
    if (monitoringPaths.has(path)) return undefined;
    return andThen(authentication.findCredential(state), () => {
      clients.count(state);
      checkLoad(state);
      receive(state);
      return countRequest(state, state);
    });
  }

  /**
   * What has arrived in one turn of the event loop goes on together: the processor runs each step for one request after the other, with the code of that
   * step in its caches. A request alone waits for no other.
   */
  // `async`, because the promise of `timers/promises` is no `Promise` of the realm in which Jest runs a test, and its errors would be lost there.
  const restOfTurn = sharedRun(async () => nextTurn());

  const stage: Stage = next => state => andThen(check(state), () => restOfTurn().then(() => next(state)));

  return {
    /** Whether this process should get no new work: it would refuse a client that has no request in flight. */
    get isOverloaded(): boolean {
      return budget.isNearlyFull || !hasRoom();
    },

    get inFlight(): number {
      return inFlight.running;
    },
    get inFlightOfTopClient(): number {
      return inFlight.ofTopClient;
    },

    stage,
    ...createExecutionLimit(deps, shed),

    /** Refuses everything from now on. */
    close(): void {
      isClosing = true;
    },

    /** Applies the limits to an operation on a connection. @throws RateLimited, Overloaded */
    async countOperation(client: Identity): Promise<void> {
      clients.count(client);
      checkLoad(client);
      await countRequest(client);
    },
  };
}

/** Returns the function that makes the error for what is too much, and counts it. */
const createShed =
  (telemetry: Pick<Telemetry, 'shed'>) =>
  (reason: ShedReason, isOwnDoing = false): Overloaded => {
    telemetry.shed(isOwnDoing ? 'share' : reason);
    return isOwnDoing ? new OverShare() : new Overloaded();
  };

/** What a request takes besides its head while it waits behind another on its connection, in bytes. */
const waitingBytes = 6 * 1024;
/** From so many texts on, the names and values of headers, a head is counted. Of other heads, the number of connections is the bound. */
const countedTexts = 200;

/** Counts what a request keeps that waits behind another on its connection, or has many headers, whoever sends it. @throws RateLimited */
function countHead(state: RequestState, budget: MemoryBudget): void {
  const { url, rawHeaders, socket } = state.request;
  const waits = unansweredOn(socket) > 1;
  if (!waits && rawHeaders.length < countedTexts) return;
  const claim = budget.claim({ address: state.address });
  try {
    claim.reserve(bytesOfValue([url, rawHeaders]) + (waits ? waitingBytes : 0));
  } catch (error) {
    // A refusal would wait, too.
    if (waits) socket.destroy();
    throw error;
  }
  state.whenClosed(() => claim.release());
}

const streamPath = '/graphql/stream';
/** The share of all connections that streams may take. Of the rest, a part is for clients with few of them. */
const streamShare = 0.75;

/** Bounds how many requests are in flight, and how many connections are streams, with a share for each client. */
function createPlaces({ budget, config, connections }: RequestAdmissionDeps, shed: ReturnType<typeof createShed>) {
  const { requestsInFlight: maxInFlight } = config.loadShedding;
  const inFlight = new FairCount();
  const streams = new FairCount();

  /** @throws Overloaded where this process has too much to do for new work of the client. */
  function checkLoad(client: MemoryClient): void {
    if (budget.isNearlyFull) throw shed('memory');
    if (inFlight.running < maxInFlight) return;
    const owner = budget.ownerOf(client);
    if (!inFlight.mayExceed(owner, maxInFlight)) throw shed('requests_in_flight', inFlight.isOverShare(owner));
  }

  /** Takes a place for a request. @returns what gives it back @throws Overloaded */
  function take(places: FairCount, max: number, reason: ShedReason, state: RequestState): () => void {
    const owner = budget.ownerOf(state);
    const end = places.begin(owner, max);
    if (end === undefined) throw shed(reason, places.isOverShare(owner));
    return end;
  }

  /** @throws Overloaded, since many requests may have been allowed before their bodies arrived. */
  const countInFlight = (state: RequestState) =>
    state.countUntilReleased(take(inFlight, maxInFlight, 'requests_in_flight', state));

  /** Counts a connection that stays open, and what was sent for it. Keeps nothing of the state, which a WebSocket lets go. @throws Overloaded, RateLimited */
  function countStream(state: RequestState): void {
    const { request, body, bodyClaim, scope, address } = state;
    const end = take(streams, connections.max * streamShare, 'connections', state);
    const head = budget.claim({ scope, address });
    const letGo = () => {
      end();
      head.release();
    };
    if (state.upgrade === undefined || request.socket.closed) state.whenClosed(letGo);
    else request.socket.once('close', letGo);
    head.reserve(bytesOfValue([request.url, request.rawHeaders, bodyClaim === undefined ? body : undefined]));
  }

  /** Counts a request as in flight once its whole body has arrived, so that unfinished requests do not block others. */
  function receive(state: RequestState): void {
    const { method = '', headers } = state.request;
    const isStream = state.path === streamPath || state.upgrade !== undefined;
    const count = isStream ? countStream : countInFlight;
    if (!isStream) state.countAsStream = countStream;
    // The body of a GET is never read.
    if (!hasBody(headers) || /^(GET|HEAD)$/.test(method)) count(state);
    else state.bodyWatch = watchBody(state, budget, count);
  }

  return { inFlight, hasRoom: () => inFlight.hasRoom(maxInFlight), checkLoad, receive };
}

function createExecutionLimit({ concurrency, budget }: RequestAdmissionDeps, shed: ReturnType<typeof createShed>) {
  /** Begins an operation. Returns the function that ends it. @throws Overloaded */
  function beginOperation(client: MemoryClient): () => void {
    const owner = budget.ownerOf(client);
    const end = concurrency.begin(owner);
    if (end === undefined) throw shed('concurrency', concurrency.isOverShare(owner));
    return end;
  }

  /** A message of an agent costs as much, whatever it asks for. */
  const isExecution = (state: RequestState) =>
    isForGraphql(state) || (state.path === '/mcp' && state.request.method === 'POST');

  /** Stands behind the response cache, for requests for GraphQL. */
  const executionStage: Stage = next => state => {
    if (!isExecution(state)) return next(state);
    // An upload that is not finished takes no operation's place.
    return andThen(state.request.method === 'POST' ? readBody(state.request) : undefined, body => {
      // The client has hung up while it sent the body: no one waits for an answer.
      if (state.response.destroyed) return undefined;
      if (!(body instanceof Error)) state.countUntilReleased(beginOperation(state));
      return next(state);
    });
  };

  return { beginOperation, executionStage };
}

/** Counts what a body takes of its client's memory while it arrives, until the response has ended. @param onEnd is called with a whole one. */
function watchBody(state: RequestState, budget: MemoryBudget, onEnd: (state: RequestState) => void): BodyWatch {
  const length = Number(state.request.headers['content-length']);
  return {
    grew(bytes) {
      // Of a request in flight, a small one that is whole, as most are at once.
      if (state.path !== streamPath && bytes < countThreshold && bytes >= length) return;
      if (state.bodyClaim === undefined) {
        state.bodyClaim = budget.claim(state);
        state.whenClosed(() => state.bodyClaim?.release());
      }
      try {
        state.bodyClaim.reserve(bytes);
      } catch (error) {
        if (!(error instanceof RateLimited)) throw error;
        const sender = budget.ownerOf(state) === state.scope ? 'with this credential' : 'from this address';
        const message = `Too many large requests are being sent ${sender}; try again in a moment`;
        throw new RateLimited(message, undefined, 1);
      }
    },
    ended: () => onEnd(state),
  };
}

function createClientCount({ budget, limits, clients, teams }: RequestAdmissionDeps) {
  /**
   * @param state gets the headers that tell the client its limits; undefined for an operation on a connection, whose messages have no headers.
   * @throws RateLimited
   */
  return (client: Client, state?: RequestState): MaybePromise<void> => {
    const { address, scope, credential } = client;
    budget.check(scope ?? networkOf(address));
    const count = () => limits.count(address, scope, teams.current.limitsOf(credential));
    return andThen(andThen(clients.check(client), count), verdict => {
      if (verdict === undefined) return;
      if (state !== undefined) setRateLimitHeaders(verdict, state);
      if (!verdict.isOver) return;
      const { limit, resetSeconds } = verdict;
      const message = `More than ${limit} requests in a minute; try again in ${resetSeconds} seconds`;
      throw new RateLimited(message, undefined, resetSeconds);
    });
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
