import { BadUserInput } from '../errors.js';

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
  const edges = items.flatMap((node, index) => (node === null ? [] : [new Edge(node, offset + index)]));
  const end = offset + items.length;
  return {
    edges,
    nodes: edges.map(({ node }) => node),
    pageInfo: {
      hasNextPage: end < totalCount,
      hasPreviousPage: offset > 0,
      startCursor: edges[0]?.cursor ?? null,
      // The cursor of the last index, so that a client can go on after a page whose items could not be read.
      endCursor: items.length === 0 ? null : encodeCursor(end - 1),
    },
    totalCount,
  };
}

/** Encodes its cursor when it is read: few queries select the cursors of edges. */
class Edge<T> {
  readonly node: T;
  readonly #index: number;

  constructor(node: T, index: number) {
    this.node = node;
    this.#index = index;
  }

  get cursor(): string {
    return encodeCursor(this.#index);
  }
}

const largestIndex = 1_000_000_000;

/** The index in the list that follows a cursor; 0 without a cursor. @throws BadUserInput if the gateway did not issue the cursor. */
export function offsetAfter(after: string | null | undefined, argument = 'after'): number {
  if (after == null) return 0;
  const [, digits] = /^item:(0|[1-9]\d*)$/.exec(Buffer.from(after, 'base64url').toString()) ?? [];
  const index = Number(digits);
  if (digits === undefined || index >= largestIndex || encodeCursor(index) !== after) {
    throw new BadUserInput(argument, 'is not a valid cursor for this list');
  }
  return index + 1;
}

function encodeCursor(index: number): string {
  return Buffer.from(`item:${index}`).toString('base64url');
}
