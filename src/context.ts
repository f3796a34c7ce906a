import type { Caller } from './caller.js';
import { type CompaniesLoaders, createCompaniesLoaders } from './companies/loaders.js';
import type { Credential, Scope } from './credentials.js';
import { createDiscoveryLoaders, type DiscoveryLoaders } from './discovery/loaders.js';
import { Unauthenticated } from './errors.js';
import type { EventsClient } from './events/client.js';
import { createEventsLoaders, type EventsLoaders } from './events/loaders.js';
import type { Lifetimes } from './lifetimes.js';
import { createMarketsLoaders, type MarketsLoaders } from './markets/loaders.js';
import { createReader, type ReaderParts } from './reader.js';
import { Receipt } from './receipt.js';
import type { Teams } from './teams.js';

/** What lives as long as the process. */
export interface Services extends ReaderParts {
  readonly scopeOf: (credential: Credential) => Scope;
  readonly events: EventsClient;
  readonly lifetimes: Lifetimes;
  readonly teams: Teams;
}

/** Every room's loaders, for one request. */
export interface Loaders {
  readonly events: EventsLoaders;
  readonly markets: MarketsLoaders;
  readonly companies: CompaniesLoaders;
  readonly discovery: DiscoveryLoaders;
}

/** What a resolver may hold; lives as long as its request. */
export interface Context {
  /** @throws Unauthenticated where the request carries no credential. */
  readonly credential: Credential;
  /** Made when first asked for. @throws Unauthenticated where the request carries no credential. */
  readonly loaders: Loaders;
  readonly receipt: Receipt;
  readonly teams: Teams;
}

/**
 * The context of one request.
 * @param signal aborts when the client has gone or the request's deadline has passed; its reason is the error to answer with.
 */
export function createContext(services: Services, credential: Credential | undefined, signal: AbortSignal): Context {
  const receipt = new Receipt();
  let loaders: Loaders | undefined;
  const known = () => {
    if (credential === undefined)
      throw new Unauthenticated('Send an API key, a bearer token or a session id, or sign in');
    return credential;
  };
  return {
    get credential() {
      return known();
    },
    get loaders() {
      loaders ??= createLoaders(services, { credential: known(), scope: services.scopeOf(known()), signal, receipt });
      return loaders;
    },
    receipt,
    teams: services.teams,
  };
}

function createLoaders(services: Services, caller: Caller): Loaders {
  const { lifetimes } = services;
  const reader = createReader(services, caller);
  return {
    events: createEventsLoaders(reader, services.events, lifetimes),
    markets: createMarketsLoaders(reader, lifetimes),
    companies: createCompaniesLoaders(reader, lifetimes),
    discovery: createDiscoveryLoaders(reader, lifetimes),
  };
}
