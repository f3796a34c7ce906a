import { BrokenCircuitError, CircuitState, SamplingBreaker } from 'cockatiel';
import { Abandoned, UpstreamFailure } from '../errors.js';
import { BrokenExchange } from './exchange.js';

/** A family is left alone for five seconds when more than half of its calls in ten seconds failed, and there were at least twenty. */
const rule = { threshold: 0.5, duration: 10_000, minimumRps: 2 };
const restMs = 5_000;

/** The circuit breaker of one endpoint family. After a rest one call tries how the family does; until it has ended no other goes. */
export class Breaker {
  readonly #sample = new SamplingBreaker(rule);
  /** In milliseconds since 1970; undefined while calls go as they come. */
  #restsUntil: number | undefined;
  #isTried = false;

  /** Admits a call; returns the state it was admitted under. @throws BrokenCircuitError while none may go. */
  enter(): CircuitState {
    if (this.#restsUntil === undefined) return CircuitState.Closed;
    if (this.#isTried || Date.now() < this.#restsUntil) throw new BrokenCircuitError();
    this.#isTried = true;
    return CircuitState.HalfOpen;
  }

  /** Takes down how a call ended. @param enteredAs what `enter` said. @param error left out where there was none. */
  leave(enteredAs: CircuitState, error?: unknown): void {
    const isTrial = enteredAs === CircuitState.HalfOpen;
    if (isTrial) {
      this.#isTried = false;
      this.#restsUntil = undefined;
    }
    if (error === undefined) this.#sample.success(enteredAs);
    else if (isFailure(error) && this.#sample.failure(enteredAs)) this.#restsUntil ??= Date.now() + restMs;
  }
}

/** The service's own faults count; what it rightly refuses, and calls nobody waited for any more, do not. */
function isFailure(error: unknown): boolean {
  if (error instanceof BrokenExchange) return !(error.cause instanceof Abandoned);
  return error instanceof UpstreamFailure;
}
