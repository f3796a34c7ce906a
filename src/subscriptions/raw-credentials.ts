import type { RawCredentials } from '../auth/credentials.js';
import { BadUserInput } from '../errors.js';

const credentialNames = new Map([
  ['x-api-key', 'x-api-key'],
  ['authorization', 'authorization'],
  ['sessionid', 'sessionId'],
]);

/**
 * The credentials in the payload of an introduction, which stands in for headers; their names are no matter of case.
 * @throws BadUserInput
 */
export function rawCredentialsIn(payload: Record<string, unknown>): RawCredentials {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(payload)) {
    const known = credentialNames.get(name.toLowerCase());
    if (known === undefined || value == null) continue;
    if (typeof value !== 'string') throw new BadUserInput(known, 'must be text');
    found[known] = value;
  }
  return found;
}
