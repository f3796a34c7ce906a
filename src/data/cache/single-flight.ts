import { Abandoned } from '../../errors.js';
import type { ScopedKey } from './keys.js';

/** Work in flight, shared by its waiters. Each waiter joins and leaves once; when all have left, the work is aborted. */
export class InFlight<T> {
  /** The result, or the error. Never rejects. */
  readonly result: Promise<T | Error>;
  readonly key: ScopedKey;
  readonly #all: SingleFlight<T>;
  readonly #controller = new AbortController();
  #waiters = 0;
  #isDone = false;

  constructor(key: ScopedKey, load: (signal: AbortSignal) => Promise<T>, all: SingleFlight<T>) {
    this.key = key;
    this.#all = all;
    const done = <R>(result: R): R => {
      this.#isDone = true;
      all.forget(this);
      return result;
    };
    this.result = load(this.#controller.signal).then(done, done);
  }

  /** Returns whether it already had a waiter. */
  join(): boolean {
    this.#waiters += 1;
    return this.#waiters > 1;
  }

  leave(): void {
    this.#waiters -= 1;
    if (this.#waiters > 0 || this.#isDone) return;
    this.#all.forget(this);
    this.#controller.abort(new Abandoned('No request waits for this any more'));
  }
}

/** Work in flight by key: equal look-ups share one load. */
export class SingleFlight<T> {
  readonly #inFlight = new Map<ScopedKey, InFlight<T>>();

  /** Returns the work in flight for a key, or starts it. @param load should end early when its signal aborts. */
  startFlight(key: ScopedKey, load: (signal: AbortSignal) => Promise<T>): InFlight<T> {
    const found = this.#inFlight.get(key);
    if (found !== undefined) return found;
    const started = new InFlight(key, load, this);
    this.#inFlight.set(key, started);
    return started;
  }

  /** The next look-up of its key loads again. */
  forget(inFlight: InFlight<T>): void {
    if (this.#inFlight.get(inFlight.key) === inFlight) this.#inFlight.delete(inFlight.key);
  }
}
