const byteOf = (character: string) => character.charCodeAt(0);

/** What gives JSON its structure, as the bytes of its text in UTF-8. */
export const quote = byteOf('"');
export const backslash = byteOf('\\');
export const comma = byteOf(',');
export const colon = byteOf(':');
export const bracket = byteOf('[');
export const closingBracket = byteOf(']');
export const brace = byteOf('{');
export const closingBrace = byteOf('}');
export const space = byteOf(' ');
export const otherSpaces: readonly number[] = ['\n', '\r', '\t'].map(byteOf);
