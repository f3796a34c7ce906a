import type { Credential, Scope } from '../auth/credentials.js';
import type { ResponseMetadata } from '../observability/response-metadata.js';

/** Who a call is made for; nobody known, when a user signs in. */
export interface Asker {
  readonly credential: Credential | undefined;
  readonly scope: Scope | undefined;
  readonly receipt: ResponseMetadata;
}
