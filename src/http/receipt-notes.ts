import type { GraphQLFormattedError } from 'graphql';
import type { ResponseMetadata, SkippedRecord } from '../observability/response-metadata.js';

/** Writes into an answer what its metadata has to say. */
export function addResponseMetadata(
  answer: { errors?: readonly GraphQLFormattedError[] | undefined; extensions?: Record<string, unknown> | undefined },
  metadata: ResponseMetadata,
  explain: boolean,
): void {
  if (metadata.skipped.length > 0) answer.errors = [...(answer.errors ?? []), ...metadata.skipped.map(errorOf)];
  if (!metadata.stale && !explain) return;
  answer.extensions = {
    ...answer.extensions,
    ...(metadata.stale && { stale: true }),
    ...(explain && { explain: metadata.upstreamCalls }),
  };
}

function errorOf({ record, id, fields }: SkippedRecord): GraphQLFormattedError {
  const which = id === null ? `One ${record}` : `${record} ${id}`;
  const why = fields.every(field => field === '') ? '' : ` (${fields.join(', ')})`;
  return {
    message: `${which} was left out: the service sent it in a shape that it does not document${why}`,
    extensions: { code: 'UPSTREAM_INVALID_RESPONSE', record, id, fields },
  };
}
