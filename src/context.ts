import type { Credential, Scope } from './auth/credentials.js';
import type { Teams } from './auth/teams.js';
import type { Polling } from './data/polling/polling.js';
import { createReader, type ReaderDeps } from './data/reader.js';
import type { RequestAuth } from './data/request-auth.js';
import { createWriter, type Writer } from './data/writer.js';
import { type CompaniesLoaders, createCompaniesLoaders } from './domains/companies/loaders.js';
import { createDiscoveryFeed, type DiscoveryFeed } from './domains/discovery/feed.js';
import { createDiscoveryLoaders, type DiscoveryLoaders } from './domains/discovery/loaders.js';
import type { EventsClient } from './domains/events/client.js';
import { createEventsFeed, type EventsFeed } from './domains/events/feed.js';
import { createEventsLoaders, type EventsLoaders } from './domains/events/loaders.js';
import type { Exports } from './domains/exports/exports.js';
import { createMarketsLoaders, type MarketsLoaders } from './domains/markets/loaders.js';
import type { Sessions } from './domains/sessions/sessions.js';
import { Unauthenticated } from './errors.js';
import type { Lifetimes } from './graphql/lifetimes.js';
import type { Claim } from './lib/memory-budget.js';
import type { OperationInfo } from './observability/operation-info.js';
import { ResponseMetadata } from './observability/response-metadata.js';

/** What lives as long as the process. */
export interface Services extends ReaderDeps {
  readonly scopeOf: (credential: Credential) => Scope;
  readonly events: EventsClient;
  readonly lifetimes: Lifetimes;
  readonly teams: Teams;
  readonly polling: Polling;
  readonly sessions: Sessions;
  readonly exports: Exports;
  readonly keywordSuggestionPath: string | undefined;
}

/** The loaders of every domain, for one request. */
export interface Loaders {
  readonly events: EventsLoaders;
  readonly markets: MarketsLoaders;
  readonly companies: CompaniesLoaders;
  readonly discovery: DiscoveryLoaders;
}

/** The feeds of the domains, for one subscription. */
export interface Feeds {
  readonly discovery: DiscoveryFeed;
  readonly events: EventsFeed;
}

/** The client that made a request. */
export interface RequestIdentity {
  /** An error where the client's session is no longer valid; undefined where the request has no credential. */
  readonly credential: Credential | Unauthenticated | undefined;
  /** The credential's scope, where it is already known. */
  readonly scope?: Scope | undefined;
  /** The network address, which limits the rate of sign-ins. */
  readonly address: string;
  /** Sets the gateway's own cookie; `maxAge` in seconds. @throws Forbidden on a transport that cannot set cookies. */
  setSession(value: string, maxAge: number | undefined): void;
  clearSession(): void;
  /** Ends the session of the request's cookie, also where another credential outranks it. @throws Forbidden on a transport that cannot set cookies. */
  endSession(): Promise<void>;
}

/** What resolvers receive. Lives as long as its request. */
export interface Context {
  /** @throws Unauthenticated where the request carries no credential, or one that is no longer valid. */
  readonly credential: Credential;
  /** @throws Unauthenticated, as `credential` does. */
  readonly loaders: Loaders;
  /** What subscriptions can listen to until the context's signal aborts. @throws Unauthenticated, as `credential` does. */
  readonly feeds: Feeds;
  /** @throws Unauthenticated, as `credential` does. */
  readonly writer: Writer;
  /** Signs the client's browser in and out. */
  readonly session: {
    /** @throws Unauthenticated, RateLimited */
    begin(email: string, password: string): Promise<Credential>;
    end(): Promise<void>;
    /** Clears the session's cookie, where the request was made with one. The service no longer accepts what it holds. */
    expire(): void;
  };
  readonly metadata: ResponseMetadata;
  readonly teams: Teams;
  readonly exports: Exports;
  readonly keywordSuggestionPath: string | undefined;
}

/**
 * The context of one request.
 * @param operation the request; undefined for an event of a subscription, which is executed once for all its subscribers.
 * @param claim counts its memory; undefined where a subscription is only started.
 * @param until aborts when the client has hung up or the request's deadline has passed; its reason is the error for the client.
 */
export function createContext(
  services: Services,
  identity: RequestIdentity,
  until: RequestAuth['until'],
  operation?: OperationInfo,
  claim?: Claim,
): Context {
  return new RequestContext({ services, identity, until, loaders: undefined }, new ResponseMetadata(operation, claim));
}

/**
 * A class, so that getters that may throw stand on the prototype: Apollo copies a context's own members, and would call own getters. The
 * copies share one state.
 */
class RequestContext implements Context {
  readonly metadata: ResponseMetadata;
  readonly teams: Teams;
  readonly exports: Exports;
  readonly keywordSuggestionPath: string | undefined;
  readonly session: Context['session'];
  private readonly state: {
    readonly services: Services;
    readonly identity: RequestIdentity;
    readonly until: RequestAuth['until'];
    loaders: Loaders | undefined;
  };

  constructor(state: RequestContext['state'], metadata: ResponseMetadata) {
    this.state = state;
    this.metadata = metadata;
    this.teams = state.services.teams;
    this.exports = state.services.exports;
    this.keywordSuggestionPath = state.services.keywordSuggestionPath;
    this.session = sessionOf(state.services, state.identity, this.metadata);
  }

  get credential(): Credential {
    const { credential } = this.state.identity;
    if (credential instanceof Unauthenticated) throw credential;
    if (credential !== undefined) return credential;
    throw new Unauthenticated('Send an API key, a bearer token or a session id, or sign in');
  }

  get loaders(): Loaders {
    this.state.loaders ??= createLoaders(this.state.services, this.auth);
    return this.state.loaders;
  }

  get feeds(): Feeds {
    return createFeeds(this.state.services, this.auth);
  }

  get writer(): Writer {
    const { write } = createWriter(this.state.services, this.auth);
    return {
      // What the request has read so far may have changed.
      write: what => write(what).finally(() => (this.state.loaders = undefined)),
    };
  }

  private get auth(): RequestAuth {
    const { credential, metadata } = this;
    const { services, identity, until } = this.state;
    return { credential, scope: identity.scope ?? services.scopeOf(credential), until, metadata };
  }
}

function sessionOf({ sessions }: Services, identity: RequestIdentity, metadata: ResponseMetadata): Context['session'] {
  return {
    async begin(email, password) {
      const begun = await sessions.begin(email, password, identity.address, metadata);
      identity.setSession(begun.cookie.value, begun.cookie.maxAge);
      return begun.credential;
    },
    end: identity.endSession,
    expire() {
      const { credential } = identity;
      if (credential !== undefined && 'kind' in credential && credential.kind === 'cookie') identity.clearSession();
    },
  };
}

function createLoaders(services: Services, auth: RequestAuth): Loaders {
  const { lifetimes } = services;
  const reader = createReader(services, auth);
  return {
    events: createEventsLoaders(reader, services.events, lifetimes),
    markets: createMarketsLoaders(reader, lifetimes),
    companies: createCompaniesLoaders(reader, lifetimes),
    discovery: createDiscoveryLoaders(reader, lifetimes),
  };
}

function createFeeds(services: Services, auth: RequestAuth): Feeds {
  return {
    discovery: createDiscoveryFeed(services, auth),
    events: createEventsFeed(services, auth),
  };
}
