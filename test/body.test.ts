import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Body } from '../src/upstream/body.js';

const textOf = (bytes: Buffer) => bytes.toString();
const large = (letter: string) => Buffer.alloc(20_000, letter);

test('a body is its parts in their order, and their memory is given back when whoever brought them has let go', async () => {
  const parts = [large('a'), Buffer.from('b'), large('c')];
  let seen: Buffer = Buffer.alloc(0);
  const text = new Body(parts).read(bytes => {
    seen = bytes;
    return textOf(bytes);
  });
  const lengths = () => [...parts, seen].map(({ length }) => length);
  expect(text).toBe(`${'a'.repeat(20_000)}b${'c'.repeat(20_000)}`);
  expect(lengths()).toEqual([20_000, 1, 20_000, 40_001]);
  await nextTurn();
  expect(lengths()).toEqual([0, 1, 0, 0]);
});

test('it is given back too where reading fails', async () => {
  const part = large('a');
  const fail = () => {
    throw new Error('not understood');
  };
  expect(() => new Body([part]).read(fail)).toThrow('not understood');
  await nextTurn();
  expect(part).toHaveLength(0);
});

test('parts may share memory, and nobody else loses what lies in the pool of small buffers', async () => {
  const both = large('a');
  const neighbour = Buffer.from('neighbour');
  const shared = [both.subarray(0, 5), both.subarray(5), Buffer.from('small')];
  expect(new Body(shared).read(textOf)).toBe(`${'a'.repeat(20_000)}small`);
  await nextTurn();
  expect(both).toHaveLength(0);
  expect(neighbour.toString()).toBe('neighbour');
});

test('a body may be empty', () => {
  expect(new Body([]).read(textOf)).toBe('');
});
