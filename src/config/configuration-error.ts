import { z } from 'zod';

/** A setting of the operator is invalid. The message is one line: `Invalid configuration: NAME: reason`. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';

  readonly faults: readonly string[];

  /** @param faults each begins with the name of its variable. */
  constructor(...faults: readonly string[]) {
    super(`Invalid configuration: ${faults.join('; ')}`);
    this.faults = faults;
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
