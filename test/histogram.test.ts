import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { histogramOf } from '../src/lib/histogram.js';

/** The bounds and the counts of a histogram. */
function shown(values: readonly number[]) {
  const { buckets = [] } = histogramOf(values) ?? {};
  return [[...buckets.map(({ start }) => start), buckets.at(-1)?.end], buckets.map(({ count }) => count)];
}

test('bounds are round, and the last one belongs to the last range', () => {
  expect(shown([3, 17, 42])).toEqual([
    [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42],
    [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
  ]);
  expect(shown([0, 0.1, 0.3, 0.7, 0.75])).toEqual([
    [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75],
    [1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2],
  ]);
  expect(shown([-2_500_000, 1_700_000])[0]).toEqual([
    -2_500_000, -2_000_000, -1_500_000, -1_000_000, -500_000, 0, 500_000, 1_000_000, 1_500_000, 2_000_000,
  ]);
});

test('equal values have one range, and no values have no histogram', () => {
  expect(histogramOf([42, 42])).toEqual({ min: 42, max: 42, buckets: [{ start: 42, end: 43, count: 2 }] });
  expect(histogramOf([0])).toEqual({ min: 0, max: 0, buckets: [{ start: 0, end: 0.01, count: 1 }] });
  expect(histogramOf([])).toBeNull();
});

test('any numbers are counted, each in the range that holds it', () => {
  const near = fc.tuple(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.array(fc.nat(50), { minLength: 1 }));
  const numbers = fc.oneof(
    fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 }),
    fc.array(
      fc.integer({ min: -100, max: 1_000 }).map(cents => cents / 100),
      { minLength: 1 },
    ),
    near.map(([base, steps]) => steps.map(step => base + step)),
    fc.array(fc.constantFrom(Number.MAX_VALUE, -Number.MAX_VALUE, 5e-324, 0, -0, 1e308), { minLength: 1 }),
  );
  fc.assert(
    fc.property(numbers, values => {
      const { min, max, buckets } = histogramOf(values) ?? { min: 0, max: 0, buckets: [] };
      expect([min, max]).toEqual([values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))]);
      expect(buckets.length).toBeGreaterThan(0);
      expect(buckets.length).toBeLessThanOrEqual(20);
      const wrong = buckets.filter(({ start, end, count }, index) => {
        const next = buckets[index + 1];
        const held = values.filter(value => value >= start && (value < end || (next === undefined && value === end)));
        return start >= end || (next !== undefined && next.start !== end) || count !== held.length;
      });
      expect(wrong).toEqual([]);
      expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(values.length);
      expect([buckets[0]?.count, buckets.at(-1)?.count]).not.toContain(0);
    }),
    { numRuns: 2_000 },
  );
});
