import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  CircuitState,
  circuitBreaker,
  handleWhen,
  SamplingBreaker,
} from 'cockatiel';
import { Abandoned, UpstreamFailure } from '../errors.js';
import { BrokenExchange } from './exchange.js';

/** A family is left alone for five seconds when more than half of its calls in ten seconds failed, and there were at least twenty. */
const rule = { threshold: 0.5, duration: 10_000, minimumRps: 2 };
const restMs = 5_000;

/** Runs a call of a family, or refuses it at once with BrokenCircuitError while the family rests. */
export type RunInFamily = <T>(family: string, call: () => Promise<T>) => Promise<T>;

/** One circuit breaker for each endpoint family, made when it is first asked for. */
export function createBreakers(): RunInFamily {
  const breakers = new Map<string, CircuitBreakerPolicy>();
  return (family, call) => {
    let breaker = breakers.get(family);
    if (breaker === undefined) {
      breaker = circuitBreaker(handleWhen(isFailure), { halfOpenAfter: restMs, breaker: new SamplingBreaker(rule) });
      breakers.set(family, breaker);
    }
    // The library would let everyone wait for the one trial call, past their own deadlines.
    if (breaker.state === CircuitState.HalfOpen) throw new BrokenCircuitError('A trial call is under way');
    return breaker.execute(call);
  };
}

/** The service's own faults count; what it rightly refuses, and calls nobody waited for any more, do not. */
function isFailure(error: Error): boolean {
  if (error instanceof BrokenExchange) return !(error.cause instanceof Abandoned);
  return error instanceof UpstreamFailure;
}
