// Credentials of clients, and the scopes that stand for them in every key.
import { createHash, createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { deriveKey, Secret } from '../config/values.js';
import { BadUserInput } from '../errors.js';
import { ownText } from '../lib/memory-budget.js';
import { pathOf } from '../lib/network.js';
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

/** What stands for the scope of sign-ins, which have none yet. */
export type ScopeOrNone = Scope | 'none';

/** Beyond it, what is known of the scope that has been idle longest is forgotten. */
const maxKept = 2_000;

/** A value for each scope, made when it is first needed. */
export type PerScope<T extends object> = LRUCache<ScopeOrNone, T>;

export const perScope = <T extends object>(make: (scope: ScopeOrNone) => T): PerScope<T> =>
  new LRUCache({ max: maxKept, memoMethod: make });
