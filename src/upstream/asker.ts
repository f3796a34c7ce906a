import type { Credential, Scope } from '../credentials.js';
import type { Receipt } from '../receipt.js';

/** Who a call is made for; nobody known, when a user signs in. */
export interface Asker {
  readonly credential: Credential | undefined;
  readonly scope: Scope | undefined;
  readonly receipt: Receipt;
}
