// Documents by their text and by their hash: trusted, registered, and kept parsed.
import { createHash } from 'node:crypto';
import { type DocumentNode, GraphQLError } from 'graphql';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { ConfigurationError, reasonOf } from '../../config/configuration-error.js';
import type { Reloadable } from '../../config/values.js';
import { BadUserInput, Forbidden } from '../../errors.js';
import { heapLimit } from '../../lib/heap.js';
import { atMost } from '../../lib/memory-budget.js';
import { readTextFile } from '../../lib/read-file.js';
import { runYielding } from '../../lib/run.js';
import { type OperationInfo, operationsNamedIn } from '../../observability/operation-info.js';

export const members = z.record(z.string(), z.unknown()).nullish();

/** The operation that a client wants executed, with the members of GraphQL over HTTP. It has no `query` if a hash names the document. */
export const operationRequest = z.object({
  query: z.string().nullish(),
  /** `sha256:<hash>`, or the hash as in the manifest (GraphQL over HTTP, persisted documents). */
  documentId: z.string().nullish(),
  operationName: z.string().nullish(),
  variables: members,
  /** `persistedQuery: {version: 1, sha256Hash}`, as Apollo's clients send it. */
  extensions: members,
  /** What an error does to the values around it (draft of the GraphQL specification). */
  onError: z.unknown().optional(),
});

export type OperationRequest = z.output<typeof operationRequest>;

/** A request before its members are checked. The names are the same on every transport. */
type DocumentParams = { readonly [name in keyof OperationRequest]?: unknown };

/**
 * Which documents are executed: any; any, and those of the manifest by their hash; the same, with a report of every document that the next
 * mode would refuse; or only those of the manifest.
 */
type TrustMode = 'off' | 'allow' | 'log' | 'only';

export type DocumentText = ReturnType<typeof createTrustedDocuments>;

/** Total size of the texts that clients registered by their hash, in bytes. */
const maxRegistered = 8 * 1024 * 1024;
/** Memory of a registered text besides its characters. */
const registeredBytes = 300;

const manifestSchema = z.record(z.string().min(1), z.string().min(1));

/** Reads a manifest as graphql-codegen's client preset writes it: `{hash: document}`. @throws ConfigurationError */
export function readManifest(path: string): Manifest {
  try {
    return new Map(Object.entries(manifestSchema.parse(JSON.parse(readTextFile(path)))));
  } catch (error) {
    throw new ConfigurationError(
      `PERSISTED_DOCUMENTS: ${path} must contain an object of documents by their hash: ${reasonOf(error)}`,
    );
  }
}

export type Manifest = ReadonlyMap<string, string>;

export function createTrustedDocuments(mode: TrustMode, manifest: Pick<Reloadable<Manifest>, 'current'>) {
  const registered = new LRUCache<string, string>({
    maxSize: maxRegistered,
    sizeCalculation: text => text.length + registeredBytes,
  });

  function registeredText(hash: unknown, query: unknown): string {
    if (typeof hash !== 'string' || !/^[\da-f]{64}$/.test(hash)) {
      throw new BadUserInput('extensions.persistedQuery.sha256Hash', 'must be a SHA-256 in 64 hexadecimal digits');
    }
    if (query === undefined || query === null) {
      const text = registered.get(hash);
      if (text === undefined) throw unknownHash();
      return text;
    }
    if (typeof query !== 'string' || sha256(query) !== hash) {
      throw new BadUserInput('extensions.persistedQuery.sha256Hash', 'is not the hash of the query');
    }
    registered.set(hash, query);
    return query;
  }

  function otherText(given: ReturnType<typeof givenHash>, query: unknown): string | undefined {
    if (given?.isId) throw unknownHash();
    if (mode === 'only') {
      if (given?.hash !== undefined && query == null) throw unknownHash();
      throw new Forbidden('Only trusted documents are executed: send the hash of one');
    }
    if (given !== undefined) return registeredText(given.hash, query);
    return typeof query === 'string' ? query : undefined;
  }

  /**
   * @param info gets the text, what names it, and, in mode `log`, the hash of one that mode `only` would refuse.
   * @returns undefined if the client named no document; the transport reports that.
   * @throws BadUserInput for a malformed hash or one that does not match the text, or if an error is to do anything but `PROPAGATE`, Forbidden for a
   *   text where only trusted documents are executed, GraphQLError `PERSISTED_QUERY_NOT_FOUND` for an unknown hash.
   */
  return (
    params: DocumentParams,
    info: Pick<OperationInfo, 'document' | 'documentId' | 'untrusted'> = {},
  ): string | undefined => {
    const { query, onError } = params;
    if (onError != null && onError !== 'PROPAGATE') {
      throw new BadUserInput('onError', 'must be PROPAGATE, or left out: this gateway supports no other behavior');
    }
    const given = givenHash(params);
    const trusted = mode === 'off' ? undefined : manifest.current.get(given?.hash as string);
    const text = trusted ?? otherText(given, query);
    info.document = text;
    info.documentId = given?.hash as string | undefined;
    if (mode === 'log' && trusted === undefined && text !== undefined) info.untrusted = sha256(text);
    return text;
  };
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/**
 * The hash by which a client named its document, with or without the text, and whether it is a `documentId`; undefined if there is none.
 * @throws BadUserInput
 */
export function givenHash({
  documentId,
  extensions,
}: DocumentParams): { readonly hash: unknown; readonly isId: boolean } | undefined {
  const { persistedQuery } = (extensions ?? {}) as { readonly persistedQuery?: unknown };
  if (persistedQuery !== undefined) {
    if (typeof persistedQuery !== 'object' || persistedQuery === null) {
      throw new BadUserInput('extensions.persistedQuery', 'must be an object');
    }
    if (!('version' in persistedQuery) || persistedQuery.version !== 1) {
      throw new BadUserInput('extensions.persistedQuery.version', 'must be 1');
    }
  }
  if (documentId != null) {
    if (typeof documentId !== 'string') throw new BadUserInput('documentId', 'must be a string');
    return { hash: documentId.replace(/^sha256:/, ''), isId: true };
  }
  if (persistedQuery === undefined) return undefined;
  return { hash: 'sha256Hash' in persistedQuery ? persistedQuery.sha256Hash : undefined, isId: false };
}

/** Apollo's clients react to this error by sending the text together with the hash. */
function unknownHash(): GraphQLError {
  return new GraphQLError('PersistedQueryNotFound', {
    extensions: { code: 'PERSISTED_QUERY_NOT_FOUND', http: { status: 200 } },
  });
}

/** Errors for which an operation is not executed. */
export class RefusedOperation extends Error {
  override readonly name = 'RefusedOperation';
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super(errors.map(errorText).join(', '));
    this.errors = errors;
  }
}

