import { BadUserInput, Forbidden, Unauthenticated } from '../../errors.js';

/** The codes that a WebSocket of GraphQL closes with. */
export const closeCodes = {
  goingAway: 1001,
  internalError: 4500,
  badRequest: 4400,
  unauthorized: 4401,
  forbidden: 4403,
  initialisationTimeout: 4408,
  subscriberExists: 4409,
  tooMany: 4429,
} as const;

/** Why a connection closes for an error, as a code and a reason. */
export function closingFor(error: unknown): [code: number, reason: string] {
  if (error instanceof BadUserInput) return [closeCodes.badRequest, error.message];
  if (error instanceof Unauthenticated) return [closeCodes.unauthorized, 'Unauthorized'];
  if (error instanceof Forbidden) return [closeCodes.forbidden, 'Forbidden'];
  return [closeCodes.internalError, 'Internal server error'];
}

/** The beginning of a reason: it may have 123 bytes (RFC 6455, 5.5.1). */
export const fitting = (reason: string): string => Buffer.from(reason).subarray(0, 120).toString();
