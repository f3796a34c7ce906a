import type { z } from 'zod';

const STATUS = {
  QUERY_VALIDATION_FAILED: 400,
  UNAUTHORISED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  INTERNAL_SERVER_ERROR: 500,
};

type ErrorCode = keyof typeof STATUS;

/** An error of the service (docs/upstream-api.md: Errors). */
export class Problem extends Error {
  readonly errorCode: ErrorCode;
  readonly status: number;

  constructor(errorCode: ErrorCode, message: string) {
    super(message);
    this.name = 'Problem';
    this.errorCode = errorCode;
    this.status = STATUS[errorCode];
  }
}

/** The body of every error (docs/upstream-api.md: Errors). */
export const problemBody = (errorCode: string, message: string) => ({ success: false, errorCode, message });

/** The default error code of an HTTP status. */
export function errorCodeOf(status: number): ErrorCode {
  const found = Object.entries(STATUS).find(([, known]) => known === status);
  if (found) return found[0] as ErrorCode;
  return status < 500 ? 'QUERY_VALIDATION_FAILED' : 'INTERNAL_SERVER_ERROR';
}

/** The HTTP status of an error code. 500 for an unknown code. */
export const statusOf = (errorCode: string): number => STATUS[errorCode as ErrorCode] ?? 500;

/** Parses input with a schema. Throws QUERY_VALIDATION_FAILED that names each issue. */
export function read<T extends z.ZodType>(schema: T, input: unknown): z.output<T> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) => [...path, ''].join('.').replace(/\.$/, ': ') + message);
  throw new Problem('QUERY_VALIDATION_FAILED', issues.join('; '));
}
