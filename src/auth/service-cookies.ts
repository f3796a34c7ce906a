import { z } from 'zod';
import { timeNow } from '../lib/clock.js';
import { dayMs } from '../lib/time.js';

/** A cookie of the service: `name=value`, the path below which it is sent, and when it expires, in milliseconds since 1970; null: with the session. */
export const serviceCookie = z.tuple([z.string().min(1), z.string(), z.int().nullable()]);

export type ServiceCookie = z.output<typeof serviceCookie>;

/** As browsers do (RFC 6265bis, 5.5). */
const maxLifetimeMs = 400 * dayMs;

/**
 * The cookies that a browser would keep of a response, in the order in which it would send them (RFC 6265, 5.3 and 5.4). A cookie without a `Path` is
 * for all paths: by default it would be for those below the path of sign-in. A `Secure` one is accepted where the operator trusts plain HTTP.
 * @param lines the values of `Set-Cookie`. @param host that sent them. @param sentAt when, by the clock of that host, in milliseconds since 1970.
 * @returns those, and the domains of others that are not for this host.
 */
export async function receivedCookies(lines: readonly string[], host: string, sentAt: number) {
  // Loaded with the first sign-in: its list of public suffixes takes 10 MB.
  const { Cookie, CookieJar, domainMatch } = await import('tough-cookie');
  const jar = new CookieJar(undefined, { rejectPublicSuffixes: false });
  // A name is the same with a final dot.
  const hostname = new URL(`https://${host}`).hostname.replace(/\.$/, '');
  const root = `https://${hostname}/`;
  const received = lines.flatMap(line => Cookie.parse(line) ?? []);
  for (const cookie of received) {
    cookie.domain = cookie.domain?.replace(/\.$/, '') ?? null;
    jar.setCookieSync(cookie, root, { ignoreError: true });
  }
  const now = timeNow();
  // The jar would judge what has expired by the clock of this host.
  const cookies = jar.getCookiesSync(root, { allPaths: true, sort: true, expire: false }).flatMap(cookie => {
    const expiresAt = cookie.isPersistent() ? now + Math.min(cookie.TTL(sentAt), maxLifetimeMs) : null;
    if (expiresAt !== null && expiresAt <= now) return [];
    return [[cookie.cookieString(), cookie.path ?? '/', expiresAt] satisfies ServiceCookie];
  });
  const domains = received.flatMap(({ domain }) => domain ?? []);
  return { cookies, otherDomains: domains.filter(domain => !domainMatch(hostname, domain)) };
}

/** The value of a `Cookie` header for a request to this path; empty if no cookie is for it, or each has expired. */
export function cookieHeader(cookies: readonly ServiceCookie[], path: string): string {
  const now = timeNow();
  return cookies
    .filter(([, below]) => path === below || path.startsWith(below.replace(/\/?$/, '/')))
    .filter(([, , expiresAt]) => expiresAt === null || expiresAt > now)
    .map(([text]) => text)
    .join('; ');
}
