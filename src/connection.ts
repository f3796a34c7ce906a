import { BadUserInput } from './errors.js';

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

/** Items `offset` to `offset + nodes.length` of a list of `totalCount`, as a connection. */
export function connectionOf<T>(
  nodes: readonly T[],
  offset: number,
  totalCount: number,
  end = offset + nodes.length,
): Connection<T> {
  const edges = nodes.map((node, index) => ({ cursor: cursorAt(offset + index), node }));
  return {
    edges,
    nodes,
    pageInfo: {
      hasNextPage: end < totalCount,
      hasPreviousPage: offset > 0,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    totalCount,
  };
}

const furthest = 1_000_000_000;

/** The place in the list after a cursor, from 0; 0 without one. @throws BadUserInput where it is no cursor of ours. */
export function offsetAfter(after: string | null | undefined): number {
  if (after == null) return 0;
  const [, digits] = /^item:(0|[1-9]\d*)$/.exec(Buffer.from(after, 'base64url').toString()) ?? [];
  const index = Number(digits);
  if (digits === undefined || index >= furthest || cursorAt(index) !== after) {
    throw new BadUserInput('after', 'is no cursor of this list');
  }
  return index + 1;
}

function cursorAt(index: number): string {
  return Buffer.from(`item:${index}`).toString('base64url');
}
