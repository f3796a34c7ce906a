// Prepares the documents of the operator before their first request.
import type { DocumentNode } from 'graphql';
import type { Reloadable } from '../config/values.js';
import { runYielding } from '../lib/run.js';
import { operationsNamedIn } from '../observability/operation-info.js';
import type { DocumentChecks } from './limits/document-checks.js';
import type { Manifest } from './limits/documents.js';

const operator = 'operator';

/**
 * Reads the trusted documents, which takes longest in their first execution. It begins at once, and again after each reload, in pieces between which the
 * gateway answers requests.
 * @param warn receives one line for each trusted document that cannot be executed.
 * @returns whether those of the start are read.
 */
export function prepareTrustedDocuments(
  manifest: Reloadable<Manifest>,
  documentChecks: Pick<DocumentChecks, 'parse' | 'keep'>,
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
      const document = before.get(text) ?? (await runYielding(operator, () => read(hash, text)));
      // It was read again meanwhile.
      if (prepared !== current) return;
      if (document !== undefined) current.set(text, document);
    }
  };

  manifest.onReload(() => void prepare());
  void prepare().then(() => (isPrepared = true));
  return () => isPrepared;
}
