import { BrokenCircuitError } from 'cockatiel';
import { LRUCache } from 'lru-cache';
import type { Scope } from '../../auth/credentials.js';
import { Abandoned, UpstreamFailure } from '../../errors.js';
import { BulkheadFull } from './bulkhead.js';
import { BrokenExchange } from './exchange.js';

/** Calls count for ten seconds. With fewer than twenty, nothing is said of how many fail. */
const sampleSeconds = 10;
const fewestCalls = 20;
const restMs = 5_000;
/** Of one family. Past it, the one idle longest is forgotten. */
const mostScopes = 2_000;

/**
 * The circuit breaker of one endpoint family. A scope of which more than half of the calls fail is left alone for five seconds. So are all
 * scopes, where more than half of all calls fail and one scope's failures count no more than those of all others together: no credential
 * can shut the family to the others. Goes by monotonic time, which nobody sets.
 */
export class Breaker {
  readonly #sample = new Sample();
  readonly #scopes = new LRUCache<Scope | 'nobody', ScopeBreaker>({ max: mostScopes });
  #restsUntil = 0;

  /** The breaker for the calls of one scope; undefined stands for whoever signs in. */
  of(scope: Scope | undefined): ScopeBreaker {
    const key = scope ?? 'nobody';
    const found = this.#scopes.get(key);
    if (found !== undefined) return found;
    const breaker = new ScopeBreaker(this);
    this.#scopes.set(key, breaker);
    return breaker;
  }

  get isResting(): boolean {
    return performance.now() < this.#restsUntil;
  }

  succeeded(): void {
    this.#sample.count(false);
  }

  failed(): void {
    this.#sample.count(true);
    const { calls, failures } = this.#sample.recent();
    if (!isBad(calls, failures)) return;
    let worst = 0;
    for (const breaker of this.#scopes.values()) worst = Math.max(worst, breaker.failures);
    const others = failures - worst;
    const counted = others + Math.min(worst, others);
    if (isBad(calls - failures + counted, counted)) this.#restsUntil = performance.now() + restMs;
  }
}

/** One scope's part in a breaker. After its rest one call tries how the service does; until that has ended, no other of the scope goes. */
export class ScopeBreaker {
  readonly #family: Breaker;
  #sample = new Sample();
  /** In milliseconds of `performance.now()`; undefined while calls go as they come. */
  #restsUntil: number | undefined;
  #isTried = false;

  constructor(family: Breaker) {
    this.#family = family;
  }

  /** How many calls failed lately. */
  get failures(): number {
    return this.#sample.recent().failures;
  }

  /** Admits a call; returns whether it is the trial. @throws BrokenCircuitError while none may go. */
  enter(): boolean {
    if (this.#family.isResting) throw new BrokenCircuitError();
    if (this.#restsUntil === undefined) return false;
    if (this.#isTried || performance.now() < this.#restsUntil) throw new BrokenCircuitError();
    this.#isTried = true;
    return true;
  }

  /** Takes down how a call ended. @param isTrial what `enter` said. @param error left out where there was none. */
  leave(isTrial: boolean, error?: unknown): void {
    if (isTrial) {
      this.#isTried = false;
      this.#restsUntil = undefined;
    }
    if (error === undefined) {
      if (isTrial) this.#sample = new Sample();
      this.#sample.count(false);
      this.#family.succeeded();
    } else if (isFailure(error)) {
      this.#sample.count(true);
      const { calls, failures } = this.#sample.recent();
      if (isTrial || isBad(calls, failures)) this.#restsUntil ??= performance.now() + restMs;
      this.#family.failed();
    }
  }
}

/** How many calls there were in the last seconds, and how many of them failed. */
class Sample {
  /** One for each second, by its number modulo their count. */
  readonly #seconds = Array.from({ length: sampleSeconds }, () => ({ number: 0, calls: 0, failures: 0 }));

  count(hasFailed: boolean): void {
    const number = secondNow();
    const second = this.#seconds[number % sampleSeconds];
    if (second === undefined) return;
    if (second.number !== number) Object.assign(second, { number, calls: 0, failures: 0 });
    second.calls += 1;
    if (hasFailed) second.failures += 1;
  }

  recent(): { readonly calls: number; readonly failures: number } {
    const earliest = secondNow() - sampleSeconds;
    let [calls, failures] = [0, 0];
    for (const second of this.#seconds) {
      if (second.number <= earliest) continue;
      calls += second.calls;
      failures += second.failures;
    }
    return { calls, failures };
  }
}

const secondNow = () => Math.floor(performance.now() / 1_000);

const isBad = (calls: number, failures: number) => calls >= fewestCalls && failures > calls / 2;

/** The service's own faults count; what it rightly refuses, calls nobody waited for any more, and answers for which there is no room do not. */
function isFailure(error: unknown): boolean {
  if (error instanceof BrokenExchange)
    return !(error.cause instanceof Abandoned || error.cause instanceof BulkheadFull);
  return error instanceof UpstreamFailure;
}
