import { backslash, brace, bracket, closingBrace, closingBracket, colon, comma, quote } from '../json-bytes.js';
import { bounds, within } from './bounds.js';

/**
 * Refuses JSON of longer texts, more values and more levels than any field takes, before it is parsed: a megabyte of members takes the parser
 * seventy times as long as a megabyte of text. Whether it is JSON at all is for the parser to say.
 * @throws QueryTooComplex
 */
export function checkJson(bytes: Uint8Array): void {
  let items = 0;
  let members = 0;
  let levels = 0;
  let start = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (at - start > bounds.text) within('text', at - start);
    if (isText) {
      if (byte === backslash) at += 1;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === colon) {
      within('members', ++members);
      start = at;
    } else if (byte === bracket || byte === brace) {
      within('levels', ++levels);
      within('items', ++items);
      start = at;
    } else if (byte === closingBracket || byte === closingBrace) levels -= 1;
    else if (byte === comma) {
      within('items', ++items);
      start = at;
    }
  }
}
