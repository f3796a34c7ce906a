// Sessions of signed-in users. The cookie contains the whole session; the gateway stores only which sessions were signed out.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Credential } from '../../auth/credentials.js';
import type { Sealer } from '../../auth/seal.js';
import { serviceCookie } from '../../auth/service-cookies.js';
import { Secret } from '../../config/values.js';
import type { Upstream } from '../../data/upstream/upstream.js';
import { NotConfigured, SignInFailed, Unauthenticated, UpstreamInvalidResponse } from '../../errors.js';
import { timeNow } from '../../lib/clock.js';
import { atMost } from '../../lib/memory-budget.js';
import type { ResponseMetadata } from '../../observability/response-metadata.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { SignInAttempts } from './attempts.js';
import { signIn } from './client.js';
import type { Revocations } from './revocations.js';

export type Sessions = ReturnType<typeof createSessions>;

/** The content of the gateway's cookie, sealed: the service's cookies, and their user. What a newer gateway has added stays when it is resealed. */
const session = z.looseObject({
  /** Stays the same for the whole session, however often it is resealed. */
  id: z.string().min(1),
  cookies: z.array(serviceCookie).min(1),
  /** Identifies the service that set the cookies. */
  service: z.string(),
  email: z.string(),
  name: z.string().nullable(),
  /** In milliseconds since 1970. */
  endsAt: z.int(),
  /** Whether the browser keeps the cookie until then, instead of until it closes. */
  isKept: z.boolean(),
});

type Session = z.output<typeof session>;

interface SessionsDeps {
  readonly upstream: Upstream;
  readonly sealer: Sealer;
  readonly attempts: SignInAttempts;
  readonly revocations: Revocations;
  readonly telemetry: Pick<Telemetry, 'warn' | 'works'>;
  /** The host that the service's cookies are for; undefined: no one can sign in. */
  readonly cookieHost: string | undefined;
  /** Ends what goes on for a client that has signed out. */
  readonly onEnd: (credential: Credential) => Promise<void>;
  /** Identifies the service. Sessions of other services are not accepted. */
  readonly service: string;
}

/** Lifetime of a session with a cookie that has no expiry. */
const unlimitedMs = 12 * 60 * 60 * 1_000;
/** In characters. Browsers silently drop a cookie of more than 4,096 bytes, including its name. */
const maxCookieLength = 4_000;
/** The least time before a refusal, so that timing does not reveal its reason. */
const refusalMs = 500;
/** How long a session counts as one with an older secret, and how many sessions are counted at most. */
const outdatedBounds = { ...atMost(100_000), ttl: 15 * 60 * 1_000, perf: performance };

export function createSessions(deps: SessionsDeps) {
  const { cookieHost, sealer, attempts, revocations, service } = deps;
  const outdated = new LRUCache<string, true>(outdatedBounds);

  /** The gateway's cookie, to be set in a response. `maxAge` is in whole seconds; undefined: until the browser closes. */
  async function cookieOf(opened: Session) {
    const leftMs = opened.endsAt - timeNow();
    const value = await sealer.seal(opened, leftMs);
    return { value, maxAge: opened.isKept ? Math.floor(leftMs / 1_000) : undefined };
  }

  async function read(cookie: string): Promise<Session> {
    const content = await sealer.open(cookie).catch(() => undefined);
    const { data: opened } = session.safeParse(content);
    if (opened?.service === service && opened.endsAt > timeNow()) return opened;
    throw new Unauthenticated('The session has ended; sign in again');
  }

  return {
    /**
     * Signs a user in.
     * @throws SignInFailed with the same timing for a wrong password and an unknown user; RateLimited after too many attempts;
     *   UpstreamInvalidResponse if the session is too large for a cookie.
     */
    async begin(email: string, password: string, address: string, metadata: ResponseMetadata) {
      if (cookieHost === undefined) throw new NotConfigured('UPSTREAM_BASE_URL');
      await attempts.count(email, address);
      const startedAt = performance.now();
      try {
        const session = await signIn(deps, metadata, cookieHost, email, password);
        await attempts.forgive(email, address);
        const expiries = session.cookies.map(([, , expiresAt]) => expiresAt);
        // As long as the cookie that lives longest; the others expire by themselves.
        const endsAt = Math.max(...expiries.map(expiresAt => expiresAt ?? timeNow() + unlimitedMs));
        const begun = { ...session, service, id: randomUUID(), endsAt, isKept: expiries.includes(endsAt) };
        const cookie = await cookieOf(begun);
        if (cookie.value.length > maxCookieLength) {
          throw new UpstreamInvalidResponse('The session is too large for a cookie');
        }
        return { credential: credentialOf(begun), cookie };
      } catch (error) {
        if (error instanceof SignInFailed) await sleep(Math.max(0, refusalMs - (performance.now() - startedAt)));
        throw error;
      }
    },

    /** Opens the gateway's cookie. `renewed` replaces one of an older secret. @throws Unauthenticated if it is altered, of another service, or ended. */
    async open(cookie: string) {
      const opened = await read(cookie);
      if (await revocations.has(opened.id)) throw new Unauthenticated('The session has ended; sign in again');
      const isOutdated = sealer.isOutdated(cookie);
      if (isOutdated) outdated.set(opened.id, true);
      else outdated.delete(opened.id);
      return { credential: credentialOf(opened), renewed: isOutdated ? await cookieOf(opened) : undefined };
    },

    /** Whether a client has signed out, whatever was known of its session before. */
    hasEnded: async (credential: Credential) =>
      credential.kind === 'cookie' && (await revocations.has(credential.session, true)),

    /** Ends a session before it expires, for every copy of its cookie. Does nothing if the cookie cannot be opened. */
    async end(cookie: string) {
      const opened = await read(cookie).catch(() => undefined);
      if (opened === undefined) return;
      await revocations.add(opened.id, opened.endsAt);
      await deps.onEnd(credentialOf(opened));
    },

    /** How many sessions were used with an older secret in the last 15 minutes, and have not been used with the first one since. */
    outdated() {
      outdated.purgeStale();
      return outdated.size;
    },
  };
}

const credentialOf = ({ cookies, email, name, id }: Session): Credential => ({
  kind: 'cookie',
  secret: new Secret(JSON.stringify(cookies)),
  email,
  name,
  session: id,
});
