import { GatewayError } from '../errors.js';

/**
 * A value that is there, or will be. What is there already is not wrapped: a promise costs more than most look-ups. The promise is the
 * language's own: one that a library made goes through an `async` function first.
 */
export type MaybePromise<T> = T | Promise<T>;

/** What `map` makes of a value, now if it is there now. */
export function andThen<T, U>(value: MaybePromise<T>, map: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(map) : map(value);
}

/** The value; undefined where a GatewayError is thrown, which a later handler of the request throws again. @throws every other error */
export function undefinedIfRefused<T>(make: () => MaybePromise<T>): MaybePromise<T | undefined> {
  const onError = (error: unknown) => {
    if (error instanceof GatewayError) return undefined;
    throw error;
  };
  try {
    const value = make();
    return value instanceof Promise ? value.catch(onError) : value;
  } catch (error) {
    return onError(error);
  }
}
