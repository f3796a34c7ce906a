// Relay connections: pages of a list, and their cursors.
import { createHash } from 'node:crypto';
import { isLeftOut, type LeftOut, leftOutAt, listed, presentOnce } from '../data/parsing.js';
import type { Read, Reader } from '../data/reader.js';
import { BadUserInput } from '../errors.js';
import { maxPageSize, pageSize } from './input.js';

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

/** One page of the service that holds a part of a window. A service with `limit` and `offset` has such pages, too. */
interface PagePart {
  readonly page: number;
  readonly pageSize: number;
}

type PageParts = readonly [PagePart, ...PagePart[]];

const startOf = ({ page, pageSize }: PagePart) => (page - 1) * pageSize;

/** The pages that hold a window (at most 100 items): the smallest single page that holds it, otherwise two neighbors. */
function pagesFor({ start, end }: Window): PageParts {
  const count = Math.max(end - start, 1);
  for (let pageSize = count; pageSize <= maxPageSize; pageSize += 1) {
    const page = Math.floor(start / pageSize) + 1;
    if (start + count <= page * pageSize) return [{ page, pageSize }];
  }
  const page = Math.floor(start / count) + 1;
  return [
    { page, pageSize: count },
    { page: page + 1, pageSize: count },
  ];
}

/** Whether neighboring pages hold a window. */
const hold = (parts: PageParts, { start, end }: Window): boolean =>
  start === end || (start >= startOf(parts[0]) && end <= startOf(parts[0]) + parts.length * parts[0].pageSize);

interface ServicePage {
  readonly totalItems: number;
}

/** A list that the service has in pages. */
interface ServiceList<P, T> {
  /** The read of a page, from 1 on. @param isAgain whether the page takes the place of one that was read before, and keeps what that has besides. */
  pageRead(page: number, pageSize: number, isAgain: boolean): Read<P>;
  itemsOf(page: P): readonly T[];
}

/**
 * Reads the window of a page request from a list of the service: in one call if a single page can hold it, otherwise in two. A window that begins at the
 * end of the list needs its length first, which takes one more call if the list is longer than the window. If the list has another end by then, the window
 * is read there. Where two pages tell of different lists, the older one is read again: what lies between them would be on both, or on none.
 * @returns the items of the window, the index of the first one, and the pages that it is of.
 */
