import { hash, randomBytes } from 'node:crypto';
import type { Vector } from '../vector.js';

/** Marks the place of a vector until its numbers are put there; nobody can guess it, so no text of the service can hold it. */
const mark = randomBytes(12).toString('hex');

/** The vectors of the result that is being written; undefined while nothing is. */
let collected: Vector[] | undefined;

/** A vector on its way into an answer. */
export class VectorInAnswer {
  readonly #vector: Vector;

  constructor(vector: Vector) {
    this.#vector = vector;
  }

  toJSON(): unknown {
    if (collected === undefined) return JSON.parse(this.#vector.bytes.toString('latin1'));
    collected.push(this.#vector);
    return mark;
  }
}

/** A result as it goes over the wire. */
export interface AnswerBytes {
  /** JSON in UTF-8, in parts: of an answer with vectors, those are parts of their own. */
  readonly parts: readonly Buffer[];
  /** Tells these bytes from any others, in any process. */
  readonly digest: string;
}

/** The JSON of a result, in which vectors are copied as text; for any other serialiser they are arrays of numbers. */
export function stringifyResult(result: unknown): string {
  const { pieces, vectors } = written(result);
  return pieces.map((piece, index) => (vectors[index - 1]?.bytes.toString('latin1') ?? '') + piece).join('');
}

/** The same as bytes. Of an answer with a hundred vectors they are nearly all, and neither copied nor read again. */
export function bytesOfResult(result: unknown): AnswerBytes {
  const { pieces, vectors } = written(result);
  // No JSON has this character in it as it is.
  const digest = hash('sha1', [...pieces, ...vectors.map(vector => vector.digest)].join('\0'), 'base64url');
  const parts = pieces.flatMap((piece, index) => {
    const vector = vectors[index];
    return vector === undefined ? [Buffer.from(piece)] : [Buffer.from(piece), vector.bytes];
  });
  return { parts, digest };
}

/** The JSON of a result around its vectors: one piece more than there are vectors. */
function written(result: unknown): { pieces: readonly string[]; vectors: readonly Vector[] } {
  const vectors: Vector[] = [];
  collected = vectors;
  try {
    const text = JSON.stringify(result);
    return { pieces: vectors.length === 0 ? [text] : text.split(`"${mark}"`), vectors };
  } finally {
    collected = undefined;
  }
}
