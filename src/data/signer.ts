// Signatures of what gateways share in Redis or keep in files.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { z } from 'zod';
import { deriveKey, type Secret, secretId } from '../config/values.js';
import type { Malformed, Telemetry } from '../observability/telemetry.js';

/** Proves that a gateway with the same `SESSION_SECRET` wrote a value in Redis or in a file. */
export type Signer = ReturnType<typeof createSigner>;

/** Characters of a SHA-256 in base64url. */
const signatureLength = 43;

/** @param secrets as `SESSION_SECRET` lists them. They can be rotated: the first one signs, all of them verify. */
export function createSigner(secrets: readonly [Secret, ...Secret[]]) {
  const [first, ...others] = secrets;
  const signingKey = deriveKey(first, 'redis');
  const keys = [signingKey, ...others.map(secret => deriveKey(secret, 'redis'))];

  function digest(key: typeof signingKey, name: string, content: readonly (string | Buffer)[]): Buffer {
    const hmac = createHmac('sha256', key).update(`${name.length}:${name}`);
    for (const part of content) hmac.update(part);
    return hmac.digest();
  }

  return {
    id: secretId(first),
    /** The signature to put in front of the content: ASCII of a fixed length. It is valid only for this name, which is a key or a channel. */
    sign: (name: string, ...content: readonly (string | Buffer)[]): string =>
      digest(signingKey, name, content).toString('base64url'),
    /** Returns the content behind its signature; undefined if no gateway of this fleet signed it for this name. */
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

/** JSON that gateways of one fleet exchange through Redis. */
export function createSignedJson<T>(signer: Signer, telemetry: Pick<Telemetry, 'malformed'>, schema: z.ZodType<T>) {
  return {
    /** @param name the key or channel in Redis. */
    encode(name: string, value: T): string {
      const json = JSON.stringify(value);
      return signer.sign(name, json) + json;
    },
    /** Undefined, and counted, if this fleet did not sign the text for this name, or if it does not match the schema. */
    decode(name: string, text: string, what: Malformed): T | undefined {
      try {
        return schema.parse(JSON.parse(signer.open(name, text) ?? ''));
      } catch {
        telemetry.malformed(what);
        return undefined;
      }
    },
  };
}