export async function readWindow<P extends ServicePage, T>(
  request: PageRequest,
  reader: Reader,
  list: ServiceList<P, T>,
) {
  // As `@cost(pages: true)` counts them.
  let callsLeft = request.isLast ? 4 : 3;
  const read = async ({ page, pageSize }: PagePart) => {
    const pageRead = list.pageRead(page, pageSize, false);
    const found = await reader.read(pageRead);
    // Otherwise the page may be older than others.
    if (reader.wasCalled(pageRead)) callsLeft -= 1;
    return found;
  };
  const readAgain = async ({ page, pageSize }: PagePart, before: P): Promise<P> => {
    callsLeft -= 1;
    return { ...before, ...(await reader.readAgain(list.pageRead(page, pageSize, true))) };
  };
  const isOpen = request.isLast && request.end === Number.POSITIVE_INFINITY;
  let parts = pagesFor(isOpen ? { start: 0, end: request.size } : windowOf(request, Number.POSITIVE_INFINITY));
  let pages: P[] = [];
  if (request.isLast) {
    // This page tells the length of the list, and is part of the window unless the list ends somewhere else than assumed.
    const firstPage = await read(parts[0]);
    const actual = windowOf(request, firstPage.totalItems);
    if (hold(parts, actual)) pages.push(firstPage);
    else parts = pagesFor(actual);
  }
  // In their order: an item that moves to the top of the list in between puts another one on both pages, and none between them.
  for (const part of parts.slice(pages.length)) pages.push(await read(part));

  const last = pages.at(-1) as P;
  const actual = windowOf(request, last.totalItems);
  if (request.isLast && !hold(parts, actual)) {
    // The list has changed since its length was read. If it has grown, mostly the next page is enough.
    const end = parts.at(-1) as PagePart;
    const onward: PageParts = [end, { ...end, page: end.page + 1 }];
    const others = pagesFor(actual);
    if (hold(onward, actual)) {
      parts = onward;
      pages = [last, await readAgain(onward[1] as PagePart, last)];
    } else if (others.length <= callsLeft) {
      parts = others;
      pages = [];
      for (const part of others) pages.push(await readAgain(part, last));
    }
  }

  const [first, second] = pages;
  if (first !== undefined && second !== undefined && first.totalItems !== second.totalItems && callsLeft > 0) {
    const again = await readAgain(parts[0], first).catch(error => {
      // Between the pages of a list that has become shorter, something is missing.
      if (first.totalItems > second.totalItems) throw error;
      return first;
    });
    // Of a list that goes on growing, it would hide what the second page does not have any more.
    if (again.totalItems <= second.totalItems) pages = [again, second];
    // Then the second page was cached, and is the older one.
    if (again !== first && again.totalItems !== second.totalItems && callsLeft > 0) {
      pages = [again, await readAgain(parts[1] as PagePart, second)];
    }
  }

  const offset = startOf(parts[0]);
  const found: T[] = [];
  for (const [index, part] of parts.entries()) {
    // If the list became shorter between two calls, the second page does not follow the first.
    if (offset + found.length !== startOf(part)) break;
    found.push(...list.itemsOf(pages[index] as P));
  }
  const totalItems = pages.at(-1)?.totalItems ?? 0;
  const openEnd = Math.min(totalItems, offset + found.length);
  const { start, end } = windowOf(request, isOpen ? openEnd : request.isLast ? totalItems : Number.POSITIVE_INFINITY);
  const from = Math.min(Math.max(start, offset), totalItems);
  return { items: found.slice(Math.max(from - offset, 0), Math.max(end - offset, 0)), start: from, pages };
}

/** The pages after the first one of a list, all at once. @param max how many items are needed at most. */
export const readOthers = <P>({ totalItems }: ServicePage, read: (page: number) => Promise<P>, max = totalItems) => {
  const count = Math.ceil(Math.min(totalItems, max) / maxPageSize) - 1;
  return Promise.all(Array.from({ length: Math.max(count, 0) }, (_, index) => read(index + 2)));
};

/** The items of a window. One that cannot be read is named by its place in the whole list. */
export const placedFrom = <T>(start: number, items: readonly (T | LeftOut)[]): readonly (T | LeftOut)[] =>
  items.map((item, index) => (isLeftOut(item) ? leftOutAt(item, start + index) : item));

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
  return list.slice(from, to).flatMap((item, index) => (isLeftOut(item) ? leftOutAt(item, from + index) : []));
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
const version = Buffer.of(3);
const idBytes = 4;

/** @param parts equal for equal lists: `'companies'`, the market, the filter, the order. */
export function listId(...parts: readonly string[]): ListId {
  return createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, idBytes) as ListId;
}

/** The cursor of a place in a list. */
export function writeCursor(list: ListId, place: Buffer): string {
  return Buffer.concat([version, list, place]).toString('base64url');
}

/**
 * The place that a cursor names.
 * @throws BadUserInput that names the argument, if the gateway did not issue the cursor, or if it belongs to another list.
 */
export function readCursor(list: ListId, cursor: string, argument: string): Buffer {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes[0] !== version[0] || bytes.length <= 1 + idBytes || bytes.toString('base64url') !== cursor) {
    throw new BadUserInput(argument, 'is not a valid cursor for this list');
  }
  if (!list.equals(bytes.subarray(1, 1 + idBytes))) {
    throw new BadUserInput(
      argument,
      'is a cursor of another list, filter, order or credential; send those of its list, or leave it out',
    );
  }
  return bytes.subarray(1 + idBytes);
}

/** The list that a cursor of the gateway belongs to. */
export const listOf = (cursor: string): ListId => Buffer.from(cursor, 'base64url').subarray(1, 1 + idBytes) as ListId;
