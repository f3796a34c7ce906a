import { randomBytes } from 'node:crypto';

/** Marks the place of a vector until its numbers are put there; nobody can guess it, so no text of the service can hold it. */
const mark = randomBytes(12).toString('hex');
const places = new RegExp(`"${mark}:(\\d+)"`, 'g');

/** The vectors of the result that is being written; undefined while nothing is. */
let collected: string[] | undefined;

/** A vector on its way into an answer: known to be numbers, and never made into any. */
export class VectorText {
  readonly #numbers: string;

  /** @param numbers what stands between the brackets: `0.1,0.2`. */
  constructor(numbers: string) {
    this.#numbers = numbers;
  }

  toJSON(): unknown {
    if (collected === undefined) return JSON.parse(`[${this.#numbers}]`);
    return `${mark}:${collected.push(this.#numbers) - 1}`;
  }
}

/** The JSON of a result, in which vectors are copied as text; for any other serialiser they are arrays of numbers. */
export function stringifyResult(result: unknown): string {
  const vectors: string[] = [];
  collected = vectors;
  try {
    const text = JSON.stringify(result);
    return vectors.length === 0 ? text : text.replace(places, (_, index) => `[${vectors[index]}]`);
  } finally {
    collected = undefined;
  }
}
