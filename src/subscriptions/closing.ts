import { BadUserInput, Forbidden, GatewayError, Unauthenticated } from '../errors.js';

/** The codes that a WebSocket of GraphQL closes with. */
export const closeCodes = {
  goingAway: 1001,
  messageTooBig: 1009,
  internalError: 4500,
  badRequest: 4400,
  unauthorized: 4401,
  forbidden: 4403,
  initialisationTimeout: 4408,
  subscriberExists: 4409,
  tooMany: 4429,
} as const;

/** Why a connection closes for an error: a code of the protocol, and a reason that begins with the error's own code, such as `FORBIDDEN`. */
export function closingFor(error: unknown): [code: number, reason: string] {
  if (!(error instanceof GatewayError))
    return [closeCodes.internalError, 'INTERNAL_SERVER_ERROR: Internal server error'];
  return [closeCodeOf(error), `${error.code}: ${error.message}`];
}

function closeCodeOf(error: GatewayError): number {
  if (error instanceof BadUserInput) return closeCodes.badRequest;
  if (error instanceof Unauthenticated) return closeCodes.unauthorized;
  if (error instanceof Forbidden) return closeCodes.forbidden;
  return closeCodes.internalError;
}

/** The beginning of a reason: it may have 123 bytes (RFC 6455, 5.5.1). */
export const fitting = (reason: string): string => Buffer.from(reason).subarray(0, 120).toString();
