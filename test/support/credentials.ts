// Credentials as the gateway knows them.
import type { Credential } from '../../src/auth/credentials.js';
import { Secret } from '../../src/config/values.js';

export const apiKey = (key: string): Credential => ({ kind: 'apiKey', secret: new Secret(key) });
export const user = (email: string): Credential => ({
  kind: 'cookie',
  secret: new Secret('s'),
  email,
  name: null,
  session: 'id',
});
