import { hash } from 'node:crypto';

/** A vector of a record: JSON in bytes outside V8's heap, which responses share, never parsed into numbers. `toJSON` returns the text between the brackets. */
export class Vector {
  /** `[0.1,0.2]`. */
  readonly bytes: Buffer;
  #digest: string | undefined;

  /** @param text `0.1,0.2`, already checked to be numbers. */
  constructor(text: string) {
    this.bytes = Buffer.from(`[${text}]`, 'latin1');
  }

  /** Identifies the content. Computed once, since a vector is a hundred times as large as the rest of its record. */
  get digest(): string {
    this.#digest ??= hash('sha1', this.bytes, 'base64url');
    return this.#digest;
  }

  toJSON(): string {
    return this.bytes.toString('latin1', 1, this.bytes.length - 1);
  }
}
