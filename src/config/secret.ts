import { createHash, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { inspect } from 'node:util';

/** A confidential value. Printed, logged or serialized, it reads `[secret]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Call it only to send the value or to derive a key. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

/** Identifies a secret next to what was sealed or signed with it, and reveals nothing about it: 12 hexadecimal digits. */
export function secretId(secret: Secret): string {
  return createHash('sha256').update(`market-intelligence-gateway seal ${secret.reveal()}`).digest('hex').slice(0, 12);
}

/** Derives a key for one purpose. It reveals nothing about the secret or its other keys. @param purpose one word: `scope`. */
export function deriveKey(secret: Secret, purpose: string): KeyObject {
  const info = `market-intelligence-gateway ${purpose}`;
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret.reveal(), '', info, 32)));
}
