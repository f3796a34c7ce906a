// JSON as bytes: looked at before it is parsed.
const byteOf = (character: string) => character.charCodeAt(0);

/** What gives JSON its structure, as the bytes of its text in UTF-8. */
const quote = byteOf('"');
const backslash = byteOf('\\');
const comma = byteOf(',');
const colon = byteOf(':');
const bracket = byteOf('[');
const closingBracket = byteOf(']');
const brace = byteOf('{');
const closingBrace = byteOf('}');
const space = byteOf(' ');
const otherSpaces: readonly number[] = ['\n', '\r', '\t'].map(byteOf);

export interface JsonBounds {
  /** Bytes of one string. */
  readonly text: number;
  /** Bytes outside of strings between two that give structure: a number, a literal or white space. */
  readonly number: number;
  /** Values in all lists and objects together. */
  readonly items: number;
  /** Members of all objects together. New names cost the parser the most. */
  readonly members: number;
  /** Nesting depth of lists and objects. */
  readonly levels: number;
  /** Members of one object, and values of one list within another list. Where they are left out, only the totals count. */
  readonly own?: { readonly members: number; readonly items: number };
}

/** A measure that exceeds its bound, and the value at which the scan stopped. */
interface JsonExcess {
  readonly measure: Exclude<keyof JsonBounds, 'own'>;
  readonly value: number;
}

const [firstHalf, secondHalf] = [String.raw`\\ud[89ab][\da-f]{2}`, String.raw`\\ud[c-f][\da-f]{2}`];
/** What stands before an escape: backslashes only in pairs, which escape each other. */
const before = String.raw`(?<!\\)(?:\\\\)*`;
/**
 * The escape of half a surrogate pair. What stands before it is looked at last, so that only backslashes before such an escape cost anything; and no text is
 * made for the others.
 */
const half = new RegExp(
  String.raw`(?:${firstHalf}(?!${secondHalf})|${secondHalf}(?<!${before}${firstHalf}${secondHalf}))(?<=${before}\\u.{4})`,
  'gi',
);

/** A JSON text in well-formed Unicode: half a surrogate pair, which only an escape can write, becomes U+FFFD. */
function wellFormedText(bytes: Buffer): BoundedJson {
  return bytes.toString().replace(half, '\\ufffd') as BoundedJson;
}

declare const boundedBrand: unique symbol;

/** A text from outside for `JSON.parse`: it is within bounds, and in well-formed Unicode. */
export type BoundedJson = string & { readonly [boundedBrand]: true };

/** How many lists and objects a JSON text opens, with the brackets in its strings. */
function bracketsIn(text: string): number {
  let count = 0;
  for (const each of ['[', '{'])
    for (let at = text.indexOf(each); at !== -1; at = text.indexOf(each, at + 1)) count += 1;
  return count;
}

/** What a text holds is at most as much as it has bytes: one of so few can exceed no bound but that of levels. */
const isShort = (json: Buffer, { text, number, items, members, own }: JsonBounds) =>
  json.length <= Math.min(text, number, items, members, own?.items ?? items, own?.members ?? members);

/**
 * The text of such bytes, or what they hold too much of: a megabyte of members takes the parser seventy times as long as a megabyte of text. Looks at each
 * byte once, and stops at the first excess. The parser decides whether the text is JSON.
 */
