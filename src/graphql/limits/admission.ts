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

/** What may be asked, for any door: `documentText`, then parse and validate with what stands here, then `checkOperation`, then execute. */
export interface Admission {
  readonly parseOptions: ParseOptions;
  /** Beside GraphQL's own. */
  readonly validationRules: readonly ValidationRule[];
  readonly validationOptions: { readonly maxErrors: number };
  /**
   * The text of the document that is asked for, of a shape that may be validated; undefined where there is none or it is no text. A text that
   * does not parse passes, for the door to say why.
   * @throws GatewayError or GraphQLError, ready for the client.
   */
  documentText(params: DocumentParams & { readonly variables?: unknown }): string | undefined;
  /**
   * @throws QueryTooComplex where the operation could cause more upstream calls than one may, or more work in the gateway itself; GraphQLError
   * for the first variable that does not fit its type.
   */
  checkOperation(
    document: DocumentNode,
    operationName: string | null | undefined,
    variables: Readonly<Record<string, unknown>> | undefined,
  ): void;
  /** Whether executing an operation that was checked takes so long that it pays to prepare for it. */
  isLarge(operation: OperationDefinitionNode): boolean;
}

/** What an admission is made of. */
export interface AdmissionDeps {
  readonly schema: GraphQLSchema;
  readonly documents: TrustedDocuments;
  /** Whether the schema may be asked for. */
  readonly introspection: boolean;
  /** The most upstream calls of one operation. */
  readonly callLimit: number;
}

/** Values, of which executing an operation takes milliseconds and not less than one. */
const large = 5_000;
/** Texts whose shape was found good, in bytes together. */
const mostRemembered = 4 * 1024 * 1024;
/** What a text costs besides its characters. */
const overheadBytes = 200;

/** The one gate that documents pass at every door. */
export function createAdmission({ schema, documents, introspection, callLimit }: AdmissionDeps): Admission {
  const parseOptions = { maxTokens: bounds.tokens };
  const good = new LRUCache<string, true>({
    maxSize: mostRemembered,
    sizeCalculation: (_, text) => text.length + overheadBytes,
  });

  function checkText(text: string): void {
    if (good.has(text)) return;
    checkLines(text);
    const document = parsed(text, parseOptions);
    if (document === undefined) return;
    checkDocument(document);
    good.set(text, true);
  }

  /** Without variables it is the same each time. */
  const known = new WeakMap<OperationDefinitionNode, OperationCost>();

  function costFor(operation: OperationDefinitionNode | null | undefined, reckon: () => OperationCost): OperationCost {
    const isFixed = operation != null && (operation.variableDefinitions ?? []).length === 0;
    const before = isFixed ? known.get(operation) : undefined;
    if (before !== undefined) return before;
    const cost = reckon();
    if (operation != null) known.set(operation, cost);
    return cost;
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
      const { calls, records, values } = costFor(operation, () =>
        estimateCost(schema, document, operationName, variables),
      );
      if (calls > callLimit) throw new QueryTooComplex('upstream calls', calls, callLimit);
      checkBound('records', records);
      checkBound('values', values);
      checkFit(schema, operation, variables);
    },
    isLarge: operation => (known.get(operation)?.values ?? 0) > large,
  };
}

/** Each error would repeat the whole value, so that there is one. */
function checkFit(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode | null | undefined,
  variables: Readonly<Record<string, unknown>> = {},
): void {
  const { errors } = getVariableValues(schema, operation?.variableDefinitions ?? [], variables, { maxErrors: 1 });
  const [first] = errors ?? [];
  if (first === undefined) return;
  const extensions = { code: 'BAD_USER_INPUT', http: { status: 400 } };
  throw new GraphQLError(first.message, { nodes: first.nodes ?? null, extensions });
}

function parsed(text: string, options: ParseOptions): DocumentNode | undefined {
  try {
    return parse(text, options);
  } catch (error) {
    if (/^Syntax Error: Document contains more tha[nt] \d+ tokens/.test((error as Error).message)) {
      throw new QueryTooComplex('tokens', bounds.tokens + 1, bounds.tokens);
    }
    if (error instanceof RangeError) throw tooDeep();
    return undefined;
  }
}

/** The parser's own words would be those of an overflow of its stack, once it had tried again. */
function tooDeep(): GraphQLError {
  return new GraphQLError('Syntax Error: The document is nested too deeply', {
    extensions: { code: 'GRAPHQL_PARSE_FAILED', http: { status: 400 } },
  });
}
