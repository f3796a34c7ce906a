import { BadUserInput } from '../errors.js';
import { pageSize } from './input.js';

/** The arguments of a connection, as a client sends them. */
export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/** The page that a client asks for, checked. It needs no knowledge of the list. */
export interface PageRequest {
  /** The index that follows `after`; 0 without it. */
  readonly start: number;
  /** The index of `before`; infinite without it. */
  readonly end: number;
  /** The most items that the page holds. */
  readonly size: number;
  /** Whether the page is at the end of the range (`last`) or at its start (`first`). */
  readonly isLast: boolean;
}

/**
 * Checks the arguments of a connection. Without `first` and `last`, the page holds the first 10 items.
 * @param path of the object that holds the arguments, with a dot at its end: `input.companies.visible.`
 * @throws BadUserInput for a size outside 1 to 100, a cursor that the gateway did not issue, or `first` together with `last`.
 */
export function pageRequest({ first, after, last, before }: PageArguments, path = ''): PageRequest {
  if (first != null && last != null) throw new BadUserInput(`${path}last`, 'cannot be combined with first');
  const isLast = last != null;
  return {
    start: offsetAfter(after, `${path}after`),
    end: before == null ? Number.POSITIVE_INFINITY : offsetAfter(before, `${path}before`) - 1,
    size: pageSize(isLast ? last : first, `${path}${isLast ? 'last' : 'first'}`),
    isLast,
  };
}

/** The window of a list that a page shows: the items from index `start` up to, but not including, index `end`. */
export function windowOf(page: PageRequest, length: number): { readonly start: number; readonly end: number } {
  const start = Math.min(page.start, length);
  const end = Math.max(start, Math.min(page.end, length));
  return page.isLast
    ? { start: Math.max(start, end - page.size), end }
    : { start, end: Math.min(start + page.size, end) };
}

/** One page of a list as a Relay connection. */
interface RelayConnection<T> {
  readonly edges: readonly { readonly cursor: string; readonly node: T }[];
  readonly nodes: readonly T[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  readonly totalCount: number;
}

/**
 * A page of a list of `totalCount` items, as a connection.
 * @param items of the page, which begins at `offset`. Null stands for an item that could not be read: it is left out, but keeps its index.
 */
export function connectionOf<T>(items: readonly (T | null)[], offset: number, totalCount: number): RelayConnection<T> {
  const edges = items.flatMap((node, index) => (node === null ? [] : [{ node, cursor: itemCursor(offset + index) }]));
  const end = offset + items.length;
  return {
    edges,
    nodes: edges.map(({ node }) => node),
    pageInfo: {
      hasNextPage: end < totalCount,
      hasPreviousPage: offset > 0,
      // The cursors of the first and the last index, so that a client can go on from a page whose items could not be read.
      startCursor: items.length === 0 ? null : itemCursor(offset),
      endCursor: items.length === 0 ? null : itemCursor(end - 1),
    },
    totalCount,
  };
}

/** The largest index of a list that a cursor can name. */
export const maxIndex = 1_000_000_000;

/** The index in the list that follows a cursor; 0 without a cursor. @throws BadUserInput if the gateway did not issue the cursor. */
export function offsetAfter(after: string | null | undefined, argument = 'after'): number {
  if (after == null) return 0;
  const [, digits] = /^item:(0|[1-9]\d*)$/.exec(Buffer.from(after, 'base64url').toString()) ?? [];
  const index = Number(digits);
  if (digits === undefined || index >= maxIndex || itemCursor(index) !== after) {
    throw new BadUserInput(argument, 'is not a valid cursor for this list');
  }
  return index + 1;
}

/** The cursor of the item at an index. */
export function itemCursor(index: number): string {
  return Buffer.from(`item:${index}`).toString('base64url');
}
