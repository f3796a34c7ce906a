// Credentials of clients, and the scopes that stand for them in every key.
import { createHash, createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { deriveKey, Secret } from '../config/values.js';
import { BadUserInput } from '../errors.js';
import { atMost, ownText } from '../lib/memory-budget.js';
import { pathOf } from '../lib/network.js';
import { minuteMs } from '../lib/time.js';
import { cookieHeader } from './service-cookies.js';

/** The credential of a client (docs/upstream-api.md: Authentication). A cookie is the JSON of a session's `ServiceCookie`s. */
export type Credential =
  | { readonly kind: 'apiKey' | 'bearer' | 'sessionId'; readonly secret: Secret }
  | {
      readonly kind: 'cookie';
      readonly secret: Secret;
      readonly email: string;
      readonly name: string | null;
      readonly session: string;
    };

declare const scopeBrand: unique symbol;

/** The owner of data: a keyed hash of the credential, safe to store and to log. Every key of a cache, an in-flight read or a poller begins with one. */
export type Scope = string & { readonly [scopeBrand]: true };

/** The name of an API key in a teams file, which contains no secrets: `sha256:` and 64 hexadecimal digits. */
export function hashOfKey(key: string): string {
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

/** Lowers ASCII letters only: the lower case of other letters can be the address of someone else (the Kelvin sign becomes k). */
export const lowerCase = (text: string) => text.replace(/[A-Z]/g, letter => letter.toLowerCase());

/** An e-mail address without what a service may ignore: case, characters that are not seen, another form of the same character. */
export const plainEmail = (email: string) =>
  email
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Z}]/gu, '')
    .toLowerCase();

/** Who has a credential, in the one spelling that operators see, too: the e-mail of a user, or the hash of a key. */
export const holderOf = (credential: Credential): string =>
  credential.kind === 'cookie' ? lowerCase(credential.email) : hashOfKey(credential.secret.reveal());

/** Tells credentials apart in what a client keeps, such as a cursor: the same in each gateway, after a restart, and for a user who signs in again. */
export const ownerOf = (credential: Credential): string => `${credential.kind} ${holderOf(credential)}`;

/** Computes scopes of credentials. They are keyed with the gateway's secret, so that a scope reveals nothing about its credential. */
export function createScoper(secret: Secret): (credential: Credential) => Scope {
  const scopeOf = createHashScoper(secret);
  return ({ kind, secret: value }) => scopeOf(kind, hashOfKey(value.reveal()));
}

/** Computes scopes from the hashes of credentials, which an operator can know without the credential. */
export function createHashScoper(secret: Secret): (kind: Credential['kind'], hash: string) => Scope {
  const key = deriveKey(secret, 'scope');
  return (kind, hash) => createHmac('sha256', key).update(`${kind}\n${hash}`).digest('base64url').slice(0, 32) as Scope;
}

/** The credentials in a request or in a connection's payload, with names in lower case. */
export interface RawCredentials {
  readonly 'x-api-key'?: string | undefined;
  readonly authorization?: string | undefined;
  readonly sessionId?: string | undefined;
}

const maxCredentialLength = 4096;
const visibleAscii = /^[\x21-\x7e]+$/;

/** The explicit credential of a request or connection. @throws BadUserInput for two at once, or one that no header could carry. */
export function explicitCredential(rawCredentials: RawCredentials): Credential | undefined {
  const names = (['x-api-key', 'authorization', 'sessionId'] as const).filter(
    name => rawCredentials[name] !== undefined,
  );
  const [name, other] = names;
  if (name === undefined) return undefined;
  if (other !== undefined) throw new BadUserInput(other, `send one credential, not ${names.join(' and ')}`);
  const value = rawCredentials[name] ?? '';
  const sent = name === 'authorization' ? /^bearer +(.*)$/i.exec(value.trim())?.[1] : value;
  if (sent === undefined) throw new BadUserInput(name, 'expected "Bearer <token>"');
  return { kind: kinds[name], secret: checked(name, sent) };
}

const kinds = { 'x-api-key': 'apiKey', authorization: 'bearer', sessionId: 'sessionId' } as const;

function checked(argument: string, value: string): Secret {
  if (value === '') throw new BadUserInput(argument, 'must not be empty');
  if (value.length > maxCredentialLength)
    throw new BadUserInput(argument, `must be at most ${maxCredentialLength} characters`);
  // Header lines and parameters of one name come joined.
  if (value.includes(', ')) throw new BadUserInput(argument, 'must be sent once');
  if (!visibleAscii.test(value)) throw new BadUserInput(argument, 'must contain only visible ASCII characters');
  // Only this one is a header as a whole.
  return new Secret(argument === 'x-api-key' ? value : ownText(value));
}

/**
 * A credential for an upstream call, in the form in which the client sent it (docs/upstream-api.md: Authentication): the name and value of a header, or a
 * part of the query, which is never logged.
 * @param path of the call, with its query: each cookie is for some paths only, and without any there is no credential.
 */
