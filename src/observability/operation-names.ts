import { Kind, parse } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Scope } from '../auth/credentials.js';
import type { Reloadable } from '../config/reloadable.js';
import { type OperationInfo, operationName } from './operation-info.js';

/** The names of operations in metrics, where each name costs memory for ever. Logs and spans use the names that clients send. */
export interface OperationNames {
  /** The label for an ended operation: its name, or `other` where the name is not known. */
  labelOf(operation: OperationInfo): string;
  /** The upstream has answered under this credential: from now on, the names of its successful operations become known. */
  accept(scope: Scope): void;
}

const mostNames = 100;
const mostScopes = 10_000;
/** Labels that stand for many operations: no single operation may use them. */
const reserved = new Set(['none', 'other']);

/**
 * With trusted documents, only their names are known. Without them, the known names are the hundred that succeeded most recently under a credential
 * that the upstream accepts, so that a client without one cannot add names.
 * @param documents the trusted documents by their hashes.
 * @param forget is called with a name that is no longer known.
 */
export function createOperationNames(
  documents: Reloadable<ReadonlyMap<string, string>>,
  forget: (name: string) => void,
): OperationNames {
  let fixed = namesOf(documents.current);
  documents.onReload(() => {
    const before = fixed;
    fixed = namesOf(documents.current);
    for (const name of before) if (!fixed.has(name)) forget(name);
  });
  const recent = new LRUCache<string, string>({
    max: mostNames,
    dispose: (_, name, reason) => reason === 'evict' && forget(name),
  });
  const accepted = new LRUCache<Scope, true>({ max: mostScopes });
  return {
    accept(scope) {
      if (!accepted.has(scope)) accepted.set(scope, true);
    },
    labelOf({ name: operation, outcome, scope }) {
      if (operation === undefined) return 'none';
      if (operation === 'unnamed') return operation;
      if (fixed.size > 0) return fixed.has(operation) ? operation : 'other';
      const isSuccess = outcome === 'ok';
      const known = isSuccess ? recent.get(operation) : recent.peek(operation);
      if (known !== undefined) return known;
      const mayBecomeKnown = isSuccess && scope !== undefined && accepted.has(scope) && !reserved.has(operation);
      if (!mayBecomeKnown) return 'other';
      // A copy, because a substring keeps the whole document in memory.
      const name = Buffer.from(operation).toString();
      recent.set(name, name);
      return name;
    },
  };
}

const namesOf = (documents: ReadonlyMap<string, string>): ReadonlySet<string> =>
  new Set([...documents.values()].flatMap(namesIn));

/** A document that cannot be parsed has no names; the gateway refuses it when a client asks for it. */
function namesIn(text: string): string[] {
  try {
    return parse(text).definitions.flatMap(definition =>
      definition.kind === Kind.OPERATION_DEFINITION && definition.name ? [operationName(definition.name.value)] : [],
    );
  } catch {
    return [];
  }
}
