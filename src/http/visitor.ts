import type { IncomingMessage } from 'node:http';
import { parse as parseCookie } from 'cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Visitor } from '../context.js';
import { type Credential, explicitCredential } from '../credentials.js';
import { Unauthenticated } from '../errors.js';
import type { Sessions } from '../sessions/sessions.js';

const sealedCookie = 'mig_session';

/** Who a request comes from, and how a session begins and ends. */
export interface Reception {
  /**
   * Reads the credential; an Unauthenticated in its place is a session that is no longer good.
   * @throws BadUserInput for credentials that cannot be told apart or carried.
   */
  credentialOf(request: IncomingMessage): Promise<Visitor['credential']>;
  /** @param reply where the session's cookie is set and cleared. @throws as `credentialOf`. */
  receive(request: FastifyRequest, reply: FastifyReply): Promise<Visitor>;
}

/** What a reception needs. */
export interface ReceptionParts {
  readonly sessions: Sessions;
  /** Whether a proxy in front tells the host that the client named. */
  readonly behindProxy: boolean;
  /** Who a request without any credential is taken for; undefined: nobody. */
  readonly fallback: Credential | undefined;
}

/** The one place where an HTTP request's credential is read. An explicit one outranks the cookie, which a browser sends unasked. */
export function createReception({ sessions, behindProxy, fallback }: ReceptionParts): Reception {
  function isSecure({ headers }: IncomingMessage): boolean {
    const forwarded = behindProxy ? headers['x-forwarded-host']?.toString().split(',')[0] : undefined;
    return !isLoopback((forwarded ?? headers.host ?? '').trim().replace(/:\d+$/, ''));
  }
  /** Everywhere but on a developer's own machine the cookie travels encrypted, and its name keeps other hosts from planting one (RFC 6265bis). */
  const cookieName = (request: IncomingMessage) => (isSecure(request) ? `__Host-${sealedCookie}` : sealedCookie);

  async function sessionOf(request: IncomingMessage): Promise<Visitor['credential']> {
    const cookie =
      request.headers.cookie === undefined ? undefined : parseCookie(request.headers.cookie)[cookieName(request)];
    if (cookie === undefined) return undefined;
    return sessions.open(cookie).catch(error => {
      if (error instanceof Unauthenticated) return error;
      throw error;
    });
  }

  const credentialOf: Reception['credentialOf'] = async request =>
    explicitCredential(presentedBy(request)) ?? (await sessionOf(request)) ?? fallback;

  return {
    credentialOf,

    async receive({ raw, ip }, reply) {
      const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(raw) } as const;
      const clearSession = () => void reply.clearCookie(cookieName(raw), attributes);
      const credential = await credentialOf(raw);
      if (credential instanceof Unauthenticated) clearSession();
      return {
        credential,
        address: ip,
        setSession: (value, maxAge) =>
          void reply.setCookie(cookieName(raw), value, { ...attributes, ...(maxAge !== undefined && { maxAge }) }),
        clearSession,
      };
    },
  };
}

function presentedBy({ headers, url = '' }: IncomingMessage) {
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
