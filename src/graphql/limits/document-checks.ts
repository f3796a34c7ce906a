// The limits of documents: what the gateway executes, for every transport.
// - Promises: no text, document or operation above a bound or a limit of its client is executed, and a refusal comes before any upstream call. What takes
//   long waits for its turn. The same text is parsed and validated once.
// - States of a text: unknown, refused, known (kept until others need the place), and trusted (`documents.ts`: kept whatever its size).
// - Order: size and lines, tokens (the parser stops), depth and repetition (`bounds.ts`), validation, then for each operation its cost (`cost.ts`).
// - Needs: the schema with `@cost` on what the gateway computes, the teams with their limits, and the trusted documents.
// - Never: executes, or calls the service.
import {
  type ASTNode,
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLObjectType,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  Kind,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  parse,
  SingleFieldSubscriptionsRule,
  specifiedRules,
  type ValidationContext,
  type ValidationRule,
  type VariableDefinitionNode,
  validate,
} from 'graphql';
import type { Credential } from '../../auth/credentials.js';
import type { Teams } from '../../auth/teams.js';
import type { Reloadable } from '../../config/values.js';
import { QueryTooComplex } from '../../errors.js';
import type { Claim } from '../../lib/memory-budget.js';
import { andThen, type MaybePromise, runYielding } from '../../lib/run.js';
import { operationName as nameOf, type OperationInfo } from '../../observability/operation-info.js';
import { badValue, documentMessage, executedArgumentOf, invalidArgumentOf, variableError } from '../argument-errors.js';
import { createDeprecations } from '../deprecations.js';
import { bounds, bytesOfDocument, checkBound, checkDocument, checkLines } from './bounds.js';
import { costsOf, estimateCost, type OperationCost } from './cost.js';
import { createDocumentStore, type DocumentText, RefusedOperation, withCode } from './documents.js';

interface DocumentChecksDeps {
  readonly schema: GraphQLSchema;
  readonly documentText: DocumentText;
  readonly introspection: boolean;
  /** The maximum number of upstream calls of one operation of a client to whom `teams` gives no other. */
  readonly callLimit: number;
  readonly teams: Pick<Reloadable<Pick<Teams, 'limitsOf'>>, 'current'>;
  /** `EVENT_STATISTICS_LIMIT`. */
  readonly statisticsLimit: number;
}

interface OperationClient {
  /** Whose turn the work takes: see `AcceptedScopes.turnOf`. */
  readonly scope?: string | undefined;
  readonly credential: Credential | Error | undefined;
}

interface CheckedOperation {
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  /** Those that the operation does not declare are removed. */
  readonly variables?: Record<string, unknown> | null | undefined;
}

export type DocumentChecks = ReturnType<typeof createDocumentChecks>;

/** Parses and validates a text now. @param introspection whether it may query the schema. @throws QueryTooComplex, RefusedOperation */
export function createDocumentParser(schema: GraphQLSchema, introspection: boolean): (text: string) => DocumentNode {
  const rules = [
    ...specifiedRules.filter(rule => rule !== SingleFieldSubscriptionsRule),
    ...laterRules,
    ...(introspection ? [] : [NoSchemaIntrospectionCustomRule]),
  ];
  return text => {
    checkLines(text);
    const document = parseBounded(text);
    checkDocument(document);
    const errors = validate(schema, document, rules, { maxErrors: bounds.errors });
    if (errors.length === 0) return document;
    throw new RefusedOperation(
      errors.map(error => {
        const argument = invalidArgumentOf(error, document);
        error.message = documentMessage(schema, error);
        return withCode(error, 'GRAPHQL_VALIDATION_FAILED', argument);
      }),
    );
  };
}

/**
 * Creates the checks that every document passes, on every transport. A transport calls `documentText`, `read` and `checkOperation`, and executes. For a
 * document that is not known, the work waits for its turn in `runYielding`. @throws Error as `costsOf` does.
 */
