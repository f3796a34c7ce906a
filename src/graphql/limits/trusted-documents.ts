import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { GraphQLError } from 'graphql';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { ConfigurationError, reasonOf } from '../../config/configuration-error.js';
import { BadUserInput, Forbidden } from '../../errors.js';

/** What a client may send to say which document it wants run; the same names at every door. */
export interface DocumentParams {
  readonly query?: unknown;
  /** `sha256:<hash>`, or the hash as the manifest has it (GraphQL over HTTP, persisted documents). */
  readonly documentId?: unknown;
  /** `persistedQuery: {version: 1, sha256Hash}`, as Apollo's clients send it. */
  readonly extensions?: unknown;
}

/** Which documents are run: any, any and those of the manifest by their hash, or none but those of the manifest. */
export type TrustMode = 'off' | 'allow' | 'only';

/** From what a client sent to the text that is run. */
export interface TrustedDocuments {
  /**
   * The document's text; undefined where the client named none, which only the door can tell it.
   * @throws BadUserInput for a hash that is none or not the text's own, Forbidden for a text where only trusted documents are run,
   * GraphQLError `PERSISTED_QUERY_NOT_FOUND` for a hash that nobody knows.
   */
  documentText(params: DocumentParams): string | undefined;
}

/** Texts that clients registered by their hash, in bytes together. */
const mostRegistered = 8 * 1024 * 1024;
/** What a text costs besides its characters. */
const overheadBytes = 300;

const manifestShape = z.record(z.string().min(1), z.string().min(1));

/** Where graphql-codegen's client preset put its documents, `{hash: document}`. @throws InvalidConfig that says what is wrong with the file. */
export function readManifest(path: string): ReadonlyMap<string, string> {
  try {
    return new Map(Object.entries(manifestShape.parse(JSON.parse(readFileSync(path, 'utf8')))));
  } catch (error) {
    throw new ConfigurationError(
      `PERSISTED_DOCUMENTS: ${path} is no object of documents by their hash: ${reasonOf(error)}`,
    );
  }
}

/** @param manifest the trusted documents by their hash. */
export function createTrustedDocuments(mode: TrustMode, manifest: ReadonlyMap<string, string>): TrustedDocuments {
  const registered = new LRUCache<string, string>({
    maxSize: mostRegistered,
    sizeCalculation: text => text.length + overheadBytes,
  });

  function registeredText(hash: unknown, query: unknown): string {
    if (typeof hash !== 'string' || !/^[\da-f]{64}$/.test(hash)) {
      throw new BadUserInput('extensions.persistedQuery.sha256Hash', 'must be a SHA-256 in 64 hexadecimal digits');
    }
    if (query === undefined || query === null) {
      const text = registered.get(hash);
      if (text === undefined) throw notFound();
      return text;
    }
    if (typeof query !== 'string' || createHash('sha256').update(query).digest('hex') !== hash) {
      throw new BadUserInput('extensions.persistedQuery.sha256Hash', 'is not the hash of the query');
    }
    registered.set(hash, query);
    return query;
  }

  return {
    documentText({ query, documentId, extensions }) {
      const persisted = persistedQueryOf(extensions);
      const hash = documentId == null ? persisted?.sha256Hash : hashOf(documentId);
      const trusted = mode === 'off' || typeof hash !== 'string' ? undefined : manifest.get(hash);
      if (trusted !== undefined) return trusted;
      if (documentId != null) throw notFound();
      if (mode === 'only') {
        if (hash !== undefined && query == null) throw notFound();
        throw new Forbidden('Only trusted documents are answered here: send the hash of one');
      }
      if (persisted !== undefined) return registeredText(hash, query);
      return typeof query === 'string' ? query : undefined;
    },
  };
}

/** Whether a client named its document by a hash, with or without the text. */
export function hasDocumentHash({ documentId, extensions }: DocumentParams): boolean {
  return documentId != null || persistedQueryOf(extensions) !== undefined;
}

function hashOf(documentId: unknown): string {
  if (typeof documentId !== 'string') throw new BadUserInput('documentId', 'must be a string');
  return documentId.replace(/^sha256:/, '');
}

function persistedQueryOf(extensions: unknown): { readonly sha256Hash: unknown } | undefined {
  if (typeof extensions !== 'object' || extensions === null || !('persistedQuery' in extensions)) return undefined;
  const { persistedQuery } = extensions;
  if (typeof persistedQuery !== 'object' || persistedQuery === null) {
    throw new BadUserInput('extensions.persistedQuery', 'must be an object');
  }
  if (!('version' in persistedQuery) || persistedQuery.version !== 1) {
    throw new BadUserInput('extensions.persistedQuery.version', 'must be 1');
  }
  return { sha256Hash: 'sha256Hash' in persistedQuery ? persistedQuery.sha256Hash : undefined };
}

/** What Apollo's clients understand: they send the text along with the hash next. */
function notFound(): GraphQLError {
  return new GraphQLError('PersistedQueryNotFound', {
    extensions: { code: 'PERSISTED_QUERY_NOT_FOUND', http: { status: 200 } },
  });
}
