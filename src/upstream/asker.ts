import type { Credential } from '../credentials.js';
import type { Receipt } from '../receipt.js';

/** Who a call is made for; nobody known, when a user signs in. */
export interface Asker {
  readonly credential: Credential | undefined;
  readonly receipt: Receipt;
}
