import {
  type DocumentNode,
  type GraphQLSchema,
  getOperationAST,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  type ParseOptions,
  parse,
  type ValidationRule,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { QueryTooComplex } from '../errors.js';
import { bounds } from './bounds.js';
import { mostCalls } from './most-calls.js';
import { checkShape, checkVariables } from './shape.js';
import type { DocumentParams, TrustedDocuments } from './trusted-documents.js';

/** What may be asked, for any door: `textOf`, then parse and validate with what stands here, then `checkCalls`, then execute. */
export interface Admission {
  readonly parseOptions: ParseOptions;
  /** Beside GraphQL's own. */
  readonly validationRules: readonly ValidationRule[];
  /**
   * The text of the document that is asked for, of a shape that may be validated; undefined where there is none or it is no text. A text that
   * does not parse passes, for the door to say why.
   * @throws GatewayError or GraphQLError, ready for the client.
   */
  textOf(params: DocumentParams & { readonly variables?: unknown }): string | undefined;
  /** @throws QueryTooComplex where the operation could cause more upstream calls than one may. */
  checkCalls(
    document: DocumentNode,
    operationName: string | null | undefined,
    variables: Readonly<Record<string, unknown>> | undefined,
  ): void;
}

/** What an admission is made of. */
export interface AdmissionParts {
  readonly schema: GraphQLSchema;
  readonly documents: TrustedDocuments;
  /** Whether the schema may be asked for. */
  readonly introspection: boolean;
  /** The most upstream calls of one operation. */
  readonly callLimit: number;
}

/** Texts whose shape was found good, in bytes together. */
const mostRemembered = 4 * 1024 * 1024;
/** What a text costs besides its characters. */
const overheadBytes = 200;

/** The one gate that documents pass at every door. */
export function createAdmission({ schema, documents, introspection, callLimit }: AdmissionParts): Admission {
  const parseOptions = { maxTokens: bounds.tokens };
  const good = new LRUCache<string, true>({
    maxSize: mostRemembered,
    sizeCalculation: (_, text) => text.length + overheadBytes,
  });

  function checkText(text: string): void {
    if (good.has(text)) return;
    const document = parsed(text, parseOptions);
    if (document === undefined) return;
    checkShape(document);
    good.set(text, true);
  }

  /** Of an operation without variables, which is the same each time. */
  const known = new WeakMap<OperationDefinitionNode, number>();

  const callsOf: (...asked: Parameters<Admission['checkCalls']>) => number = (document, operationName, variables) => {
    const operation = getOperationAST(document, operationName);
    const isFixed = operation != null && (operation.variableDefinitions ?? []).length === 0;
    const before = isFixed ? known.get(operation) : undefined;
    if (before !== undefined) return before;
    const calls = mostCalls(schema, document, operationName, variables);
    if (isFixed) known.set(operation, calls);
    return calls;
  };

  return {
    parseOptions,
    validationRules: introspection ? [] : [NoSchemaIntrospectionCustomRule],
    textOf(params) {
      checkVariables(params.variables);
      const text = documents.textOf(params);
      if (text !== undefined) checkText(text);
      return text;
    },
    checkCalls(document, operationName, variables) {
      const calls = callsOf(document, operationName, variables);
      if (calls > callLimit) throw new QueryTooComplex('upstream calls', calls, callLimit);
    },
  };
}

function parsed(text: string, options: ParseOptions): DocumentNode | undefined {
  try {
    return parse(text, options);
  } catch (error) {
    if (/^Syntax Error: Document contains more tha[nt] \d+ tokens/.test((error as Error).message)) {
      throw new QueryTooComplex('tokens', bounds.tokens + 1, bounds.tokens);
    }
    return undefined;
  }
}
