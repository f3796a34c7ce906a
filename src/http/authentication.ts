import type { IncomingMessage } from 'node:http';
import { parse as parseCookie, stringifySetCookie } from 'cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Credential, explicitCredential, type RawCredentials } from '../auth/credentials.js';
import type { RequestIdentity } from '../context.js';
import type { OpenedSession, Sessions } from '../domains/sessions/sessions.js';
import { Forbidden, Unauthenticated } from '../errors.js';
import { Attached } from '../lib/attached.js';
import { addEarlyHeader } from '../lib/early-headers.js';
import { andThen, type MaybePromise } from '../lib/maybe-promise.js';
import { sessionIdsIn } from '../lib/path.js';
import type { Peers } from './peers.js';

const sealedCookie = 'mig_session';

/** Who a request comes from, and how a session begins and ends. */
export interface Authentication {
  /**
   * Reads the credential; an Unauthenticated in its place is a session that is no longer good.
   * @throws BadUserInput for credentials that cannot be told apart or carried.
   */
  credentialOf(request: IncomingMessage): MaybePromise<RequestIdentity['credential']>;
  /** @param reply where the session's cookie is set and cleared. @throws as `credentialOf`. */
  receive(request: FastifyRequest, reply: FastifyReply): Promise<RequestIdentity>;
  /** Reads off a request what a connection that outlives it needs later, and no more. */
  arrive(request: FastifyRequest): Handshake;
  /**
   * Whose connection it is.
   * @param presented what the connection's first message presents, by the names of the headers.
   * @throws BadUserInput as `credentialOf` does; Unauthenticated where there is no good credential; Forbidden where a page of another origin
   * would use the cookie (cross-site WebSocket hijacking).
   */
  authenticate(arrival: Handshake, rawCredentials?: RawCredentials): Promise<Identity>;
}

/** Whoever a connection was opened for. */
export interface Identity {
  readonly credential: Credential;
  readonly address: string;
}

/** What the request presented that a connection began with. */
export interface Handshake {
  readonly rawCredentials: RawCredentials;
  readonly cookie: string | undefined;
  readonly address: string;
  /** Whether it comes from no page, or from one that may use the cookie. */
  readonly trusted: boolean;
}

/** What a reception needs. */
export interface AuthenticationDeps {
  readonly sessions: Sessions;
  readonly peers: Pick<Peers, 'hostOf'>;
  /** Who a request without any credential is taken for; undefined: nobody. */
  readonly fallback: Credential | undefined;
  /** Whose pages may use the cookie on connections, besides the gateway's own. */
  readonly origins: readonly string[];
}

/** The one place where an HTTP request's credential is read. An explicit one outranks the cookie, which a browser sends unasked. */
export function createAuthentication({ sessions, peers, fallback, origins }: AuthenticationDeps): Authentication {
  const { hostOf } = peers;
  const isSecure = (request: IncomingMessage) => !isLoopback(hostOf(request).replace(/:\d+$/, ''));
  /** Everywhere but on a developer's own machine the cookie travels encrypted, and its name keeps other hosts from planting one (RFC 6265bis). */
  const cookieName = (request: IncomingMessage) => (isSecure(request) ? `__Host-${sealedCookie}` : sealedCookie);

  const cookieCredentials = new Attached<MaybePromise<RequestIdentity['credential']>>();

  const cookieOf = (request: IncomingMessage) =>
    request.headers.cookie === undefined ? undefined : parseCookie(request.headers.cookie)[cookieName(request)];

  function sessionOf(cookie: string | undefined): MaybePromise<OpenedSession | Unauthenticated | undefined> {
    if (cookie === undefined) return undefined;
    return sessions.open(cookie).catch(error => {
      if (error instanceof Unauthenticated) return error;
      throw error;
    });
  }

  const setCookieText = (request: IncomingMessage, value: string, lifetime: { maxAge?: number; expires?: Date }) =>
    stringifySetCookie(cookieName(request), value, {
      ...{ path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(request) },
      ...lifetime,
    });

  /** Of the request's cookie. One that was sealed under an older secret is set anew on whatever answer the request gets. */
  function cookieCredentialOf(request: IncomingMessage): MaybePromise<RequestIdentity['credential']> {
    const known = cookieCredentials.get(request);
    if (known !== undefined) return known;
    const credential = andThen(sessionOf(cookieOf(request)), opened => {
      if (opened === undefined || opened instanceof Unauthenticated) return opened;
      if (opened.renewed !== undefined) {
        const { value, maxAge } = opened.renewed;
        addEarlyHeader(request, 'set-cookie', setCookieText(request, value, lifetimeOf(maxAge)));
      }
      return opened.credential;
    });
    cookieCredentials.set(request, credential);
    return credential;
  }

  /**
   * A browser names the origin of a page that opens a WebSocket or may read the response. For a GET whose response the page may not read it
   * names none, and says in `Sec-Fetch-Site` whether the page is of another origin.
   */
  function isTrusted(request: IncomingMessage): boolean {
    const { origin, 'sec-fetch-site': site = 'none' } = request.headers;
    if (origin === undefined) return site === 'none' || site === 'same-origin';
    if (origins.includes(origin)) return true;
    return URL.canParse(origin) && new URL(origin).host === hostOf(request);
  }

  const credentialOf: Authentication['credentialOf'] = request =>
    explicitCredential(presentedBy(request)) ??
    andThen(cookieCredentialOf(request), credential => credential ?? fallback);

  return {
    credentialOf,

    async receive({ raw, ip }, reply) {
      // At once, and not when Fastify sends: an answer that sets a cookie is nobody else's.
      const setCookie = (value: string, lifetime: { maxAge?: number; expires?: Date }) => {
        reply.removeHeader('set-cookie').header('set-cookie', setCookieText(raw, value, lifetime));
      };
      const clearSession = () => setCookie('', { maxAge: 0, expires: new Date(0) });
      const credential = await credentialOf(raw);
      if (credential instanceof Unauthenticated) clearSession();
      return {
        credential,
        address: ip,
        setSession: (value, maxAge) => setCookie(value, lifetimeOf(maxAge)),
        clearSession,
        async endSession() {
          clearSession();
          const cookie = cookieOf(raw);
          if (cookie !== undefined) await sessions.end(cookie);
        },
      };
    },

    arrive: ({ raw, ip }) => ({
      rawCredentials: presentedBy(raw),
      cookie: cookieOf(raw),
      address: ip,
      trusted: isTrusted(raw),
    }),

    async authenticate({ rawCredentials, cookie, address, trusted }, more = {}) {
      const explicit = explicitCredential({ ...rawCredentials, ...more });
      if (explicit !== undefined) return { credential: explicit, address };
      if (cookie !== undefined && !trusted) throw new Forbidden('Pages of this origin may not use the session');
      const opened = await sessionOf(cookie);
      if (opened instanceof Unauthenticated) throw opened;
      const credential = opened?.credential ?? fallback;
      if (credential !== undefined) return { credential, address };
      throw new Unauthenticated('Send an API key, a bearer token or a session id, or sign in');
    },
  };
}

const lifetimeOf = (maxAge: number | undefined) => (maxAge === undefined ? {} : { maxAge });

function presentedBy({ headers, url = '' }: IncomingMessage): RawCredentials {
  const sessionIds = sessionIdsIn(url);
  return {
    'x-api-key': headers['x-api-key']?.toString(),
    authorization: headers.authorization,
    sessionId: sessionIds.length === 0 ? undefined : sessionIds.join(','),
  };
}

function isLoopback(host: string): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/i.test(host);
}
