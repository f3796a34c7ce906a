import { type JsonBounds, type JsonExcess, jsonExcess } from './json-excess.js';

/** An escape of JSON: a pair of surrogates, half a pair, or any other. */
const escapes = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)/gs;

/** A JSON text from outside, in well-formed Unicode: half a surrogate pair, which only an escape can write, becomes U+FFFD. */
export function wellFormedJson(text: string): string {
  if (!text.includes('\\ud') && !text.includes('\\uD')) return text;
  return text.replace(escapes, (whole, half) => (half === undefined ? whole : '\\ufffd'));
}

declare const boundedBrand: unique symbol;

/** A text from outside that the JSON parser may get: it is within bounds. */
export type BoundedJson = string & { readonly [boundedBrand]: true };

/** The text of such bytes, or what they hold too much of. */
export const boundedJson = (bytes: Buffer, bounds: JsonBounds): BoundedJson | JsonExcess =>
  jsonExcess(bytes, bounds) ?? (bytes.toString() as BoundedJson);

/** The value of such a text. @throws SyntaxError */
export const parseJson = (text: BoundedJson): unknown => JSON.parse(wellFormedJson(text));

/** The first characters of a text. No character is cut in two. */
export function cutText(text: string, length: number): string {
  return text.length <= length ? text : [...text.slice(0, 2 * length)].slice(0, length).join('');
}
