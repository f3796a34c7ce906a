import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { REGION_COOKIE, SESSION_COOKIE, SESSION_SECONDS } from '../credentials.js';
import { read } from '../problem.js';
import type { Service } from '../service.js';

const signIn = z.object({ email: z.string(), password: z.string() });

/** Sign-in with cookies and the session for embedding (docs/upstream-api.md: Authentication). */
export function authRoutes(app: FastifyInstance, service: () => Service): void {
  app.post('/v2/auth/sign-in', (request, reply) => {
    const { email, password } = read(signIn, request.body);
    const { user, cookie } = service().credentials.signIn(email, password);
    return reply
      .setCookie(SESSION_COOKIE, cookie, { path: '/', httpOnly: true, maxAge: SESSION_SECONDS })
      .setCookie(REGION_COOKIE, 'eu', { path: '/', maxAge: SESSION_SECONDS })
      .send({ name: user.name, email: user.email });
  });

  app.get('/v2/auth/session', request => service().credentials.createSession(request));
}
