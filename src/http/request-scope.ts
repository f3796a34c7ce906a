import type { IncomingMessage } from 'node:http';
import type { Credential, Scope } from '../credentials.js';
import type { Reception } from './visitor.js';

/** Whose a request is; undefined where nobody's. Worked out once for each request. */
export type RequestScope = (request: IncomingMessage) => Promise<Scope | undefined>;

/** Rejects with BadUserInput for credentials that cannot be told apart or carried. */
export function createRequestScope(
  { credentialOf }: Pick<Reception, 'credentialOf'>,
  scopeOf: (credential: Credential) => Scope,
): RequestScope {
  const known = new WeakMap<IncomingMessage, Promise<Scope | undefined>>();
  const read = async (request: IncomingMessage) => {
    const credential = await credentialOf(request);
    return credential === undefined || credential instanceof Error ? undefined : scopeOf(credential);
  };
  return request => {
    const found = known.get(request) ?? read(request);
    known.set(request, found);
    return found;
  };
}
