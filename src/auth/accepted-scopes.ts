import { LRUCache } from 'lru-cache';
import { atMost } from '../lib/lru-bounds.js';
import type { Scope } from './credentials.js';

const maxScopes = 10_000;
/** How long a call says something about whether the service accepts a credential, in milliseconds. Short, for the alert must come within two minutes. */
const recentMs = 45_000;

/** The latest call of a scope that was answered. */
interface LatestCall {
  /** In milliseconds of `performance.now()`. */
  at: number;
  isRefused: boolean;
}

/**
 * The scopes under which the service has answered, the most recent 10,000. Anyone can make up a credential, and so a scope: what is shared out among
 * scopes, or kept for each of them, asks here first.
 */
export class AcceptedScopes {
  readonly #scopes = new LRUCache<Scope, LatestCall>(atMost(maxScopes));

  /** The service has answered under this scope. */
  add(scope: Scope): void {
    if (!this.has(scope)) this.#scopes.set(scope, { at: Number.NEGATIVE_INFINITY, isRefused: false });
  }

  has(scope: Scope): boolean {
    return this.#scopes.get(scope) !== undefined;
  }

  /** The service answered a call. @param isRefused with 401 or 403. It counts for nothing where the scope was never accepted. */
  countCall(scope: Scope, isRefused: boolean): void {
    const at = performance.now();
    const latest = this.#scopes.get(scope);
    if (latest === undefined) {
      if (!isRefused) this.#scopes.set(scope, { at, isRefused });
      return;
    }
    latest.at = at;
    latest.isRefused = isRefused;
  }

  /** How many scopes had a call in the last 45 seconds, by whether their latest call was refused. */
  recent(): Readonly<Record<'accepted' | 'refused', number>> {
    const earliest = performance.now() - recentMs;
    const calls = [...this.#scopes.values()].filter(({ at }) => at >= earliest);
    const refused = calls.filter(({ isRefused }) => isRefused).length;
    return { accepted: calls.length - refused, refused };
  }
}
