import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  Kind,
  type NamedTypeNode,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  OperationTypeNode,
  type ParseOptions,
  parse,
  type SelectionSetNode,
  typeFromAST,
  type ValidationRule,
  type ValueNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { QueryTooComplex } from '../../errors.js';
import { invalidValueOf } from '../argument-path.js';
import { deferRules } from '../defer-rules.js';
import { bounds, checkBound } from './bounds.js';
import { estimateCost, type OperationCost } from './cost.js';
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
  readonly untrustedHash: TrustedDocuments['untrustedHash'];
  /**
   * @throws QueryTooComplex if the operation could cause too many upstream calls, or too much work in the gateway; GraphQLError for the first
   * variable that does not match its type.
   */
  checkOperation(
    document: DocumentNode,
    operationName: string | null | undefined,
    variables: Readonly<Record<string, unknown>> | undefined,
  ): void;
}

/** What an admission depends on. */
interface AdmissionDeps {
  readonly schema: GraphQLSchema;
  readonly documents: TrustedDocuments;
  /** Whether clients may query the schema. */
  readonly introspection: boolean;
  /** The maximum number of upstream calls of one operation. */
  readonly callLimit: number;
  /** `EVENT_STATISTICS_LIMIT`. */
  readonly statisticsLimit: number;
}

/** Total size of the texts that are known to be within the limits, in bytes. */
const maxCheckedTexts = 4 * 1024 * 1024;
/** Memory of a cached text besides its characters. */
const overheadBytes = 200;

