// Writes results as JSON, with vectors as bytes that are never copied.
import { hash } from 'node:crypto';
import { jsonAround, placeholder, Vector } from '../data/vector.js';
import { QueryTooComplex } from '../errors.js';
import type { Claim } from '../lib/memory-budget.js';

/**
 * Serializes a result as bytes. Most bytes of a response with a hundred vectors are theirs: they are neither copied nor hashed again.
 * @param claim counts the memory of the response from now on.
 * @param counted the length of the JSON as `lengthOf` and `sizeOf` count it; NaN where it is not known.
 * @returns JSON in UTF-8, of which each vector is a part of its own, its length, and what identifies these bytes in any process.
 * @throws QueryTooComplex if the response is too large; Overloaded, RateLimited if there is no memory for it. Both before it is serialized.
 */
export function responseBytes(result: unknown, claim?: Claim, counted = Number.NaN) {
  const { pieces, vectors } = serialize(result, claim, counted);
  // JSON never contains this character unescaped.
  const digest = hash('sha1', [...pieces, ...vectors.map(vector => vector.digest)].join('\0'), 'base64url');
  return { ...reserved(partsOf(pieces, vectors), claim), digest };
}

export type ResponseBytes = Readonly<ReturnType<typeof responseBytes>>;

/**
 * Serializes a result as a message: as one text if it is short, otherwise in parts. `length` is in bytes, and in characters for a text.
 * @throws as `responseBytes` does.
 */
export function responseMessage(result: unknown, claim?: Claim) {
  const { pieces, vectors } = serialize(result, claim);
  const [text = ''] = pieces;
  const isShort = vectors.length === 0 && text.length < maxTextLength;
  return reserved<Buffer | string>(isShort ? [text] : partsOf(pieces, vectors), claim);
}

/** In characters. A longer text is converted once into bytes, which are outside of V8's heap. */
const maxTextLength = 64 * 1024;

const partsOf = (pieces: readonly string[], vectors: readonly Vector[]): readonly Buffer[] =>
  pieces.flatMap((piece, index) => {
    const vector = vectors[index];
    return vector === undefined ? [Buffer.from(piece)] : [Buffer.from(piece), vector.bytes];
  });

function reserved<Part extends Buffer | string>(parts: readonly Part[], claim: Claim | undefined) {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  claim?.reserveResponse(length);
  return { parts, length };
}

/** In bytes, without vectors. To serialize, convert and hash so much takes about 40 ms, and blocks the event loop. */
const maxSerialized = 10 * 1024 * 1024;
/** In UTF-8. A surrogate pair, of two characters, has four. */
const maxBytesOfCharacter = 3;

const tooLarge = (bytes: number) => new QueryTooComplex('bytes of the response', bytes, maxSerialized);

/** Of a value without others in it, in characters of JSON. An object is not known here: NaN. */
export function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value === 'object' && value !== null) return Number.NaN;
  return typeof value === 'number' && !Number.isInteger(value) ? 18 : 6;
}

/**
 * The approximate size of a result's JSON in bytes: its characters, as if none of them had to be escaped.
 * @throws QueryTooComplex if it is larger than what may be serialized at once.
 */
function sizeOf(result: unknown): number {
  let text = 0;
  let vectors = 0;
  function add(value: unknown): void {
    if (value instanceof Vector) vectors += value.bytes.length;
    else if (typeof value !== 'object' || value === null) text += lengthOf(value);
    else if (Array.isArray(value)) {
      text += value.length + 2;
      for (const item of value) add(item);
    } else {
      text += 2;
      for (const name in value) {
        text += name.length + 4;
        add((value as Record<string, unknown>)[name]);
      }
    }
    if (text > maxSerialized) throw tooLarge(text);
  }
  add(result);
  return text + vectors;
}

/** The JSON of a result without its vectors, which belong between the pieces. */
function serialize(result: unknown, claim: Claim | undefined, counted = Number.NaN) {
  const size = counted <= maxSerialized ? counted : sizeOf(result);
  claim?.reserveResponse(size);
  const { json, vectors } = jsonAround(result);
  // What had to be escaped, or takes several bytes, is known only now.
  const bytes = json.length > maxSerialized / maxBytesOfCharacter ? Buffer.byteLength(json) : 0;
  if (bytes > maxSerialized) throw tooLarge(bytes);
  return { pieces: vectors.length === 0 ? [json] : json.split(`"${placeholder}"`), vectors };
}
