import { randomBytes } from 'node:crypto';

/** Marks the place of a vector until its numbers are put there; nobody can guess it, so no text of the service can hold it. */
const mark = randomBytes(12).toString('hex');

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
    collected.push(this.#numbers);
    return mark;
  }
}

/** The JSON of a result, in which vectors are copied as text; for any other serialiser they are arrays of numbers. */
export function stringifyResult(result: unknown): string {
  const { pieces, vectors } = written(result);
  return pieces.map((piece, index) => (index === 0 ? piece : `[${vectors[index - 1]}]${piece}`)).join('');
}

/** The same in UTF-8. The numbers are copied as they are, which a string of all of it would take twice. */
export function resultBytes(result: unknown): Buffer {
  const { pieces, vectors } = written(result);
  const [first = ''] = pieces;
  if (vectors.length === 0) return Buffer.from(first);
  const size = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  const bytes = Buffer.allocUnsafe(vectors.reduce((sum, { length }) => sum + length + 2, size));
  let at = bytes.write(first);
  for (const [index, numbers] of vectors.entries()) {
    at += bytes.write('[', at, 'latin1');
    at += bytes.write(numbers, at, 'latin1');
    at += bytes.write(']', at, 'latin1');
    at += bytes.write(pieces[index + 1] ?? '', at);
  }
  return bytes;
}

/** The JSON of a result around its vectors: one piece more than there are vectors. */
function written(result: unknown): { pieces: readonly string[]; vectors: readonly string[] } {
  const vectors: string[] = [];
  collected = vectors;
  try {
    return { pieces: JSON.stringify(result).split(`"${mark}"`), vectors };
  } finally {
    collected = undefined;
  }
}
