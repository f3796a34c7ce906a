import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Credential, Scope } from '../auth/credentials.js';
import { Attached } from '../lib/attached.js';
import { andThen, type MaybePromise } from '../lib/maybe-promise.js';
import type { Authentication } from './authentication.js';

/** Whose a request is; undefined where nobody's. @throws BadUserInput for credentials that cannot be told apart or carried. */
export type RequestScope = (request: IncomingMessage) => MaybePromise<Scope | undefined>;

interface Known {
  readonly credential: Credential;
  readonly scope: Scope;
}

/** Scopes of requests. Who asks again by the same connection, with the same credential, is known already. */
export function createRequestScope(
  { credentialOf }: Pick<Authentication, 'credentialOf'>,
  scopeOf: (credential: Credential) => Scope,
): RequestScope {
  const lastOf = new WeakMap<Socket, Known>();
  const scopes = new Attached<MaybePromise<Scope | undefined>>();

  function scopeFor(
    socket: Socket,
    credential: Awaited<ReturnType<Authentication['credentialOf']>>,
  ): Scope | undefined {
    if (credential === undefined || credential instanceof Error) return undefined;
    const last = lastOf.get(socket);
    if (last !== undefined && isSame(last.credential, credential)) return last.scope;
    const scope = scopeOf(credential);
    lastOf.set(socket, { credential, scope });
    return scope;
  }

  return request => {
    const known = scopes.get(request);
    if (known !== undefined) return known;
    const scope = andThen(credentialOf(request), credential => scopeFor(request.socket, credential));
    scopes.set(request, scope);
    return scope;
  };
}

const isSame = (one: Credential, other: Credential) =>
  one.kind === other.kind && one.secret.reveal() === other.secret.reveal();