export function createDocumentChecks(deps: DocumentChecksDeps) {
  const { schema, documentText, introspection, teams, statisticsLimit } = deps;
  costsOf(schema);
  const parseText = createDocumentParser(schema, introspection);
  const store = createDocumentStore();
  const costs = new WeakMap<OperationDefinitionNode, OperationCost>();
  const deprecatedUses = createDeprecations(schema);

  return {
    documentText,
    /** Without regard for others: only for documents of the operator. @throws QueryTooComplex, RefusedOperation */
    parse: parseText,
    /** The same for a text of a client, in its turn, with its memory counted; at once if the document is known. @throws also Overloaded, RateLimited */
    read(client: string | undefined, text: string, claim?: Claim): MaybePromise<DocumentNode> {
      const isAccepted = client !== undefined && client !== 'unknown';
      const readNow = () => {
        claim?.reserveMore(bytesOfDocument(text));
        try {
          const document = parseText(text);
          store.set(text, document, isAccepted);
          return document;
        } catch (error) {
          store.set(text, error as Error, isAccepted);
          throw error;
        }
      };
      const found = store.get(text) ?? runYielding(client, readNow);
      if (found instanceof Error) throw found;
      return found;
    },
    keep: store.keep,
    /**
     * @param info gets what is found out: the operation's name and type, the estimated upstream calls, also if it is refused for them, and deprecated uses.
     * @throws QueryTooComplex if the operation could cause too many upstream calls, or too much work in the gateway; GraphQLError if the document does not
     * have it, or for the first variable that does not match its type.
     */
    checkOperation(
      { scope, credential }: OperationClient,
      { document, operationName, variables }: CheckedOperation,
      info: Pick<OperationInfo, 'name' | 'type' | 'estimatedCalls' | 'deprecated'>,
    ): MaybePromise<OperationDefinitionNode> {
      // An error repeats the name of an operation that the document does not have.
      checkBound('name', operationName?.length ?? 0);
      const operation = getOperationAST(document, operationName);
      if (operation == null) throw unknownOperation(operationName);
      info.name = nameOf(operation.name?.value);
      info.type = operation.operation;
      const definitions = operation.variableDefinitions ?? [];
      keepDeclared(variables ?? {}, definitions);
      const given = hasLongText(variables)
        ? (shortened(variables) as NonNullable<typeof variables>)
        : (variables ?? {});
      // The cost of finding all errors grows with the value, so only the first is reported.
      const found = getVariableValues(schema, definitions, given, { maxErrors: 1 });
      const [wrong] = found.errors ?? [];
      if (wrong !== undefined) throw variableError(wrong, schema, document, operation, given);
      const { coerced = {} } = given === variables ? found : getVariableValues(schema, definitions, variables ?? {});
      // Without variables, an operation has the same cost each time.
      const isConstant = definitions.length === 0;
      const sameCost = isConstant ? costs.get(operation) : undefined;
      const estimate = () => {
        try {
          return estimateCost(schema, document, operation, coerced, statisticsLimit);
        } catch (error) {
          throw error instanceof GraphQLError ? badNull(error) : error;
        }
      };
      return andThen(sameCost ?? runYielding(scope, estimate), cost => {
        if (isConstant) costs.set(operation, cost);
        info.estimatedCalls = cost.calls;
        const { upstreamCalls: callLimit = deps.callLimit } = teams.current.limitsOf(credential);
        if (cost.calls > callLimit) throw new QueryTooComplex('upstream calls', cost.calls, callLimit);
        checkBound('records', cost.records);
        checkBound('values', cost.values);
        info.deprecated = deprecatedUses?.(document, operation, coerced);
        return operation;
      });
    },
  };
}

function unknownOperation(name: string | null | undefined): GraphQLError {
  const text =
    name == null
      ? 'Must provide operation name if query contains multiple operations.'
      : `Unknown operation named "${name}".`;
  const error = new GraphQLError(text, { extensions: { http: { status: 400 } } });
  return withCode(error, 'OPERATION_RESOLUTION_FAILURE');
}

