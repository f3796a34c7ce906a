/** A function that calls `make` once for each object and remembers the result until the object is garbage-collected. */
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