/** Creates the checks that every document passes, on every transport. */
export function createAdmission({
  schema,
  documents,
  introspection,
  callLimit,
  statisticsLimit,
}: AdmissionDeps): Admission {
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

  function badVariable(
    { message, nodes }: GraphQLError,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    variables: Readonly<Record<string, unknown>>,
  ): GraphQLError {
    const [, name = ''] = /^Variable "\$(\w+)"/.exec(message) ?? [];
    const definition = operation.variableDefinitions?.find(({ variable }) => variable.name.value === name);
    const type = definition && (typeFromAST(schema, definition.type as NamedTypeNode) as GraphQLInputType | undefined);
    const { argument, reason } = invalidValueOf(document, operation, { name, type, value: variables[name] });
    const text =
      reason === undefined ? message : `Variable "$${name}" has an invalid value for "${argument}": ${reason}`;
    return new GraphQLError(text, {
      nodes: nodes ?? null,
      extensions: { code: 'BAD_USER_INPUT', argument, http: { status: 400 } },
    });
  }

  return {
    parseOptions,
    validationRules: introspection ? deferRules : [...deferRules, NoSchemaIntrospectionCustomRule],
    validationOptions: { maxErrors: bounds.errors },
    documentText(params) {
      checkVariables(params.variables);
      const text = documents.documentText(params);
      if (text !== undefined) checkText(text);
      return text;
    },
    untrustedHash: documents.untrustedHash,
    checkOperation(document, operationName, variables) {
      const operation = getOperationAST(document, operationName);
      if (operation == null) return;
      const definitions = operation.variableDefinitions ?? [];
      // The cost of finding all errors grows with the value, so only the first is reported.
      const { errors, coerced } = getVariableValues(schema, definitions, variables ?? {}, { maxErrors: 1 });
      if (errors?.[0] !== undefined) throw badVariable(errors[0], document, operation, variables ?? {});
      // Without variables, an operation has the same cost each time.
      const known = definitions.length === 0 ? costs.get(operation) : undefined;
      const cost = known ?? estimateCost(schema, document, operation, coerced, statisticsLimit);
      costs.set(operation, cost);
      if (cost.calls > callLimit) throw new QueryTooComplex('upstream calls', cost.calls, callLimit);
      checkBound('records', cost.records);
      checkBound('values', cost.values);
    },
  };
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

/**
 * Rejects a document that is large, deep or repetitive. It runs before validation, whose rules can take very long for such a document.
 * @throws QueryTooComplex for the first limit that is exceeded.
 */
export function checkDocument({ definitions }: DocumentNode): void {
  const operations = definitions.filter(definition => definition.kind === Kind.OPERATION_DEFINITION);
  const fragments = definitions.filter(definition => definition.kind === Kind.FRAGMENT_DEFINITION);
  checkBound('operations', operations.length);
  checkBound('fragments', fragments.length);
  const byName = new Map(fragments.map(fragment => [fragment.name.value, fragment]));
  for (const definition of [...operations, ...fragments]) checkDefinition(definition, byName);
}

/** Rejects a text with too many lines before it is parsed. @throws QueryTooComplex */
function checkLines(text: string): void {
  checkBound('lines', text.split(/\r\n|[\n\r]/, bounds.lines + 1).length);
}

/** Rejects variables that are nested deeper than any input type. @throws QueryTooComplex */
export function checkVariables(value: unknown, nesting = 0): void {
  if (typeof value !== 'object' || value === null) return;
  checkBound('nesting', nesting);
  const children = Array.isArray(value) ? value : Object.values(value);
  for (const child of children) checkVariables(child, nesting + 1);
}

/** Fields by their names in the response. Those with the same name become one, with the fields of all their selection sets. */
type MergedFields = Map<string, { times: number; readonly fields: MergedFields }>;

function checkDefinition(
  root: OperationDefinitionNode | FragmentDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): void {
  const counts = {
    selections: 0,
    mutations: 0,
    aliases: 0,
    repetitions: 0,
    directives: 0,
    literals: 0,
    __schema: 0,
    __type: 0,
  };
  const isMutation = root.kind === Kind.OPERATION_DEFINITION && root.operation === OperationTypeNode.MUTATION;
  const add = (measure: keyof typeof counts, more: number) => {
    counts[measure] += more;
    checkBound(measure, counts[measure]);
  };

  /** @param siblings the merged fields of the enclosing object. @param spread the fragments around this set. */
  function walk(set: SelectionSetNode, depth: number, siblings: MergedFields, spread: readonly string[]): void {
    for (const selection of set.selections) {
      add('selections', 1);
      add('directives', selection.directives?.length ?? 0);
      switch (selection.kind) {
        case Kind.FIELD: {
          const name = selection.alias?.value ?? selection.name.value;
          const merged = siblings.get(name) ?? { times: 0, fields: new Map() };
          siblings.set(name, merged);
          add('repetitions', merged.times);
          merged.times += 1;
          checkBound('depth', depth);
          if (isMutation && depth === 1) add('mutations', 1);
          if (selection.alias !== undefined) add('aliases', 1);
          if (selection.name.value === '__schema' || selection.name.value === '__type') add(selection.name.value, 1);
          for (const { value } of selection.arguments ?? []) checkLiteral(value, 0, () => add('literals', 1));
          if (selection.selectionSet !== undefined) walk(selection.selectionSet, depth + 1, merged.fields, spread);
          break;
        }
        case Kind.INLINE_FRAGMENT:
          walk(selection.selectionSet, depth, siblings, spread);
          break;
        case Kind.FRAGMENT_SPREAD: {
          const name = selection.name.value;
          const fragment = fragments.get(name);
          // Validation rejects a fragment that spreads itself.
          if (fragment === undefined || spread.includes(name)) break;
          walk(fragment.selectionSet, depth, siblings, [...spread, name]);
        }
      }
    }
  }

  add('directives', root.directives?.length ?? 0);
  walk(root.selectionSet, 1, new Map(), []);
}

function checkLiteral(value: ValueNode, nesting: number, count: () => void): void {
  count();
  if (value.kind !== Kind.LIST && value.kind !== Kind.OBJECT) return;
  checkBound('nesting', nesting);
  const children = value.kind === Kind.LIST ? value.values : value.fields.map(field => field.value);
  for (const child of children) checkLiteral(child, nesting + 1, count);
}
