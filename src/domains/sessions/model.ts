import { z } from 'zod';
import { serviceCookie } from '../../auth/service-cookies.js';
import { unwrapped } from '../../data/parsing.js';

const text = z.string();

const maxLifetime = 2 ** 31 - 1;

/** A lifetime in seconds, as near as `Int` comes to it: a session must not be lost because of it. One that is no number has ended. */
const lifetime = z
  .unknown()
  .default(0)
  .transform(seconds => Math.trunc(Math.min(Math.max(Number(seconds) || 0, 0), maxLifetime)));

/** The five fields of a session (docs/upstream-api.md: Authentication), which is none without an access token. */
export const embedSession = z.preprocess(
  unwrapped,
  z.object({ idToken: text, accessToken: text.min(1), refreshToken: text, expiresIn: lifetime, checksum: text }),
);

export type EmbedSession = z.output<typeof embedSession>;

/** The content of the gateway's cookie, sealed: the service's cookies, and their user. What a newer gateway has added stays when it is resealed. */
export const session = z.looseObject({
  /** Stays the same for the whole session, however often it is resealed. */
  id: text.min(1),
  cookies: z.array(serviceCookie).min(1),
  /** Identifies the service that set the cookies. */
  service: text,
  email: text,
  name: text.nullable(),
  /** In milliseconds since 1970. */
  endsAt: z.int(),
  /** Whether the browser keeps the cookie until then, instead of until it closes. */
  isKept: z.boolean(),
});

export type Session = z.output<typeof session>;
