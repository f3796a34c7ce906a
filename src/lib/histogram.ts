const maxBuckets = 20;
/** Below this share of the largest value, and below this width, bounds could no longer be told apart. */
const minPrecision = 1e-12;
const minWidth = 1e-300;

/**
 * Counts values in at most 20 ranges of equal width, whose bounds are multiples of 1, 2 or 5 times a power of ten. The ranges go from that of `min` to that
 * of `max`, without gaps; each includes its start, and only the last one its end. Null for no values.
 */
export function histogramOf(values: readonly number[]) {
  if (values.length === 0) return null;
  const min = values.reduce((one, other) => Math.min(one, other));
  const max = values.reduce((one, other) => Math.max(one, other));
  const magnitude = Math.max(Math.abs(min), Math.abs(max));
  // Equal values get a range that suits their size. Divided first: the difference of two large numbers may be infinite.
  const width = min === max ? (magnitude || 1) / maxBuckets : max / maxBuckets - min / maxBuckets;
  const exponent = Math.floor(Math.log10(Math.max(width, magnitude * minPrecision, minWidth)));
  for (const step of [1, 2, 5, 10, 20]) {
    const { indexOf, bound } = multiplesOf(step, exponent);
    const first = indexOf(min);
    const last = max === bound(indexOf(max)) && indexOf(max) > first ? indexOf(max) - 1 : indexOf(max);
    if (last - first >= maxBuckets) continue;
    const counts = new Array<number>(last - first + 1).fill(0);
    for (const value of values) {
      const index = Math.min(indexOf(value), last) - first;
      counts[index] = (counts[index] ?? 0) + 1;
    }
    const buckets = counts.map((count, index) => ({
      start: bound(first + index),
      end: bound(first + index + 1),
      count,
    }));
    return { min, max, buckets };
  }
  throw new Error('No width of a range fits these values');
}

/** The multiples of `step` times a power of ten, by their index. A negative power divides, since its own value would not be exact. */
function multiplesOf(step: number, exponent: number) {
  const power = 10 ** Math.abs(exponent);
  const bound = (index: number) => {
    const exact = exponent < 0 ? (index * step) / power : index * step * power;
    return Math.min(Math.max(exact, -Number.MAX_VALUE), Number.MAX_VALUE);
  };
  /** The last multiple that is not above a value. The division may be off by one. */
  const indexOf = (value: number) => {
    const index = Math.floor(exponent < 0 ? (value / step) * power : value / step / power);
    if (value < bound(index)) return index - 1;
    return value >= bound(index + 1) && bound(index + 1) < Number.MAX_VALUE ? index + 1 : index;
  };
  return { bound, indexOf };
}
