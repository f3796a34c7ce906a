import { type DocumentNode, GraphQLError, getOperationAST, type OperationTypeNode } from 'graphql';
import { z } from 'zod';
import type { Scope } from '../auth/credentials.js';
import { BadUserInput } from '../errors.js';
import type { Admission } from '../graphql/limits/admission.js';
import { RefusedOperation, withCode } from '../graphql/limits/documents.js';
import { operationName as nameOf, type OperationInfo } from '../observability/operation-info.js';
import type { Reports } from '../observability/response-metadata.js';

/** A member of JSON that is an object. */
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

/** An operation that may be executed. */
export interface Operation extends Pick<OperationRequest, 'operationName' | 'variables'> {
  readonly query: string;
  readonly document: DocumentNode;
  readonly name: string | undefined;
  readonly type: OperationTypeNode;
  /** The cursor behind which an EventSource continues after it has reconnected. */
  readonly lastEventId?: string | undefined;
  /** That the client requested of a query or a mutation. */
  readonly reports?: Reports;
}

/**
 * Reads and admits the operation of a client, in its turn.
 * @param operationInfo gets what is found out about it.
 * @param callLimit of the client; undefined: that of all.
 * @throws RefusedOperation, GraphQLError or GatewayError, each of which has a code.
 */
export async function readOperation(
  admission: Admission,
  client: Scope | undefined,
  operationRequest: OperationRequest,
  operationInfo: OperationInfo,
  callLimit?: number,
): Promise<Operation> {
  const { operationName, variables } = operationRequest;
  const query = admission.documentText(operationRequest);
  if (query === undefined) throw new BadUserInput('query', 'is missing');
  operationInfo.documentId = admission.documentId(operationRequest);
  const document = await admission.read(client, query);
  if (document instanceof RefusedOperation) throw document;
  const operation = getOperationAST(document, operationName);
  if (operation == null) {
    throw withCode(new GraphQLError('Unable to identify the operation'), 'OPERATION_RESOLUTION_FAILURE');
  }
  const { operation: type, name } = operation;
  // Apollo's plugin checks the others.
  if (type === 'subscription') {
    await admission.checkOperation(client, document, operationName, variables ?? undefined, operationInfo, callLimit);
  }
  operationInfo.name = nameOf(name?.value);
  operationInfo.type = type;
  operationInfo.document = query;
  operationInfo.untrusted = admission.untrustedHash(operationRequest, query);
  return { query, operationName, variables, document, type, name: name?.value };
}