export function boundedJson(json: Buffer, bounds: JsonBounds): BoundedJson | JsonExcess {
  if (isShort(json, bounds)) {
    const text = wellFormedText(json);
    if (bracketsIn(text) <= bounds.levels) return text;
  }
  let items = 0;
  let members = 0;
  let levels = 0;
  const { own = { members: Number.POSITIVE_INFINITY, items: Number.POSITIVE_INFINITY } } = bounds;
  /** Of each open list and object: what separates its entries, and how many more it may have. */
  const separators: number[] = [];
  const left: number[] = [];
  /** The level of the list that holds the records. Only the totals bound it. */
  let recordsLevel = 0;
  /** Where the number, the literal or the white space began. */
  let start = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) {
      const opening = at;
      const end = Math.min(json.length, opening + bounds.text + 2);
      const endOfShort = Math.min(end, opening + maxShort);
      for (at += 1; at < endOfShort && json[at] !== quote; at += 1) if (json[at] === backslash) at += 1;
      if (at >= endOfShort) {
        // Once for a string, because it may have many escaped quotes.
        const next = json.indexOf(quote, at);
        if (next !== -1 && json[next - 1] !== backslash) at = Math.min(next, end);
        else for (; at < end && json[at] !== quote; at += 1) if (json[at] === backslash) at += 1;
      }
      if (at - opening > bounds.text + 1) return { measure: 'text', value: at - opening - 1 };
    } else if (byte === bracket || byte === brace) {
      levels += 1;
      items += 1;
      if (levels > bounds.levels) return { measure: 'levels', value: levels };
      const isList = byte === bracket;
      separators[levels] = isList ? comma : colon;
      left[levels] = isList ? own.items - 1 : own.members;
      if (isList && recordsLevel === 0) {
        recordsLevel = levels;
        left[levels] = Number.POSITIVE_INFINITY;
      }
    } else if (byte === comma || byte === colon) {
      if (byte === comma) items += 1;
      else members += 1;
      if (byte === separators[levels]) {
        const measure = byte === comma ? 'items' : 'members';
        const more = (left[levels] ?? 0) - 1;
        if (more < 0) return { measure, value: own[measure] + 1 };
        left[levels] = more;
      }
    } else if (byte === closingBracket || byte === closingBrace) {
      if (levels === recordsLevel) recordsLevel = 0;
      levels -= 1;
    } else {
      if (at - start >= bounds.number) return { measure: 'number', value: at - start + 1 };
      continue;
    }
    if (items > bounds.items) return { measure: 'items', value: items };
    if (members > bounds.members) return { measure: 'members', value: members };
    start = at + 1;
  }
  return wellFormedText(json);
}

/** The JSON object in a body. Empty if there is none, or if it holds too much. */
export function jsonObject(body: Buffer, bounds: JsonBounds): Readonly<Record<string, unknown>> {
  const text = boundedJson(body, bounds);
  try {
    const value = typeof text === 'string' && JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

/** Up to this length, looking at each byte of a string takes less time than a call of `indexOf`. */
const maxShort = 64;

/** Some members of a JSON object that are strings, as they are written, without parsing what the object holds. */
export function ownStrings<Name extends string>(json: Buffer, names: readonly Name[]): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  let levels = 0;
  let name: string | undefined;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) {
      const opening = at;
      for (at += 1; at < json.length && json[at] !== quote; at += 1) if (json[at] === backslash) at += 1;
      if (levels !== 1) continue;
      const text = json.toString('utf8', opening + 1, at);
      const wanted = names.find(each => each === name);
      if (wanted !== undefined) found[wanted] = text;
      else name ??= text;
    } else if (byte === bracket || byte === brace) levels += 1;
    else if (byte === closingBracket || byte === closingBrace) levels -= 1;
    else if (byte === comma && levels === 1) name = undefined;
  }
  return found;
}

/** A flat array in a body: the index of its `[`, and of its `]`. */
interface FlatArray {
  readonly from: number;
  readonly to: number;
}

const nullBytes = Buffer.from('null');

/** A body with each of these arrays replaced by null, so that unwanted numbers are never parsed. */
export function cutNumberArrays(body: Buffer, arrays: readonly FlatArray[]): Buffer {
  const parts: Buffer[] = [];
  let kept = 0;
  for (const { from, to } of arrays) {
    parts.push(body.subarray(kept, from), nullBytes);
    kept = to + 1;
  }
  return parts.length === 0 ? body : Buffer.concat([...parts, body.subarray(kept)]);
}

/** Turns each of these arrays into a string of its own text in place, `[1, 2]` into `"1, 2"`, which is parsed at the speed of copying. Returns the body. */
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
