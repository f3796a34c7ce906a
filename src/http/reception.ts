import type { IncomingMessage } from 'node:http';
import { parse as parseCookie } from 'cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Visitor } from '../context.js';
import { type Credential, explicitCredential, type Presented } from '../credentials.js';
import { Forbidden, Unauthenticated } from '../errors.js';
import { andThen, type MaybePromise } from '../maybe-promise.js';
import type { Sessions } from '../sessions/sessions.js';

const sealedCookie = 'mig_session';

/** Who a request comes from, and how a session begins and ends. */
export interface Reception {
  /**
   * Reads the credential; an Unauthenticated in its place is a session that is no longer good.
   * @throws BadUserInput for credentials that cannot be told apart or carried.
   */
  credentialOf(request: IncomingMessage): MaybePromise<Visitor['credential']>;
  /** @param reply where the session's cookie is set and cleared. @throws as `credentialOf`. */
  receive(request: FastifyRequest, reply: FastifyReply): Promise<Visitor>;
  /** Reads off a request what a connection that outlives it needs later, and no more. */
  arrive(request: FastifyRequest): Arrival;
  /**
   * Whose connection it is.
   * @param presented what the connection's first message presents, by the names of the headers.
   * @throws BadUserInput as `credentialOf` does; Unauthenticated where there is no good credential; Forbidden where a page of another origin
   * would use the cookie (cross-site WebSocket hijacking).
   */
  authenticate(arrival: Arrival, presented?: Presented): Promise<Guest>;
}

/** Whoever a connection was opened for. */
export interface Guest {
  readonly credential: Credential;
  readonly address: string;
}

/** What the request presented that a connection began with. */
export interface Arrival {
  readonly presented: Presented;
  readonly cookie: string | undefined;
  readonly address: string;
  /** Whether it comes from no page, or from one that may use the cookie. */
  readonly trusted: boolean;
}

/** What a reception needs. */
export interface ReceptionParts {
  readonly sessions: Sessions;
  /** Whether a proxy in front tells the host that the client named. */
  readonly behindProxy: boolean;
  /** Who a request without any credential is taken for; undefined: nobody. */
  readonly fallback: Credential | undefined;
  /** Whose pages may use the cookie on connections, besides the gateway's own. */
  readonly origins: readonly string[];
}

/** The one place where an HTTP request's credential is read. An explicit one outranks the cookie, which a browser sends unasked. */
export function createReception({ sessions, behindProxy, fallback, origins }: ReceptionParts): Reception {
  function hostOf({ headers }: IncomingMessage): string {
    const forwarded = behindProxy ? headers['x-forwarded-host']?.toString().split(',')[0] : undefined;
    return (forwarded ?? headers.host ?? '').trim();
  }
  const isSecure = (request: IncomingMessage) => !isLoopback(hostOf(request).replace(/:\d+$/, ''));
  /** Everywhere but on a developer's own machine the cookie travels encrypted, and its name keeps other hosts from planting one (RFC 6265bis). */
  const cookieName = (request: IncomingMessage) => (isSecure(request) ? `__Host-${sealedCookie}` : sealedCookie);

  const cookieOf = (request: IncomingMessage) =>
    request.headers.cookie === undefined ? undefined : parseCookie(request.headers.cookie)[cookieName(request)];

  function sessionOf(cookie: string | undefined): MaybePromise<Visitor['credential']> {
    if (cookie === undefined) return undefined;
    return sessions.open(cookie).catch(error => {
      if (error instanceof Unauthenticated) return error;
      throw error;
    });
  }

  /** Every browser names the origin of a page that opens a WebSocket, or sends to another origin; who names none is no such page. */
  function isTrusted(request: IncomingMessage): boolean {
    const { origin } = request.headers;
    if (origin === undefined || origins.includes(origin)) return true;
    return URL.canParse(origin) && new URL(origin).host === hostOf(request);
  }

  const credentialOf: Reception['credentialOf'] = request =>
    explicitCredential(presentedBy(request)) ??
    andThen(sessionOf(cookieOf(request)), credential => credential ?? fallback);

  return {
    credentialOf,

    async receive({ raw, ip }, reply) {
      const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(raw) } as const;
      // At once, and not when Fastify sends: an answer that sets a cookie is nobody else's.
      const setCookie = (value: string, lifetime: { maxAge?: number; expires?: Date }) => {
        const text = reply.server.serializeCookie(cookieName(raw), value, { ...attributes, ...lifetime });
        reply.removeHeader('set-cookie').header('set-cookie', text);
      };
      const clearSession = () => setCookie('', { maxAge: 0, expires: new Date(0) });
      const credential = await credentialOf(raw);
      if (credential instanceof Unauthenticated) clearSession();
      return {
        credential,
        address: ip,
        setSession: (value, maxAge) => setCookie(value, maxAge === undefined ? {} : { maxAge }),
        clearSession,
      };
    },

    arrive: ({ raw, ip }) => ({
      presented: presentedBy(raw),
      cookie: cookieOf(raw),
      address: ip,
      trusted: isTrusted(raw),
    }),

    async authenticate({ presented, cookie, address, trusted }, more = {}) {
      const explicit = explicitCredential({ ...presented, ...more });
      if (explicit !== undefined) return { credential: explicit, address };
      if (cookie !== undefined && !trusted) throw new Forbidden('Pages of this origin may not use the session');
      const credential = (await sessionOf(cookie)) ?? fallback;
      if (credential instanceof Unauthenticated) throw credential;
      if (credential !== undefined) return { credential, address };
      throw new Unauthenticated('Send an API key, a bearer token or a session id, or sign in');
    },
  };
}

function presentedBy({ headers, url = '' }: IncomingMessage): Presented {
  const sessionIds = url.includes('sessionId') ? new URL(url, 'http://any').searchParams.getAll('sessionId') : [];
  return {
    'x-api-key': headers['x-api-key']?.toString(),
    authorization: headers.authorization,
    sessionId: sessionIds.length === 0 ? undefined : sessionIds.join(','),
  };
}

function isLoopback(host: string): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/i.test(host);
}
