const byteOf = (character: string) => character.charCodeAt(0);

/** What gives JSON its structure, as the bytes of its text in UTF-8. */
export const quote = byteOf('"');
export const backslash = byteOf('\\');
export const comma = byteOf(',');
export const colon = byteOf(':');
export const bracket = byteOf('[');
export const closingBracket = byteOf(']');
export const brace = byteOf('{');
const closingBrace = byteOf('}');
export const space = byteOf(' ');
export const otherSpaces: readonly number[] = ['\n', '\r', '\t'].map(byteOf);

/** What a JSON text may hold. */
export interface JsonBounds {
  /** Characters of one value that holds no other. */
  readonly text: number;
  /** Values in all lists and objects together. */
  readonly items: number;
  /** Members of all objects together. New names cost the parser the most. */
  readonly members: number;
  /** Nesting depth of lists and objects. */
  readonly levels: number;
}

/** A measure that exceeds its bound, and the value at which the scan stopped. */
interface JsonExcess {
  readonly measure: keyof JsonBounds;
  readonly value: number;
}

/**
 * Finds what a JSON text holds too much of, before it is parsed: a megabyte of members takes the parser seventy times as long as a megabyte of
 * text. Looks at each character outside strings once, and stops at the first excess. The parser decides whether the text is JSON.
 */
export function jsonExcess(json: string, bounds: JsonBounds): JsonExcess | undefined {
  if (isSmall(json, bounds)) return undefined;
  let items = 0;
  let members = 0;
  let levels = 0;
  let start = 0;
  for (let at = 0; at < json.length; at += 1) {
    const character = json.charCodeAt(at);
    if (character === quote) at = endOfString(json, at);
    if (at - start > bounds.text) return { measure: 'text', value: at - start };
    if (character === colon) {
      if (++members > bounds.members) return { measure: 'members', value: members };
      start = at;
    } else if (character === bracket || character === brace) {
      if (++levels > bounds.levels) return { measure: 'levels', value: levels };
      if (++items > bounds.items) return { measure: 'items', value: items };
      start = at;
    } else if (character === closingBracket || character === closingBrace) levels -= 1;
    else if (character === comma) {
      if (++items > bounds.items) return { measure: 'items', value: items };
      start = at;
    }
  }
  return undefined;
}

/** Some members of a JSON object that are strings, as they are written, without parsing what the object holds. */
export function ownStrings<Name extends string>(json: string, names: readonly Name[]): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  let levels = 0;
  let name: string | undefined;
  for (let at = 0; at < json.length; at += 1) {
    const character = json.charCodeAt(at);
    if (character === quote) {
      const text = json.slice(at + 1, endOfString(json, at));
      const wanted = names.find(each => each === name);
      if (levels === 1 && wanted !== undefined) found[wanted] = text;
      else if (levels === 1) name ??= text;
      at += text.length + 1;
    } else if (character === bracket || character === brace) levels += 1;
    else if (character === closingBracket || character === closingBrace) levels -= 1;
    else if (character === comma && levels === 1) name = undefined;
  }
  return found;
}

/** Whether a text is too short, and has too few brackets, to exceed any bound. This holds for most bodies and is a much faster check. */
function isSmall(json: string, { text, items, members, levels }: JsonBounds): boolean {
  if (json.length > Math.min(text, items, members)) return false;
  let brackets = 0;
  for (const opening of ['[', '{']) {
    for (let at = json.indexOf(opening); at !== -1; at = json.indexOf(opening, at + 1)) {
      brackets += 1;
      if (brackets > levels) return false;
    }
  }
  return true;
}

/** The index of the quote that closes a string, or the end of the text if none does. */
function endOfString(json: string, opening: number): number {
  let end = json.indexOf('"', opening + 1);
  while (end !== -1 && isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end === -1 ? json.length : end;
}

function isEscaped(json: string, at: number): boolean {
  let slashes = 0;
  while (json.charCodeAt(at - 1 - slashes) === backslash) slashes += 1;
  return slashes % 2 === 1;
}
