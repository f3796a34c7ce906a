import type { DocumentNode, GraphQLError } from 'graphql';
import { LRUCache } from 'lru-cache';

/** Errors for which an operation is not executed. */
export class RefusedOperation extends Error {
  override readonly name = 'RefusedOperation';
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super('The operation is refused');
    this.errors = errors;
  }
}

/** What a text is: a valid document, or the errors for which it cannot be executed. */
export type ReadDocument = DocumentNode | RefusedOperation;

/** The total text, in characters, of the documents that are kept parsed. A parsed document takes about a hundred times its text. */
export const maxDocumentText = 512 * 1024;
/** Of the texts that have been read, in characters. */
const maxSeenText = 4 * 1024 * 1024;
/** Memory of a text besides its characters. */
const overheadBytes = 200;

/**
 * The documents that are known, by their text. Stores a document when it is read for the second time. So documents that are sent only once, such as those
 * with values in their text, use little memory and evict nothing.
 */
export function createDocumentStore() {
  const sizeCalculation = (_: unknown, text: string) => text.length + overheadBytes;
  const seen = new LRUCache<string, true>({ maxSize: maxSeenText, sizeCalculation });
  const kept = new LRUCache<string, ReadDocument>({ maxSize: maxDocumentText, sizeCalculation });
  let ofOperator: ReadonlyMap<string, ReadDocument> = new Map();
  return {
    get: (text: string): ReadDocument | undefined => ofOperator.get(text) ?? kept.get(text),
    /** Keeps these documents by their text, whatever their size, in place of those of the last call. */
    keep(documents: ReadonlyMap<string, ReadDocument>): void {
      ofOperator = documents;
    },
    set(text: string, document: ReadDocument): void {
      if (seen.has(text)) kept.set(text, document);
      seen.set(text, true);
    },
  };
}

/** Gives an error a code of `mask-error.ts`, and the argument that it is about. */
export function withCode(error: GraphQLError, code: string, argument?: string): GraphQLError {
  Object.assign(error.extensions, { code, ...(argument !== undefined && { argument }) });
  return error;
}
