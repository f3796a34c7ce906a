import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { inspect } from 'node:util';

/** A value that must not be seen: however it is printed, logged or serialised, it reads `[secret]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself; to be called only where it goes on the wire or into a key derivation. */
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

/** A key for one purpose, which gives nothing away about the secret or its other keys. @param purpose one word: `scope`. */
export function deriveKey(secret: Secret, purpose: string): KeyObject {
  const info = `market-intelligence-gateway ${purpose}`;
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret.reveal(), '', info, 32)));
}
