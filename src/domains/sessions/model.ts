import { z } from 'zod';
import { unwrapped } from '../../data/wire-types.js';

const text = z.string();

/** The five fields of a session (docs/upstream-api.md: Authentication). */
export const embedSession = z.preprocess(
  unwrapped,
  z.object({ idToken: text, accessToken: text, refreshToken: text, expiresIn: z.int().min(0), checksum: text }),
);

export type EmbedSession = z.output<typeof embedSession>;

/** What the gateway's cookie holds, sealed: the service's cookies as a `Cookie` header carries them, and whose they are. */
export const session = z.object({
  /** The same for as long as the session lives, however often it is sealed anew. */
  id: text.min(1),
  cookies: text.min(1),
  /** Tells the service that these cookies are of. */
  service: text,
  email: text,
  name: text.nullable(),
  /** In milliseconds since 1970. */
  endsAt: z.int(),
  /** Whether the browser is to keep it until then, and not only until it is closed. */
  isKept: z.boolean(),
});

export type Session = z.output<typeof session>;

/** The user's name in the answer to a sign-in, whose body is not shown; null where there is none. */
export const signedInName = z
  .preprocess(body => (unwrapped(body) as { name?: unknown } | null | undefined)?.name, text.nullable())
  .catch(null);
