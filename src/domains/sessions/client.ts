import { getSetCookies, Headers } from 'undici';
import { parseReply, type Reply, replyText, unread } from '../../data/upstream/reply.js';
import type { UpstreamRequest } from '../../data/upstream/request.js';
import type { Upstream } from '../../data/upstream/upstream.js';
import type { Write } from '../../data/writer.js';
import {
  Forbidden,
  NotFound,
  SignInFailed,
  Unauthenticated,
  UpstreamBadInput,
  UpstreamInvalidResponse,
} from '../../errors.js';
import type { ResponseMetadata } from '../../observability/response-metadata.js';
import { type EmbedSession, embedSession, type Session, signedInName } from './model.js';

/** GET /v2/auth/session. It creates a new session each time, so it is a write. */
export const embedSessionWrite: Write<EmbedSession> = {
  request: { family: 'auth', address: 'base', method: 'GET', path: '/v2/auth/session', safe: false },
  parse: body => embedSession.parse(body()),
};

/** A session that the service has started. */
export interface SignedIn {
  readonly session: Pick<Session, 'cookies' | 'email' | 'name'>;
  /** When the service's cookies expire, in milliseconds from now. Undefined if they have no expiry. */
  readonly lifetimeMs: number | undefined;
}

/**
 * POST /v2/auth/sign-in.
 * @throws SignInFailed, whatever the reason why the service refuses.
 */
export async function signIn(
  upstream: Upstream,
  metadata: ResponseMetadata,
  email: string,
  password: string,
): Promise<SignedIn> {
  const request = {
    family: 'auth',
    address: 'base',
    method: 'POST',
    path: '/v2/auth/sign-in',
    body: { email, password },
    argument: 'input',
    safe: false,
  } as const;
  const reply = await upstream.send(request, { metadata }, unread).catch(error => {
    throw refuses(error) ? new SignInFailed() : error;
  });
  const cookies = cookiesOf(reply);
  if (cookies.length === 0) throw new UpstreamInvalidResponse('The service did not start a session', undefined, false);
  return {
    session: {
      cookies: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
      email,
      name: nameIn(reply, request),
    },
    lifetimeMs: shortest(cookies),
  };
}

function refuses(error: unknown): boolean {
  return [Unauthenticated, Forbidden, NotFound, UpstreamBadInput].some(refusal => error instanceof refusal);
}

function cookiesOf({ headers }: Reply) {
  const lines = headers['set-cookie'] ?? [];
  const parsed = getSetCookies(new Headers([lines].flat().map(line => ['set-cookie', line] as [string, string])));
  return parsed.filter(cookie => (lifetimeOf(cookie) ?? 1) > 0);
}

type ServiceCookie = ReturnType<typeof getSetCookies>[number];

function lifetimeOf({ maxAge, expires }: ServiceCookie): number | undefined {
  if (maxAge !== undefined) return maxAge * 1_000;
  return expires === undefined ? undefined : Number(expires) - Date.now();
}

function shortest(cookies: readonly ServiceCookie[]): number | undefined {
  const lifetimes = cookies.flatMap(cookie => lifetimeOf(cookie) ?? []);
  return lifetimes.length === 0 ? undefined : Math.min(...lifetimes);
}

function nameIn(reply: Reply, request: UpstreamRequest): string | null {
  try {
    return signedInName.parse(parseReply(replyText(reply, request)));
  } catch {
    return null;
  }
}
