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

/** Every room's loaders, for one request. */
export interface Loaders {
  readonly events: EventsLoaders;
  readonly markets: MarketsLoaders;
  readonly companies: CompaniesLoaders;
  readonly discovery: DiscoveryLoaders;
}

/** Every room's feed, for one subscription. */
export interface Feeds {
  readonly discovery: DiscoveryFeed;
  readonly events: EventsFeed;
}

/** Who stands at a door. */
export interface RequestIdentity {
  /** An error where the visitor's session is no longer good; undefined where nothing was presented. */
  readonly credential: Credential | Unauthenticated | undefined;
  /** The credential's, where the door has worked it out already. */
  readonly scope?: Scope | undefined;
  /** The network address that sign-ins are counted by. */
  readonly address: string;
  /** Sets the gateway's own cookie; `maxAge` in seconds. @throws Forbidden at a door that cannot. */
  setSession(value: string, maxAge: number | undefined): void;
  clearSession(): void;
  /** Ends the session of the cookie that the request bears, also where another credential outranks it. @throws Forbidden at a door that cannot. */
  endSession(): Promise<void>;
}

/** What a resolver may hold; lives as long as its request. */
export interface Context {
  /** @throws Unauthenticated where the request carries no credential, or one that is no longer good. */
  readonly credential: Credential;
  /** @throws Unauthenticated, as `credential` does. */
  readonly loaders: Loaders;
  /** What can be listened to until the context's signal aborts. @throws Unauthenticated, as `credential` does. */
  readonly feeds: Feeds;
  /** @throws Unauthenticated, as `credential` does. */
  readonly writer: Writer;
  /** Signs in and out, for the browser at the other end. */
  readonly session: {
    /** @throws Unauthenticated, RateLimited */
    begin(email: string, password: string): Promise<Credential>;
    end(): Promise<void>;
    /** Ends it where the service no longer accepts what the cookie holds; does nothing for a caller without one. */
    lapse(): void;
  };
  readonly metadata: ResponseMetadata;
  readonly teams: Teams;
  readonly exports: Exports;
  readonly keywordSuggestionPath: string | undefined;
}

/**
 * The context of one request.
 * @param operation the request; undefined for an event of a subscription, which is answered for all who listen.
 * @param claim what its memory is counted by; undefined for what only begins a subscription.
 * @param until aborts when the client has gone or the request's deadline has passed; its reason is the error to answer with.
 */
export function createContext(
  services: Services,
  visitor: RequestIdentity,
  until: RequestAuth['until'],
  operation?: OperationInfo,
  claim?: Claim,
): Context {
  return new RequestContext({ services, visitor, until, loaders: undefined }, new ResponseMetadata(operation, claim));
}

/**
 * A class, so that what may throw stands on the prototype: Apollo copies a context's own members, and would run their getters. Its
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
    readonly visitor: RequestIdentity;
    readonly until: RequestAuth['until'];
    loaders: Loaders | undefined;
  };

  constructor(state: RequestContext['state'], metadata: ResponseMetadata) {
    this.state = state;
    this.metadata = metadata;
    this.teams = state.services.teams;
    this.exports = state.services.exports;
    this.keywordSuggestionPath = state.services.keywordSuggestionPath;
    this.session = sessionOf(state.services, state.visitor, this.metadata);
  }

  get credential(): Credential {
    const { credential } = this.state.visitor;
    if (credential instanceof Unauthenticated) throw credential;
    if (credential !== undefined) return credential;
    throw new Unauthenticated('Send an API key, a bearer token or a session id, or sign in');
  }

  get loaders(): Loaders {
    this.state.loaders ??= createLoaders(this.state.services, this.caller);
    return this.state.loaders;
  }

  get feeds(): Feeds {
    return createFeeds(this.state.services, this.caller);
  }

  get writer(): Writer {
    const { write } = createWriter(this.state.services, this.caller);
    return {
      // What the request has read so far may be no longer so.
      write: what => write(what).finally(() => (this.state.loaders = undefined)),
    };
  }

  private get caller(): RequestAuth {
    const { credential, metadata } = this;
    const { services, visitor, until } = this.state;
    return { credential, scope: visitor.scope ?? services.scopeOf(credential), until, metadata };
  }
}

function sessionOf({ sessions }: Services, visitor: RequestIdentity, metadata: ResponseMetadata): Context['session'] {
  return {
    async begin(email, password) {
      const begun = await sessions.begin(email, password, visitor.address, metadata);
      visitor.setSession(begun.cookie.value, begun.cookie.maxAge);
      return begun.credential;
    },
    end: visitor.endSession,
    lapse() {
      const { credential } = visitor;
      if (credential !== undefined && 'kind' in credential && credential.kind === 'cookie') visitor.clearSession();
    },
  };
}

function createLoaders(services: Services, caller: RequestAuth): Loaders {
  const { lifetimes } = services;
  const reader = createReader(services, caller);
  return {
    events: createEventsLoaders(reader, services.events, lifetimes),
    markets: createMarketsLoaders(reader, lifetimes),
    companies: createCompaniesLoaders(reader, lifetimes),
    discovery: createDiscoveryLoaders(reader, lifetimes),
  };
}

function createFeeds(services: Services, caller: RequestAuth): Feeds {
  return {
    discovery: createDiscoveryFeed(services, caller),
    events: createEventsFeed(services, caller),
  };
}
