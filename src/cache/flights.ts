import { Abandoned } from '../errors.js';

interface Flight<T> {
  readonly landing: Promise<T>;
  readonly controller: AbortController;
  passengers: number;
}

/** A seat in a flight. `leave` gives it back; the flight that nobody is in any more is aborted. */
export interface Seat<T> {
  readonly landing: Promise<T>;
  /** Whether another had started the flight. */
  readonly shared: boolean;
  leave(): void;
}

/** Work under way, by key: who asks for what is being fetched already waits for that, and does not fetch it again. */
export class Flights<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /** @param start does the work, unless it is under way; it should end early when its signal aborts. */
  board(key: string, start: (signal: AbortSignal) => Promise<T>): Seat<T> {
    const found = this.#flights.get(key);
    const flight = found ?? this.#depart(key, start);
    flight.passengers += 1;
    let seated = true;
    const leave = () => {
      if (!seated) return;
      seated = false;
      flight.passengers -= 1;
      if (flight.passengers > 0 || this.#flights.get(key) !== flight) return;
      this.#flights.delete(key);
      flight.controller.abort(new Abandoned('Nobody waits for this any more'));
    };
    return { landing: flight.landing, shared: found !== undefined, leave };
  }

  #depart(key: string, start: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    const landing = start(controller.signal).finally(() => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    });
    const flight: Flight<T> = { landing, controller, passengers: 0 };
    this.#flights.set(key, flight);
    // Passengers hear of a failure; a flight without passengers has nobody to tell.
    landing.catch(() => {});
    return flight;
  }
}
