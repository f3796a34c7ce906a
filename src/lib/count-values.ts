/** How many items have each value: the most frequent value first, values with equal counts in their order. An item counts once for a value that it repeats. */
export function countValues<T>(
  items: readonly T[],
  valuesOf: (item: T) => readonly string[],
): { readonly value: string; readonly count: number }[] {
  const counts = new Map<string, number>();
  for (const item of items) {
    for (const value of new Set(valuesOf(item))) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1));
}
