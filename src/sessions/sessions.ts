import { setTimeout as sleep } from 'node:timers/promises';
import type { Credential } from '../credentials.js';
import { Unauthenticated, UpstreamInvalidResponse } from '../errors.js';
import type { Receipt } from '../receipt.js';
import type { Sealer } from '../seal.js';
import { Secret } from '../secret.js';
import type { Upstream } from '../upstream/upstream.js';
import type { SignInAttempts } from './attempts.js';
import { signIn } from './client.js';
import { session } from './model.js';

/** A session that has begun. */
export interface Begun {
  readonly credential: Credential;
  /** The value of the gateway's own cookie: the service's cookies, sealed. */
  readonly cookie: string;
  /** When the service's cookies end, in whole seconds from now; undefined: with the browser. */
  readonly maxAge: number | undefined;
}

/** Signed-in users, of whom the gateway keeps nothing: all there is of a session is in its cookie. */
export interface Sessions {
  /** @throws Unauthenticated, alike in text and time for a wrong password and an unknown user; RateLimited after too many attempts; UpstreamInvalidResponse for a session that no cookie can hold. */
  begin(email: string, password: string, address: string, receipt: Receipt): Promise<Begun>;
  /** The credential in the gateway's cookie. @throws Unauthenticated where it is tampered with, foreign or expired. */
  open(cookie: string): Promise<Credential>;
}

/** What sessions need of the process. */
export interface SessionsParts {
  readonly upstream: Upstream;
  readonly sealer: Sealer;
  readonly attempts: SignInAttempts;
}

/** Where the service gives its cookies no end, the seal gives them this one. */
const longestMs = 12 * 60 * 60 * 1_000;
/** In characters. Browsers drop a cookie of more than 4,096 bytes, its name among them, without a word. */
const longestCookie = 4_000;
/** A refusal is not told sooner, so that its time does not tell why. */
const refusalMs = 500;

export function createSessions({ upstream, sealer, attempts }: SessionsParts): Sessions {
  return {
    async begin(email, password, address, receipt) {
      await attempts.count(email, address);
      const startedAt = performance.now();
      try {
        const { session, lifetimeMs } = await signIn(upstream, receipt, email, password);
        await attempts.forgive(email);
        const cookie = await sealer.seal(session, lifetimeMs ?? longestMs);
        if (cookie.length > longestCookie) {
          throw new UpstreamInvalidResponse('The session is too large for a cookie of ours', undefined, false);
        }
        return {
          credential: credentialOf(session),
          cookie,
          maxAge: lifetimeMs === undefined ? undefined : Math.floor(lifetimeMs / 1_000),
        };
      } catch (error) {
        if (error instanceof Unauthenticated) await sleep(Math.max(0, refusalMs - (performance.now() - startedAt)));
        throw error;
      }
    },

    async open(cookie) {
      try {
        return credentialOf(session.parse(await sealer.open(cookie)));
      } catch {
        throw new Unauthenticated('The session has ended; sign in again');
      }
    },
  };
}

const credentialOf = ({
  cookies,
  email,
  name,
}: {
  cookies: string;
  email: string;
  name: string | null;
}): Credential => ({
  kind: 'cookie',
  secret: new Secret(cookies),
  email,
  name,
});
