import { z } from 'zod';

/** A setting of the operator is invalid. The message is one line: `Invalid configuration: NAME: reason`. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';

  /** @param faults each begins with the name of its variable. */
  constructor(...faults: readonly string[]) {
    super(`Invalid configuration: ${faults.join('; ')}`);
  }
}

/** The reason why a file or an address is invalid, in one line. */
export function reasonOf(error: unknown): string {
  if (error instanceof z.ZodError) return faultsIn(error).join('; ');
  return (error as Error).message.replace(/\s+/g, ' ');
}

/** @param names the variables that say where to listen. @throws ConfigurationError where it cannot listen. */
export async function orCannotListen<T>(names: string, host: string, port: number, listening: Promise<T>): Promise<T> {
  try {
    return await listening;
  } catch (error) {
    throw new ConfigurationError(`${names}: cannot listen at ${host}, port ${port}: ${reasonOf(error)}`);
  }
}

/** The faults of a value, each with its path: `[0].name: must be text`. */
export function faultsIn({ issues }: z.ZodError): readonly string[] {
  return issues.map(({ path, message }) => (path.length === 0 ? message : `${z.core.toDotPath(path)}: ${message}`));
}

/** The known name that was probably meant: at most a quarter of its letters differ, and two in any case. Undefined where none is that close. */
export function closestName(name: string, known: readonly string[]): string | undefined {
  const [closest] = known
    .map(other => ({ other, edits: editsBetween(name, other) }))
    .filter(({ other, edits }) => edits <= Math.max(2, other.length / 4))
    .sort((one, next) => one.edits - next.edits);
  return closest?.other;
}

/** How many letters must be put in, left out or replaced to make the one of the other (Levenshtein's distance). */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [line, letter] of [...one].entries()) {
    const next = [line + 1];
    for (const [column, wanted] of [...other].entries()) {
      const replaced = (row[column] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
