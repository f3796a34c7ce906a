import { z } from 'zod';

/** Something that an operator has set does not do. Its message is one line that names the variable. */
export class ConfigurationError extends Error {
  override readonly name = 'InvalidConfig';
}

/** What is wrong with a file or an address, in one line. */
export function reasonOf(error: unknown): string {
  if (error instanceof z.ZodError) return faultsIn(error).join('; ');
  return (error as Error).message.replace(/\s+/g, ' ');
}

/** The faults of a value, each with the member that it is at: `[0].name: must be text`. */
export function faultsIn({ issues }: z.ZodError): readonly string[] {
  return issues.map(({ path, message }) => (path.length === 0 ? message : `${z.core.toDotPath(path)}: ${message}`));
}
