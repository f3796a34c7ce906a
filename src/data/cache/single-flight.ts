import { Abandoned } from '../../errors.js';
import { BriefMap } from '../../lib/brief-map.js';
import type { ScopedKey } from './scoped-key.js';

/** Work under way. Who boarded it leaves it once; a flight that all have left is aborted. */
export class InFlight<T> {
  /** What came of it; an Error where it failed. Never rejects. */
  readonly landing: Promise<T | Error>;
  readonly key: ScopedKey;
  readonly #flights: SingleFlight<T>;
  readonly #controller = new AbortController();
  #passengers = 0;
  #hasLanded = false;

  constructor(key: ScopedKey, start: (signal: AbortSignal) => Promise<T>, flights: SingleFlight<T>) {
    this.key = key;
    this.#flights = flights;
    const land = <R>(result: R): R => {
      this.#hasLanded = true;
      flights.forget(this);
      return result;
    };
    this.landing = start(this.#controller.signal).then(land, land);
  }

  /** Whether another was in it before. */
  leases(): boolean {
    this.#passengers += 1;
    return this.#passengers > 1;
  }

  leave(): void {
    this.#passengers -= 1;
    if (this.#passengers > 0 || this.#hasLanded) return;
    this.#flights.forget(this);
    this.#controller.abort(new Abandoned('Nobody waits for this any more'));
  }
}

/** Work under way, by key: who asks for what is being fetched already waits for that, and does not fetch it again. */
export class SingleFlight<T> {
  readonly #flights = new BriefMap<ScopedKey, InFlight<T>>();

  /** The flight of a key. @param start does the work, unless it is under way; it should end early when the signal aborts. */
  to(key: ScopedKey, start: (signal: AbortSignal) => Promise<T>): InFlight<T> {
    const found = this.#flights.get(key);
    if (found !== undefined) return found;
    const flight = new InFlight(key, start, this);
    this.#flights.set(key, flight);
    return flight;
  }

  /** Lets the next who asks begin anew. */
  forget(flight: InFlight<T>): void {
    if (this.#flights.get(flight.key) === flight) this.#flights.delete(flight.key);
  }
}
