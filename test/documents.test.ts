import { describe, expect, test } from '@jest/globals';
import { parse } from 'graphql';
import { createDocumentStore, mostDocumentText } from '../src/http/graphql/document-store.js';

const queryOf = (number: number) => `query Q${number} { events(first: 1) { totalCount nodes { id title } } }`;

describe('the documents that are kept parsed', () => {
  test('are those that came twice', async () => {
    const store = createDocumentStore();
    const document = parse(queryOf(1));
    await store.set('a', document);
    expect(await store.get('a')).toBeUndefined();
    await store.set('a', document);
    expect(await store.get('a')).toBe(document);
  });

  test('are not driven out by many that come once', async () => {
    const store = createDocumentStore();
    const document = parse(queryOf(0));
    for (const _ of [1, 2]) await store.set('a', document);
    for (let number = 1; number <= 20_000; number += 1) await store.set(`b ${number}`, document);
    expect(await store.get('a')).toBe(document);
  });

  test('have no more text together than the bound', async () => {
    const store = createDocumentStore();
    const document = parse(queryOf(0));
    const fitting = Math.floor(mostDocumentText / queryOf(0).length);
    for (let number = 0; number <= fitting; number += 1) {
      for (const _ of [1, 2]) await store.set(`${number}`, document);
    }
    expect(await store.get('0')).toBeUndefined();
    expect(await store.get(`${fitting}`)).toBe(document);
  });
});
