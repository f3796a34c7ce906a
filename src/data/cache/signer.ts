import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey, type Secret } from '../../config/secret.js';

/** Proves that a gateway of this fleet wrote what is found in Redis, under secrets that rotate: the first signs, every one verifies. */
export interface Signer {
  /**
   * The signature that stands before the content: ASCII of a fixed length.
   * @param name where the content will be found; at another name it does not verify.
   */
  sign(name: string, ...content: readonly (string | Buffer)[]): string;
  /** The content behind its signature; undefined where no gateway of this fleet signed it for this name. */
  open(name: string, signed: string): string | undefined;
  open(name: string, signed: Buffer): Buffer | undefined;
}

/** Of a SHA-256 in base64url. */
const signatureLength = 43;

/** @param secrets as `SESSION_SECRET` lists them. */
export function createSigner(secrets: readonly [Secret, ...Secret[]]): Signer {
  const [first, ...others] = secrets;
  const signingKey = deriveKey(first, 'redis');
  const keys = [signingKey, ...others.map(secret => deriveKey(secret, 'redis'))];

  function digest(key: typeof signingKey, name: string, content: readonly (string | Buffer)[]): Buffer {
    const hmac = createHmac('sha256', key).update(`${name.length}:${name}`);
    for (const part of content) hmac.update(part);
    return hmac.digest();
  }

  return {
    sign: (name, ...content) => digest(signingKey, name, content).toString('base64url'),
    open<T extends string | Buffer>(name: string, signed: T): T | undefined {
      const [signature, content] =
        typeof signed === 'string'
          ? [signed.slice(0, signatureLength), signed.slice(signatureLength)]
          : [signed.toString('latin1', 0, signatureLength), signed.subarray(signatureLength)];
      const given = Buffer.from(signature, 'base64url');
      const isOurs = keys.some(key => {
        const expected = digest(key, name, [content]);
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
      return isOurs ? (content as T) : undefined;
    },
  };
}