const errorText = ({ message, locations }: GraphQLError) =>
  locations?.[0] === undefined ? message : `line ${locations[0].line}: ${message}`;

/** The most text, in characters, of documents that are kept parsed. One takes about a hundred times its text: with `ofStrangers`, an eighth of the heap. */
export const maxDocumentText = Math.floor(Math.min(512 * 1024, heapLimit / 1_000));
/** Texts that have been read, by their hashes. */
const maxSeen = 20_000;
/** Memory of such a text besides its characters. */
const overheadBytes = 200;

/**
 * The documents that are known, by their text. Stores a document, or why it is refused, when it is read for the second time. So those that are sent only
 * once, such as those with values in their text, use little memory and evict nothing.
 */
export function createDocumentStore() {
  const sizeCalculation = (_: unknown, text: string) => text.length + overheadBytes;
  const seen = new LRUCache<string, true>(atMost(maxSeen));
  const createCache = (maxSize: number) => new LRUCache<string, DocumentNode | Error>({ maxSize, sizeCalculation });
  /** Of clients whose credential the service has accepted. */
  const kept = createCache(maxDocumentText);
  /** Of those that may have made theirs up. */
  const ofStrangers = createCache(Math.ceil(maxDocumentText / 4));
  let ofOperator: ReadonlyMap<string, DocumentNode> = new Map();
  return {
    get: (text: string) => ofOperator.get(text) ?? kept.get(text) ?? ofStrangers.get(text),
    /** Keeps these documents by their text, whatever their size, in place of those of the last call. */
    keep(documents: ReadonlyMap<string, DocumentNode>): void {
      ofOperator = documents;
    },
    set(text: string, document: DocumentNode | Error, isAccepted: boolean): void {
      const hash = sha256(text);
      if (seen.has(hash)) (isAccepted ? kept : ofStrangers).set(text, document);
      seen.set(hash, true);
    },
  };
}

/**
 * Reads the trusted documents, which takes longest in their first execution. It begins at once, and again after each reload, in pieces between which the
 * gateway answers requests.
 * @param warn receives one line for each trusted document that cannot be executed.
 * @returns whether those of the start are read.
 */
export function prepareTrustedDocuments(
  manifest: Reloadable<Manifest>,
  documentChecks: { parse(text: string): DocumentNode; keep(documents: ReadonlyMap<string, DocumentNode>): void },
  warn: (line: string) => void,
): () => boolean {
  let isPrepared = false;
  let prepared: ReadonlyMap<string, DocumentNode> = new Map();

  function read(hash: string, text: string): DocumentNode | undefined {
    try {
      return documentChecks.parse(text);
    } catch (error) {
      const [name = 'without a name'] = operationsNamedIn(text);
      warn(`PERSISTED_DOCUMENTS: the operation ${name} (${hash}) is refused: ${(error as Error).message}`);
      return undefined;
    }
  }

  const prepare = async () => {
    const before = prepared;
    const current = new Map<string, DocumentNode>();
    prepared = current;
    documentChecks.keep(current);
    for (const [hash, text] of manifest.current) {
      const document = before.get(text) ?? (await runYielding('operator', () => read(hash, text)));
      // It was read again meanwhile.
      if (prepared !== current) return;
      if (document !== undefined) current.set(text, document);
    }
  };

  manifest.onReload(() => void prepare());
  void prepare().then(() => (isPrepared = true));
  return () => isPrepared;
}

/** Gives an error a code of `mask-error.ts`, and the argument that it is about. */
export function withCode(error: GraphQLError, code: string, argument?: string): GraphQLError {
  Object.assign(error.extensions, { code, ...(argument !== undefined && { argument }) });
  return error;
}
