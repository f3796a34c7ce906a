import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Credential } from '../../auth/credentials.js';
import type { Sealer } from '../../auth/seal.js';
import { Secret } from '../../config/secret.js';
import type { Upstream } from '../../data/upstream/upstream.js';
import { Unauthenticated, UpstreamInvalidResponse } from '../../errors.js';
import type { ResponseMetadata } from '../../observability/response-metadata.js';
import type { SignInAttempts } from './attempts.js';
import { signIn } from './client.js';
import { type Session, session } from './model.js';
import type { Revocations } from './revocations.js';

/** The gateway's own cookie, as it is to be set. */
export interface SessionCookie {
  /** The service's cookies, sealed. */
  readonly value: string;
  /** When the service's cookies end, in whole seconds from now; undefined: with the browser. */
  readonly maxAge: number | undefined;
}

/** A session that has begun. */
export interface Begun {
  readonly credential: Credential;
  readonly cookie: SessionCookie;
}

/** A session that goes on. */
export interface Opened {
  readonly credential: Credential;
  /** In place of one that was sealed under an older secret. */
  readonly renewed: SessionCookie | undefined;
}

/** Signed-in users, of whom the gateway keeps nothing but who signed out: all there is of a session is in its cookie. */
export interface Sessions {
  /** @throws Unauthenticated, alike in text and time for a wrong password and an unknown user; RateLimited after too many attempts; UpstreamInvalidResponse for a session that no cookie can hold. */
  begin(email: string, password: string, address: string, metadata: ResponseMetadata): Promise<Begun>;
  /** The session in the gateway's cookie. @throws Unauthenticated where it is tampered with, foreign, expired or signed out. */
  open(cookie: string): Promise<Opened>;
  /** Ends the session in the gateway's cookie before its time, for every copy of the cookie. Does nothing where it does not open. */
  end(cookie: string): Promise<void>;
  /** How many sessions came under an older secret in the last 15 minutes, and have not come under the first one since. */
  outdated(): number;
}

/** What sessions need of the process. */
export interface SessionsDeps {
  readonly upstream: Upstream;
  readonly sealer: Sealer;
  readonly attempts: SignInAttempts;
  readonly revocations: Revocations;
  /** Tells the service apart from every other: a session of another one is not accepted. */
  readonly service: string;
}

/** Where the service gives its cookies no end, the seal gives them this one. */
const longestMs = 12 * 60 * 60 * 1_000;
/** In characters. Browsers drop a cookie of more than 4,096 bytes, its name among them, without a word. */
const longestCookie = 4_000;
/** A refusal is not told sooner, so that its time does not tell why. */
const refusalMs = 500;
/** For how long a session is counted as one of an older secret, and how many at most. */
const outdatedBounds = { max: 100_000, ttl: 15 * 60 * 1_000, perf: performance };

export function createSessions({ upstream, sealer, attempts, revocations, service }: SessionsDeps): Sessions {
  const outdated = new LRUCache<string, true>(outdatedBounds);

  async function cookieOf(opened: Session): Promise<SessionCookie> {
    const leftMs = opened.endsAt - Date.now();
    const value = await sealer.seal(opened, leftMs);
    return { value, maxAge: opened.isKept ? Math.floor(leftMs / 1_000) : undefined };
  }

  async function read(cookie: string): Promise<Session> {
    const content = await sealer.open(cookie).catch(() => undefined);
    const { data: opened } = session.safeParse(content);
    if (opened?.service === service) return opened;
    throw new Unauthenticated('The session has ended; sign in again');
  }

  return {
    async begin(email, password, address, metadata) {
      await attempts.count(email, address);
      const startedAt = performance.now();
      try {
        const { session, lifetimeMs } = await signIn(upstream, metadata, email, password);
        await attempts.forgive(email, address);
        const endsAt = Date.now() + (lifetimeMs ?? longestMs);
        const begun = { ...session, service, id: randomUUID(), endsAt, isKept: lifetimeMs !== undefined };
        const cookie = await cookieOf(begun);
        if (cookie.value.length > longestCookie) {
          throw new UpstreamInvalidResponse('The session is too large for a cookie of ours', undefined, false);
        }
        return { credential: credentialOf(begun), cookie };
      } catch (error) {
        if (error instanceof Unauthenticated) await sleep(Math.max(0, refusalMs - (performance.now() - startedAt)));
        throw error;
      }
    },

    async open(cookie) {
      const opened = await read(cookie);
      if (await revocations.has(opened.id)) throw new Unauthenticated('The session has ended; sign in again');
      const isOutdated = sealer.isOutdated(cookie);
      if (isOutdated) outdated.set(opened.id, true);
      else outdated.delete(opened.id);
      return { credential: credentialOf(opened), renewed: isOutdated ? await cookieOf(opened) : undefined };
    },

    async end(cookie) {
      const opened = await read(cookie).catch(() => undefined);
      if (opened !== undefined) await revocations.add(opened.id, opened.endsAt);
    },

    outdated() {
      outdated.purgeStale();
      return outdated.size;
    },
  };
}

const credentialOf = ({ cookies, email, name }: Session): Credential => ({
  kind: 'cookie',
  secret: new Secret(cookies),
  email,
  name,
});
