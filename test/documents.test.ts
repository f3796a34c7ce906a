import { describe, expect, test } from '@jest/globals';
import { parse } from 'graphql';
import { createDocumentStore, maxDocumentText } from '../src/http/graphql/route.js';

const queryOf = (number: number) => `query Q${number} { events(first: 1) { totalCount nodes { id title } } }`;

describe('the document store', () => {
  test('caches a document from its second use on', async () => {
    const store = createDocumentStore();
    const document = parse(queryOf(1));
    await store.set('a', document);
    expect(await store.get('a')).toBeUndefined();
    await store.set('a', document);
    expect(await store.get('a')).toBe(document);
  });

  test('does not evict a document for others that are used once', async () => {
    const store = createDocumentStore();
    const document = parse(queryOf(0));
    for (const _ of [1, 2]) await store.set('a', document);
    for (let number = 1; number <= 20_000; number += 1) await store.set(`b ${number}`, document);
    expect(await store.get('a')).toBe(document);
  });

  test('limits the total text of its documents', async () => {
    const store = createDocumentStore();
    const document = parse(queryOf(0));
    const maxDocuments = Math.floor(maxDocumentText / queryOf(0).length);
    for (let number = 0; number <= maxDocuments; number += 1) {
      for (const _ of [1, 2]) await store.set(`${number}`, document);
    }
    expect(await store.get('0')).toBeUndefined();
    expect(await store.get(`${maxDocuments}`)).toBe(document);
  });
});
