import { createHash } from 'node:crypto';
import * as iron from 'iron-webcrypto';
import type { Secret } from '../config/secret.js';

/** Authenticated encryption of small objects under secrets that rotate: the first seals, all of them open. */
export interface Sealer {
  /** Text of letters, digits and `*-_.`, which nobody without a secret can read or make. @param lifetimeMs after which it no longer opens; 0: never. */
  seal(value: object, lifetimeMs: number): Promise<string>;
  /** What was sealed. @throws Error for a text that is tampered with, expired, or sealed with another secret. */
  open(text: string): Promise<unknown>;
  /** Whether a text was sealed under another secret than the first: it is to be sealed anew. To be believed of a text that opens. */
  isOutdated(text: string): boolean;
}

export function createSealer(secrets: readonly [Secret, ...Secret[]]): Sealer {
  const keyed = secrets.map(secret => ({ id: idOf(secret), secret: secret.reveal() }));
  const byId = Object.fromEntries(keyed.map(({ id, secret }) => [id, secret]));
  const [first = { id: '', secret: '' }] = keyed;
  return {
    seal: (value, lifetimeMs) => iron.seal(value, first, { ...iron.defaults, ttl: lifetimeMs }),
    async open(text) {
      const value = await iron.unseal(text, byId, { ...iron.defaults, timestampSkewSec: 0 });
      if (!isCanonical(text.slice(text.lastIndexOf('*') + 1))) throw new Error('The seal is not as it was made');
      return value;
    },
    isOutdated: text => text.split('*', 2)[1] !== first.id,
  };
}

/** The last letter of a digest has two bits to spare: only one of the four spellings is ours. */
function isCanonical(digest: string): boolean {
  return Buffer.from(digest, 'base64url').toString('base64url') === digest;
}

/** Tells the secrets apart in what they sealed, without giving anything of them away. */
function idOf(secret: Secret): string {
  return createHash('sha256').update(`market-intelligence-gateway seal ${secret.reveal()}`).digest('hex').slice(0, 12);
}
