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

/** The faults of a value, each with its path: `[0].name: must be text`. */
export function faultsIn({ issues }: z.ZodError): readonly string[] {
  return issues.map(({ path, message }) => (path.length === 0 ? message : `${z.core.toDotPath(path)}: ${message}`));
}
