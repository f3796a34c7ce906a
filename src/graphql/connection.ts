// Relay connections: pages of a list, and their cursors.
import { createHash } from 'node:crypto';
import { isLeftOut, type LeftOut, listed, presentOnce } from '../data/parsing.js';
import { BadUserInput } from '../errors.js';
import { pageSize } from './input.js';

/** The arguments of a connection, as a client sends them. */
export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/** The page that a client asks for, checked. It needs no knowledge of the list's length. */
export type PageRequest = Readonly<ReturnType<typeof pageRequest>>;

/**
 * Checks the arguments of a connection. Without `first` and `last`, the page holds the first 10 items.
 * @param path of the object that holds the arguments, with a dot at its end: `input.companies.visible.`
 * @throws BadUserInput for a size outside 1 to 100, a cursor that the gateway did not issue for this list, or `first` together with `last`.
 */
export function pageRequest({ first, after, last, before }: PageArguments, list: ListId, path = '') {
  if (first != null && last != null) throw new BadUserInput(`${path}last`, 'cannot be combined with first');
  const isLast = last != null;
  return {
    list,
    /** The indexes between which the page lies: behind `after`, before `before`. */
    start: after == null ? 0 : indexIn(list, after, `${path}after`) + 1,
    end: before == null ? Number.POSITIVE_INFINITY : indexIn(list, before, `${path}before`),
    /** The most items that the page holds, at the end of that range (`last`) or at its start (`first`). */
    size: pageSize(isLast ? last : first, `${path}${isLast ? 'last' : 'first'}`),
    isLast,
  };
}

/** The items of a list that a page shows: from index `start` up to, but not including, index `end`. */
interface Window {
  readonly start: number;
  readonly end: number;
}

/** The window of a list that a page shows. */
export function windowOf(page: PageRequest, length: number): Window {
  const start = Math.min(page.start, length);
  const end = Math.max(start, Math.min(page.end, length));
  return page.isLast
    ? { start: Math.max(start, end - page.size), end }
    : { start, end: Math.min(start + page.size, end) };
}

/** What a connection depends on of the page that is asked for. */
export type ConnectionPage = Pick<PageRequest, 'list' | 'isLast'>;

/**
 * A page of a list of `totalCount` items, as a Relay connection. What an operation does not select is not computed: one operation may hold
 * thousands of connections. Behind an empty page there is no next one, in the direction in which the list is read, however many items the service counts:
 * a client without a cursor would begin again.
 */
export class Connection<T> {
  readonly totalCount: number;
  readonly #page: ConnectionPage;
  readonly #window: Window;
  readonly #items: () => readonly (T | LeftOut)[];
  #made: readonly (T | LeftOut)[] | undefined;

  /** @param items those in the window. One that cannot be read is left out by the field that lists it, but keeps its index. */
  constructor(page: ConnectionPage, window: Window, totalCount: number, items: () => readonly (T | LeftOut)[]) {
    this.#page = page;
    this.#window = window;
    this.totalCount = totalCount;
    this.#items = items;
  }

  get nodes(): readonly T[] {
    this.#made ??= this.#items();
    return listed(this.#made);
  }

  get edges() {
    return this.nodes.map((node, index) =>
      isLeftOut(node) ? (node as never) : { node, cursor: this.#cursorOf(index) },
    );
  }

  get pageInfo() {
    const { start, end } = this.#window;
    const isEmpty = end === start;
    return {
      hasNextPage: !isEmpty && end < this.totalCount,
      hasPreviousPage: !(isEmpty && this.#page.isLast) && start > 0,
      // The cursors of the first and the last index, so that a client can go on from a page whose items could not be read.
      startCursor: isEmpty ? null : this.#cursorOf(0),
      endCursor: isEmpty ? null : this.#cursorOf(end - start - 1),
    };
  }

  #cursorOf(index: number): string {
    return itemCursor(this.#page.list, this.#window.start + index);
  }
}

/** A page of a list in memory, as a Relay connection. What cannot be read has no index. @param nodeOf makes the node of an item. */
export function connectionPage<T, N>(page: PageRequest, list: readonly (T | LeftOut)[], nodeOf: (item: T) => N) {
  const readable = presentOnce(list);
  const window = windowOf(page, readable.length);
  return new Connection<N>(page, window, readable.length, () => [
    ...readable.slice(window.start, window.end).map(nodeOf),
    ...leftOutWithin(list, readable, window),
  ]);
}

/** What cannot be read and stands between the items of a window, or behind the last of them. */
function leftOutWithin<T>(list: readonly (T | LeftOut)[], readable: readonly T[], { start, end }: Window) {
  if (readable.length === list.length || (start === end && start > 0)) return [];
  const from = start === 0 ? 0 : list.indexOf(readable[start] as T);
  const to = end === readable.length ? list.length : list.indexOf(readable[end] as T);
  return list
    .slice(from, to)
    .flatMap((item, index) => (isLeftOut(item) ? { $leftOut: { ...item.$leftOut, index: from + index } } : []));
}

/** Every index that a cursor names is below it. */
export const maxIndex = 1_000_000_000;

const indexBytes = 4;

/** The index in the list that a cursor names. @throws BadUserInput if the gateway did not issue the cursor for this list. */
export function indexIn(list: ListId, cursor: string, argument: string): number {
  const place = readCursor(list, cursor, argument);
  const index = place.length === indexBytes ? place.readUInt32BE() : maxIndex;
  if (index >= maxIndex) throw new BadUserInput(argument, 'is not a valid cursor for this list');
  return index;
}

/** The cursor of the item at an index. */
export function itemCursor(list: ListId, index: number): string {
  const place = Buffer.allocUnsafe(indexBytes);
  place.writeUInt32BE(index);
  return writeCursor(list, place);
}

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
  return Buffer.from([version, ...list, ...place]).toString('base64url');
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