/** Removes what nothing reads, so that it is not kept for as long as the operation. */
function keepDeclared(variables: Record<string, unknown>, definitions: readonly VariableDefinitionNode[]): void {
  for (const name of Object.keys(variables)) {
    if (!definitions.some(({ variable }) => variable.name.value === name)) delete variables[name];
  }
}

function badNull(error: GraphQLError): GraphQLError {
  const argument = executedArgumentOf(error);
  if (argument === undefined) return error;
  const isWithin = error.message.includes(' has invalid value ');
  const message = isWithin ? `A variable in "${argument}" is null or left out, but must have a value` : error.message;
  return badValue(message, argument, error.nodes);
}

/** Characters. Far more than a value of an enum or the name of a member. */
const maxText = 200;

/** graphql-js would write a long text into an error, and look for similar names. */
function hasLongText(value: unknown): boolean {
  if (typeof value === 'string') return value.length > maxText;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasLongText);
  return Object.entries(value).some(([name, part]) => name.length > maxText || hasLongText(part));
}

/** A copy with short texts. It has the same errors: no type depends on more of a text. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, maxText);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(shortened);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name.slice(0, maxText), shortened(part)]));
}

/** @throws QueryTooComplex for a document of too many tokens, RefusedOperation for a wrong syntax. */
function parseBounded(text: string): DocumentNode {
  try {
    return parse(text, { maxTokens: bounds.tokens });
  } catch (error) {
    // graphql-js misspells "than".
    if (/^Syntax Error: Document contains more tha[nt] \d+ tokens/.test((error as Error).message)) {
      throw new QueryTooComplex('tokens', bounds.tokens + 1, bounds.tokens);
    }
    const isTooDeep = error instanceof RangeError;
    const syntaxError = isTooDeep ? new GraphQLError('Syntax Error: The document is nested too deeply') : error;
    throw new RefusedOperation([withCode(syntaxError as GraphQLError, 'GRAPHQL_PARSE_FAILED')]);
  }
}

/** The rules of GraphQL that graphql-js 16 does not have yet. */
export const laterRules: readonly ValidationRule[] = [singleSubscriptionField, notOnRootFields, uniqueLabels];

/** The rule of graphql-js throws where a condition has a variable. `notOnRootFields` refuses every condition. */
function singleSubscriptionField(context: ValidationContext): ASTVisitor {
  const visitor = SingleFieldSubscriptionsRule(context) as { OperationDefinition(node: ASTNode): void };
  return {
    OperationDefinition(node) {
      try {
        visitor.OperationDefinition(node);
      } catch {
        // See above.
      }
    },
  };
}

/** Mutations run one after the other, and each event of a subscription has one root field: neither can be deferred, and the latter not be left out. */
function notOnRootFields(context: ValidationContext): ASTVisitor {
  const schema = context.getSchema();
  const refused = new Map([
    [schema.getMutationType(), ['defer']],
    [schema.getSubscriptionType(), ['defer', 'skip', 'include']],
  ]);
  return {
    Directive(node) {
      const parent = context.getParentType();
      const name = node.name.value;
      if (parent == null || !refused.get(parent as GraphQLObjectType)?.includes(name)) return;
      const message = `The directive "@${name}" cannot be used on root fields of the type "${parent.name}".`;
      context.reportError(new GraphQLError(message, { nodes: node }));
    },
  };
}

function uniqueLabels(context: ValidationContext): ASTVisitor {
  const labels = new Set<string>();
  return {
    Directive(node) {
      const label = node.arguments?.find(({ name }) => name.value === 'label')?.value;
      if (node.name.value !== 'defer' || label === undefined || label.kind === Kind.NULL) return;
      const isStatic = label.kind === Kind.STRING;
      if (!isStatic || labels.has(label.value)) {
        const message = `The label of "@defer" must be ${isStatic ? 'unique' : 'a string, not a variable'}.`;
        context.reportError(new GraphQLError(message, { nodes: node }));
      }
      if (isStatic) labels.add(label.value);
    },
  };
}
