/** A function that is worked out once for each value, and remembered for as long as somebody else, such as the cache, holds the value. */
export function oncePerValue<V extends object, T>(make: (value: V) => T): (value: V) => T {
  const made = new WeakMap<V, { readonly result: T }>();
  return value => {
    let known = made.get(value);
    if (known === undefined) {
      known = { result: make(value) };
      made.set(value, known);
    }
    return known.result;
  };
}
