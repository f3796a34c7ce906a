import { BadUserInput } from '../errors.js';

/** One page of a list, in the shape of a Relay connection. */
export interface Connection<T> {
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
 * A stretch of a list of `totalCount` items that begins at `offset`, as a connection. An item that is null could not be read: it is not shown,
 * and keeps its place.
 */
export function connectionOf<T>(items: readonly (T | null)[], offset: number, totalCount: number): Connection<T> {
  const edges = items.flatMap((node, index) => (node === null ? [] : [new Edge(node, offset + index)]));
  const end = offset + items.length;
  return {
    edges,
    nodes: edges.map(({ node }) => node),
    pageInfo: {
      hasNextPage: end < totalCount,
      hasPreviousPage: offset > 0,
      startCursor: edges[0]?.cursor ?? null,
      // Of the last place, so that a page of which nothing could be read does not end the list.
      endCursor: items.length === 0 ? null : cursorAt(end - 1),
    },
    totalCount,
  };
}

/** An item in its place; few ask for all of the cursors. */
class Edge<T> {
  readonly node: T;
  readonly #place: number;

  constructor(node: T, place: number) {
    this.node = node;
    this.#place = place;
  }

  get cursor(): string {
    return cursorAt(this.#place);
  }
}

const furthest = 1_000_000_000;

/** The place in the list after a cursor, from 0; 0 without one. @throws BadUserInput where it is no cursor of ours. */
export function offsetAfter(after: string | null | undefined, argument = 'after'): number {
  if (after == null) return 0;
  const [, digits] = /^item:(0|[1-9]\d*)$/.exec(Buffer.from(after, 'base64url').toString()) ?? [];
  const index = Number(digits);
  if (digits === undefined || index >= furthest || cursorAt(index) !== after) {
    throw new BadUserInput(argument, 'is no cursor of this list');
  }
  return index + 1;
}

function cursorAt(index: number): string {
  return Buffer.from(`item:${index}`).toString('base64url');
}
