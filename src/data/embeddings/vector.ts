import { hash } from 'node:crypto';

/**
 * A vector of a record, never made into numbers: JSON in bytes, which answers share, and which lie outside of V8's heap. As JSON it is the text
 * between its brackets.
 */
export class Vector {
  /** `[0.1,0.2]`. */
  readonly bytes: Buffer;
  #digest: string | undefined;

  /** @param text `0.1,0.2`, known to be numbers. */
  constructor(text: string) {
    this.bytes = Buffer.from(`[${text}]`, 'latin1');
  }

  /** Tells it from any other. Worked out once, since a vector is a hundred times as large as all the rest of its record. */
  get digest(): string {
    this.#digest ??= hash('sha1', this.bytes, 'base64url');
    return this.#digest;
  }

  toJSON(): string {
    return this.bytes.toString('latin1', 1, this.bytes.length - 1);
  }
}
