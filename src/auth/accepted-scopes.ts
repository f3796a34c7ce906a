import { LRUCache } from 'lru-cache';
import { atMost } from '../lib/lru-bounds.js';
import type { Scope } from './credentials.js';

const mostScopes = 10_000;

/**
 * The scopes under which the service has answered, the most recent 10,000. Anyone can make up a credential, and so a scope: what is shared out among
 * scopes, or kept for each of them, asks here first.
 */
export class AcceptedScopes {
  readonly #scopes = new LRUCache<Scope, true>(atMost(mostScopes));

  /** The service has answered under this scope. */
  add(scope: Scope): void {
    if (!this.has(scope)) this.#scopes.set(scope, true);
  }

  has(scope: Scope): boolean {
    return this.#scopes.get(scope) === true;
  }
}
