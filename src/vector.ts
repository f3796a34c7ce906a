import { hash } from 'node:crypto';

/** A vector of a record: the text between its brackets, known to be numbers and never made into any. As JSON it is that text. */
export class Vector {
  readonly text: string;
  #digest: string | undefined;

  /** @param text `0.1,0.2`. */
  constructor(text: string) {
    this.text = text;
  }

  /** Tells it from any other. Worked out once, since a vector is a hundred times as large as all the rest of its record. */
  get digest(): string {
    this.#digest ??= hash('sha1', this.text, 'base64url');
    return this.#digest;
  }

  toJSON(): string {
    return this.text;
  }
}
