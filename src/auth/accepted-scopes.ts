// Which credentials the service has accepted, in this gateway and in its fleet, and for which markets.
import { LRUCache } from 'lru-cache';
import { atMost } from '../lib/memory-budget.js';
import { minuteMs } from '../lib/time.js';
import type { Scope } from './credentials.js';

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
