// Finds the credential of a request or a connection, and the identity that follows from it; sets and clears the cookie of a session.
import type { IncomingMessage } from 'node:http';
import { parse as parseCookie, stringifySetCookie } from 'cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Credential, explicitCredential, type RawCredentials, type Scope } from '../auth/credentials.js';
import type { Config } from '../config/config.js';
import { Secret } from '../config/values.js';
import type { BrowserSession, RequestIdentity } from '../context.js';
import type { Sessions } from '../domains/sessions/sessions.js';
import { BadUserInput, Forbidden, GatewayError, Unauthenticated } from '../errors.js';
import { type ProxyHeaders, sessionIdsIn } from '../lib/network.js';
import { andThen, type MaybePromise } from '../lib/run.js';
import { parseWebUrl } from '../lib/web-url.js';
import { type ClientConnection, clientConnectionOf } from './connections.js';
import { type RequestState, stateOf } from './request-state.js';

const sealedCookie = 'mig_session';

export type Authentication = ReturnType<typeof createAuthentication>;

export interface Identity {
  readonly credential: Credential;
  readonly scope: Scope;
  readonly address: string;
}

/** The credentials in the request that opened a connection. */
export type Handshake = ReturnType<Authentication['handshakeOf']>;

interface AuthenticationDeps {
  readonly config: Pick<Config, 'corsOrigins' | 'exports'>;
  readonly sessions: Sessions;
  readonly scopeOf: (credential: Credential) => Scope;
  readonly proxyHeaders: ProxyHeaders;
  /** The API key of a request to a loopback host that has no credential; undefined: such a request has none. */
  readonly demoKey: string | undefined;
}

/** What a request says about the page that sends it. @param origins of other pages that are trusted. @param isOpen whether anyone knows a key. */
function createPageRules(origins: readonly string[], { hostOf }: ProxyHeaders, isOpen: boolean) {
  const isLocal = (request: IncomingMessage) => loopback.test(hostOf(request).replace(/:\d+$/, ''));

  /** Some proxies write the port of the scheme into the host, which no origin has. */
  function isOf(origin: string, host: string): boolean {
    const page = parseWebUrl(origin);
    return page !== undefined && parseWebUrl(`${page.protocol}//${host}`)?.host === page.host;
  }

  /** Browsers send `Origin` for WebSockets and with CORS. For other GETs, `Sec-Fetch-Site` says whether the page is of another origin. */
  function isTrusted(request: IncomingMessage): boolean {
    const { origin, 'sec-fetch-site': site = 'none' } = request.headers;
    const host = hostOf(request);
    // Any web page can have a name that resolves to this host (DNS rebinding), but no such address.
    const isOwnHost = !isOpen || isLocal(request) || ipAddress.test(host);
    if (origin !== undefined) return origins.includes(origin) || (isOf(origin, host) && isOwnHost);
    const isListed = () => origins.some(each => isOf(each, host));
    return site === 'none' || (site === 'same-origin' && (isOwnHost || isListed()));
  }

  /** Whether a page of another site sends it, for which browsers keep no `SameSite=Lax` cookie. Older ones send no `Sec-Fetch-Site`. */
  function isCrossSite(request: IncomingMessage): boolean {
    const { origin = '', 'sec-fetch-site': site } = request.headers;
    if (site !== undefined) return site === 'cross-site';
    const page = parseWebUrl(origin);
    return page !== undefined && siteOf(page.host) !== siteOf(hostOf(request));
  }

  return { isLocal, isTrusted, isCrossSite };
}

function createCookieRules(isLocal: (request: IncomingMessage) => boolean) {
  /** Except on loopback, browsers send the cookie over TLS only, and its name keeps other hosts from setting it (RFC 6265bis). */
  const cookieName = (request: IncomingMessage) => (isLocal(request) ? sealedCookie : `__Host-${sealedCookie}`);

  const cookieOf = (request: IncomingMessage) =>
    request.headers.cookie === undefined ? undefined : parseCookie(request.headers.cookie)[cookieName(request)];

  /** @param maxAge in seconds; undefined: until the browser is closed; 0: the cookie is deleted. */
  const setCookieText = (request: IncomingMessage, value: string, maxAge: number | undefined) =>
    stringifySetCookie(cookieName(request), value, {
      ...{ path: '/', httpOnly: true, sameSite: 'lax', secure: !isLocal(request) },
      ...(maxAge !== undefined && { maxAge }),
      ...(maxAge === 0 && { expires: new Date(0) }),
    });

  return { cookieOf, setCookieText };
}

/** Computed once for a connection, as long as its credential is the same. */
function scopeFor(
  scopeOf: AuthenticationDeps['scopeOf'],
  connection: ClientConnection | undefined,
  credential: Credential,
): Scope {
  const last = connection?.lastScope;
  if (last !== undefined && isSame(last.credential, credential)) return last.scope;
  const scope = scopeOf(credential);
  if (connection !== undefined) connection.lastScope = { credential, scope };
  return scope;
}

function keepRefusal(state: RequestState, error: unknown): void {
  if (!(error instanceof BadUserInput || error instanceof Forbidden || error instanceof Unauthenticated)) throw error;
  state.credential = error;
}