export function toUpstreamAuth(credential: Credential, path: string) {
  const value = credential.secret.reveal();
  switch (credential.kind) {
    case 'apiKey':
      return { header: ['x-api-key', value] as const };
    case 'bearer':
      return { header: ['authorization', `Bearer ${value}`] as const };
    case 'sessionId':
      return { query: `sessionId=${encodeURIComponent(value)}` };
    case 'cookie': {
      const cookies = cookieHeader(JSON.parse(value), pathOf(path));
      return cookies === '' ? undefined : { header: ['cookie', cookies] as const };
    }
  }
}

const maxScopes = 10_000;
/** Each of a scope. */
const maxMarkets = 100_000;
/** How long a call says something about whether the service accepts a credential, in milliseconds. Short, for the alert must come within two minutes. */
const recentMs = 45_000;

/** Where the gateways of a fleet tell each other which scopes the service has accepted, and for which markets. */
export interface FleetScopes {
  tell(scope: Scope, market?: string): void;
  /** Whether any gateway has told so; undefined if that cannot be found out now. Never rejects. */
  has(scope: Scope, market?: string): Promise<boolean | undefined>;
}

/**
 * The scopes under which the service has answered, the most recent 10,000. Anyone can make up a credential, and so a scope: what is shared out among
 * scopes, or kept for each of them, asks here first.
 */
export class AcceptedScopes {
  /** When the latest call of each was answered, in milliseconds of `performance.now()`, and how. */
  readonly #scopes = new LRUCache<Scope, { at: number; isRefused: boolean }>(atMost(maxScopes));

  /** How many calls were answered under each scope, in at most a minute. */
  readonly #calls = new LRUCache<Scope, number>({ ...atMost(maxScopes), ttl: minuteMs, perf: performance });

  /** The scopes, each with a market of which the service has answered under it, and whether its latest write, if there was one, had an effect. */
  readonly #markets = new LRUCache<string, boolean>(atMost(maxMarkets));

  readonly #fleet: FleetScopes | undefined;

  /** @param fleet left out by a gateway that is alone. */
  constructor(fleet?: FleetScopes) {
    this.#fleet = fleet;
  }

  /** The service has answered under this scope. @param market of which, if it was about one. */
  add(scope: Scope, market?: string): void {
    if (this.has(scope, market)) return;
    if (market === undefined) this.#scopes.set(scope, { at: Number.NEGATIVE_INFINITY, isRefused: false });
    else this.#markets.set(`${scope} ${market}`, true);
  }

  has(scope: Scope, market?: string): boolean {
    return (market === undefined ? this.#scopes.get(scope) : this.#markets.get(`${scope} ${market}`)) !== undefined;
  }

  /** Whether the service has accepted a scope through any gateway; undefined if that cannot be found out now. Asks the others only where this one does not know. */
  async hasInFleet(scope: Scope, market?: string): Promise<boolean | undefined> {
    if (this.has(scope, market) || this.#fleet === undefined) return this.has(scope, market);
    const isAccepted = await this.#fleet.has(scope, market);
    if (isAccepted) this.add(scope, market);
    return isAccepted;
  }

  /** Whose turn work for a scope takes: its own, or that of all that the service has not accepted yet. */
  turnOf(scope: Scope | undefined): Scope | 'unknown' | undefined {
    return scope === undefined || this.has(scope) ? scope : 'unknown';
  }

  /** The service answered a call. @param isRefused with 401 or 403. It counts for nothing where the scope was never accepted. */
  countCall(scope: Scope, isRefused: boolean): void {
    if (isRefused && !this.has(scope)) return;
    if (!isRefused) this.#fleet?.tell(scope);
    this.#scopes.set(scope, { at: performance.now(), isRefused });
    this.#calls.set(scope, (this.#calls.get(scope) ?? 0) + 1, { noUpdateTTL: true });
  }

  /** The service has answered a call about a market under this scope. */
  countMarket(scope: Scope, market: string): void {
    this.#fleet?.tell(scope, market);
    this.add(scope, market);
  }

  /** Whether a scope may hold up what others read of a market before the service has accepted its write. */
  mayWrite(scope: Scope, market: string): boolean {
    return this.#markets.get(`${scope} ${market}`) === true;
  }

  /** A write has ended. @param hasEffect false for any refusal: a service may hide with 404 what a credential has no permission for. */
  countWrite(scope: Scope, market: string, hasEffect: boolean): void {
    if (this.has(scope, market)) this.#markets.set(`${scope} ${market}`, hasEffect);
  }

  calls = (): Iterable<[Scope, number]> => this.#calls.entries();

  /** How many scopes had a call in the last 45 seconds, by whether their latest call was refused. */
  recent(): Readonly<Record<'accepted' | 'refused', number>> {
    const earliest = performance.now() - recentMs;
    const calls = [...this.#scopes.values()].filter(({ at }) => at >= earliest);
    const refused = calls.filter(({ isRefused }) => isRefused).length;
    return { accepted: calls.length - refused, refused };
  }
}

/** What stands for the scope of sign-ins, which have none yet. */
export type ScopeOrNone = Scope | 'none';

/** Beyond it, what is known of the scope that has been idle longest is forgotten. */
const maxKept = 2_000;

/** A value for each scope, made when it is first needed. */
export type PerScope<T extends object> = LRUCache<ScopeOrNone, T>;

export const perScope = <T extends object>(make: (scope: ScopeOrNone) => T): PerScope<T> =>
  new LRUCache({ max: maxKept, memoMethod: make });
