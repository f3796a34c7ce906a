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
  specifiedRules,
  typeFromAST,
  type ValueNode,
  validate,
} from 'graphql';
import { QueryTooComplex } from '../../errors.js';
import { andThen, type MaybePromise } from '../../lib/maybe-promise.js';
import { runYielding } from '../../lib/run-yielding.js';
import { invalidValueOf } from '../argument-path.js';
import { deferRules } from '../defer-rules.js';
import { bounds, checkBound } from './bounds.js';
import { estimateCost, type OperationCost } from './cost.js';
import { createDocumentStore, type ReadDocument, RefusedOperation, withCode } from './documents.js';
import type { DocumentParams, TrustedDocuments } from './trusted-documents.js';

/**
 * Decides what the gateway executes, for every transport. A transport calls `documentText`, `read` and `checkOperation`, and executes. For a document
 * that is not known, the work waits for its turn in `runYielding`.
 */
export interface Admission {
  /**
   * The text of the requested document.
   * @returns undefined if the request has no document, or one that is not a string.
   * @throws GatewayError or GraphQLError, ready for the client.
   */
  documentText(params: DocumentParams & { readonly variables?: unknown }): string | undefined;
  readonly untrustedHash: TrustedDocuments['untrustedHash'];
  /** Parses and validates a text now, without regard for others: only for documents of the operator. @throws QueryTooComplex, GraphQLError */
  parse(text: string): ReadDocument;
  /** The same for a text of a client, in its turn; at once if the document is known. */
  read(client: string | undefined, text: string): MaybePromise<ReadDocument>;
  /**
   * @param client whose turn it is.
   * @throws QueryTooComplex if the operation could cause too many upstream calls, or too much work in the gateway; GraphQLError for the first
   * variable that does not match its type.
   */
  checkOperation(
    client: string | undefined,
    document: DocumentNode,
    operationName: string | null | undefined,
    variables: Readonly<Record<string, unknown>> | undefined,
  ): MaybePromise<void>;
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

/** Creates the checks that every document passes, on every transport. */
export function createAdmission({
  schema,
  documents,
  introspection,
  callLimit,
  statisticsLimit,
}: AdmissionDeps): Admission {
  const rules = [...specifiedRules, ...deferRules, ...(introspection ? [] : [NoSchemaIntrospectionCustomRule])];
  const known = createDocumentStore();
  const costs = new WeakMap<OperationDefinitionNode, OperationCost>();

  function parseText(text: string): ReadDocument {
    checkLines(text);
    const document = parseBounded(text, { maxTokens: bounds.tokens });
    if (document instanceof RefusedOperation) return document;
    checkDocument(document);
    const errors = validate(schema, document, rules, { maxErrors: bounds.errors });
    if (errors.length === 0) return document;
    return new RefusedOperation(errors.map(error => withCode(error, 'GRAPHQL_VALIDATION_FAILED')));
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
    documentText(params) {
      checkVariables(params.variables);
      return documents.documentText(params);
    },
    untrustedHash: documents.untrustedHash,
    parse: parseText,
    read(client, text) {
      const found = known.get(text);
      if (found !== undefined) return found;
      return runYielding(client, () => {
        const document = parseText(text);
        known.set(text, document);
        return document;
      });
    },
    checkOperation(client, document, operationName, variables) {
      const operation = getOperationAST(document, operationName);
      if (operation == null) return;
      const definitions = operation.variableDefinitions ?? [];
      // The cost of finding all errors grows with the value, so only the first is reported.
      const { errors, coerced } = getVariableValues(schema, definitions, variables ?? {}, { maxErrors: 1 });
      if (errors?.[0] !== undefined) throw badVariable(errors[0], document, operation, variables ?? {});
      // Without variables, an operation has the same cost each time.
      const sameCost = definitions.length === 0 ? costs.get(operation) : undefined;
      const estimate = () => estimateCost(schema, document, operation, coerced, statisticsLimit);
      return andThen(sameCost ?? runYielding(client, estimate), cost => {
        costs.set(operation, cost);
        if (cost.calls > callLimit) throw new QueryTooComplex('upstream calls', cost.calls, callLimit);
        checkBound('records', cost.records);
        checkBound('values', cost.values);
      });
    },
  };
}

/** @throws QueryTooComplex or GraphQLError for a document that is too large to parse. */
function parseBounded(text: string, options: ParseOptions): ReadDocument {
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
    return new RefusedOperation([withCode(error as GraphQLError, 'GRAPHQL_PARSE_FAILED')]);
  }
}

/**
 * Rejects a document that is large, deep or repetitive. It runs before validation, whose rules can take very long for such a document.
 * @throws QueryTooComplex for the first limit that is exceeded.
 */
function checkDocument({ definitions }: DocumentNode): void {
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
