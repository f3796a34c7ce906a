import { randomBytes } from 'node:crypto';

/** Stands around a vector's numbers until they are out of their quotes; nobody can guess it, so no text of the service can hold it. */
const mark = randomBytes(12).toString('hex');
const opening = `"${mark}`;
const closing = `${mark}"`;

let splicing = false;

/** A vector on its way into an answer: known to be numbers, and never made into any. */
export class VectorText {
  readonly #numbers: string;

  /** @param numbers what stands between the brackets: `0.1,0.2`. */
  constructor(numbers: string) {
    this.#numbers = numbers;
  }

  toJSON(): unknown {
    return splicing ? mark + this.#numbers + mark : JSON.parse(`[${this.#numbers}]`);
  }
}

/** The JSON of a result, in which vectors are copied as text; for any other serialiser they are arrays of numbers. */
export function stringifyResult(result: unknown): string {
  splicing = true;
  try {
    const text = JSON.stringify(result);
    return text.includes(opening) ? text.replaceAll(opening, '[').replaceAll(closing, ']') : text;
  } finally {
    splicing = false;
  }
}
