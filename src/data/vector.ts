import { hash, randomBytes } from 'node:crypto';

/** Stands for a vector in the JSON of `jsonAround`. It is random, so that no text of the service can contain it. */
export const placeholder = randomBytes(12).toString('hex');

/** The vectors of the value that `jsonAround` is writing; undefined at any other time. */
let collected: Vector[] | undefined;

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
    if (collected === undefined) return this.bytes.toString('latin1', 1, this.bytes.length - 1);
    collected.push(this);
    return placeholder;
  }
}

/** The JSON of a value, with a placeholder for each vector, and these vectors in their order. */
export function jsonAround(value: unknown): { readonly json: string; readonly vectors: readonly Vector[] } {
  const vectors: Vector[] = [];
  collected = vectors;
  try {
    return { json: JSON.stringify(value), vectors };
  } finally {
    collected = undefined;
  }
}
