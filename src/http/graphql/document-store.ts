import type { ApolloServerOptions, BaseContext } from '@apollo/server';
import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';

/** Where Apollo finds documents that were parsed and validated before. */
export type DocumentStore = NonNullable<ApolloServerOptions<BaseContext>['documentStore']>;

/** The text, in characters, of the documents that a door keeps parsed. As a tree with its tokens a text takes about a hundred times its length. */
export const mostDocumentText = 256 * 1024;
const mostSeen = 10_000;

/**
 * Keeps a document from the second time on that it is parsed, so that documents which never come back, such as those with values written
 * into them, neither take memory nor drive out those that do.
 */
export function createDocumentStore(): DocumentStore {
  const seen = new LRUCache<string, true>({ max: mostSeen });
  const kept = new LRUCache<string, DocumentNode>({ maxSize: mostDocumentText });
  return {
    get: async key => kept.get(key),
    async set(key, document) {
      if (seen.has(key)) kept.set(key, document, { size: document.loc?.source.body.length ?? mostDocumentText });
      seen.set(key, true);
    },
    async delete(key) {
      kept.delete(key);
    },
  };
}
