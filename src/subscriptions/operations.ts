import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  type OperationTypeNode,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { BadUserInput } from '../errors.js';
import type { Admission } from '../graphql/limits/admission.js';
import { mostDocumentText } from '../http/graphql/document-store.js';
import { toGraphqlError } from '../http/mask-error.js';
import type { OperationRequest } from './protocol.js';

/** An operation that may be executed. */
export interface Operation extends Pick<OperationRequest, 'operationName' | 'variables'> {
  readonly query: string;
  readonly document: DocumentNode;
  readonly name: string | undefined;
  readonly type: OperationTypeNode;
}

/** Errors for which an operation is not executed. */
export class RefusedOperation extends Error {
  override readonly name = 'Refused';
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super('Refused');
    this.errors = errors;
  }
}

type Checked = DocumentNode | RefusedOperation;

/** Parses, validates and admits operations; a repeated document is parsed and validated once. Every error has a code. */
export function createOperationReader(
  schema: GraphQLSchema,
  admission: Admission,
): (operationRequest: OperationRequest) => Operation | RefusedOperation {
  const known = new LRUCache<string, Checked>({
    maxSize: mostDocumentText,
    sizeCalculation: (_, query) => query.length + 1,
  });

  function checked(query: string): Checked {
    const found = known.get(query);
    if (found !== undefined) return found;
    const result = check(schema, query, admission);
    known.set(query, result);
    return result;
  }

  function admitted(operationRequest: OperationRequest): Operation | RefusedOperation {
    const { operationName, variables } = operationRequest;
    const query = admission.documentText(operationRequest);
    if (query === undefined) throw new BadUserInput('query', 'is missing');
    const document = checked(query);
    if (document instanceof RefusedOperation) return document;
    const operation = getOperationAST(document, operationName);
    if (operation != null) {
      admission.checkOperation(document, operationName, variables ?? undefined);
      return { query, operationName, variables, document, type: operation.operation, name: operation.name?.value };
    }
    return new RefusedOperation([
      withCode(new GraphQLError('Unable to identify the operation'), 'OPERATION_RESOLUTION_FAILURE'),
    ]);
  }

  return operationRequest => {
    try {
      return admitted(operationRequest);
    } catch (error) {
      const refused = toGraphqlError(error);
      if (refused instanceof GraphQLError) return new RefusedOperation([refused]);
      throw error;
    }
  };
}

function check(
  schema: GraphQLSchema,
  query: string,
  { parseOptions, validationRules, validationOptions }: Admission,
): Checked {
  try {
    const document = parse(query, parseOptions);
    const errors = validate(schema, document, [...specifiedRules, ...validationRules], validationOptions);
    if (errors.length === 0) return document;
    return new RefusedOperation(errors.map(error => withCode(error, 'GRAPHQL_VALIDATION_FAILED')));
  } catch (error) {
    if (error instanceof GraphQLError) return new RefusedOperation([withCode(error, 'GRAPHQL_PARSE_FAILED')]);
    throw error;
  }
}

/** The same error under a code of `mask-error.ts`. */
export function withCode(error: GraphQLError, code: string): GraphQLError {
  const { nodes, source, positions, path, originalError, extensions } = error;
  return new GraphQLError(error.message, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    originalError: originalError ?? null,
    extensions: { ...extensions, code },
  });
}
