import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  type ParseOptions,
  parse,
  type ValidationRule,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { QueryTooComplex } from '../../errors.js';
import { bounds, checkBound } from './bounds.js';
import { estimateCost, type OperationCost } from './call-estimate.js';
import { checkDocument, checkLines, checkVariables } from './document-limits.js';
import type { DocumentParams, TrustedDocuments } from './trusted-documents.js';

/**
 * Decides what the gateway executes, for every transport. A transport calls `documentText`, parses and validates with the options given here, calls
 * `checkOperation`, and executes.
 */
export interface Admission {
  readonly parseOptions: ParseOptions;
  /** In addition to GraphQL's own rules. */
  readonly validationRules: readonly ValidationRule[];
  readonly validationOptions: { readonly maxErrors: number };
  /**
   * The text of the requested document, which is small enough to be validated. A text that cannot be parsed is returned as well: the transport
   * reports the syntax error.
   * @returns undefined if the request has no document, or one that is not a string.
   * @throws GatewayError or GraphQLError, ready for the client.
   */
  documentText(params: DocumentParams & { readonly variables?: unknown }): string | undefined;
  /**
   * @throws QueryTooComplex if the operation could cause too many upstream calls, or too much work in the gateway; GraphQLError for the first
   * variable that does not match its type.
   */
  checkOperation(
    document: DocumentNode,
    operationName: string | null | undefined,
    variables: Readonly<Record<string, unknown>> | undefined,
  ): void;
  /** Whether a checked operation takes so long to execute that preparing a plan pays even once. */
  isLarge(operation: OperationDefinitionNode): boolean;
}

/** What an admission depends on. */
export interface AdmissionDeps {
  readonly schema: GraphQLSchema;
  readonly documents: TrustedDocuments;
  /** Whether clients may query the schema. */
  readonly introspection: boolean;
  /** The maximum number of upstream calls of one operation. */
  readonly callLimit: number;
}

/** In values. Above it, executing an operation takes milliseconds. */
const largeOperation = 5_000;
/** Total size of the texts that are known to be within the limits, in bytes. */
const maxCheckedTexts = 4 * 1024 * 1024;
/** Memory of a cached text besides its characters. */
const overheadBytes = 200;

/** Creates the checks that every document passes, on every transport. */
export function createAdmission({ schema, documents, introspection, callLimit }: AdmissionDeps): Admission {
  const parseOptions = { maxTokens: bounds.tokens };
  const checkedTexts = new LRUCache<string, true>({
    maxSize: maxCheckedTexts,
    sizeCalculation: (_, text) => text.length + overheadBytes,
  });
  const costs = new WeakMap<OperationDefinitionNode, OperationCost>();

  function checkText(text: string): void {
    if (checkedTexts.has(text)) return;
    checkLines(text);
    const document = parseBounded(text, parseOptions);
    if (document === undefined) return;
    checkDocument(document);
    checkedTexts.set(text, true);
  }

  return {
    parseOptions,
    validationRules: introspection ? [] : [NoSchemaIntrospectionCustomRule],
    validationOptions: { maxErrors: bounds.errors },
    documentText(params) {
      checkVariables(params.variables);
      const text = documents.documentText(params);
      if (text !== undefined) checkText(text);
      return text;
    },
    checkOperation(document, operationName, variables) {
      const operation = getOperationAST(document, operationName);
      if (operation == null) return;
      const definitions = operation.variableDefinitions ?? [];
      // Without variables, an operation has the same cost each time.
      const known = definitions.length === 0 ? costs.get(operation) : undefined;
      const cost = known ?? estimateCost(schema, document, operation, variables);
      costs.set(operation, cost);
      if (cost.calls > callLimit) throw new QueryTooComplex('upstream calls', cost.calls, callLimit);
      checkBound('records', cost.records);
      checkBound('values', cost.values);
      // Each error repeats the whole value, so only the first is reported.
      const { errors } = getVariableValues(schema, definitions, variables ?? {}, { maxErrors: 1 });
      if (errors?.[0] !== undefined) throw badVariable(errors[0]);
    },
    isLarge: operation => (costs.get(operation)?.values ?? 0) > largeOperation,
  };
}

function badVariable({ message, nodes }: GraphQLError): GraphQLError {
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
  });
}

/** @returns undefined for a syntax error. @throws QueryTooComplex or GraphQLError for a document that is too large to parse. */
function parseBounded(text: string, options: ParseOptions): DocumentNode | undefined {
  try {
    return parse(text, options);
  } catch (error) {
    // graphql-js misspells "than".
    if (/^Syntax Error: Document contains more tha[nt] \d+ tokens/.test((error as Error).message)) {
      throw new QueryTooComplex('tokens', bounds.tokens + 1, bounds.tokens);
    }
    // Parsing it again would overflow the stack again.
    if (error instanceof RangeError) {
      throw new GraphQLError('Syntax Error: The document is nested too deeply', {
        extensions: { code: 'GRAPHQL_PARSE_FAILED', http: { status: 400 } },
      });
    }
    return undefined;
  }
}
