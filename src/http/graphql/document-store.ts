import type { ApolloServerOptions, BaseContext } from '@apollo/server';
import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';

/** Apollo's store of parsed and validated documents. */
export type DocumentStore = NonNullable<ApolloServerOptions<BaseContext>['documentStore']>;

/** The total text, in characters, of the documents that a transport keeps parsed. A parsed document takes about a hundred times its text. */
export const mostDocumentText = 256 * 1024;
const mostSeen = 10_000;

/**
 * Stores a document when it is parsed for the second time. Documents that are sent only once, such as those with values in their text, then neither
 * take memory nor evict others.
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
