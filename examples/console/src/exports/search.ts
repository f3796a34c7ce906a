import type { ExportOutcome } from '../gql/graphql';

/** Filter of the exports, as it stands in the address. */
export interface ExportSearch {
  readonly outcome?: ExportOutcome;
  readonly endpoint?: string;
}

export const OUTCOMES: readonly ExportOutcome[] = ['RUNNING', 'DELIVERED', 'REJECTED', 'FAILED', 'UNKNOWN'];

export function exportSearch({ outcome, endpoint }: Record<string, unknown>): ExportSearch {
  const known = OUTCOMES.find(one => one === outcome);
  return { ...(known && { outcome: known }), ...(endpoint ? { endpoint: String(endpoint) } : {}) };
}
