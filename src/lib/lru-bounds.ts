/**
 * The bounds of an `LRUCache` that may have many entries and mostly has few. With `max` it would take the memory for all of them when it is made: 13 ms and
 * 3 MB for 100,000.
 */
export function atMost(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
