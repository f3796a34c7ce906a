// How the service is asked to sign a user in, and for the session of an embedded page.
import { z } from 'zod';
import { receivedCookies } from '../../auth/service-cookies.js';
import { isNoRemark, unwrapped } from '../../data/parsing.js';
import { refusalOf } from '../../data/polling/state-message.js';
import { contentOf, parseReply, replyText } from '../../data/upstream/reply.js';
import { type Reply, repliedAt, type UpstreamRequest } from '../../data/upstream/request.js';
import type { Upstream } from '../../data/upstream/upstream.js';
import type { Write } from '../../data/writer.js';
import { SignInFailed, Unauthenticated, UpstreamInvalidResponse } from '../../errors.js';
import type { ResponseMetadata } from '../../observability/response-metadata.js';
import type { Telemetry } from '../../observability/telemetry.js';

const text = z.string();

const maxLifetime = 2 ** 31 - 1;

/** A lifetime in seconds, as near as `Int` comes to it: a session must not be lost because of it. One that is no number has ended. */
const lifetime = z
  .unknown()
  .default(0)
  .transform(seconds => Math.trunc(Math.min(Math.max(Number(seconds) || 0, 0), maxLifetime)));

/** The five fields of a session (docs/upstream-api.md: Authentication), which is none without an access token. */
const embedSession = z.preprocess(
  unwrapped,
  z.object({ idToken: text, accessToken: text.min(1), refreshToken: text, expiresIn: lifetime, checksum: text }),
);

export type EmbedSession = z.output<typeof embedSession>;

/** GET /v2/auth/session. It creates a new session each time, so it is a write. */
export const embedSessionWrite: Write<EmbedSession> = {
  request: { family: 'auth', address: 'base', method: 'GET', path: '/v2/auth/session', record: undefined, safe: false },
  success: embedSession,
};

/** POST /v2/auth/sign-in. @param cookieHost the host that the service's cookies are for. @throws SignInFailed, whatever the reason why the service refuses. */
export async function signIn(
  { upstream, telemetry }: { readonly upstream: Upstream; readonly telemetry: Pick<Telemetry, 'warn' | 'works'> },
  metadata: ResponseMetadata,
  cookieHost: string,
  email: string,
  password: string,
) {
  const request = {
    family: 'auth',
    address: 'base',
    method: 'POST',
    path: '/v2/auth/sign-in',
    body: { email, password },
    argument: 'input',
    safe: false,
  } as const;
  const { reply, name } = await upstream
    .send(request, { metadata }, reply => ({ reply, name: nameIn(reply, request) }))
    .catch(error => {
      throw refusalOf(error) === undefined ? error : new SignInFailed();
    });
  const lines = [reply.headers['set-cookie'] ?? []].flat();
  const { cookies, otherDomains } = await receivedCookies(lines, cookieHost, repliedAt(reply));
  // One for nothing but signing in starts no session.
  const isStarted = cookies.some(([, below]) => !/\/v2\/auth(?:\/|$)/.test(below));
  const [domain] = otherDomains;
  if (domain !== undefined) {
    const named = /^[\w.-]+$/.test(domain) ? domain : 'another host';
    telemetry.warn(
      'UPSTREAM_COOKIE_HOST',
      `the service sets cookies for ${named}, and they are dropped. Set it if that is its public name`,
    );
  } else if (isStarted) telemetry.works('UPSTREAM_COOKIE_HOST');
  else telemetry.warn('UPSTREAM_COOKIE_HOST', 'the service set no cookie that can be kept');
  if (!isStarted) throw new UpstreamInvalidResponse('The service did not start a session');
  return { cookies, email, name };
}

/** The name of the user, which the specification does not show; null without one, and for a body that is not JSON. @throws GatewayError if the reply says no success: a page for signing in may set a cookie, too. */
function nameIn(reply: Reply, request: UpstreamRequest): string | null {
  const start = reply.body.toString('utf8', 0, 1_000).trim();
  const isHtml = /html/i.test(String(reply.headers['content-type']));
  const isPage = start.startsWith('<') || (isHtml && /<[a-z!/]/i.test(start));
  if (isPage) throw new UpstreamInvalidResponse('The service answered with a page');
  // Whatever its type: the specification does not show this body.
  const text = replyText({ ...reply, headers: {} }, request);
  try {
    parseReply(text);
  } catch {
    return null;
  }
  const content = Object(unwrapped(contentOf(text, reply, request)));
  // A cookie alone does not tell: many servers set one for those whom they refuse.
  if (!isNoRemark(content) && Object.values(content).some(said => refusal.test(String(said))))
    throw new Unauthenticated('The service has signed nobody in');
  if (Object.entries(content).some(([member, value]) => /required$/i.test(member) && value === true))
    throw new UpstreamInvalidResponse('The service asks for more than a password');
  return typeof content.name === 'string' ? content.name : null;
}

/** What a server says, and nothing else, where it has signed nobody in. */
const refusal =
  /\b(?:no|not|fail\w*|invalid|incorrect|wrong|denied|unknown|forbidden|locked|disabled|expired)\b|n['\u2019]t\b/i;
