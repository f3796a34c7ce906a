import { BrokenCircuitError } from 'cockatiel';
import { LRUCache } from 'lru-cache';
import type { Scope } from '../../auth/credentials.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { isFailureOfService } from './call-errors.js';

/** Calls count for ten seconds. With fewer than twenty, the failure rate means nothing. */
const sampleSeconds = 10;
const minCalls = 20;
const openMs = 5_000;
/** Per family. Beyond it, the scope that has been idle longest is forgotten. */
const maxScopes = 2_000;

/**
 * The circuit breaker of one endpoint family. It opens for one scope for five seconds when more than half of that scope's calls fail. It opens
 * for all scopes when more than half of all calls fail, where the failures of one scope count at most as much as those of
 * all others, so that one credential cannot block the rest. It uses the monotonic clock, which cannot be set. The log says when it opens, and when it has
 * stayed closed for a while.
 */
export class Breaker {
  readonly #sample = new Sample();
  readonly #scopes = new LRUCache<Scope | 'none', ScopeBreaker>({ max: maxScopes });
  readonly #telemetry: Pick<Telemetry, 'warn' | 'works'>;
  /** The subject of its warnings. */
  readonly #subject: string;
  /** The scopes for which it opened, until it is known to be closed for all. */
  readonly #opened = new Set<ScopeBreaker>();
  #openUntil = 0;

  constructor(family: string, telemetry: Pick<Telemetry, 'warn' | 'works'>) {
    this.#subject = `Circuit breaker of ${family}`;
    this.#telemetry = telemetry;
  }

  /** The breaker for the calls of one scope; undefined stands for sign-ins, which have no scope yet. */
  of(scope: Scope | undefined): ScopeBreaker {
    const key = scope ?? 'none';
    const found = this.#scopes.get(key);
    if (found !== undefined) return found;
    const breaker = new ScopeBreaker(this);
    this.#scopes.set(key, breaker);
    return breaker;
  }

  get isOpen(): boolean {
    return performance.now() < this.#openUntil;
  }

  /** For how many scopes it is open. */
  get openScopes(): number {
    return [...this.#opened].filter(scope => scope.isOpen).length;
  }

  /** A scope's breaker opened. */
  openedFor(scope: ScopeBreaker): void {
    this.#opened.add(scope);
    this.#warn('it opened for one credential, because more than half of its calls failed');
  }

  #warn(words: string): void {
    const consequence = `for ${openMs / 1_000} seconds it refuses calls`;
    this.#telemetry.warn(this.#subject, `${words}; ${consequence}. The warning about the address has the cause`);
  }

  countSuccess(): void {
    this.#sample.count(false);
    for (const scope of this.#opened) if (!scope.isOpen) this.#opened.delete(scope);
    if (this.#opened.size === 0 && !this.isOpen) this.#telemetry.works(this.#subject);
  }

  countFailure(): void {
    this.#sample.count(true);
    const { calls, failures } = this.#sample.recent();
    if (!isTooBad(calls, failures)) return;
    let worst = 0;
    for (const breaker of this.#scopes.values()) worst = Math.max(worst, breaker.failures);
    const others = failures - worst;
    const counted = others + Math.min(worst, others);
    if (!isTooBad(calls - failures + counted, counted)) return;
    if (!this.isOpen) this.#warn('it opened for all credentials, because more than half of all calls failed');
    this.#openUntil = performance.now() + openMs;
  }
}

/** One scope's part of a breaker. When its open time is over, one trial call goes through; the scope's other calls are refused until the trial ends. */
export class ScopeBreaker {
  readonly #family: Breaker;
  #sample = new Sample();
  /** In milliseconds of `performance.now()`; undefined while the breaker is closed. */
  #openUntil: number | undefined;
  #hasTrial = false;

  constructor(family: Breaker) {
    this.#family = family;
  }

  get isOpen(): boolean {
    return this.#openUntil !== undefined && (this.#hasTrial || performance.now() < this.#openUntil);
  }

  /** How many calls failed recently. */
  get failures(): number {
    return this.#sample.recent().failures;
  }

  /** Admits a call. @returns whether it is the trial @throws BrokenCircuitError while the breaker is open */
  enter(): boolean {
    if (this.#family.isOpen) throw new BrokenCircuitError();
    if (this.#openUntil === undefined) return false;
    if (this.isOpen) throw new BrokenCircuitError();
    this.#hasTrial = true;
    return true;
  }

  /** Counts how a call ended. @param isTrial what `enter` returned @param error undefined if the call succeeded */
  leave(isTrial: boolean, error?: unknown): void {
    if (isTrial) {
      this.#hasTrial = false;
      this.#openUntil = undefined;
    }
    if (error === undefined) {
      if (isTrial) this.#sample = new Sample();
      this.#sample.count(false);
      this.#family.countSuccess();
    } else if (isFailureOfService(error)) {
      this.#sample.count(true);
      const { calls, failures } = this.#sample.recent();
      if (this.#openUntil === undefined && (isTrial || isTooBad(calls, failures))) {
        this.#openUntil = performance.now() + openMs;
        this.#family.openedFor(this);
      }
      this.#family.countFailure();
    }
  }
}

/** How many calls there were in the last seconds, and how many of them failed. */
class Sample {
  /** One for each second, by its number modulo their count. */
  readonly #seconds = Array.from({ length: sampleSeconds }, () => ({ number: 0, calls: 0, failures: 0 }));

  count(hasFailed: boolean): void {
    const number = currentSecond();
    const second = this.#seconds[number % sampleSeconds];
    if (second === undefined) return;
    if (second.number !== number) Object.assign(second, { number, calls: 0, failures: 0 });
    second.calls += 1;
    if (hasFailed) second.failures += 1;
  }

  recent(): { readonly calls: number; readonly failures: number } {
    const earliest = currentSecond() - sampleSeconds;
    let [calls, failures] = [0, 0];
    for (const second of this.#seconds) {
      if (second.number <= earliest) continue;
      calls += second.calls;
      failures += second.failures;
    }
    return { calls, failures };
  }
}

const currentSecond = () => Math.floor(performance.now() / 1_000);

const isTooBad = (calls: number, failures: number) => calls >= minCalls && failures > calls / 2;
