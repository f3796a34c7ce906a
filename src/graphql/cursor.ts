import { createHash } from 'node:crypto';
import { BadUserInput } from '../errors.js';

declare const listBrand: unique symbol;

/** Identifies a list by everything that decides what it holds and in which order: the field, its filter, its order. */
export type ListId = Buffer & { readonly [listBrand]: true };

/** Of all cursors. Raise it when a place is written in another way. */
const version = 3;
const idBytes = 4;

/** @param parts equal for equal lists: `'companies'`, the market, the filter, the order. */
export function listId(...parts: readonly string[]): ListId {
  return createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, idBytes) as ListId;
}

/** The cursor of a place in a list. */
export function writeCursor(list: ListId, place: Buffer): string {
  return Buffer.concat([Buffer.of(version), list, place]).toString('base64url');
}

/**
 * The place that a cursor names.
 * @throws BadUserInput that names the argument, if the gateway did not issue the cursor, or if it belongs to another list.
 */
export function readCursor(list: ListId, cursor: string, argument: string): Buffer {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes[0] !== version || bytes.length <= 1 + idBytes || bytes.toString('base64url') !== cursor) {
    throw new BadUserInput(argument, 'is not a valid cursor for this list');
  }
  if (!list.equals(bytes.subarray(1, 1 + idBytes))) {
    throw new BadUserInput(
      argument,
      'is a cursor of another list, filter or order; send those of its list, or leave it out',
    );
  }
  return bytes.subarray(1 + idBytes);
}

/** The list that a cursor of the gateway belongs to. */
export const listOf = (cursor: string): ListId => Buffer.from(cursor, 'base64url').subarray(1, 1 + idBytes) as ListId;
