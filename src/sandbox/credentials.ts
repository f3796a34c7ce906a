// The API keys, users, sessions and cookies that the sandbox accepts.
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { hexOf } from './ids.js';
import { Problem } from './problem.js';

/** Lifetime in seconds of either kind of session (docs/upstream-api.md: Authentication). */
export const SESSION_SECONDS = 3600;
export const SESSION_COOKIE = 'svc_session';
export const REGION_COOKIE = 'svc_region';

/** What a client may do. */
interface Rights {
  eventsMonitor: boolean;
  markets: 'all' | 'none';
}

interface DemoKey extends Rights {
  name: string;
  key: string;
  description: string;
}

/** Kind of credential in a request. */
export type CredentialKind = 'apiKey' | 'bearer' | 'sessionId' | 'cookie' | 'none';

export const DEMO_KEYS: readonly DemoKey[] = [
  {
    name: 'demo',
    key: 'demo-key-subscribed',
    eventsMonitor: true,
    markets: 'all',
    description: 'Subscribed to the events monitor, permission on every market.',
  },
  {
    name: 'markets only',
    key: 'demo-key-markets-only',
    eventsMonitor: false,
    markets: 'all',
    description: 'Not subscribed to the events monitor, permission on every market.',
  },
  {
    name: 'no markets',
    key: 'demo-key-no-markets',
    eventsMonitor: true,
    markets: 'none',
    description: 'Subscribed to the events monitor, permission on no market.',
  },
];

export const DEMO_USERS = [
  { email: 'ada@team.example', password: 'sandbox-ada', name: 'Ada Lindqvist' },
  { email: 'ben@team.example', password: 'sandbox-ben', name: 'Ben Okafor' },
] as const;

/** The first two keys and both users. Ada and the first key are its admins. */
export const DEMO_TEAM = {
  name: 'Demo Team',
  keys: DEMO_KEYS.slice(0, 2).map(({ key }) => key),
  emails: DEMO_USERS.map(({ email }) => email),
  admins: [...DEMO_USERS.slice(0, 1).map(({ email }) => email), ...DEMO_KEYS.slice(0, 1).map(({ key }) => key)],
};

const USER_RIGHTS: Rights = { eventsMonitor: true, markets: 'all' };

interface Session {
  /** How its token may be sent. */
  kinds: readonly CredentialKind[];
  /** The key that created the session. Undefined for a signed-in user. */
  key: string | undefined;
  expiresAt: number;
}

/** Keys, sessions and their permissions (docs/upstream-api.md: Authentication). */
export class Credentials {
  readonly #now: () => number;
  readonly #revoked = new Set<string>();
  /** By token. */
  readonly #sessions = new Map<string, Session>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The rights of the client. Throws UNAUTHORISED if the credential is missing, unknown, revoked or expired. */
  identify(request: FastifyRequest): Rights {
    const { kind, value } = credentialOf(request);
    if (kind === 'none') throw new Problem('UNAUTHORISED', 'API key missing');
    const rights = this.#rightsOf(kind, value);
    if (!rights)
      throw new Problem('UNAUTHORISED', kind === 'apiKey' ? 'API key invalid' : 'Session invalid or expired');
    return rights;
  }

  /** Tokens for the API key of the request. Throws UNAUTHORISED for any other credential. */
  createSession(request: FastifyRequest) {
    const { kind, value } = credentialOf(request);
    if (kind !== 'apiKey' || !this.#rightsOf(kind, value))
      throw new Problem('UNAUTHORISED', 'API key missing or invalid');
    const idToken = this.#open(['bearer'], value);
    const accessToken = this.#open(['bearer', 'sessionId'], value);
    const refreshToken = this.#open([], value);
    const checksum = createHash('sha256').update(`${idToken}.${accessToken}.${refreshToken}`).digest('hex');
    return { idToken, accessToken, refreshToken, expiresIn: SESSION_SECONDS, checksum };
  }

  /** The user and the value of the session cookie. Throws the same UNAUTHORISED for a wrong e-mail address and a wrong password. */
  signIn(email: string, password: string) {
    const user = DEMO_USERS.find(known => known.email === email && known.password === password);
    if (!user) throw new Problem('UNAUTHORISED', 'E-mail or password is wrong');
    return { user, cookie: this.#open(['cookie'], undefined) };
  }

  /** Revokes a key, token or session cookie, and every session created with the key. */
  revoke(credential: string): void {
    this.#revoked.add(credential);
  }

  #rightsOf(kind: CredentialKind, value: string): Rights | undefined {
    if (this.#revoked.has(value)) return undefined;
    if (kind === 'apiKey') return DEMO_KEYS.find(({ key }) => key === value);
    const session = this.#sessions.get(value);
    if (!session?.kinds.includes(kind) || session.expiresAt <= this.#now()) return undefined;
    return session.key === undefined ? USER_RIGHTS : this.#rightsOf('apiKey', session.key);
  }

  /** The token of a new session. */
  #open(kinds: readonly CredentialKind[], key: string | undefined): string {
    const token = hexOf(`token ${this.#sessions.size}`, 48);
    this.#sessions.set(token, { kinds, key, expiresAt: this.#now() + SESSION_SECONDS * 1000 });
    return token;
  }
}

/** The credential of a request: the first of key, bearer token, session id and cookie. */
export function credentialOf(request: FastifyRequest): { kind: CredentialKind; value: string } {
  const key = request.headers['x-api-key'];
  if (typeof key === 'string') return { kind: 'apiKey', value: key };
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '');
  if (bearer?.[1]) return { kind: 'bearer', value: bearer[1] };
  const { sessionId } = request.query as { sessionId?: unknown };
  if (typeof sessionId === 'string') return { kind: 'sessionId', value: sessionId };
  const cookie = request.cookies[SESSION_COOKIE];
  if (cookie !== undefined) return { kind: 'cookie', value: cookie };
  return { kind: 'none', value: '' };
}

/** Throws FORBIDDEN unless the client is subscribed to the events monitor (docs/upstream-api.md: Events monitor). */
export function requireEventsMonitor(rights: Rights): void {
  if (!rights.eventsMonitor) throw new Problem('FORBIDDEN', 'The API key is not subscribed to this endpoint');
}
