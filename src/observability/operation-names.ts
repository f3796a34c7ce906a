import { Kind, parse } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Scope } from '../auth/credentials.js';
import { type OperationInfo, operationName } from './operation-info.js';

/** The names that operations have in metrics, where each name costs memory for ever. Logs and spans have the names that clients give. */
export interface OperationNames {
  /** What an ended operation is counted under: its name, or `other` where that is not known. */
  labelOf(trail: OperationInfo): string;
  /** The upstream has answered under this credential: from now on the names of its operations that succeed become known. */
  accept(scope: Scope): void;
}

const mostNames = 100;
const mostScopes = 10_000;
/** No name of an operation may take these: they stand for many. */
const reserved = new Set(['none', 'other']);

/**
 * With trusted documents their names are known, and no other. Without them the hundred names are known that succeeded most recently under a credential that
 * the upstream accepts, so that nobody without one can take a place.
 * @param forget is told of a name that has lost its place.
 */
export function createOperationNames(
  trusted: ReadonlyMap<string, string>,
  forget: (name: string) => void,
): OperationNames {
  const fixed = new Set([...trusted.values()].flatMap(namesIn));
  const recent = new LRUCache<string, string>({
    max: mostNames,
    dispose: (_, name, reason) => reason === 'evict' && forget(name),
  });
  const accepted = new LRUCache<Scope, true>({ max: mostScopes });
  return {
    accept(scope) {
      if (!accepted.has(scope)) accepted.set(scope, true);
    },
    labelOf({ operation, outcome, scope }) {
      if (operation === undefined) return 'none';
      if (operation === 'unnamed') return operation;
      if (fixed.size > 0) return fixed.has(operation) ? operation : 'other';
      const isSuccess = outcome === 'ok';
      const known = isSuccess ? recent.get(operation) : recent.peek(operation);
      if (known !== undefined) return known;
      const mayBecomeKnown = isSuccess && scope !== undefined && accepted.has(scope) && !reserved.has(operation);
      if (!mayBecomeKnown) return 'other';
      // A copy: a part of a string keeps the whole of it, here the document.
      const name = Buffer.from(operation).toString();
      recent.set(name, name);
      return name;
    },
  };
}

/** A document that cannot be read has none; it is refused when it is asked for. */
function namesIn(text: string): string[] {
  try {
    return parse(text).definitions.flatMap(definition =>
      definition.kind === Kind.OPERATION_DEFINITION && definition.name ? [operationName(definition.name.value)] : [],
    );
  } catch {
    return [];
  }
}
