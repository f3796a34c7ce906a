import * as iron from 'iron-webcrypto';
import { type Secret, secretId } from '../config/values.js';
import { hostTime, timeNow } from '../lib/clock.js';

/** Authenticated encryption of small objects under secrets that rotate. */
export type Sealer = ReturnType<typeof createSealer>;

/** @param secrets the first seals, all of them open. */
export function createSealer(secrets: readonly [Secret, ...Secret[]]) {
  const keyed = secrets.map(secret => ({ id: secretId(secret), secret: secret.reveal() }));
  const byId = Object.fromEntries(keyed.map(({ id, secret }) => [id, secret]));
  const [first = { id: '', secret: '' }] = keyed;
  const sealer = {
    /** Text of letters, digits and `*-_.`. Only holders of a secret can read or make it. @param lifetimeMs how long it opens; 0: forever. */
    seal: (value: object, lifetimeMs: number): Promise<string> =>
      iron.seal(value, first, { ...options(), ttl: lifetimeMs }),
    /** The sealed value. @throws Error for a text that is tampered with, expired, or sealed with another secret. */
    async open(text: string): Promise<unknown> {
      const value = await iron.unseal(text, byId, options());
      if (!isCanonical(text.slice(text.lastIndexOf('*') + 1))) throw new Error('The seal was changed');
      return value;
    },
    /** Whether a text was sealed under another secret than the first, so that it should be sealed again. True only of a text that opens. */
    isOutdated: (text: string): boolean => text.split('*', 2)[1] !== first.id,
    /** A text that does not expire, sealed under the first secret; unchanged if it is already, or if no secret opens it. */
    async resealed(text: string): Promise<string> {
      const value = sealer.isOutdated(text) ? await sealer.open(text).catch(() => undefined) : undefined;
      return value === undefined ? text : sealer.seal(value as object, 0);
    },
  };
  return sealer;
}

/** A seal lives by the clock of the fleet. */
const options = () => ({ ...iron.defaults, timestampSkewSec: 0, localtimeOffsetMsec: timeNow() - hostTime() });

/** The last letter of a digest has two unused bits. Only one of the four spellings is canonical. */
function isCanonical(digest: string): boolean {
  return Buffer.from(digest, 'base64url').toString('base64url') === digest;
}
