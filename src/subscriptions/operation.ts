import type { DocumentNode, OperationTypeNode } from 'graphql';
import { z } from 'zod';
import type { Reports } from '../observability/response-metadata.js';

export const members = z.record(z.string(), z.unknown()).nullish();

/** The members of GraphQL over HTTP (request parameters). */
export const operationRequest = z.object({
  query: z.string().nullish(),
  documentId: z.string().nullish(),
  operationName: z.string().nullish(),
  variables: members,
  extensions: members,
  onError: z.unknown().optional(),
});

/** The operation that a client wants executed. It has no `query` if a hash names the document. */
export type OperationRequest = z.output<typeof operationRequest>;

export interface Operation extends Pick<OperationRequest, 'operationName' | 'variables'> {
  readonly query: string;
  readonly document: DocumentNode;
  readonly type: OperationTypeNode;
  readonly lastEventId?: string | undefined;
  readonly reports?: Reports;
}
