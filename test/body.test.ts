import { setImmediate as nextTurn } from 'node:timers/promises';
import { markAsUntransferable } from 'node:worker_threads';
import { expect, test } from '@jest/globals';
import { Body } from '../src/data/upstream/body.js';

const textOf = (bytes: Buffer) => bytes.toString();
const large = (letter: string) => Buffer.alloc(20_000, letter);

test('a body is its parts in their order, and their memory is given back when whoever brought them has let go', async () => {
  const parts = [large('a'), Buffer.alloc(1, 'b'), large('c')];
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

test('parts may share memory', async () => {
  const both = large('a');
  expect(new Body([both.subarray(0, 5), both.subarray(5)]).read(textOf)).toBe('a'.repeat(20_000));
  await nextTurn();
  expect(both).toHaveLength(0);
});

test('nobody else loses what lies in the pool of small buffers', async () => {
  const [one, other, neighbour] = ['one', 'other', 'neighbour'].map(text => Buffer.from(text)) as [
    Buffer,
    Buffer,
    Buffer,
  ];
  expect(new Body([one, other]).read(textOf)).toBe('oneother');
  await nextTurn();
  expect([one, other, neighbour].map(textOf)).toEqual(['one', 'other', 'neighbour']);
});

test('memory that may not be transferred stays where it is', async () => {
  const part = large('a');
  markAsUntransferable(part.buffer);
  expect(new Body([part]).read(textOf)).toBe('a'.repeat(20_000));
  await nextTurn();
  expect(part).toHaveLength(20_000);
});

test('a body may be empty', () => {
  expect(new Body([]).read(textOf)).toBe('');
});
