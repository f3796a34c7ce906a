import { expect, test } from '@jest/globals';
import { newRequestId } from '../src/request-id.js';

test('no two requests have the same id, and each goes into a header and a line of a log as it is', () => {
  const ids = Array.from({ length: 10_000 }, newRequestId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter(id => !/^[\w-]{22}$/.test(id))).toEqual([]);
});
