// The state of one sandbox: its events, markets, credentials and variants.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Credentials } from './credentials.js';
import { type EventListVariant, EventStore } from './event-store.js';
import { type Durations, Market } from './market-store.js';
import { createNews } from './news.js';
import { Problem } from './problem.js';
import type { World } from './world/world.js';

/** Everything that requests can change. A reset recreates it from the same world. */
export interface Service {
  credentials: Credentials;
  events: EventStore;
  /** Adds or updates one event, as the service does by itself. */
  publishNext(): void;
  /** By id. */
  markets: ReadonlyMap<string, Market>;
  /** Downloadable files by name. */
  files: Map<string, string>;
  variant: Variant;
}

/** What the specification leaves open, and how this sandbox decides it. */
export interface Variant extends EventListVariant {
  /** What surrounds the data in a response about a market: metadata and the data, only the data, or nothing. */
  envelope: 'metadata' | 'data' | 'none';
}

/** The initial state of the service. `now` returns milliseconds. */
export function createService(world: World, durations: Durations, now: () => number): Service {
  let lastJobId = 58_120;
  const nextJobId = () => ++lastJobId;
  const events = new EventStore(world, now);
  return {
    credentials: new Credentials(now),
    events,
    publishNext: createNews(events, now),
    markets: new Map(
      world.markets.map(market => [String(market.record.id), new Market(market, durations, nextJobId, now)]),
    ),
    files: new Map(),
    variant: { envelope: 'metadata', eventOrder: 'newest', maxPageSize: 100 },
  };
}

/**
 * The market of a request. Throws UNAUTHORISED, NOT_FOUND if it does not exist, and FORBIDDEN if the client has no
 * permission on it (docs/upstream-api.md: Errors).
 */
export function marketFor(request: FastifyRequest, marketId: string, { credentials, markets }: Service): Market {
  const rights = credentials.identify(request);
  const market = markets.get(marketId);
  if (!market) throw new Problem('NOT_FOUND', `Market ${marketId} does not exist`);
  if (rights.markets === 'none') throw new Problem('FORBIDDEN', `No permission on market ${marketId}`);
  return market;
}

/** Returns a function that adds a call about the market in its path, whose response is in the envelope. */
export function marketCalls(app: FastifyInstance, service: () => Service) {
  return (
    method: 'GET' | 'PATCH' | 'POST',
    url: `${string}/:marketId/${string}`,
    answer: (market: Market, body: unknown) => unknown,
  ) => {
    app.route<MarketPath>({
      method,
      url,
      handler: async request => {
        const market = marketFor(request, request.params.marketId, service());
        const { envelope } = service().variant;
        const data = answer(market, request.body);
        if (envelope === 'none') return data;
        return envelope === 'data' ? { data } : { metadata: { marketId: market.record.id }, data };
      },
    });
  };
}

export interface MarketPath {
  Params: { marketId: string };
}
