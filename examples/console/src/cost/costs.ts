import { makeVar } from '@apollo/client';

/** What one operation cost, from `extensions.explain` of its response. */
export interface Cost {
  readonly id: number;
  readonly operation: string;
  /** Milliseconds that the page waited. */
  readonly milliseconds: number;
  readonly calls: readonly Call[];
}

/** A read of an upstream response: from the service, or from one of the gateway's caches. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly source: 'memory' | 'redis' | 'flight' | 'network';
}

/** The last operations, newest first. */
export const costs = makeVar<readonly Cost[]>([]);

let nextId = 1;

export function recordCost(operation: string | undefined, extensions: object | undefined, milliseconds: number): void {
  const { explain } = (extensions ?? {}) as { explain?: readonly Call[] };
  if (!explain) return;
  const cost = { id: nextId++, operation: operation ?? 'unnamed', milliseconds, calls: explain };
  costs([cost, ...costs().slice(0, 49)]);
}
