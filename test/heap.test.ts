import { expect, test } from '@jest/globals';
import { cacheBytes, heapFlags, heapLimit } from '../src/lib/heap.js';

const mebibyte = 1024 * 1024;

/** The size in the flag, in MiB, for a container of `memory` MiB in which V8 chooses a heap of `chosen` MiB. */
const heapOf = (memory: number, chosen: number, workers = 0) => {
  const [flag] = heapFlags(workers, memory * mebibyte, chosen * mebibyte);
  return flag === undefined ? undefined : Number(/^--max-heap-size=(\d+)$/.exec(flag)?.[1]);
};

test('the heap leaves room in a small container for what is outside of it', () => {
  expect(heapOf(256, 259)).toBe(96);
  expect(heapOf(400, 259)).toBe(182);
});

test('the heap is never larger than V8 or the operator chose, nor too small for the program', () => {
  expect(heapOf(1024, 524)).toBeUndefined();
  expect(heapOf(256, 64)).toBeUndefined();
  expect(heapOf(128, 259)).toBe(96);
});

test('workers share the memory, without that of the first process', () => {
  expect(heapOf(1024, 524, 2)).toBe(211);
  expect(heapOf(1024, 524, 1)).toBe(480);
});

test('this process has a heap, and caches that fit into it', () => {
  expect(heapLimit).toBeGreaterThan(96 * mebibyte);
  expect(cacheBytes).toBeLessThanOrEqual(heapLimit / 16);
  expect(heapFlags(1, 256 * mebibyte)).toHaveLength(1);
});
