import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Scope } from '../../auth/credentials.js';
import { type GatewayError, Overloaded, RateLimited } from '../../errors.js';
import { Attached } from '../../lib/attached.js';
import { addEarlyHeader, setEarlyHeaders } from '../../lib/early-headers.js';
import { andThen, type MaybePromise, orUndefined } from '../../lib/maybe-promise.js';
import { type Claim, type MemoryBudget, worthCounting } from '../../lib/memory-budget.js';
import { networkOf, type ProxyHeaders } from '../../lib/network.js';
import { pathOf } from '../../lib/path.js';
import type { Connections } from '../connections.js';
import { monitoringPaths } from '../monitoring.js';
import { watchBody } from '../request-body.js';
import type { LoadShedding } from './load-shedding.js';
import type { RateLimits, Verdict } from './rate-limits.js';

/** Lets requests in, or turns them away before they cost anything. */
export interface RequestLimits {
  /** Sees a request before `next`, which may answer it from what is kept; one that is turned away goes to `door`, which says so. */
  listener(next: RequestListener, door: RequestListener): RequestListener;
  /** Makes the door say so, and see to what reaches it by other ways: the upgrades to WebSocket. */
  guard(app: FastifyInstance): void;
  /** For an operation that came by a connection, not by a request of its own: undefined lets it in. */
  countOperation(address: string, scope: Scope | undefined): Promise<GatewayError | undefined>;
}

/** What a gate goes by. */
export interface RequestLimitsDeps {
  readonly loadShedding: LoadShedding;
  readonly connections: Pick<Connections, 'isOverBound'>;
  readonly budget: MemoryBudget;
  readonly limits: RateLimits;
  readonly proxyHeaders: Pick<ProxyHeaders, 'addressOf'>;
  /** Whose request it is; undefined where nobody's. May fail where the credential is none. */
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
  /** Null: let in. */
  const judged = new Attached<GatewayError | null>();

  /**
   * Counts a request as in flight once all of it has arrived: one that a client never finishes must not take the place of others. Until the
   * response is over, its body counts as memory of the client's network.
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
          claim.received(bytes);
        } catch (error) {
          throw error instanceof RateLimited ? tooMuchSent() : error;
        }
      },
      ended() {
        if (!isCounted || response.destroyed) return;
        // Many may have been let in while they had not arrived yet.
        if (loadShedding.reason() === 'requests in flight') throw new Overloaded();
        loadShedding.enter(response);
      },
    });
  }

  /** @param response undefined for an upgrade, which is no request in flight: streams are bounded by themselves. */
  function judge(
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
      orUndefined(() => scopeOf(request)),
      scope => {
        const address = proxyHeaders.addressOf(request);
        const refusal = budget.refusalFor(scope ?? address);
        if (refusal !== undefined) {
          addEarlyHeader(request, 'retry-after', retryOverloadSeconds);
          return refusal;
        }
        return andThen(limits.count(address, scope), verdict => {
          if (verdict === undefined) return undefined;
          addVerdict(verdict, request);
          return verdict.isOver ? rateLimited(verdict) : undefined;
        });
      },
    );
  }

  return {
    listener: (next, door) => (request, response) => {
      if (connections.isOverBound(request)) {
        addEarlyHeader(request, 'connection', 'close');
        judged.set(request, new Overloaded());
        return door(request, response);
      }
      if (isOpen(request)) return next(request, response);
      // A fault of the gate itself is nothing to turn a client away for.
      andThen(
        orUndefined(() => judge(request, response)),
        refusal => {
          judged.set(request, refusal ?? null);
          (refusal === undefined ? next : door)(request, response);
        },
      );
    },

    guard(app) {
      app.addHook('onRequest', async ({ raw }, reply) => {
        const verdict = judged.get(raw);
        // Whatever is no upgrade has come by the listener.
        const isUpgrade = verdict === undefined && !isOpen(raw);
        const refusal = isUpgrade ? await judge(raw, undefined) : verdict;
        if (isUpgrade) setEarlyHeaders(raw, reply.raw);
        if (refusal) throw refusal;
      });
    },

    async countOperation(address, scope) {
      if (loadShedding.reason() !== undefined) return new Overloaded();
      const refusal = budget.refusalFor(scope ?? address);
      if (refusal !== undefined) return refusal;
      const verdict = await limits.count(address, scope);
      return verdict?.isOver ? rateLimited(verdict) : undefined;
    },
  };
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

const tooMuchSent = () =>
  new RateLimited('Too many large requests are being sent from this address; try again in a moment');

/** Streams stay open for as long as somebody listens, and are bounded by themselves. */
const isStream = ({ url = '' }: IncomingMessage) => pathOf(url) === '/graphql/stream';

function addVerdict({ limit, remaining, resetSeconds, isOver }: Verdict, request: IncomingMessage): void {
  addEarlyHeader(request, 'ratelimit-limit', limit);
  addEarlyHeader(request, 'ratelimit-remaining', remaining);
  addEarlyHeader(request, 'ratelimit-reset', resetSeconds);
  if (isOver) addEarlyHeader(request, 'retry-after', resetSeconds);
}

function rateLimited({ limit, resetSeconds }: Verdict): RateLimited {
  return new RateLimited(`More than ${limit} requests in a minute; try again in ${resetSeconds} seconds`);
}
