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
import type { Asked } from './messages.js';

/** An operation that may be executed. */
export interface Operation extends Pick<Asked, 'operationName' | 'variables'> {
  readonly query: string;
  readonly document: DocumentNode;
  readonly name: string | undefined;
  readonly type: OperationTypeNode;
}

/** Errors that keep an operation from beginning. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super('Refused');
    this.errors = errors;
  }
}

type Checked = DocumentNode | Refused;

/** Reads what clients ask, as far as it is admitted; documents that come again are parsed and validated once. Errors have their code. */
export function createOperationReader(
  schema: GraphQLSchema,
  admission: Admission,
): (asked: Asked) => Operation | Refused {
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

  function admitted(asked: Asked): Operation | Refused {
    const { operationName, variables } = asked;
    const query = admission.documentText(asked);
    if (query === undefined) throw new BadUserInput('query', 'is missing');
    const document = checked(query);
    if (document instanceof Refused) return document;
    const operation = getOperationAST(document, operationName);
    if (operation != null) {
      admission.checkOperation(document, operationName, variables ?? undefined);
      return { query, operationName, variables, document, type: operation.operation, name: operation.name?.value };
    }
    return new Refused([
      withCode(new GraphQLError('Unable to identify the operation'), 'OPERATION_RESOLUTION_FAILURE'),
    ]);
  }

  return asked => {
    try {
      return admitted(asked);
    } catch (error) {
      const refused = toGraphqlError(error);
      if (refused instanceof GraphQLError) return new Refused([refused]);
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
    return new Refused(errors.map(error => withCode(error, 'GRAPHQL_VALIDATION_FAILED')));
  } catch (error) {
    if (error instanceof GraphQLError) return new Refused([withCode(error, 'GRAPHQL_PARSE_FAILED')]);
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
