import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Visitor } from '../context.js';
import { type Credential, explicitCredential } from '../credentials.js';
import { Unauthenticated } from '../errors.js';
import type { Sessions } from '../sessions/sessions.js';

const sealedCookie = 'mig_session';

/** Who the request comes from, and how its session begins and ends. */
export interface Reception {
  /**
   * @param reply where the session's cookie is set and cleared.
   * @throws BadUserInput for credentials that cannot be told apart or carried.
   */
  receive(request: FastifyRequest, reply: FastifyReply): Promise<Visitor>;
}

/**
 * The one place where an HTTP request's credential is read. An explicit one outranks the cookie, which a browser sends unasked.
 * @param fallback who a request without any is taken for; undefined: nobody.
 */
export function createReception(sessions: Sessions, fallback: Credential | undefined): Reception {
  return {
    async receive(request, reply) {
      const cookie = request.cookies[cookieName(request)];
      const end = () => void reply.clearCookie(cookieName(request), attributes(request));
      const credential =
        explicitCredential(presentedBy(request)) ?? (await opened(sessions, cookie).catch(ended(end))) ?? fallback;
      return {
        credential,
        address: request.ip,
        setSession: (value, maxAge) =>
          void reply.setCookie(cookieName(request), value, {
            ...attributes(request),
            ...(maxAge !== undefined && { maxAge }),
          }),
        clearSession: end,
      };
    },
  };
}

async function opened(sessions: Sessions, cookie: string | undefined): Promise<Credential | undefined> {
  return cookie === undefined ? undefined : sessions.open(cookie);
}

/** A cookie that does not open is of no more use to the browser; the request goes on as one that must be refused what needs a credential. */
function ended(end: () => void) {
  return (error: unknown): Unauthenticated => {
    if (!(error instanceof Unauthenticated)) throw error;
    end();
    return error;
  };
}

function presentedBy({ headers, query }: FastifyRequest) {
  const { sessionId } = query as { sessionId?: string | string[] };
  return {
    'x-api-key': headers['x-api-key']?.toString(),
    authorization: headers.authorization,
    sessionId: sessionId?.toString(),
  };
}

/** Everywhere but on a developer's own machine the cookie travels encrypted, and its name keeps other hosts from planting one (RFC 6265bis). */
function isSecure({ hostname }: FastifyRequest): boolean {
  return !/^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

function cookieName(request: FastifyRequest): string {
  return isSecure(request) ? `__Host-${sealedCookie}` : sealedCookie;
}

function attributes(request: FastifyRequest) {
  return { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(request) } as const;
}
