// What resolvers work with, for one request.
import type { Credential, Scope } from './auth/credentials.js';
import type { Teams } from './auth/teams.js';
import type { Reloadable } from './config/values.js';
import type { Polling } from './data/polling/polling.js';
import { createReader, type Reader } from './data/reader.js';
import type { RequestAuth } from './data/upstream/request.js';
import { sendWrite, type Write, type WriterDeps } from './data/writer.js';
import { createCompaniesLoaders } from './domains/companies/client.js';
import { createDiscoveryLoaders } from './domains/discovery/client.js';
import type { EventsClient } from './domains/events/client.js';
import type { FeedLimits } from './domains/events/feed.js';
import { createEventsLoaders } from './domains/events/loaders.js';
import type { Exports } from './domains/exports/exports.js';
import { createMarketsLoaders } from './domains/markets/client.js';
import type { Sessions } from './domains/sessions/sessions.js';
import type { Watches } from './domains/watches/watches.js';
import { Unauthenticated } from './errors.js';
import type { Capabilities } from './generated/schema-types.js';
import { ResponseMetadata } from './observability/response-metadata.js';

/** What resolvers need of everything that lives as long as the process. */
export interface Components extends WriterDeps, FeedLimits {
  readonly scopeOf: (credential: Credential) => Scope;
  readonly events: EventsClient;
  readonly eventStatisticsLimit: number;
  readonly teams: Reloadable<Teams>;
  readonly polling: Polling;
  readonly sessions: Sessions;
  readonly exports: Exports;
  readonly watches: Watches;
  readonly keywordSuggestionPath: string | undefined;
  readonly capabilities: Capabilities;
}

export interface RequestIdentity {
  /** An error if the client's session has ended; undefined if the request carries no credential. */
  readonly credential: Credential | Unauthenticated | undefined;
  /** The credential's scope, if the transport has computed it already. */
  readonly scope?: Scope | undefined;
  /** The cursor behind which an EventSource continues after it has reconnected. */
  readonly lastEventId?: string | undefined;
  readonly session: BrowserSession;
  /** Undefined where nothing is limited, and on a connection. */
  readonly usage?: RateLimitUsage | undefined;
}

/** What a client has used of its rate limit, as the headers of its response say it. */
export interface RateLimitUsage {
  readonly limit: number;
  /** Requests left, as far as this process knows. */
  readonly remaining: number;
  readonly resetSeconds: number;
}

/** Signs a browser in and out, with the gateway's own cookie. */
export interface BrowserSession {
  /** @throws SignInFailed, RateLimited, Forbidden where the client would not keep the session. */
  begin(email: string, password: string, metadata: ResponseMetadata): Promise<Credential>;
  /** Ends the session of the request's cookie, even if the request has another credential. @throws Forbidden on a transport that cannot set cookies. */
  end(): Promise<void>;
  /** Clears the session cookie after the service has rejected its session; does nothing if the request's credential is not the cookie. */
  expire(): void;
}

/** What may throw is a getter, because Apollo makes a copy of the own properties of a context, with which it executes. */
export class Context {
  readonly identity: RequestIdentity;
  readonly metadata: ResponseMetadata;
  /** The teams of the time when the request began. */
  readonly teams: Teams;
  readonly exports: Exports;
  readonly keywordSuggestionPath: string | undefined;
  readonly capabilities: Capabilities;
  private readonly components: Components;
  private readonly cancellation: RequestAuth['cancellation'];
  private made: Loaders | undefined;

  /**
   * @param cancellation aborts when the client has disconnected or the request's deadline has passed; its reason is the error to report.
   * @param metadata of its response; by default that of no single response, while a subscription starts.
   */
  constructor(
    components: Components,
    identity: RequestIdentity,
    cancellation: RequestAuth['cancellation'],
    metadata = new ResponseMetadata(),
  ) {
    this.identity = identity;
    this.metadata = metadata;
    this.teams = components.teams.current;
    this.exports = components.exports;
    this.keywordSuggestionPath = components.keywordSuggestionPath;
    this.capabilities = components.capabilities;
    this.components = components;
    this.cancellation = cancellation;
  }

  /** Undefined if the request carries no credential. @throws Unauthenticated if it carries one that is no longer valid. */
  get credentialIfAny(): Credential | undefined {
    const { credential } = this.identity;
    if (credential instanceof Unauthenticated) throw credential;
    return credential;
  }

  /** @throws Unauthenticated if the request carries no credential, or one that is no longer valid. */
  get credential(): Credential {
    const credential = this.credentialIfAny;
    if (credential !== undefined) return credential;
    throw new Unauthenticated();
  }

  /** @throws Unauthenticated, as `credential` does. */
  get loaders() {
    this.made ??= new Loaders(this.components, this.auth);
    return this.made;
  }

  /** Reads an event where the service has accepted the credential through no gateway yet. @throws Unauthenticated if it does not accept it */
  async checkCredential(): Promise<void> {
    const { acceptedScopes } = this.components;
    if (!(await acceptedScopes.hasInFleet(this.auth.scope))) await this.loaders.events.check();
  }

  /** Starts the source of a subscription. It ends when the context's signal aborts. @throws Unauthenticated, as `credential` does. */
  watch<T>(feed: (components: Components, auth: RequestAuth) => T): T {
    return feed(this.components, this.auth);
  }

  /** @throws Unauthenticated, as `credential` does. */
  get writer() {
    const { auth, components } = this;
    return {
      // After a write, what the request has loaded may be outdated.
      write: <T>(write: Write<T>) => sendWrite(components, auth, write).finally(() => (this.made = undefined)),
    };
  }

  private get auth(): RequestAuth {
    const { credential, metadata, components, identity, cancellation } = this;
    return { credential, scope: identity.scope ?? components.scopeOf(credential), cancellation, metadata };
  }
}

/** Those of each domain. A class, because getters of an object literal would keep what a request has read until the next full garbage collection. */
class Loaders {
  readonly events: ReturnType<typeof createEventsLoaders>;
  private readonly reader: Reader;
  private readonly scope: Scope;
  private ofCompanies: ReturnType<typeof createCompaniesLoaders> | undefined;
  private ofMarkets: ReturnType<typeof createMarketsLoaders> | undefined;
  private ofDiscovery: ReturnType<typeof createDiscoveryLoaders> | undefined;

  constructor(components: Components, auth: RequestAuth) {
    this.reader = createReader(components, auth);
    this.scope = auth.scope;
    this.events = createEventsLoaders(this.reader, components.events, auth.credential, components.eventStatisticsLimit);
  }

  get companies() {
    this.ofCompanies ??= createCompaniesLoaders(this.reader, this.scope);
    return this.ofCompanies;
  }

  get markets() {
    this.ofMarkets ??= createMarketsLoaders(this.reader);
    return this.ofMarkets;
  }

  get discovery() {
    this.ofDiscovery ??= createDiscoveryLoaders(this.reader);
    return this.ofDiscovery;
  }

  /** Those that read from the service, past the cache, and each thing once. */
  get newest() {
    const reader = { ...this.reader, read: this.reader.readAgain };
    return { companies: createCompaniesLoaders(reader, this.scope), markets: createMarketsLoaders(reader) };
  }
}
