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
    if (collected === undefined) return JSON.parse(`[${this.#vector.text}]`);
    collected.push(this.#vector);
    return mark;
  }
}

/** A result as it goes over the wire. */
export interface AnswerBytes {
  /** JSON in UTF-8. */
  readonly bytes: Buffer;
  /** Tells these bytes from any others, in any process. */
  readonly digest: string;
}

/** The JSON of a result, in which vectors are copied as text; for any other serialiser they are arrays of numbers. */
export function stringifyResult(result: unknown): string {
  const { pieces, vectors } = written(result);
  return pieces.map((piece, index) => (index === 0 ? piece : `[${vectors[index - 1]?.text}]${piece}`)).join('');
}

/** The same as bytes. Vectors are copied as they are and bring their digests: of an answer with a hundred they are nearly all of it. */
export function bytesOfResult(result: unknown): AnswerBytes {
  const { pieces, vectors } = written(result);
  // No JSON has this character in it as it is.
  const text = [...pieces, ...vectors.map(({ digest }) => digest)].join('\0');
  const digest = hash('sha1', text, 'base64url');
  if (vectors.length === 0) return { bytes: Buffer.from(text), digest };
  const size = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  const bytes = Buffer.allocUnsafe(vectors.reduce((sum, vector) => sum + vector.text.length + 2, size));
  let at = bytes.write(pieces[0] ?? '');
  for (const [index, vector] of vectors.entries()) {
    at += bytes.write('[', at, 'latin1');
    at += bytes.write(vector.text, at, 'latin1');
    at += bytes.write(']', at, 'latin1');
    at += bytes.write(pieces[index + 1] ?? '', at);
  }
  return { bytes, digest };
}

/** The JSON of a result around its vectors: one piece more than there are vectors. */
function written(result: unknown): { pieces: readonly string[]; vectors: readonly Vector[] } {
  const vectors: Vector[] = [];
  collected = vectors;
  try {
    return { pieces: JSON.stringify(result).split(`"${mark}"`), vectors };
  } finally {
    collected = undefined;
  }
}
