import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import type { FastifyInstance } from 'fastify';
import type { Scope } from '../../credentials.js';
import { type GatewayError, Overloaded, RateLimited } from '../../errors.js';
import { andThen, type MaybePromise, orUndefined } from '../../maybe-promise.js';
import { Attached } from '../attached.js';
import { addEarlyHeader, setEarlyHeaders } from '../early-headers.js';
import { pathOf } from '../path.js';
import type { Pressure } from './pressure.js';
import type { RateLimits, Verdict } from './rate-limits.js';

/** Lets requests in, or turns them away before they cost anything. */
export interface Gate {
  /** Sees a request before `next`, which may answer it from what is kept; one that is turned away goes to `door`, which says so. */
  listener(next: RequestListener, door: RequestListener): RequestListener;
  /** Makes the door say so, and see to what reaches it by other ways: the upgrades to WebSocket. */
  guard(app: FastifyInstance): void;
  /** For an operation that came by a connection, not by a request of its own: undefined lets it in. */
  countOperation(address: string, scope: Scope | undefined): Promise<GatewayError | undefined>;
}

/** What a gate goes by. */
export interface GateParts {
  readonly pressure: Pressure;
  readonly limits: RateLimits;
  /** Whose word counts for a client's address: everybody's, nobody's, or that of proxies at these addresses. */
  readonly trustProxy: boolean | readonly string[];
  /** Whose request it is; undefined where nobody's. May fail where the credential is none. */
  scopeOf(request: IncomingMessage): MaybePromise<Scope | undefined>;
}

/** What those who watch over the gateway ask must be answered most of all when it is in trouble. */
const open = new Set(['/healthz', '/readyz', '/metrics']);
const isOpen = ({ url = '' }: IncomingMessage) => open.has(pathOf(url));

const retryOverloadSeconds = 1;

export function createGate({ pressure, limits, trustProxy, scopeOf }: GateParts): Gate {
  const addressOf = addressReader(trustProxy);
  /** Null: let in. */
  const judged = new Attached<GatewayError | null>();

  function judge(request: IncomingMessage, response: ServerResponse): MaybePromise<GatewayError | undefined> {
    const reason = pressure.reason();
    if (reason !== undefined) {
      addEarlyHeader(request, 'retry-after', retryOverloadSeconds);
      return new Overloaded();
    }
    if (request.headers.upgrade === undefined && !isStream(request)) pressure.enter(response);
    return andThen(
      orUndefined(() => scopeOf(request)),
      scope =>
        andThen(limits.count(addressOf(request), scope), verdict => {
          if (verdict === undefined) return undefined;
          addVerdict(verdict, request);
          return verdict.isOver ? rateLimited(verdict) : undefined;
        }),
    );
  }

  return {
    listener: (next, door) => (request, response) => {
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
        const isUpgrade = raw.headers.upgrade !== undefined && verdict === undefined;
        const refusal = isUpgrade ? await judge(raw, reply.raw) : verdict;
        if (isUpgrade) setEarlyHeaders(raw, reply.raw);
        if (refusal) throw refusal;
      });
    },

    async countOperation(address, scope) {
      if (pressure.reason() !== undefined) return new Overloaded();
      const verdict = await limits.count(address, scope);
      return verdict?.isOver ? rateLimited(verdict) : undefined;
    },
  };
}

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

function addressReader(trustProxy: GateParts['trustProxy']): (request: IncomingMessage) => string {
  if (trustProxy === false) return ({ socket }) => socket.remoteAddress ?? '';
  const trusts = trustProxy === true ? () => true : proxyAddr.compile([...trustProxy]);
  return request => proxyAddr(request, trusts);
}
