import { hash, randomBytes } from 'node:crypto';
import type { Vector } from '../data/embeddings/vector.js';
import type { Claim } from '../lib/memory-budget.js';

/** Marks the place of a vector until its numbers are put there; nobody can guess it, so no text of the service can hold it. */
const mark = randomBytes(12).toString('hex');

/** The vectors of the result that is being written; undefined while nothing is. */
let collected: Vector[] | undefined;

/** A vector on its way into an answer. */
export class ResponseVector {
  readonly #vector: Vector;

  constructor(vector: Vector) {
    this.#vector = vector;
  }

  get length(): number {
    return this.#vector.bytes.length;
  }

  toJSON(): unknown {
    if (collected === undefined) return JSON.parse(this.#vector.bytes.toString('latin1'));
    collected.push(this.#vector);
    return mark;
  }
}

/** A result as it goes over the wire. */
export interface ResponseBytes {
  /** JSON in UTF-8, in parts: of an answer with vectors, those are parts of their own. */
  readonly parts: readonly Buffer[];
  /** Of all parts together. */
  readonly length: number;
  /** Tells these bytes from any others, in any process. */
  readonly digest: string;
}

/**
 * The JSON of a result as bytes. Of an answer with a hundred vectors they are nearly all, and neither copied nor read again.
 * @param claim of the operation, which counts the answer from now on.
 * @throws QueryTooComplex, Overloaded, RateLimited where there is no room for the answer; before it is written, where it is large.
 */
export function responseBytes(result: unknown, claim?: Claim): ResponseBytes {
  const { pieces, vectors } = written(result, claim);
  // No JSON has this character in it as it is.
  const digest = hash('sha1', [...pieces, ...vectors.map(vector => vector.digest)].join('\0'), 'base64url');
  const parts = partsOf(pieces, vectors);
  const length = lengthOf(parts);
  claim?.wrote(length);
  return { parts, length, digest };
}

/**
 * The same as frames for a stream: as one text where it is short, else in parts.
 * @throws as `responseBytes` does.
 */
export function responseFrames(result: unknown, claim: Claim): readonly [string] | readonly Buffer[] {
  const { pieces, vectors } = written(result, claim);
  const [text] = pieces;
  if (text !== undefined && vectors.length === 0 && text.length < largestText) {
    claim.wrote(text.length);
    return [text];
  }
  const parts = partsOf(pieces, vectors);
  claim.wrote(lengthOf(parts));
  return parts;
}

/** The same as text, in which vectors are copied; for any other serialiser they are arrays of numbers. @throws as `responseBytes` does. */
export function responseText(result: unknown, claim?: Claim): string {
  const { pieces, vectors } = written(result, claim);
  const text = pieces.map((piece, index) => (vectors[index - 1]?.bytes.toString('latin1') ?? '') + piece).join('');
  claim?.wrote(text.length);
  return text;
}

/** In characters. What is longer is turned into bytes once, which lie outside of V8's heap. */
const largestText = 64 * 1024;

const partsOf = (pieces: readonly string[], vectors: readonly Vector[]): readonly Buffer[] =>
  pieces.flatMap((piece, index) => {
    const vector = vectors[index];
    return vector === undefined ? [Buffer.from(piece)] : [Buffer.from(piece), vector.bytes];
  });

const lengthOf = (parts: readonly Buffer[]) => parts.reduce((sum, { length }) => sum + length, 0);

/** About how many bytes the JSON of a value takes: as many as it has characters, if none of them has to be escaped. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 6;
  if (value instanceof ResponseVector) return value.length;
  let size = 2;
  if (Array.isArray(value)) for (const item of value) size += sizeOf(item) + 1;
  else for (const name in value) size += name.length + 4 + sizeOf((value as Record<string, unknown>)[name]);
  return size;
}

/** The JSON of a result around its vectors: one piece more than there are vectors. */
function written(result: unknown, claim: Claim | undefined): { pieces: readonly string[]; vectors: readonly Vector[] } {
  claim?.writes(() => sizeOf(result));
  const vectors: Vector[] = [];
  collected = vectors;
  try {
    const text = JSON.stringify(result);
    return { pieces: vectors.length === 0 ? [text] : text.split(`"${mark}"`), vectors };
  } finally {
    collected = undefined;
  }
}
