/**
 * A value or a promise of it. A value that is available at once is not wrapped, because a promise costs more than most look-ups. The promise is a
 * native one: `andThen` recognizes it with `instanceof`. The promise of a library goes through an `async` function first.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Applies `map` to a value: at once if the value is available, otherwise when its promise is fulfilled. */
export function andThen<T, U>(value: MaybePromise<T>, map: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(map) : map(value);
}