/** The only place that reads credentials from HTTP requests. An explicit one outranks the cookie, which browsers send by themselves. */
export function createAuthentication(deps: AuthenticationDeps) {
  const { sessions, scopeOf, demoKey } = deps;
  const { corsOrigins, exports } = deps.config;
  const fallback: Credential | undefined =
    demoKey === undefined ? undefined : { kind: 'apiKey', secret: new Secret(demoKey) };
  /** Other pages may not even send requests: anyone knows the key of the sandbox, and an export could reach private addresses. */
  const isGuarded = demoKey !== undefined || exports.allowPrivateAddresses === true;
  const { isLocal, isTrusted, isCrossSite } = createPageRules(corsOrigins, deps.proxyHeaders, demoKey !== undefined);
  const { cookieOf, setCookieText } = createCookieRules(isLocal);
  /** Not under another host name: a page of any name can send a GET, too, which has no `Origin`. */
  const fallbackFor = (request: IncomingMessage) => (isLocal(request) ? fallback : undefined);

  /** @throws BadUserInput, Forbidden, Unauthenticated for one that is not valid. */
  function credentialOf(state: RequestState): MaybePromise<Credential | undefined> {
    const { request } = state;
    if (isGuarded && !isTrusted(request)) throw new Forbidden(originMessage);
    const explicit = explicitCredential(rawCredentialsOf(request));
    if (explicit !== undefined) return explicit;
    const cookie = cookieOf(request);
    if (cookie === undefined) return fallbackFor(request);
    return sessions.open(cookie).then(({ credential, renewed }) => {
      // It was sealed under an older secret.
      if (renewed !== undefined) state.setHeader('set-cookie', setCookieText(request, renewed.value, renewed.maxAge));
      return credential;
    });
  }

  /** Copies from a request what its connection needs later, so that the connection does not hold the request. */
  const handshakeOf = ({ raw }: FastifyRequest) => ({
    rawCredentials: rawCredentialsOf(raw),
    credential: stateOf(raw).credential,
    address: stateOf(raw).address,
    connection: clientConnectionOf(raw.socket),
    trusted: isTrusted(raw),
  });

  return {
    /** Finds the credential of a request and its scope. At once, except where a cookie has to be opened. */
    findCredential(state: RequestState): MaybePromise<void> {
      try {
        const found = andThen(credentialOf(state), credential => {
          state.credential = credential;
          if (credential !== undefined)
            state.scope = scopeFor(scopeOf, clientConnectionOf(state.request.socket), credential);
        });
        return found instanceof Promise ? found.catch(error => keepRefusal(state, error)) : found;
      } catch (error) {
        keepRefusal(state, error);
      }
    },

    /**
     * The client of a request whose credential was found.
     * @param reply gets the session's cookie. @throws BadUserInput for two credentials at once, or one that no header could carry.
     */
    identify({ raw }: FastifyRequest, reply: FastifyReply): RequestIdentity {
      const { credential, scope, address, usage } = stateOf(raw);
      const isEnded = credential instanceof Unauthenticated;
      if (credential instanceof GatewayError && !isEnded) throw credential;
      // Set now, and not when Fastify sends: a response that sets a cookie must not be cached.
      const setCookie = (value: string, maxAge: number | undefined) => {
        reply.removeHeader('set-cookie').header('set-cookie', setCookieText(raw, value, maxAge));
      };
      const clearCookie = () => setCookie('', 0);
      if (isEnded) clearCookie();
      const session: BrowserSession = {
        async begin(email, password, metadata) {
          if (isCrossSite(raw)) throw new Forbidden(crossSiteMessage);
          const begun = await sessions.begin(email, password, address, metadata);
          setCookie(begun.cookie.value, begun.cookie.maxAge);
          return begun.credential;
        },
        async end() {
          clearCookie();
          const cookie = cookieOf(raw);
          if (cookie !== undefined) await sessions.end(cookie);
        },
        expire() {
          if (!isEnded && credential?.kind === 'cookie') clearCookie();
        },
      };
      return { credential, scope, session, usage };
    },

    handshakeOf,

    /**
     * The client of a connection, or of a request that is answered with a stream.
     * @param more credentials from the connection's first message, by the names of the headers.
     * @throws BadUserInput as `identify` does; Unauthenticated where there is no valid credential; Forbidden for a page of another origin
     * (cross-site WebSocket hijacking).
     */
    authenticate(handshake: ReturnType<typeof handshakeOf>, more: RawCredentials = {}): Identity {
      const { rawCredentials, credential, address, connection, trusted } = handshake;
      if (!trusted) throw new Forbidden(originMessage);
      const found = explicitCredential({ ...rawCredentials, ...more }) ?? credential;
      if (found instanceof Error) throw found;
      if (found === undefined) throw new Unauthenticated();
      return { credential: found, scope: scopeFor(scopeOf, connection, found), address };
    },
  };
}

const originMessage = 'Pages of this origin may not use the gateway, because it is not in CORS_ORIGINS';

const crossSiteMessage =
  "The browser would not keep the session, because this page is of another site than the gateway. Open the page at the gateway's site. " +
  'localhost and 127.0.0.1 are two sites';

/** The site of a host with or without a port. There are sites that this takes for the same, because it does not know the public suffixes. */
const siteOf = (host: string) => host.toLowerCase().replace(/:\d+$/, '').split('.').slice(-2).join('.');

const isSame = (one: Credential, other: Credential) =>
  one.kind === other.kind && one.secret.reveal() === other.secret.reveal();

function rawCredentialsOf({ headers, url = '' }: IncomingMessage): RawCredentials {
  const sessionIds = sessionIdsIn(url);
  return {
    'x-api-key': headers['x-api-key']?.toString(),
    authorization: headers.authorization,
    sessionId: sessionIds.length === 0 ? undefined : sessionIds.join(', '),
  };
}

const ipAddress = /^(?:\d+(?:\.\d+){3}|\[.+\])(?::\d+)?$/;

const loopback = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/i;
