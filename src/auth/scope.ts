import { createHmac } from 'node:crypto';
import { deriveKey, type Secret } from '../config/secret.js';
import type { Credential, Scope } from './credentials.js';
import { hashOfKey } from './teams.js';

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
