import { backslash, brace, bracket, closingBracket, colon, otherSpaces, quote, space } from '../../lib/json.js';

/** A flat array in a body: the index of its `[`, and of its `]`. */
interface FlatArray {
  readonly from: number;
  readonly to: number;
}

const nothing = Buffer.from('null');

/** A body with each of these arrays replaced by null, so that unwanted numbers are never parsed. */
export function cutNumberArrays(body: Buffer, arrays: readonly FlatArray[]): Buffer {
  const parts: Buffer[] = [];
  let kept = 0;
  for (const { from, to } of arrays) {
    parts.push(body.subarray(kept, from), nothing);
    kept = to + 1;
  }
  return parts.length === 0 ? body : Buffer.concat([...parts, body.subarray(kept)]);
}

/**
 * Turns each of these arrays into a string of its own text, `[1, 2]` into `"1, 2"`, which is parsed at the speed of copying. Changes the body in
 * place, and returns it.
 */
export function quoteNumberArrays(body: Buffer, arrays: readonly FlatArray[]): Buffer {
  for (const { from, to } of arrays) {
    body[from] = quote;
    body[to] = quote;
    // Between numbers these are white space; JSON does not allow them inside a string.
    const inside = body.subarray(from + 1, to);
    for (const other of otherSpaces) {
      for (let at = inside.indexOf(other); at !== -1; at = inside.indexOf(other, at)) inside[at] = space;
    }
  }
  return body;
}

/** Every flat array under a member of this name, which is ASCII. The body must be JSON in UTF-8. */
export function flatArrays(body: Buffer, member: string): readonly FlatArray[] {
  const found: FlatArray[] = [];
  const key = JSON.stringify(member);
  let to = -1;
  for (let at = body.indexOf(key); at !== -1; at = body.indexOf(key, at)) {
    const value = valueAfter(body, at, at + key.length);
    at += key.length;
    if (value === undefined || body[value] !== bracket) continue;
    // The bracket found before may still be the next one. Searching again each time would make this quadratic.
    if (to <= value) to = body.indexOf(closingBracket, value + 1);
    if (to === -1) break;
    const inside = body.subarray(value + 1, to);
    if (inside.includes(quote) || inside.includes(bracket) || inside.includes(brace)) continue;
    found.push({ from: value, to });
    at = to;
  }
  return found;
}

/** Where the value of a key begins; undefined if the quotes do not belong to a key, but are escaped or belong to a value. */
function valueAfter(body: Buffer, start: number, end: number): number | undefined {
  let slashes = 0;
  while (body[start - 1 - slashes] === backslash) slashes += 1;
  if (slashes % 2 === 1) return undefined;
  let hasColon = false;
  for (let at = end; at < body.length; at += 1) {
    const byte = body[at] ?? 0;
    if (byte <= space) continue;
    if (hasColon || byte !== colon) return hasColon ? at : undefined;
    hasColon = true;
  }
  return undefined;
}
