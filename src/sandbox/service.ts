import type { FastifyRequest } from 'fastify';
import { Credentials } from './credentials.js';
import { type EventListVariant, EventStore } from './event-store.js';
import { type Durations, Market } from './market-store.js';
import { createNews } from './news.js';
import { Problem } from './problem.js';
import { createRandom, type Random } from './random.js';
import type { World } from './world/world.js';

/** Everything that requests can change. A reset recreates it from the same world. */
export interface Service {
  credentials: Credentials;
  events: EventStore;
  /** Lets the events go on by one step. */
  goOn(): void;
  /** By id. */
  markets: ReadonlyMap<string, Market>;
  /** Downloadable files by name. */
  files: Map<string, string>;
  random: Random;
  variant: Variant;
}

/** What the specification leaves open, and how this sandbox decides it. */
export interface Variant extends EventListVariant {
  /** What surrounds the data in a response about a market: metadata and the data, only the data, or nothing. */
  envelope: 'metadata' | 'data' | 'none';
}

/** The initial state of the service. `now` returns milliseconds. */
export function createService(world: World, seed: number, durations: Durations, now: () => number): Service {
  const random = createRandom(seed).fork('service');
  let lastJobId = 58_120;
  const nextJobId = () => ++lastJobId;
  const events = new EventStore(world, random.fork('new events'), now);
  return {
    credentials: new Credentials(random.fork('tokens'), now),
    events,
    goOn: createNews(world, events, random.fork('news'), now),
    markets: new Map(
      world.markets.map(market => [String(market.record.id), new Market(market, durations, nextJobId, now)]),
    ),
    files: new Map(),
    random: random.fork('files'),
    variant: { envelope: 'metadata', eventOrder: 'newest', mostPerPage: 100 },
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

/** A response about a market, in its envelope. */
export function about<T>({ variant }: Service, market: Market, data: T) {
  if (variant.envelope === 'none') return data;
  return variant.envelope === 'data' ? { data } : { metadata: { marketId: market.record.id }, data };
}
