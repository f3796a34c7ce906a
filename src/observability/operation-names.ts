import type { AcceptedScopes } from '../auth/accepted-scopes.js';
import type { Reloadable } from '../config/reloadable.js';
import { dayMs } from '../lib/time.js';
import { type OperationInfo, operationName } from './operation-info.js';

/** The names of operations and clients in metrics, where each name costs memory forever. Logs and spans use the names that clients send. */
export type OperationNames = ReturnType<typeof createOperationNames>;

const maxNames = 100;
/** How long a name keeps its place after its last use. What was counted under it is lost when it goes, so names that come all the time must not push it out. */
const keptForMs = dayMs;
/** Labels that stand for many operations: no single operation may use them. */
const reserved = new Set(['none', 'other']);

/**
 * With trusted documents, only their names are known. Without them, the known names are the first hundred that succeeded under a credential
 * that the service accepts, so that a client without one cannot add names. One that was not used for a day makes room for another.
 * @param documents the trusted documents by their hashes.
 * @param accepted the scopes of credentials that the service accepts.
 * @param forget is called with a name that is no longer known.
 * @param forgetClient is called with the label of a client that is no longer known.
 */
export function createOperationNames(
  documents: Reloadable<ReadonlyMap<string, string>>,
  accepted: Pick<AcceptedScopes, 'has'>,
  forget: (name: string) => void,
  forgetClient: (client: string) => void,
) {
  let fixed = namesOf(documents.current);
  documents.onReload(() => {
    const before = fixed;
    fixed = namesOf(documents.current);
    for (const name of before) if (!fixed.has(name)) forget(name);
  });
  const recentNames = createRecentLabels(forget);
  const recentClients = createRecentLabels(forgetClient);
  const isAccepted = ({ scope }: OperationInfo) => scope !== undefined && accepted.has(scope);
  return {
    /** The label for an ended operation: its name, or `other` where the name is not known. */
    labelOf(operation: OperationInfo): string {
      const { name, outcome } = operation;
      if (name === undefined) return 'none';
      if (name === 'unnamed') return name;
      if (fixed.size > 0) return fixed.has(name) ? name : 'other';
      return recentNames(name, outcome === 'ok', isAccepted(operation));
    },
    /** The label for the client's program: its name and version, `other` where they are not known, `none` where it has no name. */
    clientLabelOf(operation: OperationInfo): string {
      const { app, outcome } = operation;
      if (app === undefined) return 'none';
      const label = app.version === undefined ? app.name : `${app.name}/${app.version}`;
      return recentClients(label, outcome === 'ok', isAccepted(operation));
    },
  };
}

/** Returns a label itself if it is one of the known ones, else `other`. */
function createRecentLabels(forget: (label: string) => void) {
  /** When each was last used. */
  const lastUse = new Map<string, number>();

  function makeRoom(now: number): boolean {
    if (lastUse.size < maxNames) return true;
    const unused = [...lastUse].filter(([, time]) => now - time > keptForMs);
    for (const [label] of unused) {
      lastUse.delete(label);
      forget(label);
    }
    return unused.length > 0;
  }

  return (label: string, isSuccess: boolean, isAccepted: boolean): string => {
    const now = Date.now();
    if (lastUse.has(label)) {
      if (isSuccess) lastUse.set(label, now);
      return label;
    }
    if (!isSuccess || !isAccepted || reserved.has(label) || !makeRoom(now)) return 'other';
    // A copy, because a substring keeps the whole document in memory.
    lastUse.set(Buffer.from(label).toString(), now);
    return label;
  };
}

const namesOf = (documents: ReadonlyMap<string, string>): ReadonlySet<string> =>
  new Set([...documents.values()].flatMap(operationsNamedIn));

/** The names of operations in a text of the operator; perhaps also a word of a comment or a string, which does no harm. */
export const operationsNamedIn = (text: string): readonly string[] =>
  [...text.matchAll(/\b(?:query|mutation|subscription)\s+(\w+)/g)].map(([, name]) => operationName(name));
