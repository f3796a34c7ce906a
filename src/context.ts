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
import type { Sessions } from './sessions/sessions.js';
import type { Teams } from './teams.js';
import { createWriter, type Write, type Writer } from './writer.js';

/** What lives as long as the process. */
export interface Services extends ReaderParts {
  readonly scopeOf: (credential: Credential) => Scope;
  readonly events: EventsClient;
  readonly lifetimes: Lifetimes;
  readonly teams: Teams;
  readonly sessions: Sessions;
  readonly keywordSuggestionPath: string | undefined;
}

/** Every room's loaders, for one request. */
export interface Loaders {
  readonly events: EventsLoaders;
  readonly markets: MarketsLoaders;
  readonly companies: CompaniesLoaders;
  readonly discovery: DiscoveryLoaders;
}

/** Who stands at a door. */
export interface Visitor {
  /** An error where the visitor's session is no longer good; undefined where nothing was presented. */
  readonly credential: Credential | Unauthenticated | undefined;
  /** The network address that sign-ins are counted by. */
  readonly address: string;
  /** Sets the gateway's own cookie; `maxAge` in seconds. @throws Forbidden at a door that cannot. */
  setSession(value: string, maxAge: number | undefined): void;
  clearSession(): void;
}

/** What a resolver may hold; lives as long as its request. */
export interface Context {
  /** @throws Unauthenticated where the request carries no credential, or one that is no longer good. */
  readonly credential: Credential;
  /** @throws Unauthenticated, as `credential` does. */
  readonly loaders: Loaders;
  /** @throws Unauthenticated, as `credential` does. */
  readonly writer: Writer;
  /** Signs in and out, for the browser at the other end. */
  readonly session: {
    /** @throws Unauthenticated, RateLimited */
    begin(email: string, password: string): Promise<Credential>;
    end(): void;
    /** Ends it where the service no longer accepts what the cookie holds; does nothing to who came without. */
    lapse(): void;
  };
  readonly receipt: Receipt;
  readonly teams: Teams;
  readonly keywordSuggestionPath: string | undefined;
}

/**
 * The context of one request.
 * @param signal aborts when the client has gone or the request's deadline has passed; its reason is the error to answer with.
 */
export function createContext(services: Services, visitor: Visitor, signal: AbortSignal): Context {
  const receipt = new Receipt();
  let loaders: Loaders | undefined;

  const credential = (): Credential => {
    if (visitor.credential instanceof Unauthenticated) throw visitor.credential;
    if (visitor.credential !== undefined) return visitor.credential;
    throw new Unauthenticated('Send an API key, a bearer token or a session id, or sign in');
  };
  const caller = (): Caller => ({
    credential: credential(),
    scope: services.scopeOf(credential()),
    signal,
    receipt,
  });

  return {
    get credential() {
      return credential();
    },
    get loaders() {
      loaders ??= createLoaders(services, caller());
      return loaders;
    },
    get writer() {
      const { write } = createWriter(services, caller());
      return {
        // What the request has read so far may be no longer so.
        write: <T>(what: Write<T>) => write(what).finally(() => (loaders = undefined)),
      };
    },
    session: {
      async begin(email, password) {
        const begun = await services.sessions.begin(email, password, visitor.address, receipt);
        visitor.setSession(begun.cookie, begun.maxAge);
        return begun.credential;
      },
      end: visitor.clearSession,
      lapse() {
        if (visitor.credential !== undefined && 'kind' in visitor.credential && visitor.credential.kind === 'cookie') {
          visitor.clearSession();
        }
      },
    },
    receipt,
    teams: services.teams,
    keywordSuggestionPath: services.keywordSuggestionPath,
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
